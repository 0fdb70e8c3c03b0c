"""Speed, always as a ratio to a reference that is measured in the same run."""
