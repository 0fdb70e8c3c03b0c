"""``make demo-flower``: the app beside plain FedAvg, on Flower's simulation engine.

Starts a service and the engine, runs every policy for every seed, prints a table, draws a picture,
and stops both. Needs the service, ``./clients[federated,flower]`` and Ray in one environment.
"""

import argparse
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean
from types import FrameType

from airsched_client.federated.checkpoint import read_records
from airsched_client.federated.experiment import Record
from airsched_client.federated.report import About, draw, markdown
from airsched_client.federated.summary import summarise
from airsched_client.federated.traces import Trace
from examples.flower.engine import running_engine
from lab.service import running_command

_DEVICES, _ANTENNAS, _NOISE_VARIANCE = 20, 6, 1.0
"""As the app has them."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison; return the exit status."""
    asked = _parser().parse_args(arguments)
    # `make` forwards SIGTERM unchanged: handle it like Ctrl-C.
    signal.signal(signal.SIGTERM, _interrupt)
    results = asked.output.resolve() / "runs" / "flower.jsonl"
    if results.exists():
        print(f"{asked.output} already holds results: choose another folder", file=sys.stderr)
        return 1
    trace = None if asked.channels is None else Trace.open(asked.channels)
    devices, antennas = (trace.devices, trace.antennas) if trace else (_DEVICES, _ANTENNAS)
    results.parent.mkdir(parents=True, exist_ok=True)
    try:
        with running_command(log_level="warning") as (_, url), running_engine() as engine:
            for count, seed in enumerate(asked.seeds, 1):
                engine.run(
                    devices,
                    scheduler_url=url,
                    policies=" ".join(asked.policies),
                    num_server_rounds=asked.rounds,
                    gamma_db=asked.gamma_db,
                    devices=devices,
                    trace="" if asked.channels is None else str(asked.channels.resolve()),
                    seed=seed,
                    output=str(results),
                )
                # `flwr run` succeeds even when the app has failed.
                expected = count * len(asked.policies) * asked.rounds
                found = len(results.read_text().splitlines()) if results.exists() else 0
                if found < expected:
                    print("the app failed: its log is above", file=sys.stderr)
                    return 1
    except KeyboardInterrupt:
        return 130
    records = read_records(asked.output)
    summary = markdown(summarise(records, perfect="fedavg"))
    (asked.output / "summary.md").write_text(summary)
    print(summary)
    for line in _accuracy_by_round(records):
        print(line)
    about = About(f"Flower, K = {devices}, N = {antennas}, σ² = {_NOISE_VARIANCE:g}")
    for picture in draw(records, asked.output, about):
        print(f"drew {picture}")
    return 0


def _accuracy_by_round(records: Sequence[Record]) -> Iterator[str]:
    """Yield a line for every policy: the mean accuracy over the seeds after each round."""
    for policy in dict.fromkeys(record.policy for record in records):
        found: dict[int, list[float]] = {}
        for record in records:
            if record.policy == policy:
                found.setdefault(record.round, []).append(record.accuracy or 0.0)
        means = [f"{mean(found[number]):.3f}" for number in sorted(found)]
        yield f"accuracy by round, {policy}: {' '.join(means)}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m examples.flower.compare",
        description="Train with Flower over the air, beside plain FedAvg.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--output", type=Path, default=Path("build/flower"), help="folder for the results")
    add(
        "--policies",
        nargs="+",
        default=["fedavg", "dual_pursuit", "matching_pursuit"],
        help="fedavg, auto (no tolerance), or algorithms of the service",
    )
    add("--seeds", nargs="+", type=int, default=list(range(5)), help="one run of the app each")
    add("--rounds", type=int, default=10, help="T")
    add("--gamma-db", type=float, default=10.0, help="tolerance γ")
    add("--channels", type=Path, help="a trace, .npz, in place of the paper's network")
    return parser


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
