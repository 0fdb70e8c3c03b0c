"""What hostile clients do to the others: ``python -m benchmarks.attack [--before REVISION]``.

Starts a service on 127.0.0.1 for every attack of :mod:`lab.attacks`, and one of an earlier revision
beside it if asked to. Then measures how a light client fares beside a heavy one. Everything is
bounded in size and time; nothing leaves this machine.
"""

import argparse

from rich.console import Console
from rich.table import Table

from benchmarks import fairness
from lab.attacks import ATTACKS, Noticed, watch
from lab.checkouts import checkouts
from lab.processes import terminate
from lab.service import running_command

STOP_SECONDS = 60.0


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.attack", description=__doc__)
    parser.add_argument("--before", metavar="REVISION", help="also attack this revision")
    parser.add_argument("--only", nargs="*", metavar="NAME", help="attacks to run (all)")
    options = parser.parse_args()
    console = Console(width=120)
    table = Table(
        "attack",
        "version",
        "stall [s]",
        "memory [MiB]",
        "others refused",
        "answers",
        "stop [s]",
        title="hostile clients: longest wait of another client, growth of the service's memory",
    )
    with checkouts(options.before) as folders:
        for attack in ATTACKS:
            if options.only and attack.__name__ not in options.only:
                continue
            console.print(f"{attack.__name__}: {(attack.__doc__ or '').strip()}", style="dim")
            for version, folder in folders.items():
                with running_command(folder=folder) as (process, address):
                    noticed = watch(process.pid, address, attack)
                    stopped = terminate(process, STOP_SECONDS)
                table.add_row(attack.__name__, version, *_cells(noticed), stopped)
    console.print(table)
    if not options.only:
        fairness.main()


def _cells(noticed: Noticed) -> list[str]:
    counts = noticed.statuses.items()
    answers = ", ".join(f"{count} × {status}" for status, count in counts if count)
    return [
        f"{noticed.stall_seconds:.2f}",
        f"{noticed.growth_mebibytes:.0f}",
        str(noticed.refused),
        answers,
    ]


if __name__ == "__main__":
    main()
