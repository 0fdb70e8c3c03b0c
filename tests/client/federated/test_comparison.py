"""What users plug in: channels, parts, policies, stop rules; and runs one can live with."""

from dataclasses import replace

import numpy as np
import pytest

from airsched_client import AsyncSchedulerClient, SchedulerClient
from airsched_client.federated import (
    AirOptions,
    Evaluation,
    Experiment,
    NetworkParameters,
    Trace,
    compare,
    no_progress,
    reached,
    zero_forcing,
)
from airsched_client.federated.loop import Setting
from airsched_client.federated.tasks.digits import Digits

DEVICES = 5
PERFECT = Experiment(policies=("perfect",), rounds=3, network=NetworkParameters(DEVICES, 3))
OURS = replace(PERFECT, policies=("matched", "digital"), seeds=2, noise_variance=0.1)


def matched(channels, options):
    """Serve everyone with the strongest channel as the receiver."""
    matrix = channels.estimates
    strongest = int(np.argmax(np.linalg.norm(matrix, axis=0)))
    return zero_forcing(
        matrix,
        matrix[:, strongest],
        range(matrix.shape[1]),
        weights=options["weights"],
        power=options["power"],
        noise_variance=options["noise_variance"],
    )


OURS = replace(OURS, policies=(matched, "digital"))


class Mean:
    """Learn the mean of numbers: the least that a task can be."""

    def __init__(self, rate=1.0, parts=None):
        self.rate = rate
        self.parts = parts or np.split(np.arange(20), [2, 5, 9, 14])

    def initial(self, rng):
        return np.zeros(3)

    def train(self, model, local):
        assert local.samples is not None
        target = np.array([local.samples.mean(), local.device, local.round])
        return model + self.rate * (target - model)

    def evaluate(self, model):
        return Evaluation(float(np.sum((model[:1] - 9.5) ** 2)), float(-abs(model[0] - 9.5)))


def draw(number, rng):
    return rng.standard_normal((3, DEVICES)) + 1j * rng.standard_normal((3, DEVICES))


def array_of(rounds):
    rng = np.random.default_rng(9)
    return np.stack([draw(0, rng) for _ in range(rounds)])


def test_the_least_task_is_told_device_round_and_samples():
    result = compare(PERFECT, None, task=Mean(), channels=draw)
    # φ ∝ samples: the mean of all numbers, of the devices by weight, and the round.
    weights = [2, 3, 4, 5, 6]
    expected = [9.5, np.average(range(5), weights=weights), 2.0]
    np.testing.assert_allclose(result.model("perfect"), expected)
    assert [record.accuracy for record in result.records] == pytest.approx([0, 0, 0])


@pytest.mark.parametrize("shape", ["array", "trace", "path", "by seed"])
def test_channels_of_every_kind_are_those_of_the_array(shape, tmp_path):
    array = array_of(6)
    np.savez(tmp_path / "trace.npz", channels=array)
    source = {
        "array": array,
        "trace": Trace.open(tmp_path / "trace.npz"),
        "path": str(tmp_path / "trace.npz"),
        "by seed": array.reshape(2, 3, 3, DEVICES),
    }[shape]
    for seed in (0, 1):
        setting = Setting(OURS, Mean(), seed, source)
        for number in range(3):
            np.testing.assert_array_equal(setting.channels(number).direct, array[3 * seed + number])


def test_a_function_of_round_and_generator_gives_the_channels():
    setting = Setting(OURS, Mean(), 1, draw)
    expected = draw(2, np.random.default_rng([1, 3, 2]))
    np.testing.assert_array_equal(setting.channels(2).direct, expected)
    np.testing.assert_array_equal(setting.channels(2).direct, expected)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (array_of(5), "has 5 rounds, but 2 seeds need 3 each, 6 in all"),
        (array_of(3)[None], "channels for 1 seeds, but a seed 1"),
        (lambda number, rng: np.ones(3), r"antennas × devices.*shape \(3,\)"),
        (lambda number, rng: np.full((3, 5), np.nan), "finite numbers"),
        (lambda number, rng: draw(0, rng)[:, :4], "5 parts of the data, but 4 devices"),
    ],
)
def test_channels_that_do_not_fit_are_refused(source, words):
    with pytest.raises(ValueError, match=words):
        compare(OURS, None, task=Mean(), channels=source)


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ([[0], [1], [2], [3], []], "part of device 4"),
        ([[0], [1], [2], [3], [0.5]], "part of device 4"),
        ([[0]], "1 parts of the data, but 5 devices"),
    ],
)
def test_parts_that_do_not_fit_are_refused(parts, words):
    task = Mean(parts=[np.array(part) for part in parts])
    with pytest.raises(ValueError, match=words):
        compare(PERFECT, None, task=task, channels=draw)


def test_a_policy_of_ones_own_is_a_function():
    assert [run.policy for run in OURS.runs()] == ["matched", "digital"] * 2
    assert {run.gamma_db for run in OURS.runs()} == {None}
    digits = compare(OURS, None, task=Digits(samples=60, epochs=1), channels=draw)
    ours = [record for record in digits.records if record.policy == "matched"]
    ratios = [record.measured_error / record.computation_error for record in ours]
    # Six rounds of 2410 symbols.
    assert np.mean(ratios) == pytest.approx(1, abs=5 / np.sqrt(6 * 2410))


def test_zero_forcing_gives_every_device_its_weight():
    channels, rng = draw(0, np.random.default_rng(0)), np.random.default_rng(1)
    weights, receiver = np.linspace(0.5, 1.5, 5), rng.standard_normal(3) + 0j
    found = zero_forcing(channels, receiver, [3, 1], weights=weights, power=2.0, noise_variance=0.3)
    heard = found.receiver.conj() @ channels * found.transmit_scalars
    expected = np.where([False, True, False, True, False], weights, 0)
    np.testing.assert_allclose(heard / np.sqrt(found.power_factor), expected, atol=1e-12)
    assert np.abs(found.transmit_scalars).max() == pytest.approx(np.sqrt(2.0))
    assert found.computation_error == pytest.approx(0.3 / found.power_factor)
    with pytest.raises(ValueError, match="return None"):
        zero_forcing(channels, receiver, [])
    with pytest.raises(ValueError, match="does not hear"):
        zero_forcing(np.eye(3) + 0j, np.array([1.0, 0, 0]), [1])


def test_nobody_served_by_a_function_leaves_the_model():
    def nobody(channels, options):
        return None

    result = compare(replace(OURS, policies=(nobody,)), None, task=Mean(), channels=draw)
    np.testing.assert_array_equal(result.model("nobody"), 0)
    assert all(record.channel_uses == 0 for record in result.records)


def test_a_policy_of_the_service_needs_a_client():
    with pytest.raises(ValueError, match="dual_pursuit needs the service"):
        compare(replace(PERFECT, policies=("dual_pursuit",)), None, task=Mean(), channels=draw)


def test_final_models_are_kept_for_every_policy_and_seed(tmp_path):
    digits = Digits(samples=60, epochs=1)
    result = compare(OURS, None, tmp_path, task=digits, channels=draw)
    again = compare(OURS, None, tmp_path, task=digits, channels=draw, resume=True)
    for policy in ("matched", "digital"):
        for seed in (0, 1):
            last = [r for r in result.records if (r.policy, r.seed) == (policy, seed)][-1]
            found = digits.evaluate(result.model(policy, seed))
            assert found.accuracy == last.accuracy
            np.testing.assert_array_equal(result.model(policy, seed), again.model(policy, seed))
    with pytest.raises(KeyError, match="no run of auto with seed 0: there are digital"):
        result.model("auto")


def test_more_rounds_and_seeds_continue_a_finished_run(tmp_path):
    digits, told = Digits(samples=60, epochs=1), []
    short = replace(OURS, rounds=2, seeds=1)
    compare(short, None, tmp_path / "grown", task=digits, channels=draw)
    grown = compare(
        OURS, None, str(tmp_path / "grown"), task=digits, channels=draw, resume=True,
        on_round=told.append,
    )  # fmt: skip
    # One more round of two policies, and a whole new seed.
    assert len(told) == 2 + 2 * 3
    whole = compare(OURS, None, task=digits, channels=draw)
    assert grown.records == whole.records
    for policy in ("matched", "digital"):
        np.testing.assert_array_equal(grown.model(policy, 1), whole.model(policy, 1))


def test_a_trace_shared_by_seeds_is_not_continued_with_other_rounds(tmp_path):
    array = array_of(8)
    compare(OURS, None, tmp_path, task=Mean(), channels=array)
    with pytest.raises(ValueError, match="another number of rounds per seed of a trace"):
        compare(replace(OURS, rounds=4), None, tmp_path, task=Mean(), channels=array, resume=True)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"task": Digits(samples=60, epochs=2)}, "another task and its options"),
        ({"task": Mean()}, "another task and its options, initial model, partition of the data"),
        ({"channels": array_of(6)}, "another source of the channels"),
    ],
)
def test_continuing_with_something_else_is_noticed(change, words, tmp_path):
    given = {"task": Digits(samples=60, epochs=1), "channels": draw}
    compare(OURS, None, tmp_path, **given)
    with pytest.raises(ValueError, match=words):
        compare(OURS, None, tmp_path, resume=True, **{**given, **change})
    with pytest.raises(ValueError, match="another noise_variance"):
        compare(replace(OURS, noise_variance=3.0), None, tmp_path, resume=True, **given)


def test_options_of_the_built_in_tasks_are_refused_beside_a_task():
    with pytest.raises(ValueError, match="task= has its own samples, epochs"):
        compare(replace(PERFECT, samples=3, epochs=2), None, task=Mean(), channels=draw)


def test_side_by_side_gives_the_same(tmp_path):
    digits, told = Digits(samples=60, epochs=1), []
    alone = compare(OURS, None, task=digits, channels=draw)
    beside = compare(OURS, None, tmp_path, task=digits, channels=draw, jobs=2, on_round=told.append)
    assert beside.records == alone.records
    # Whichever run is finished first is told first, its rounds in their order.
    assert sorted(told, key=lambda record: OURS.runs().index(record.run)) == beside.records
    for seed in (0, 1):
        np.testing.assert_array_equal(beside.model("matched", seed), alone.model("matched", seed))


def test_a_client_can_go_to_another_process(service_url):
    import cloudpickle

    with SchedulerClient(service_url) as client:
        copy = cloudpickle.loads(cloudpickle.dumps(client.with_options(retries=0)))
        with copy:
            assert copy.schedule(np.ones((2, 3)), gamma=100).feasible


class Scripted(Mean):
    """A task whose accuracy is told."""

    def __init__(self, values):
        super().__init__()
        self.values = values

    def evaluate(self, model):
        # The third entry of the model is the round.
        return Evaluation(1.0, self.values[int(model[2])])


def test_runs_end_early():
    experiment = replace(PERFECT, rounds=8)
    values = [0.1, 0.5, 0.5, 0.4, 0.52, 0.51, 0.5, 0.9]
    for stop, rounds in [
        (no_progress(2), 4),
        (no_progress(3), 8),
        (no_progress(3, by=0.05), 5),
        (reached(0.5), 2),
        (reached(0.95), 8),
    ]:
        result = compare(experiment, None, task=Scripted(values), channels=draw, stop=stop)
        assert len(result.records) == rounds
        (summary,) = result.summaries()
        assert summary.accuracy.value == values[rounds - 1]


def test_a_run_that_ended_early_is_finished_when_continued(tmp_path):
    values, told = [0.1, 0.5, 0.6], []
    task = Scripted(values)
    given = {"task": task, "channels": draw, "stop": reached(0.5)}
    compare(PERFECT, None, tmp_path, **given)
    compare(PERFECT, None, tmp_path, resume=True, on_round=told.append, **given)
    assert told == []


def test_devices_say_how_often_and_how_well():
    digits = Digits(samples=100, epochs=2)
    result = compare(OURS, None, task=digits, channels=draw)
    devices = result.devices("matched", seed=1)
    assert [device.scheduled for device in devices] == [3] * DEVICES
    parts = Setting(OURS, digits, 1, draw).parts
    model = result.model("matched", seed=1)
    for device, part in zip(devices, parts, strict=True):
        _, logits = digits._forward(model, digits._images[part])
        right = np.mean(logits.argmax(axis=1) == digits.labels[part])
        assert (device.samples, device.accuracy) == (part.size, pytest.approx(right))
    assert compare(PERFECT, None, task=Mean(), channels=draw).devices("perfect")[0].accuracy is None


def test_pictures_over_rounds_channel_uses_and_energy(tmp_path):
    result = compare(OURS, None, task=Digits(samples=60, epochs=1), channels=draw)
    for x in ("round", "channel_uses", "energy"):
        assert result.plot(tmp_path / f"{x}.png", x=x).read_bytes().startswith(b"\x89PNG")
    alone = compare(PERFECT, None, task=Mean(), channels=draw)
    with pytest.raises(ValueError, match="no run with energy"):
        alone.plot(tmp_path / "no.png", x="energy")


def test_one_value_stands_for_a_list():
    assert Experiment(seeds=3).all_seeds == (0, 1, 2)
    assert Experiment(seeds=3) == Experiment(seeds=[0, 1, 2])
    assert Experiment(policies="auto") == Experiment(policies=["auto"])
    assert Experiment(policies=matched) == Experiment(policies=[matched])
    assert Experiment(gammas_db=5) == Experiment(gammas_db=[5.0])


def test_policies_with_one_name_are_refused():
    def auto(channels, options):
        """Has a name that is taken."""

    for policies in ((lambda c, o: None, lambda c, o: None), (auto,), (matched, "matched")):
        with pytest.raises(ValueError, match="there are two policies"):
            Experiment(policies=policies)
    assert Experiment(policies=(matched, matched)).names == ("matched",)


@pytest.mark.parametrize("wrong", ["http://127.0.0.1:8000", AsyncSchedulerClient("http://x")])
def test_what_is_no_client_is_refused(wrong):
    with pytest.raises(TypeError, match="with SchedulerClient"):
        compare(PERFECT, wrong, task=Mean(), channels=draw)


def test_diverging_numbers_do_not_crash_the_record(tmp_path):
    class Diverging(Mean):
        def evaluate(self, model):
            return Evaluation(float("inf"), float("-inf"), float("nan"))

    result = compare(PERFECT, None, tmp_path, task=Diverging(), channels=draw)
    assert result.records[-1].accuracy is None
    assert "overflow" in result.markdown()


def test_digital_is_exact_but_takes_channel_uses():
    digits = Digits(samples=100, epochs=1)
    experiment = replace(
        PERFECT, policies=("perfect", "digital"), rounds=2, air=AirOptions(digital_bits=24)
    )
    result = compare(experiment, None, task=digits, channels=draw)
    np.testing.assert_allclose(result.model("digital"), result.model("perfect"), atol=1e-6)
    record = next(r for r in result.records if r.policy == "digital")
    matrix = draw(0, np.random.default_rng([0, 3, 0]))
    rates = np.log2(1 + np.sum(np.abs(matrix) ** 2, axis=0))
    # Every device its 24 bits for each of 2410 entries, one after the other.
    assert record.channel_uses == int(np.ceil(24 * 2410 * np.sum(1 / rates)))
    assert record.energy == pytest.approx(24 * 2410 * np.sum(1 / rates))
