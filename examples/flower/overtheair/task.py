"""The task: scikit-learn's digits, divided as in airsched's own loop."""

from functools import cache

import numpy as np
from flwr.app import Array, ArrayRecord
from numpy.typing import NDArray

from airsched_client.federated.partition import PartitionParameters, partition
from airsched_client.federated.streams import Purpose, stream
from airsched_client.federated.tasks.digits import Digits

_SHAPES = {
    "hidden.weight": (64, 32),
    "hidden.bias": (32,),
    "out.weight": (32, 10),
    "out.bias": (10,),
}


@cache
def task() -> Digits:
    """Return the data and the way to learn it."""
    return Digits()


@cache
def parts(devices: int, seed: int) -> list[NDArray[np.int64]]:
    """Return the samples of every node."""
    random = stream(seed, Purpose.PARTITION)
    return partition(task().labels, devices, PartitionParameters(), random)


def to_record(model: NDArray[np.floating]) -> ArrayRecord:
    """Return a model as Flower holds it."""
    ends = np.cumsum([np.prod(shape) for shape in _SHAPES.values()])
    layers = zip(_SHAPES.items(), np.split(model, ends[:-1]), strict=True)
    return ArrayRecord({name: Array(layer.reshape(shape)) for (name, shape), layer in layers})


def to_vector(record: ArrayRecord) -> NDArray[np.float64]:
    """Return a model as the task holds it."""
    return np.concatenate([record[name].numpy().ravel() for name in _SHAPES])
