"""The loop's digits as a Flower app: the same data, partition, training and randomness."""

from functools import cache

import numpy as np
from flwr.app import Array, ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from airsched_client.federated import LocalRound
from airsched_client.federated.partition import PartitionParameters, partition
from airsched_client.federated.streams import Purpose, stream
from airsched_client.federated.tasks.digits import Digits
from airsched_client.flower import report_device

DEVICES, ANTENNAS = 20, 6
_SHAPES = {
    "hidden.weight": (64, 32),
    "hidden.bias": (32,),
    "out.weight": (32, 10),
    "out.bias": (10,),
}

app = ClientApp()


@cache
def task() -> Digits:
    return Digits()


@cache
def parts(seed):
    random = stream(seed, Purpose.PARTITION)
    return partition(task().labels, DEVICES, PartitionParameters(), random)


def samples(context):
    return parts(context.run_config["seed"])[context.node_config["partition-id"]]


def channel(context):
    random = np.random.default_rng(context.node_config["partition-id"])
    return random.standard_normal((ANTENNAS, 2)) @ [1, 1j] / np.sqrt(2)


report_device(app, lambda context: samples(context).size, channel)


@app.train()
def train(message: Message, context: Context) -> Message:
    number = message.content["config"]["server-round"] - 1
    device, mine = context.node_config["partition-id"], samples(context)
    random = stream(context.run_config["seed"], Purpose.TRAINING, number, device)
    local = LocalRound(device, number, mine, [], random)
    trained = task().train(to_vector(message.content["arrays"]), local)
    metrics = MetricRecord({"num-examples": mine.size})
    return Message(RecordDict({"arrays": to_record(trained), "metrics": metrics}), reply_to=message)


def initial(seed) -> ArrayRecord:
    return to_record(task().initial(stream(seed, Purpose.MODEL)))


def evaluate(server_round, arrays) -> MetricRecord:
    found = task().evaluate(to_vector(arrays))
    return MetricRecord({"accuracy": found.accuracy, "loss": found.loss})


def to_record(model) -> ArrayRecord:
    ends = np.cumsum([np.prod(shape) for shape in _SHAPES.values()])
    layers = zip(_SHAPES.items(), np.split(model, ends[:-1]), strict=True)
    return ArrayRecord({name: Array(layer.reshape(shape)) for (name, shape), layer in layers})


def to_vector(record):
    return np.concatenate([record[name].numpy().ravel() for name in _SHAPES])
