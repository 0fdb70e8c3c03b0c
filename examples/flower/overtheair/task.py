"""The model, the data and the training: torch and flwr-datasets, nothing of airsched."""

from functools import cache
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from flwr_datasets.partitioner import DirichletPartitioner
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader


class Net(nn.Module):
    """A small convolutional network for images of 8×8.

    Its normalisation has no running statistics: FedAdam and the like would step them too.
    """

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            *(nn.Conv2d(1, 16, 3, padding=1), nn.GroupNorm(4, 16), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(16, 32, 3, padding=1), nn.GroupNorm(4, 32), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Flatten(), nn.Linear(128, 10)),
        )

    def forward(self, images: Any) -> Any:
        """Return the scores of the ten classes."""
        return self.layers(images)


@cache
def digits() -> Any:
    """Return scikit-learn's digits, which need no hub, divided into ``train`` and ``test``.

    ``FederatedDataset(dataset="ylecun/mnist", partitioners={"train": …})`` of flwr-datasets takes
    one from the hub.
    """
    images, labels = load_digits(return_X_y=True)
    pixels = (images / 16 - 0.5).reshape(-1, 1, 8, 8).astype("float32")
    order = np.random.default_rng(0).permutation(len(labels))
    return {
        name: Dataset.from_dict({"image": pixels[part], "label": labels[part]}).with_format("torch")
        for name, part in (("train", order[360:]), ("test", order[:360]))
    }


@cache
def load_partition(partition_id: int, num_partitions: int, alpha: float, seed: int) -> Any:
    """Return one node's training samples."""
    return partitioner(num_partitions, alpha, seed).load_partition(partition_id)[:]


@cache
def partitioner(num_partitions: int, alpha: float, seed: int) -> Any:
    """Divide every class among the nodes in proportions of a Dirichlet distribution."""
    divided = DirichletPartitioner(
        num_partitions, partition_by="label", alpha=alpha, min_partition_size=2, seed=seed
    )
    divided.dataset = digits()["train"]
    return divided


def train(net: Any, data: Any, epochs: int, batch_size: int, rate: float, mu: float) -> float:
    """Train on one node and return the mean loss; ``mu`` is FedProx's pull to the global model."""
    samples = list(zip(data["image"], data["label"], strict=True))
    start = [parameter.detach().clone() for parameter in net.parameters()]
    optimizer = torch.optim.SGD(net.parameters(), lr=rate, momentum=0.9)
    total = 0.0
    net.train()
    for _ in range(epochs):
        for images, labels in DataLoader(samples, batch_size=batch_size, shuffle=True):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(images), labels)
            total += float(loss.detach()) * len(labels)
            if mu:
                away = sum(
                    ((p - s) ** 2).sum() for p, s in zip(net.parameters(), start, strict=True)
                )
                loss = loss + mu / 2 * away
            loss.backward()
            optimizer.step()
    return total / epochs / len(samples)


def test(net: Any) -> tuple[float, float]:
    """Return loss and accuracy on the test data."""
    data = digits()["test"][:]
    with torch.no_grad():
        scores = net.eval()(data["image"])
    loss = nn.functional.cross_entropy(scores, data["label"])
    return float(loss), float((scores.argmax(1) == data["label"]).double().mean())
