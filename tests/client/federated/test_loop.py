"""The loop against a real service: what it computes, how it goes on, how it waits."""

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace

import httpx
import numpy as np
import pytest

from airsched_client import (
    AnswerTimeoutError,
    DeadlineError,
    InvalidRequestError,
    Patience,
    SchedulerClient,
    ServiceDownError,
    _retry,
)
from airsched_client import client as client_module
from airsched_client.federated.__main__ import main
from airsched_client.federated.channels import Network, NetworkParameters
from airsched_client.federated.checkpoint import Model, RunFiles, read_records
from airsched_client.federated.comparison import compare
from airsched_client.federated.experiment import Experiment, Record
from airsched_client.federated.loop import Setting
from airsched_client.federated.priorities import ages
from airsched_client.federated.tasks import LocalRound, build

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


@pytest.fixture(scope="module")
def scheduler(service_url):
    with SchedulerClient(service_url) as scheduler:
        yield scheduler


@pytest.fixture(scope="module")
def uninterrupted(scheduler, tmp_path_factory):
    folder = tmp_path_factory.mktemp("uninterrupted")
    compare(SMALL, scheduler, folder)
    return folder


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


def test_auto_takes_the_best_point_of_each_round(scheduler, tmp_path):
    experiment = replace(SMALL, policies=("auto", "auto:participation=1000", "perfect"), seeds=(2,))
    assert [run.gamma_db for run in experiment.runs()] == [None, None, None]
    records = compare(experiment, scheduler, tmp_path).records
    setting = Setting(experiment, build("digits", None, 120, 1), 2)
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
        )
        best = frontier.best(1000.0 if "participation" in record.policy else 30.0)
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


def test_every_policy_tolerance_and_seed_has_all_rounds(uninterrupted):
    records = read_records(uninterrupted)
    runs = SMALL.runs()
    # perfect once a seed, the other four at two tolerances.
    assert len(runs) == 2 * (1 + 4 * 2)
    assert [(r.run, r.round) for r in records] == [(run, n) for run in runs for n in range(3)]
    for record in records:
        if record.policy == "perfect":
            assert record.active == tuple(range(6))
            assert record.computation_error is None
        elif record.active:
            assert record.computation_error <= 0.1 * 10 ** (record.gamma_db / 10) * (1 + 1e-9)
            # A mean over 2410 symbols.
            assert record.measured_error == pytest.approx(record.computation_error, rel=0.1)


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


@pytest.mark.parametrize("finished", [1, 3, 4, 20, 53])
def test_resumed_equals_uninterrupted(scheduler, uninterrupted, tmp_path, finished):
    counted = []

    def interrupt(record):
        counted.append(record)
        if len(counted) == finished:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare(SMALL, scheduler, tmp_path, on_round=interrupt)
    assert len(read_records(tmp_path)) == finished
    told = []
    compare(SMALL, scheduler, tmp_path, resume=True, on_round=told.append)
    assert len(told) == len(SMALL.runs()) * 3 - finished
    assert_same(tmp_path, uninterrupted)


def test_a_line_that_no_checkpoint_counts_is_done_again(scheduler, uninterrupted, tmp_path):
    def interrupt(record):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare(SMALL, scheduler, tmp_path, on_round=interrupt)
    with (tmp_path / "runs" / "perfect-seed0.jsonl").open("a") as file:
        file.write('{"policy": "perfect", "gam')
    compare(SMALL, scheduler, tmp_path, resume=True)
    assert_same(tmp_path, uninterrupted)


def test_resuming_what_is_complete_or_not_begun(scheduler, uninterrupted, tmp_path):
    told = []
    compare(SMALL, scheduler, uninterrupted, resume=True, on_round=told.append)
    assert told == []
    compare(ONE, scheduler, tmp_path / "new", resume=True, on_round=told.append)
    assert len(told) == 4


def test_results_are_never_overwritten_or_mixed(scheduler, uninterrupted):
    with pytest.raises(FileExistsError, match="resume"):
        compare(SMALL, scheduler, uninterrupted)
    with pytest.raises(ValueError, match="another noise_variance, epochs"):
        compare(ONE, scheduler, uninterrupted, resume=True)


def test_a_killed_process_resumes_bit_for_bit(service_url, tmp_path):
    command = [
        *("--url", service_url, "--devices", "6", "--antennas", "3", "--samples", "120"),
        *("--policies", "dual_pursuit", "random", "--gamma-db", "15", "--rounds", "20"),
        *("--epochs", "1"),
    ]
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert main([*command, "--output", str(whole)]) == 0
    process = subprocess.Popen(
        [sys.executable, "-m", "airsched_client.federated", *command, "--output", str(killed)],
        stdout=subprocess.DEVNULL,
    )
    give_up = time.monotonic() + 60
    lines = killed / "runs" / "dual_pursuit@15dB-seed0.jsonl"
    while not lines.exists() or lines.read_text().count("\n") < 5:
        assert time.monotonic() < give_up
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert main(["--url", service_url, "--output", str(killed), "--resume"]) == 0
    assert_same(whole, killed)


class Fragile(httpx.BaseTransport):
    """A way to the service that can be down, in one of several manners."""

    def __init__(self, manner):
        self.manner, self.down = manner, False
        self._real = httpx.HTTPTransport()

    def handle_request(self, request):
        if not self.down:
            return self._real.handle_request(request)
        if self.manner == "unreachable":
            raise httpx.ConnectError("refused", request=request)
        if self.manner == "silent":
            raise httpx.ReadTimeout("silence", request=request)
        if self.manner == "late":
            problem = {"type": "urn:airsched:problem:deadline-passed", "retryable": False}
            return httpx.Response(504, json=problem)
        status = {"overloaded": 503, "behind a gateway": 502, "slow gateway": 504}[self.manner]
        return httpx.Response(status, json={"detail": "not now"}, headers={"Retry-After": "7"})

    def close(self):
        self._real.close()


WAYS_TO_BE_DOWN = {
    "unreachable": 0,
    "silent": 0,
    "slow gateway": 0,
    "late": 0,
    "overloaded": 7,
    "behind a gateway": 7,
}
"""And the seconds that the service asks to wait for."""


SLOW = ("silent", "slow gateway", "late")


@pytest.mark.parametrize("manner", WAYS_TO_BE_DOWN)
def test_waits_while_the_service_is_down(service_url, scheduler, tmp_path, manner, monkeypatch):
    monkeypatch.setattr(_retry, "uniform", lambda low, high: high)
    compare(ONE, scheduler, tmp_path / "undisturbed")
    transport, slept, told = Fragile(manner), [], []
    times = 2 if manner in SLOW else 5

    def sleep(seconds):
        slept.append(seconds)
        if len(slept) % times == 0:
            transport.down = False

    def on_round(record):
        transport.down = True

    monkeypatch.setattr(client_module, "sleep", sleep)
    monkeypatch.setattr(client_module, "monotonic", lambda: 0.0)
    patience = Patience(tell=told.append)
    with SchedulerClient(service_url, retries=0, transport=transport) as fragile:
        compare(ONE, fragile, tmp_path / "waited", patience=patience, on_round=on_round)
    assert_same(tmp_path / "undisturbed", tmp_path / "waited")
    # Down before each of three rounds: the client's back-off, after what the service asks for.
    asked = WAYS_TO_BE_DOWN[manner]
    waits = (0.1, 0.2, 0.4, 0.8, 1.6)[:times]
    assert slept == pytest.approx(3 * [asked + wait for wait in waits])
    assert len(told) == len(slept)


@pytest.mark.parametrize("manner", SLOW)
def test_a_request_that_is_too_slow_is_not_repeated_for_minutes(service_url, manner, monkeypatch):
    """The same request fails again: two repeats, and then the loop ends."""
    transport, slept = Fragile(manner), []
    transport.down = True

    def sleep(seconds):
        slept.append(seconds)
        assert len(slept) <= 2

    monkeypatch.setattr(client_module, "sleep", sleep)
    patience, failures = Patience(600.0), (AnswerTimeoutError, DeadlineError)
    with (
        SchedulerClient(service_url, retries=patience, transport=transport) as slow,
        pytest.raises(failures),
    ):
        slow.schedule(np.ones((2, 3)), gamma=1)
    assert len(slept) == 2


def test_stops_when_the_service_stays_down_and_loses_nothing(
    service_url, scheduler, tmp_path, monkeypatch
):
    compare(ONE, scheduler, tmp_path / "undisturbed")
    transport, slept = Fragile("unreachable"), []

    def on_round(record):
        transport.down = record.round == 1

    with SchedulerClient(service_url, retries=0, transport=transport) as fragile:
        monkeypatch.setattr(client_module, "sleep", slept.append)
        monkeypatch.setattr(client_module, "monotonic", lambda: sum(slept))
        patience = Patience(total=60.0)
        with pytest.raises(ServiceDownError, match=r"down for 60 s.*127\.0\.0\.1"):
            compare(ONE, fragile, tmp_path / "left", patience=patience, on_round=on_round)
    assert sum(slept) == pytest.approx(60)
    assert [record.round for record in read_records(tmp_path / "left")] == [0, 1]
    compare(ONE, scheduler, tmp_path / "left", resume=True)
    assert_same(tmp_path / "undisturbed", tmp_path / "left")


def test_the_command_says_how_to_go_on(capsys, tmp_path):
    arguments = ["--url", "http://127.0.0.1:9", "--patience", "0", "--output", str(tmp_path)]
    assert main([*arguments, "--policies", "sdr"]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "was down for 0 s" in said
    assert "--resume" in said
    assert json.loads((tmp_path / "experiment.json").read_text())["policies"] == ["sdr"]


def test_an_invalid_request_is_not_repeated(scheduler, tmp_path, monkeypatch):
    experiment = Experiment(policies=("no_such",), network=SMALL.network, samples=120)
    slept = []
    monkeypatch.setattr(client_module, "sleep", slept.append)
    with pytest.raises(InvalidRequestError, match="algorithm"):
        compare(experiment, scheduler, tmp_path)
    assert slept == []


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


def test_a_checkpoint_without_its_lines_is_refused(tmp_path):
    (run,) = ONE.runs()
    files = RunFiles(tmp_path, run)
    assert files.model is None
    files.add(Record(*run, 0, (1,), 0.1, 0.1, 0.5, 1.0), Model(np.ones(3), np.zeros(2)))
    again = RunFiles(tmp_path, run)
    assert again.records == files.records
    np.testing.assert_array_equal(again.model.statistics, [0, 0])
    next((tmp_path / "runs").glob("*.jsonl")).write_text("")
    with pytest.raises(ValueError, match="lacks 1"):
        RunFiles(tmp_path, run)


def test_a_policy_may_carry_parameters(scheduler, tmp_path):
    policy = "matching_pursuit:delta=0.25,search=forward"
    expected = {"name": "matching_pursuit", "delta": 0.25, "search": "forward"}
    assert Experiment.algorithm(policy) == expected
    assert Experiment.algorithm("sdr") == {"name": "sdr"}
    experiment = Experiment(policies=(policy,), rounds=1, network=SMALL.network, samples=120)
    (record,) = compare(experiment, scheduler, tmp_path).records
    assert record.policy == policy
