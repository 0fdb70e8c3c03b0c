"""Find a browser, and start it without traffic of its own."""

import shutil

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
"""For Playwright, which adds ``--headless`` and a new user directory."""


def chromium() -> str | None:
    """Return the path of Chromium; None if it is not installed."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if (path := shutil.which(name))), None)
