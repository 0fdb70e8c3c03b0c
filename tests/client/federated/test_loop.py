"""The loop against a real service: what it computes, and what it asks the service."""

from dataclasses import replace

import numpy as np
import pytest

from airsched_client.federated.channels import Network, NetworkParameters
from airsched_client.federated.checkpoint import read_records
from airsched_client.federated.comparison import compare
from airsched_client.federated.experiment import Experiment, Record
from airsched_client.federated.loop import Setting
from airsched_client.federated.priorities import ages
from airsched_client.federated.tasks import LocalRound, build
from tests.client.federated.small import ONE, SMALL


def test_auto_takes_the_best_point_of_each_round(scheduler, tmp_path):
    experiment = replace(SMALL, policies=("auto", "auto:participation=1000", "perfect"), seeds=(2,))
    assert [run.gamma_db for run in experiment.runs()] == [None, None, None]
    records = compare(experiment, scheduler, tmp_path).records
    setting = Setting(experiment, build("digits", None, 120, 1), 2)
    receivers = {}
    for record in records:
        if record.policy == "perfect":
            continue
        rng = np.random.default_rng([2, 3, record.round])
        network = Network(experiment.network, np.random.default_rng([2, 0]))
        frontier = scheduler.schedule_frontier(
            network.fade(rng).direct,
            weights=setting.weights,
            noise_variance=0.1,
            seed=2_000_000 + record.round,
            warm_start=receivers.get(record.policy),
        )
        best = frontier.best(1000.0 if "participation" in record.policy else 30.0)
        receivers[record.policy] = best.receiver
        assert record.active == tuple(best.active.tolist())
        assert record.computation_error == best.computation_error


class Watched:
    """A scheduler that remembers the priorities it was asked with."""

    def __init__(self, scheduler):
        self._scheduler, self.priorities = scheduler, []

    def with_options(self, **options):
        return self

    def schedule(self, channels, **options):
        self.priorities.append(options.get("priorities"))
        return self._scheduler.schedule(channels, **options)


def test_priorities_by_age_and_weight(scheduler, tmp_path):
    policies = ("dual_pursuit", "dual_pursuit:priorities=age", "dual_pursuit:priorities=weight")
    experiment = replace(SMALL, policies=policies, gammas_db=(15.0,), seeds=(0,), rounds=4)
    watched = Watched(scheduler)
    records = compare(experiment, watched, tmp_path).records
    weights = Setting(experiment, build("digits", None, 120, 1), 0).weights
    assert watched.priorities[:4] == [None] * 4
    for number in range(4):
        np.testing.assert_array_equal(
            watched.priorities[4 + number], ages(6, records[4 : 4 + number])
        )
        np.testing.assert_array_equal(watched.priorities[8 + number], weights)
    # Otherwise nobody has aged.
    assert np.ptp(watched.priorities[7]) > 0
    with pytest.raises(ValueError, match="one of age, weight"):
        compare(
            replace(experiment, policies=("auto:priorities=luck",)), scheduler, tmp_path / "other"
        )


def test_ages_count_from_the_last_round_a_device_took_part():
    before = [
        Record("sdr", 0.0, 0, number, active, 1.0, 1.0, 0.5, 0.5)
        for number, active in enumerate([(0, 1), (1,), (2,)])
    ]
    assert ages(4, before).tolist() == [3.0, 2.0, 1.0, 4.0]
    assert ages(2, []).tolist() == [1.0, 1.0]


def test_auto_needs_channels_without_a_surface():
    surface = NetworkParameters(devices=6, antennas=3, elements=2)
    with pytest.raises(ValueError, match="auto cannot tune"):
        replace(SMALL, policies=("auto:participation=3",), network=surface)


def test_perfect_is_federated_averaging(scheduler, tmp_path):
    experiment = Experiment(
        policies=("perfect",), rounds=1, network=SMALL.network, samples=120, epochs=1
    )
    task = build("digits", samples=120, epochs=1)
    result = compare(experiment, scheduler, tmp_path)
    setting = Setting(experiment, task, 0)
    start = task.initial(np.random.default_rng([0, 2]))
    # By hand: every device from the same model, weighted by what it has.
    parts = setting.parts
    models = [
        task.train(start, LocalRound(device, 0, part, [], np.random.default_rng([0, 4, 0, device])))
        for device, part in enumerate(parts)
    ]
    expected = np.average(models, axis=0, weights=[part.size for part in parts])
    np.testing.assert_allclose(result.model("perfect"), expected, atol=1e-12)


def test_without_noise_and_with_everyone_the_air_is_perfect(scheduler, tmp_path):
    experiment = Experiment(
        policies=("perfect", "all_devices"),
        rounds=2,
        network=SMALL.network,
        noise_variance=1e-20,
        samples=120,
        epochs=1,
    )
    perfect, over_the_air = [], []
    for record in compare(experiment, scheduler, tmp_path).records:
        (perfect if record.policy == "perfect" else over_the_air).append(record.loss)
    np.testing.assert_allclose(over_the_air, perfect, rtol=1e-8)


def test_fading_stays_for_the_coherence(scheduler, tmp_path):
    experiment = Experiment(
        policies=("matching_pursuit",),
        gammas_db=(15.0,),
        rounds=5,
        coherence=2,
        network=SMALL.network,
        samples=120,
        epochs=1,
    )
    records = compare(experiment, scheduler, tmp_path).records
    errors = [record.computation_error for record in records]
    assert errors[0] == errors[1] != errors[2] == errors[3] != errors[4]
    # The noise is another one all the same.
    assert records[0].measured_error != pytest.approx(records[1].measured_error, rel=1e-6)
    with pytest.raises(ValueError, match="coherence"):
        Experiment(coherence=0)


def test_a_task_can_be_given(scheduler, tmp_path):
    given = build("digits", samples=120, epochs=1)
    without = replace(ONE, samples=None)
    found = compare(without, scheduler, tmp_path / "given", task=given)
    named = compare(replace(ONE, epochs=1), scheduler, tmp_path / "named")
    assert found.records == named.records


def test_nobody_active_leaves_the_model(scheduler, tmp_path):
    experiment = Experiment(
        policies=("dual_pursuit",), gammas_db=(-80.0,), rounds=2, network=SMALL.network, samples=120
    )
    first, second = compare(experiment, scheduler, tmp_path).records
    assert first.active == ()
    assert first.measured_error is None
    assert (first.loss, first.accuracy) == (second.loss, second.accuracy)


def test_too_much_noise_is_recorded_and_not_an_error(scheduler, tmp_path):
    experiment = Experiment(
        policies=("all_devices",),
        rounds=12,
        network=SMALL.network,
        samples=120,
        noise_variance=1e30,
    )
    records = compare(experiment, scheduler, tmp_path).records
    assert records[-1].loss is None
    assert read_records(tmp_path) == records


class Listening:
    """A scheduler that remembers what it was asked."""

    def __init__(self, scheduler):
        self._scheduler, self.asked = scheduler, []

    def with_options(self, **options):
        return self

    def schedule(self, channels, **options):
        self.asked.append((channels, options))
        return self._scheduler.schedule(channels, **options)


def test_the_stateless_service_is_told_of_earlier_rounds(scheduler, tmp_path):
    experiment = Experiment(
        policies=("round_robin", "proportional_fair", "random"),
        gammas_db=(15.0,),
        rounds=4,
        network=SMALL.network,
        samples=120,
        epochs=1,
    )
    listening = Listening(scheduler)
    records = compare(experiment, listening, tmp_path).records
    algorithms = [options["algorithm"] for _, options in listening.asked]
    # Round robin goes on behind those who had their turn.
    turns = np.cumsum([max(len(record.active), 1) for record in records[:4]])
    assert [one["start"] for one in algorithms[:4]] == [0, *(turns[:3] % 6).tolist()]
    # Proportional fair compares with the long run, which many rounds of fading give as well.
    network = Network(SMALL.network, np.random.default_rng([0, 0]))
    rng = np.random.default_rng(1)
    gains = [np.sum(np.abs(network.fade(rng).direct) ** 2, axis=0) for _ in range(5000)]
    for one in algorithms[4:8]:
        np.testing.assert_allclose(one["average_gains"], np.mean(gains, axis=0), rtol=0.05)
    # Random draws anew in every round, and all policies meet the same fading.
    assert len({options["seed"] for _, options in listening.asked[8:]}) == 4
    for number in range(4):
        for policy in (1, 2):
            np.testing.assert_array_equal(
                listening.asked[number][0], listening.asked[number + 4 * policy][0]
            )


def test_round_robin_goes_on_after_a_round_without_anyone(scheduler, tmp_path):
    """Otherwise the same device, out of reach, would come first forever."""
    experiment = Experiment(
        policies=("round_robin",),
        gammas_db=(-80.0,),
        rounds=8,
        network=SMALL.network,
        samples=120,
        epochs=1,
    )
    listening = Listening(scheduler)
    records = compare(experiment, listening, tmp_path).records
    assert not any(record.active for record in records)
    starts = [options["algorithm"]["start"] for _, options in listening.asked]
    assert starts == [0, 1, 2, 3, 4, 5, 0, 1]


def test_wrong_estimates_are_scheduled_and_the_true_channels_transmit(scheduler, tmp_path):
    experiment = Experiment(
        policies=("dual_pursuit",),
        gammas_db=(90.0,),
        rounds=2,
        noise_variance=1e-9,
        network=NetworkParameters(devices=6, antennas=3, csi_error=0.01),
        samples=120,
    )
    listening = Listening(scheduler)
    records = compare(experiment, listening, tmp_path).records
    network = Network(experiment.network, np.random.default_rng([0, 0]))
    for record, (channels, options) in zip(records, listening.asked, strict=True):
        fading = network.fade(np.random.default_rng([0, 3, record.round]))
        np.testing.assert_array_equal(channels, fading.estimates)
        assert options["csi_error"] == 0.01
        # With so little noise, nearly all of it is what the estimates get wrong.
        assert 0 < record.measured_error <= record.computation_error


def test_a_surface_is_tuned_and_sent_through(scheduler, tmp_path):
    experiment = Experiment(
        policies=("matching_pursuit", "no_irs"),
        gammas_db=(5.0,),
        rounds=2,
        noise_variance=0.1,
        network=NetworkParameters(devices=6, antennas=3, elements=24, irs_distance=20.0),
        samples=120,
        epochs=1,
    )
    records = compare(experiment, scheduler, tmp_path).records
    assert all(record.active for record in records)
    for record in records:
        # The error is right only through the channel that the receiver was made for.
        assert record.measured_error == pytest.approx(record.computation_error, rel=0.1)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"policies": ()}, "policy"),
        ({"rounds": 0}, "round"),
        ({"seeds": (-1,)}, "seeds"),
        ({"noise_variance": 0.0}, "noise_variance"),
    ],
)
def test_impossible_experiments_are_refused(wrong, words):
    with pytest.raises(ValueError, match=words):
        Experiment(**wrong)


def test_a_policy_may_carry_parameters(scheduler, tmp_path):
    policy = "matching_pursuit:delta=0.25,search=forward"
    expected = {"name": "matching_pursuit", "delta": 0.25, "search": "forward"}
    assert Experiment.algorithm(policy) == expected
    assert Experiment.algorithm("sdr") == {"name": "sdr"}
    experiment = Experiment(policies=(policy,), rounds=1, network=SMALL.network, samples=120)
    (record,) = compare(experiment, scheduler, tmp_path).records
    assert record.policy == policy
