"""What the script brings along: Fashion-MNIST, a network, a partition and channels.

Debian's package ``dataset-fashion-mnist`` holds the images.
"""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

FOLDER = Path("/usr/share/datasets/fashion-mnist")
DEVICES, ANTENNAS = 20, 6


def make_net() -> Any:
    """Return a small convolutional network with batch normalisation."""
    return nn.Sequential(
        *(nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8), nn.ReLU()),
        *(nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU()),
        *(nn.Flatten(), nn.Linear(16 * 49, 10)),
    )


def fashion(name: str, count: int, folder: Path = FOLDER) -> tuple[Any, Any]:
    """Return the first images and labels of ``train`` or ``t10k`` as tensors."""
    images = _read(folder / f"{name}-images-idx3-ubyte.gz", 16)[: count * 784]
    labels = _read(folder / f"{name}-labels-idx1-ubyte.gz", 8)[:count]
    pixels = torch.from_numpy(images.reshape(-1, 1, 28, 28).astype(np.float32) / 255 - 0.5)
    return pixels, torch.from_numpy(labels.astype(np.int64))


def dirichlet(labels: Any, skew: float = 0.3, seed: int = 1) -> list[NDArray[np.int64]]:
    """Divide the samples of every class among the devices in random proportions."""
    rng = np.random.default_rng(seed)
    parts: list[list[int]] = [[] for _ in range(DEVICES)]
    for label in range(10):
        samples = rng.permutation(np.flatnonzero(labels.numpy() == label))
        ends = (np.cumsum(rng.dirichlet(np.full(DEVICES, skew)))[:-1] * samples.size).astype(int)
        for part, some in zip(parts, np.split(samples, ends), strict=True):
            part.extend(some.tolist())
    # A device without data would have no weight.
    return [np.array(part or [device]) for device, part in enumerate(parts)]


def rayleigh(number: int, rng: np.random.Generator) -> NDArray[np.complex128]:
    """Return one round's channels: Rayleigh fading, and gains that differ by 20 dB."""
    gains = 10 ** (-np.linspace(0, 2, DEVICES) / 2)
    normal = rng.standard_normal((2, ANTENNAS, DEVICES)) / np.sqrt(2)
    return np.asarray(gains * (normal[0] + 1j * normal[1]))


def _read(file: Path, header: int) -> NDArray[np.uint8]:
    if not file.exists():
        raise FileNotFoundError(f"{file} is missing: apt-get install dataset-fashion-mnist")
    with gzip.open(file) as content:
        return np.frombuffer(content.read()[header:], np.uint8)
