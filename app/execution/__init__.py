"""Where a solve runs: here and now, in a thread, or in a separate process."""
