"""What to install where an optional package is missing."""


def install_hint(extra: str) -> str:
    """Return the command, in words; the client is installed from its folder in the repository."""
    return f"in airsched's repository, pip install './clients[{extra}]'"
