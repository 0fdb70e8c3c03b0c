"""The scale of the network figures' tolerance."""

SHIFT_DB = 6.0
"""What is added to the paper's γ to have ours.

The paper does not give the scale of φ, and γ means something only beside it: weights twice as large
need 6 dB more. Ours are L_k/mean(L); the shift was fitted to the paper's matching pursuit.
"""
