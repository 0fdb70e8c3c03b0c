"""Small experiments for the tests of the loop, and how two results are compared."""

import numpy as np

from airsched_client.federated.channels import NetworkParameters
from airsched_client.federated.experiment import Experiment

SMALL = Experiment(
    policies=("perfect", "dual_pursuit", "random", "round_robin", "proportional_fair"),
    gammas_db=(0.0, 15.0),
    seeds=(0, 3),
    rounds=3,
    noise_variance=0.1,
    network=NetworkParameters(devices=6, antennas=3),
    samples=120,
    epochs=1,
)


ONE = Experiment(
    policies=("matching_pursuit",), gammas_db=(15.0,), rounds=4, network=SMALL.network, samples=120
)


def assert_same(one, other):
    """Every byte of the results, every bit of the final models."""
    names = [sorted(file.name for file in (folder / "runs").iterdir()) for folder in (one, other)]
    assert names[0] == names[1]
    for name in names[0]:
        first, second = one / "runs" / name, other / "runs" / name
        if name.endswith("jsonl"):
            assert first.read_bytes() == second.read_bytes()
            continue
        with np.load(first) as mine, np.load(second) as theirs:
            assert mine.keys() == theirs.keys()
            for part in mine:
                np.testing.assert_array_equal(mine[part], theirs[part])
