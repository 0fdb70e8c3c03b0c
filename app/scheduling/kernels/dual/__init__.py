"""The loops of dual pursuit and of the frontier."""
