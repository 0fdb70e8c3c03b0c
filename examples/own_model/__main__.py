"""``python -m examples.own_model``: compare policies for a network of one's own.

Needs a service at ``AIRSCHED_URL``, torch, and Debian's package ``dataset-fashion-mnist``.
"""

import argparse
import sys

from torch.optim import SGD

from airsched_client import SchedulerClient
from airsched_client.federated import Experiment, TorchTask, compare
from examples.own_model.data import dirichlet, fashion, make_net, rayleigh


def main() -> int:
    """Run it; an interrupted run continues where it was."""
    parser = argparse.ArgumentParser(prog="python -m examples.own_model", description=__doc__)
    parser.add_argument("--output", default="build/own_model", help="folder of the results")
    output = parser.parse_args().output
    train, test = fashion("train", 6000), fashion("t10k", 2000)
    sgd = {"lr": 0.05, "momentum": 0.9}
    parts = dirichlet(train[1])
    task = TorchTask(make_net, train, test, parts=parts, optimizer=lambda p: SGD(p, **sgd))
    policies = ("perfect", "auto", "dual_pursuit", "matching_pursuit")
    experiment = Experiment(policies=policies, rounds=10, seeds=5)
    with SchedulerClient() as client:
        result = compare(experiment, client, output, task=task, channels=rayleigh, resume=True)
    result.table()
    result.plot(f"{output}/accuracy.png")
    print(result.model("auto", seed=0))
    return 0


if __name__ == "__main__":
    sys.exit(main())
