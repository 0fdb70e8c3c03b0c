"""``make demo-flower``: strategies of Flower over the air, beside the same ones alone.

Starts a service, runs the app for every strategy, policy and seed, and prints a table and draws a
picture for every strategy. The nodes are in this process; with ``--ray`` Flower's simulation engine
runs them. Needs the service and what ``pyproject.toml`` lists in one environment.
"""

import argparse
import signal
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import mean
from typing import Any

from airsched_client.federated import Record, Trace
from airsched_client.federated.checkpoint import read_records
from airsched_client.federated.report import About, draw, markdown
from airsched_client.federated.summary import summarise
from examples.flower.engine import running_engine
from lab.service import running_command

_APP = Path(__file__).parent / "pyproject.toml"

Run = Callable[[Mapping[str, Any]], None]
"""Runs the app once with values in place of those of its ``pyproject.toml``."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison; return the exit status."""
    options = _parser().parse_args(arguments)
    # `make` forwards SIGTERM unchanged: handle it like Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if any(options.output.glob("*/runs/*.jsonl")):
        print(f"{options.output} already holds results: choose another folder", file=sys.stderr)
        return 1
    network: dict[str, Any] = {}
    if options.channels is not None:
        trace = Trace.open(options.channels)
        network = {"trace": str(options.channels.resolve())}
        network |= {"devices": trace.devices, "antennas": trace.antennas}
    config = {**defaults(), **network, "num-server-rounds": options.rounds}
    config["gamma-db"] = options.gamma_db
    try:
        with (
            running_command(log_level="warning") as (_, url),
            _on_ray(config["devices"]) if options.ray else _in_process() as run,
        ):
            for strategy in options.strategies:
                folder = options.output / strategy
                given = {**config, "scheduler-url": url, "strategy": strategy}
                if not _run_all(run, given, folder, options.policies, options.seeds):
                    print("the app failed: its log is above", file=sys.stderr)
                    return 1
    except KeyboardInterrupt:
        return 130
    for strategy in options.strategies:
        _report(options.output / strategy, strategy, config)
    return 0


def defaults() -> dict[str, Any]:
    """Return the configuration of the app's ``pyproject.toml``."""
    app: dict[str, Any] = tomllib.loads(_APP.read_text())["tool"]["flwr"]["app"]["config"]
    return app


def _run_all(
    run: Run,
    config: Mapping[str, Any],
    folder: Path,
    policies: Sequence[str],
    seeds: Sequence[int],
) -> bool:
    """Run every policy and seed; return whether all rounds are there."""
    file = folder.resolve() / "runs" / "flower.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    expected = 0
    for seed in seeds:
        for policy in policies:
            run({**config, "policy": policy, "seed": seed, "output": str(file)})
            # `flwr run` succeeds even when the app has failed.
            expected += config["num-server-rounds"]
            if not file.exists() or len(file.read_text().splitlines()) < expected:
                return False
    return True


@contextmanager
def _in_process() -> Iterator[Run]:
    from flwr.app import Context, RecordDict

    from examples.flower.in_process import InProcessGrid
    from examples.flower.overtheair import client_app, server_app

    def run(config: Mapping[str, Any]) -> None:
        grid = InProcessGrid(client_app.app, config["devices"], config)
        server_app.app(grid, Context(1, 0, {}, RecordDict(), dict(config)))

    yield run


@contextmanager
def _on_ray(devices: int) -> Iterator[Run]:
    with running_engine() as engine:
        yield lambda config: engine.run(devices, config)


def _report(folder: Path, strategy: str, config: Mapping[str, Any]) -> None:
    records = read_records(folder)
    summary = markdown(summarise(records, perfect=strategy))
    (folder / "summary.md").write_text(summary)
    print(f"{strategy}\n\n{summary}")
    for line in _accuracy_by_round(records):
        print(line)
    about = About(f"{strategy}, K = {config['devices']}, N = {config['antennas']}")
    for picture in draw(records, folder, about):
        print(f"drew {picture}")


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
        description="Train with Flower over the air, beside the same strategies alone.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--output", type=Path, default=Path("build/flower"), help="folder for the results")
    add(
        "--strategies",
        nargs="+",
        default=["FedAvg", "FedAdam"],
        help="FedAvg, FedProx, FedAvgM, FedAdam",
    )
    add(
        "--policies",
        nargs="+",
        default=["none", "auto", "dual_pursuit", "matching_pursuit"],
        help="none (the strategy alone), auto (no tolerance), or algorithms of the service",
    )
    add("--seeds", nargs="+", type=int, default=list(range(5)), help="one run of the app each")
    add("--rounds", type=int, default=10, help="T, rounds of every run")
    add("--gamma-db", type=float, default=10.0, help="tolerance γ")
    add("--channels", type=Path, help="a trace, .npz, in place of the paper's network")
    add("--ray", action="store_true", help="run the nodes on Flower's simulation engine")
    return parser


if __name__ == "__main__":
    sys.exit(main())
