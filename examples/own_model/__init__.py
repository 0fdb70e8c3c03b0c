"""A model, data and channels of one's own: the script of ``docs/federated.md``."""
