"""The server: every policy in turn, plain FedAvg or FedAvg over the air."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flwr.app import ArrayRecord, Context, MetricRecord
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg, Result

from airsched_client import SchedulerClient
from airsched_client.federated.channels import NetworkParameters
from airsched_client.federated.streams import Purpose, request_seed, stream
from airsched_client.flower import (
    ChannelSource,
    NetworkSource,
    OverTheAirFedAvg,
    ReportedSource,
    TraceSource,
)

from .task import task, to_record, to_vector

app = ServerApp()

_PLAIN, _AUTO = "fedavg", "auto"


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Train with every policy, from the same model."""
    config = context.run_config
    # The strategy waits for the service itself, and says so.
    with SchedulerClient(str(config["scheduler-url"]), retries=0) as scheduler:
        for policy in str(config["policies"]).split():
            result = _strategy(policy, scheduler, config).start(
                grid,
                to_record(task().initial(stream(int(config["seed"]), Purpose.MODEL))),
                int(config["num-server-rounds"]),
                evaluate_fn=_evaluate,
            )
            if config["output"]:
                _append(Path(str(config["output"])), policy, config, result)


def _strategy(policy: str, scheduler: SchedulerClient, config: Mapping[str, Any]) -> FedAvg:
    everyone: dict[str, Any] = {
        "fraction_evaluate": 0.0,
        "min_available_nodes": int(config["devices"]),
    }
    if policy == _PLAIN:
        return FedAvg(**everyone)
    seed = int(config["seed"])
    return OverTheAirFedAvg(
        scheduler,
        _source(config),
        schedule={
            "algorithm": None if policy == _AUTO else policy,
            "gamma_db": None if policy == _AUTO else float(config["gamma-db"]),
            "seed": request_seed(seed, 0),
        },
        seed=seed,
        **everyone,
    )


def _source(config: Mapping[str, Any]) -> ChannelSource:
    seed, antennas = int(config["seed"]), int(config["antennas"])
    if config["reported"]:
        return ReportedSource(antennas)
    if config["trace"]:
        # Every seed plays another part of the trace.
        return TraceSource(str(config["trace"]), start=seed * int(config["num-server-rounds"]))
    return NetworkSource(NetworkParameters(int(config["devices"]), antennas), seed)


def _evaluate(server_round: int, arrays: ArrayRecord) -> MetricRecord:
    found = task().evaluate(to_vector(arrays))
    return MetricRecord({"accuracy": found.accuracy, "loss": found.loss})


def _append(output: Path, policy: str, config: Mapping[str, Any], result: Result) -> None:
    """Write a line for every round, in the form of airsched's own results."""
    with output.open("a") as file:
        for number, found in sorted(result.evaluate_metrics_serverapp.items()):
            if number == 0:
                continue
            told = result.train_metrics_clientapp.get(number, {})
            everyone = list(range(int(config["devices"]))) if policy == _PLAIN else []
            line = {
                "policy": policy,
                "gamma_db": None if policy in (_PLAIN, _AUTO) else config["gamma-db"],
                "seed": config["seed"],
                "round": number - 1,
                "active": list(told.get("air-schedule", everyone)),
                "computation_error": told.get("air-computation-error"),
                "measured_error": told.get("air-measured-error"),
                **found,
            }
            file.write(json.dumps(line) + "\n")
