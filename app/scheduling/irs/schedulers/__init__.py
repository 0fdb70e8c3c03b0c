"""One file per algorithm, found by :mod:`app.scheduling.registry`."""
