"""``python -m examples.own_model.memory``: the memory that a round of a ResNet-18 takes.

Twenty devices with one batch of four images each train for two rounds, each case in a separate
process. Starts a service. Prints peaks of resident memory, and what is left when the peak without
any round is taken off.
"""

import resource
import sys
from functools import partial
from itertools import pairwise
from multiprocessing import get_context
from typing import Any

import numpy as np
import torch
from torch import nn

from airsched_client import SchedulerClient
from airsched_client.federated import Experiment, LocalRound, TorchTask, compare
from lab.service import running_command

DEVICES, BATCH = 20, 4
_MIB = 1024


class Block(nn.Module):  # type: ignore[misc]
    """Two convolutions with a shortcut around them."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            *(nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs)),
            nn.ReLU(),
            *(nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs)),
        )
        shortcut = nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
        self.shortcut = nn.Sequential(*(() if inputs == outputs else shortcut))

    def forward(self, images: Any) -> Any:
        """Return the features."""
        return torch.relu(self.body(images) + self.shortcut(images))


def resnet18() -> Any:
    """Return a ResNet-18 for images of 32×32: 11,173,962 parameters."""
    widths = (64, 64, 64, 128, 128, 256, 256, 512, 512)
    blocks = [Block(one, other, 1 if one == other else 2) for one, other in pairwise(widths)]
    head = (nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))
    first = (nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU())
    return nn.Sequential(*first, *blocks, *head)


def peak(policy: str | None, url: str) -> tuple[int, int, int]:
    """Return the parameters of the model, the devices of the last round, and the peak in MiB.

    Without a policy one device trains and the model is evaluated, but nothing is sent.
    """
    torch.set_num_threads(1)
    images = torch.randn(DEVICES * BATCH, 3, 32, 32)
    data = images, torch.arange(DEVICES * BATCH) % 10
    parts = list(np.arange(DEVICES * BATCH).reshape(DEVICES, BATCH))
    sgd = partial(torch.optim.SGD, lr=0.01)
    task = TorchTask(resnet18, data, data, parts=parts, batch_size=BATCH, optimizer=sgd)
    model = task.initial(np.random.default_rng(0))
    active = 0
    if policy is None:
        task.train(model, LocalRound(0, 0, parts[0], (), np.random.default_rng(0)))
        task.evaluate(model)
    else:
        experiment = Experiment(policies=(policy,), rounds=2)
        with SchedulerClient(url) as client:
            active = len(compare(experiment, client, task=task).records[-1].active)
    return model.size, active, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // _MIB


def main() -> int:
    """Measure every case; fail if one takes 2 GiB beside the model."""
    processes = get_context("spawn")
    worst = 0
    with running_command(log_level="warning") as (_, url):
        before = None
        for policy in (None, "perfect", "digital", "all_devices"):
            with processes.Pool(1) as pool:
                size, active, found = pool.apply(peak, (policy, url))
            before = found if before is None else before
            worst = max(worst, found - before)
            print(
                f"{policy or 'no round':12} D = {size:,}, |S| = {active:2}:"
                f" {found} MiB, {found - before} MiB beside the model"
            )
    return int(worst >= 2 * _MIB)


if __name__ == "__main__":
    sys.exit(main())
