"""The loops of matching pursuit."""
