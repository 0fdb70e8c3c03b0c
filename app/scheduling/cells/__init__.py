"""Cells as they are: power limits, interference, devices that must or must not take part."""
