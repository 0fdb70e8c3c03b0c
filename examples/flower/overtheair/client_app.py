"""A node: an ordinary ClientApp, and one call for airsched."""

import numpy as np
from flwr.app import Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from numpy.typing import NDArray

from airsched_client.federated import LocalRound
from airsched_client.federated.streams import Purpose, stream
from airsched_client.flower import report_device

from .task import parts, task, to_record, to_vector

app = ClientApp()


def samples(context: Context) -> NDArray[np.int64]:
    """Return this node's training samples."""
    config = context.run_config
    return parts(int(config["devices"]), int(config["seed"]))[_number(context)]


def channel(context: Context) -> NDArray[np.complex128]:
    """Return this node's channel; a real one would measure it, here it is made up."""
    random = np.random.default_rng([int(context.run_config["seed"]), _number(context)])
    antennas = int(context.run_config["antennas"])
    return np.asarray(random.standard_normal((antennas, 2)) @ [1, 1j] / np.sqrt(2))


report_device(app, lambda context: samples(context).size, channel)


@app.train()
def train(message: Message, context: Context) -> Message:
    """Train from the global model on this node's samples."""
    number = int(message.content["config"]["server-round"]) - 1
    random = stream(int(context.run_config["seed"]), Purpose.TRAINING, number, _number(context))
    mine = samples(context)
    local = LocalRound(_number(context), number, mine, [], random)
    trained = task().train(to_vector(message.content["arrays"]), local)
    metrics = MetricRecord({"num-examples": mine.size})
    return Message(RecordDict({"arrays": to_record(trained), "metrics": metrics}), reply_to=message)


def _number(context: Context) -> int:
    return int(context.node_config["partition-id"])
