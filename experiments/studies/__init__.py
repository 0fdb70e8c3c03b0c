"""What measures the quality of schedules in tables: one module per study, with a ``main``."""
