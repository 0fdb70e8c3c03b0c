"""Channels from Sionna: :mod:`.record` writes a trace, and ``umi.npz`` is a small one."""
