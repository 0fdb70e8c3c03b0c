"""The scale of the network figures' tolerance."""

SHIFT_DB = 6.0
"""What is added to the paper's γ to have ours.

The paper does not give the scale of φ, and γ means something only beside it: weights L_k/mean(L),
as here, need 10·log₁₀(2²) dB more than weights half as large, for example.
"""
