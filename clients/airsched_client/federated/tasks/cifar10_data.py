"""CIFAR-10 on disk, in its official format.

The official archive unpacks to ``cifar-10-batches-py/``: six pickled dictionaries with ``b"data"``,
(10000, 3072) uint8, red, green and blue planes of 32×32 one after the other, and ``b"labels"``.
"""

import pickle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

TRAIN = tuple(f"data_batch_{number}" for number in range(1, 6))
TEST = ("test_batch",)
FOLDER = "cifar-10-batches-py"


class Cifar10Data(NamedTuple):
    """Images, (L, 3, 32, 32) uint8, and classes, (L,)."""

    images: NDArray[np.uint8]
    labels: NDArray[np.int64]
    test_images: NDArray[np.uint8]
    test_labels: NDArray[np.int64]


def read(folder: Path) -> Cifar10Data:
    """Read the 50,000 and the 10,000 images from ``cifar-10-batches-py`` or the folder with it."""
    batches = folder if folder.name == FOLDER else folder / FOLDER
    missing = [name for name in (*TRAIN, *TEST) if not (batches / name).is_file()]
    if missing:
        raise FileNotFoundError(
            f"{batches} has no {', '.join(missing)}: unpack the official Python archive of"
            " CIFAR-10 there"
        )
    return Cifar10Data(*_read_all(batches, TRAIN), *_read_all(batches, TEST))


class _Unpickler(pickle.Unpickler):
    """Loads arrays and nothing else: an untrusted pickle could otherwise run any code."""

    _ALLOWED = frozenset({"_reconstruct", "ndarray", "dtype", "encode"})

    def find_class(self, module: str, name: str) -> Any:
        if module.split(".")[0] not in {"numpy", "_codecs"} or name not in self._ALLOWED:
            raise pickle.UnpicklingError(f"{module}.{name} does not belong in a CIFAR-10 batch")
        return super().find_class(module, name)


def _read_all(folder: Path, names: tuple[str, ...]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    images, labels = [], []
    for name in names:
        with (folder / name).open("rb") as file:
            batch = _Unpickler(file, encoding="bytes").load()
        images.append(np.asarray(batch[b"data"], np.uint8).reshape(-1, 3, 32, 32))
        labels.append(np.asarray(batch[b"labels"], np.int64))
        if images[-1].shape[0] != labels[-1].size:
            raise ValueError(f"{folder / name} has {images[-1].shape[0]} images but other labels")
    return np.concatenate(images), np.concatenate(labels)
