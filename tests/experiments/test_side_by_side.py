"""Runs side by side against the client's loop, and their noise against the air."""

from contextlib import nullcontext

import numpy as np
import pytest

from airsched_client import SchedulerClient
from airsched_client.federated.air import aggregate
from airsched_client.federated.channels import Channels
from airsched_client.federated.comparison import compare
from airsched_client.federated.experiment import Experiment
from experiments import side_by_side
from experiments.patches import Patches
from experiments.side_by_side import Run, mean, schedule, train_together
from lab.problems import network_problems
from tests.client.federated.test_tasks import batches


def test_without_noise_they_are_the_runs_of_the_loop(service_url, tmp_path, monkeypatch):
    batches(tmp_path / "cifar-10-batches-py", per_batch=60)
    monkeypatch.setattr(
        side_by_side, "running_command", lambda **settings: nullcontext((None, service_url))
    )
    experiment = Experiment(
        policies=("perfect", "matching_pursuit", "dual_pursuit"),
        gammas_db=(5.0, 20.0),
        seeds=(3,),
        rounds=4,
        coherence=2,
        noise_variance=1e-20,
    )
    with SchedulerClient(service_url) as client:
        task = Patches(tmp_path, samples=200, epochs=1)
        records = compare(experiment, client, tmp_path / "loop", task=task).records
    runs = [Run(run.policy, run.gamma_db) for run in experiment.runs()]
    found = train_together(3, runs, 200, 4, 2, data=str(tmp_path))
    for run, accuracies in zip(experiment.runs(), found, strict=True):
        wanted = [record.accuracy for record in records if record.run == run]
        # Sums in another order may turn one of the 60 test images.
        assert accuracies == pytest.approx(wanted[1::2], abs=1.01 / 60)
    assert len({tuple(each) for each in found}) > 1


def test_the_noise_is_that_of_the_air(service_url):
    (problem,) = network_problems(1, 6, 20, 15.0, seed=8)
    channels, weights = problem.channels, problem.weights
    rng = np.random.default_rng(0)
    given = Channels(channels, channels)
    run = Run("matching_pursuit", 15.0, noise_variance=0.3)
    with SchedulerClient(service_url) as client:
        requested = client.schedule(
            channels, gamma_db=15.0, weights=weights, noise_variance=run.noise_variance
        )
        own = schedule(run, given, weights, client)
        tolerated = schedule(run._replace(noise="tolerated"), given, weights, client)
        silent = schedule(run._replace(noise_variance=0.0), given, weights, client)
    assert own.active.tolist() == tolerated.active.tolist() == requested.active.tolist()
    assert own.error == requested.computation_error
    assert tolerated.error == pytest.approx(0.3 * 10**1.5)
    assert silent.error == 0.0
    updates = rng.standard_normal((requested.active.size, 40_000)) * 10 ** rng.uniform(-1, 0)
    phi = weights[requested.active]
    received = aggregate(channels, requested, weights, updates, run.noise_variance, rng)
    sent = received.mean
    ours = mean(
        (phi @ updates)[:, None],
        np.array([received.scale]),
        np.array([phi.sum()]),
        [own.error],
        rng.standard_normal(40_000),
    )[:, 0]
    exact = phi @ updates / phi.sum()
    # The deviation of 40,000 samples is known to 0.35 %.
    assert np.std(ours - exact) == pytest.approx(np.std(sent - exact), rel=0.02)
    assert abs(np.mean(ours - exact)) < 5 * np.std(ours - exact) / np.sqrt(40_000)


def test_where_nobody_takes_part_the_model_stays():
    added = mean(np.zeros((3, 2)), np.zeros(2), np.array([0.0, 1.0]), [0.0, 0.0], np.ones(3))
    assert not added.any()
