"""Scheduling over a band: one set of devices, one receiver on every subcarrier."""
