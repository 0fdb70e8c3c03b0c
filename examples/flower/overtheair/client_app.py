"""A node: an ordinary ClientApp, and one call for airsched."""

from typing import Any

import numpy as np
import torch
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from numpy.typing import NDArray

from airsched_client.flower import report_device

from .task import Net, load_partition
from .task import train as train_on

app = ClientApp()


@app.train()
def train(message: Message, context: Context) -> Message:
    """Train from the global model on this node's samples."""
    config, data = context.run_config, samples(context)
    number = int(message.content["config"]["server-round"])
    torch.manual_seed(10_000 * int(config["seed"]) + 100 * number + partition_id(context))
    net = Net()
    net.load_state_dict(message.content["arrays"].to_torch_state_dict())
    loss = train_on(
        net,
        data,
        epochs=int(config["local-epochs"]),
        batch_size=int(config["batch-size"]),
        rate=float(config["learning-rate"]),
        mu=float(message.content["config"].get("proximal-mu", 0.0)),
    )
    metrics = MetricRecord({"train-loss": loss, "num-examples": len(data["label"])})
    content = RecordDict({"arrays": ArrayRecord(net.state_dict()), "metrics": metrics})
    return Message(content, reply_to=message)


def samples(context: Context) -> Any:
    """Return this node's training samples."""
    config = context.run_config
    devices, alpha = int(config["devices"]), float(config["dirichlet-alpha"])
    return load_partition(partition_id(context), devices, alpha, int(config["seed"]))


def channel(context: Context) -> NDArray[np.complex128]:
    """Return this node's channel; a real one would measure it, here it is made up."""
    random = np.random.default_rng([int(context.run_config["seed"]), partition_id(context)])
    antennas = int(context.run_config["antennas"])
    return np.asarray(random.standard_normal((antennas, 2)) @ [1, 1j] / np.sqrt(2))


def partition_id(context: Context) -> int:
    """Return which device this node is."""
    return int(context.node_config["partition-id"])


report_device(app, lambda context: len(samples(context)["label"]), channel)
