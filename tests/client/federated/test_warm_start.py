"""The loop sends the last round's receiver: one more start for the service's search."""

from dataclasses import replace

import numpy as np
import pytest

from airsched_client.federated.channels import NetworkParameters
from airsched_client.federated.comparison import compare
from airsched_client.federated.experiment import Experiment

SMALL = Experiment(
    policies=("dual_pursuit", "auto", "matching_pursuit"),
    gammas_db=(5.0,),
    seeds=2,
    rounds=4,
    noise_variance=0.1,
    network=NetworkParameters(devices=6, antennas=3),
    samples=120,
    epochs=1,
)


class Listening:
    """A scheduler that remembers the warm starts, and the receivers that it returned."""

    def __init__(self, scheduler):
        self._scheduler, self.starts, self.receivers = scheduler, [], []

    def with_options(self, **options):
        return self

    def schedule(self, channels, **options):
        return self._note(options, self._scheduler.schedule(channels, **options))

    def schedule_wideband(self, channels, **options):
        return self._note(options, self._scheduler.schedule_wideband(channels, **options))

    def schedule_irs(self, *channels, **options):
        return self._note(options, self._scheduler.schedule_irs(*channels, **options))

    def schedule_frontier(self, channels, **options):
        frontier = self._scheduler.schedule_frontier(channels, **options)
        self._note(options, frontier.best())
        return frontier

    def _note(self, options, schedule):
        self.starts.append(options.get("warm_start"))
        self.receivers.append(getattr(schedule, "receivers", None))
        if self.receivers[-1] is None:
            self.receivers[-1] = schedule.receiver
        return schedule


@pytest.mark.parametrize(
    "experiment",
    [
        SMALL,
        replace(
            SMALL,
            policies=("dual_pursuit",),
            network=replace(SMALL.network, subcarriers=2, taps=2),
        ),
        replace(SMALL, policies=("dual_pursuit",), network=replace(SMALL.network, elements=4)),
    ],
    ids=["plain", "band", "surface"],
)
def test_every_run_sends_its_own_last_receiver(scheduler, experiment):
    listening = Listening(scheduler)
    compare(experiment, listening)
    assert len(listening.starts) == 4 * len(experiment.runs())
    for at, start in enumerate(listening.starts):
        if at % 4 == 0:
            assert start is None
        else:
            np.testing.assert_array_equal(start, listening.receivers[at - 1])


def test_a_resumed_run_sends_it_as_well(scheduler, tmp_path):
    one = replace(SMALL, policies=("dual_pursuit",), seeds=(0,))
    whole, later = Listening(scheduler), Listening(scheduler)
    compare(one, whole)
    compare(replace(one, rounds=2), scheduler, tmp_path)
    compare(one, later, tmp_path, resume=True)
    assert len(later.starts) == 2
    np.testing.assert_array_equal(later.starts, whole.starts[2:])


def test_nobody_served_keeps_the_receiver_before(scheduler):
    def now_and_then(number, rng):
        return (number != 1) * (rng.standard_normal((3, 6)) + 1j)

    listening = Listening(scheduler)
    one = replace(SMALL, policies=("dual_pursuit",), seeds=1)
    compare(one, listening, channels=now_and_then)
    assert listening.receivers[1] is None
    np.testing.assert_array_equal(listening.starts[2], listening.receivers[0])


def test_channels_of_another_size_begin_anew(scheduler):
    def growing(number, rng):
        return rng.standard_normal((3 if number < 2 else 4, 6)) + 1j

    listening = Listening(scheduler)
    compare(replace(SMALL, policies=("dual_pursuit",), seeds=1), listening, channels=growing)
    sent = [None if start is None else start.size for start in listening.starts]
    assert sent == [None, 3, None, 4]


def test_with_the_same_channels_nobody_is_lost(scheduler):
    """The service's promise, round by round: the least effort finds different sets otherwise."""
    still = replace(
        SMALL,
        policies=("dual_pursuit:starts=1",),
        seeds=6,
        rounds=6,
        coherence=6,
        network=NetworkParameters(devices=20, antennas=6),
    )
    records = compare(still, scheduler).records
    for run in still.runs():
        served = [len(record.active) for record in records if record.run == run]
        assert served == sorted(served)
