"""``make demo``: start a service, train a digit classifier with seven scheduling policies, stop it.

Needs both the service and ``./clients[federated]``. The service runs in a separate process and
is called over HTTP, like any other.
"""

import signal
import sys

from airsched_client.federated.__main__ import main as federated
from lab.service import running_command

_POLICIES = ("perfect", "dual_pursuit", "auto", "matching_pursuit", "sdr", "random", "all_devices")
_SEEDS = [str(seed) for seed in range(16)]
"""Enough for the order in the table: with five, random came out level with dual pursuit."""


def main() -> int:
    """Run the demonstration with further options of the command; return its exit status."""
    # `make` forwards SIGTERM unchanged: handle it like Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with running_command(log_level="warning") as (_, url):
            return federated(
                ["--url", url, "--policies", *_POLICIES, "--seeds", *_SEEDS, *sys.argv[1:]]
            )
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
