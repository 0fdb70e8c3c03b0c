"""``python -m airsched_client.federated``: train a model over the air and compare policies."""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from airsched_client._extras import install_hint
from airsched_client._retry import Patience
from airsched_client.client import SchedulerClient
from airsched_client.errors import AirschedError
from airsched_client.federated.channels import NetworkParameters
from airsched_client.federated.checkpoint import read_experiment, read_records
from airsched_client.federated.comparison import compare
from airsched_client.federated.experiment import AUTO, DIGITAL, PERFECT, Experiment
from airsched_client.federated.partition import PartitionParameters
from airsched_client.federated.progress import progress
from airsched_client.federated.tasks import TASKS
from airsched_client.federated.traces import Trace
from airsched_client.models import Algorithm

try:
    from rich.console import Console
    from rich.markup import escape

    from airsched_client.federated.report import draw, markdown, table
except ImportError as error:
    sys.exit(f"{error}: {install_hint('federated')}")

_EVERY = "every"

_ALIASES = {"exhaustive": "optimal"}
"""Deprecated names of the service's algorithms: both names would train the same."""

_OF_NETWORK = (
    *("devices", "antennas", "elements", "csi_error", "subcarriers", "taps"),
    *("power_spread_db", "interference_db", "interference_azimuth"),
)
"""The options that are parameters of the network."""

_OF_TRACE = ("devices", "antennas", "subcarriers")
"""Those that a trace says, too."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.resume and (begun := read_experiment(options.output)):
        # Options that are not given again stay as they were.
        parser.set_defaults(**_options_of(begun))
        options = parser.parse_args(arguments)
    console = Console()
    resume = ""
    try:
        patience = Patience(
            options.patience, tell=lambda text: console.print(f"waiting: {escape(text)}")
        )
        with SchedulerClient(options.url, api_key=options.api_key, retries=patience) as scheduler:
            experiment = _experiment(options, scheduler, console)
            resume = f"; the finished rounds are in {options.output}, continue with --resume"
            finished = read_records(options.output) if options.resume else []
            with progress(experiment, finished, console) as on_round:
                result = compare(
                    experiment,
                    scheduler,
                    options.output,
                    resume=options.resume,
                    patience=patience,
                    on_round=on_round,
                )
    except (AirschedError, ValueError, OSError, ImportError) as error:
        after = resume if isinstance(error, AirschedError) else ""
        console.print(f"stopped: {escape(str(error))}{after}", highlight=False)
        return 1
    except KeyboardInterrupt:
        console.print(f"interrupted{resume}", highlight=False)
        return 130
    summaries, about = result.summaries(), result.about()
    console.print(table(summaries, about))
    (options.output / "summary.md").write_text(markdown(summaries, about))
    for picture in draw(result.records, options.output, about):
        console.print(f"drew {picture}", highlight=False)
    return 0


def _too_large(algorithm: Algorithm, network: NetworkParameters) -> str:
    """Return in words that the network is too large for ``algorithm``, or nothing."""
    for what, most in (("devices", algorithm.max_devices), ("elements", algorithm.max_elements)):
        if most is not None and getattr(network, what) > most:
            return f"it takes at most {most} {what}"
    return ""


def _experiment(
    options: argparse.Namespace, scheduler: SchedulerClient, console: Console
) -> Experiment:
    network = _network(options)
    policies = list(options.policies)
    if _EVERY in policies:
        route = "/schedule/irs" if options.elements else "/schedule"
        if network.subcarriers > 1:
            route = "/schedule/wideband"
        offered = []
        for algorithm in scheduler.algorithms():
            if route not in algorithm.endpoints:
                continue
            if algorithm.name in _ALIASES:
                console.print(f"without {algorithm.name}: it is {_ALIASES[algorithm.name]}")
            elif too_large := _too_large(algorithm, network):
                console.print(f"without {algorithm.name}: {too_large}")
            else:
                offered.append(algorithm.name)
        policies[policies.index(_EVERY) :] = [PERFECT, *offered]
    return Experiment(
        task=options.task,
        policies=tuple(dict.fromkeys(policies)),
        gammas_db=tuple(options.gamma_db),
        seeds=tuple(options.seeds),
        rounds=options.rounds,
        coherence=options.coherence,
        power=options.power,
        noise_variance=options.noise_variance,
        coordination=options.coordination,
        polish=options.polish,
        network=network,
        partition=PartitionParameters(label_concentration=options.label_concentration),
        channels=None if options.channels is None else str(options.channels),
        data=None if options.data is None else str(options.data),
        samples=options.samples,
        epochs=options.epochs,
    )


def _network(options: argparse.Namespace) -> NetworkParameters:
    """Return the network; K, N and F are as options, or else those of the trace."""
    names = [name for name in _OF_NETWORK if name not in _OF_TRACE]
    chosen = {name: getattr(options, name) for name in names}
    trace = None if options.channels is None else Trace.open(options.channels)
    if trace is not None:
        trace.require(options.power, options.noise_variance)
    for name in _OF_TRACE:
        wanted = getattr(options, name)
        if trace is not None:
            recorded = getattr(trace, name)
            if wanted not in (None, recorded):
                raise ValueError(f"{trace.path} has {recorded} {name}: leave out --{name}")
            wanted = recorded
        if wanted is not None:
            chosen[name] = wanted
    return NetworkParameters(**chosen)


def _options_of(begun: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that began an experiment."""
    network, partition = begun["network"], begun["partition"]
    same = ["task", "policies", "seeds", "rounds", "coherence", "power", "noise_variance"]
    same += ["coordination", "polish", "samples", "epochs"]
    return {
        **{name: begun[name] for name in same},
        **{name: network[name] for name in _OF_NETWORK if name in network},
        **{name: begun[name] and Path(begun[name]) for name in ("channels", "data")},
        "gamma_db": begun["gammas_db"],
        "label_concentration": partition["label_concentration"],
    }


def _parser() -> argparse.ArgumentParser:
    usual, network = Experiment(), NetworkParameters()
    parser = argparse.ArgumentParser(
        prog="python -m airsched_client.federated",
        description="Train a model over the air and compare scheduling policies.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    address = os.environ.get("AIRSCHED_URL") or "http://127.0.0.1:8000"
    add("--url", default=address, help="address of the service, else that in AIRSCHED_URL")
    add("--api-key", help="bearer key, if the service requires one")
    add("--output", type=Path, default=Path("federated-results"), help="folder for the results")
    add(
        "--resume",
        action="store_true",
        help="continue the experiment in the folder, with the options that it began with",
    )
    add("--patience", type=float, default=300.0, help="seconds to retry while the service is down")
    add("--task", choices=TASKS, default=usual.task, help="what to learn")
    add(
        "--policies",
        nargs="+",
        default=list(usual.policies),
        metavar="POLICY",
        help=f"{PERFECT} (all devices, no noise), {AUTO} (no tolerance needed), {DIGITAL} (without "
        f"the air), algorithms of the service, or {_EVERY}",
    )
    add("--gamma-db", nargs="+", type=float, default=list(usual.gammas_db), help="tolerances γ")
    add(
        "--seeds",
        nargs="+",
        type=int,
        default=list(usual.all_seeds),
        help="seeds of all randomness",
    )
    add("--rounds", type=int, default=usual.rounds, help="T, rounds of every run")
    add(
        "--coherence",
        type=int,
        default=usual.coherence,
        help="rounds between changes of the fading",
    )
    add("--channels", type=Path, help="a trace, .npz, in place of the paper's network")
    add("--devices", type=int, help=f"K; None for {network.devices}, or as in the trace")
    add("--antennas", type=int, help=f"N; None for {network.antennas}, or as in the trace")
    add("--elements", type=int, default=network.elements, help="M of a reflecting surface")
    add("--subcarriers", type=int, help="F of a band; None for 1, or as in the trace")
    add("--taps", type=int, default=network.taps, help="paths of a device's signal, over a band")
    add("--power", type=float, default=usual.power, help="P, the transmit power limit")
    add(
        "--power-spread-db",
        type=float,
        default=network.power_spread_db,
        help="devices' power limits lie up to so many dB below P",
    )
    add(
        "--interference-db",
        type=float,
        help="power of a neighbouring cell at an antenna, over the noise; None for no such cell",
    )
    add(
        "--interference-azimuth",
        type=float,
        default=network.interference_azimuth,
        help="its direction in degrees",
    )
    add("--noise-variance", type=float, default=usual.noise_variance, help="σ², at an antenna")
    add("--csi-error", type=float, default=network.csi_error, help="bound on ‖h_k − ĥ_k‖")
    add(
        "--coordination",
        choices=["zero_forcing", "mmse"],
        default=usual.coordination,
        help="how the transmit scalars are set",
    )
    add("--polish", action="store_true", help="let the service polish every receiver")
    add(
        "--label-concentration",
        type=float,
        default=usual.partition.label_concentration,
        help="β of the label skew, inf for none",
    )
    add("--data", type=Path, help="folder that holds cifar-10-batches-py, for cifar10")
    add("--samples", type=int, help="training samples to use; None for the task's default")
    add("--epochs", type=int, help="local epochs per round; None for the task's default")
    return parser


if __name__ == "__main__":
    sys.exit(main())
