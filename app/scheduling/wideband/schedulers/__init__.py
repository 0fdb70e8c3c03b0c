"""One file per algorithm that schedules a band."""
