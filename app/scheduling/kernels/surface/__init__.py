"""The loops for problems with a reflecting surface."""
