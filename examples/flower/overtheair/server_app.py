"""The server: a strategy of Flower's, alone or over the air."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from flwr.app import ArrayRecord, Context, MetricRecord
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAdam, FedAvg, FedAvgM, FedProx, Result, Strategy

from airsched_client import ScheduleOptions, SchedulerClient
from airsched_client.federated import NetworkParameters
from airsched_client.flower import (
    ChannelSource,
    NetworkSource,
    OverTheAir,
    ReportedSource,
    TraceSource,
)

from .task import Net, test

app = ServerApp()

NONE, AUTO = "none", "auto"
"""Policies that are not algorithms: no air at all, and no tolerance."""


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Train the strategy with the policy that the configuration names."""
    config = context.run_config
    torch.manual_seed(int(config["seed"]))
    # The strategy waits for the service itself, and says so.
    with SchedulerClient(str(config["scheduler-url"]), retries=0) as scheduler:
        strategy = make_strategy(config)
        if config["policy"] != NONE:
            strategy = OverTheAir(
                strategy,
                scheduler,
                make_source(config),
                schedule=make_schedule(config),
                seed=int(config["seed"]),
            )
        result = strategy.start(
            grid,
            ArrayRecord(Net().state_dict()),
            int(config["num-server-rounds"]),
            evaluate_fn=evaluate,
        )
    if config["output"]:
        append(Path(str(config["output"])), config, result)


def make_strategy(config: Mapping[str, Any]) -> Strategy:
    """Return the strategy, which asks every node."""
    everyone: dict[str, Any] = {
        "fraction_evaluate": 0.0,
        "min_available_nodes": int(config["devices"]),
    }
    strategies = {
        "FedAvg": lambda: FedAvg(**everyone),
        "FedProx": lambda: FedProx(proximal_mu=float(config["proximal-mu"]), **everyone),
        "FedAvgM": lambda: FedAvgM(server_momentum=float(config["server-momentum"]), **everyone),
        "FedAdam": lambda: FedAdam(eta=float(config["server-learning-rate"]), **everyone),
    }
    return strategies[str(config["strategy"])]()


def make_schedule(config: Mapping[str, Any]) -> ScheduleOptions:
    """Return what the service is asked for: an algorithm with its tolerance, or the best point."""
    if config["policy"] == AUTO:
        return {}
    return {"algorithm": str(config["policy"]), "gamma_db": float(config["gamma-db"])}


def make_source(config: Mapping[str, Any]) -> ChannelSource:
    """Return where the channels come from."""
    seed, antennas = int(config["seed"]), int(config["antennas"])
    if config["reported"]:
        return ReportedSource(antennas)
    if config["trace"]:
        # Every seed plays another part of the trace.
        return TraceSource(str(config["trace"]), start=seed * int(config["num-server-rounds"]))
    return NetworkSource(NetworkParameters(int(config["devices"]), antennas), seed)


def evaluate(server_round: int, arrays: ArrayRecord) -> MetricRecord:
    """Evaluate the global model on the server."""
    net = Net()
    net.load_state_dict(arrays.to_torch_state_dict())
    loss, accuracy = test(net)
    return MetricRecord({"accuracy": accuracy, "loss": loss})


def append(output: Path, config: Mapping[str, Any], result: Result) -> None:
    """Write a line for every round, in the form of airsched's own results."""
    policy = str(config["policy"])
    everyone = list(range(int(config["devices"]))) if policy == NONE else []
    with output.open("a") as file:
        for number, found in sorted(result.evaluate_metrics_serverapp.items()):
            if number == 0:
                continue
            told = result.train_metrics_clientapp.get(number, {})
            line = {
                "policy": str(config["strategy"]) if policy == NONE else policy,
                "gamma_db": None if policy in (NONE, AUTO) else config["gamma-db"],
                "seed": config["seed"],
                "round": number - 1,
                "active": list(told.get("air-schedule", everyone)),
                "computation_error": told.get("air-computation-error"),
                "measured_error": told.get("air-measured-error"),
                **found,
            }
            file.write(json.dumps(line) + "\n")
