"""The wrapper around Flower's own strategies."""

import numpy as np
import pytest

pytest.importorskip("flwr", reason="needs Flower: `make check-flower` runs it")

from flwr.app import Array, ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import strategy as flower

from airsched_client.federated.channels import NetworkParameters
from airsched_client.federated.traces import Trace
from airsched_client.flower import (
    Device,
    NetworkSource,
    OverTheAir,
    TraceSource,
    report_device,
)
from tests.client.flower.grid import FakeGrid

NODES = 6
QUIET = {"noise_variance": 1e-20, "max_error": 1.0, "algorithm": "all_devices"}
ALL = {"min_available_nodes": NODES, "fraction_evaluate": 0.0}


def start(counter=0):
    rng = np.random.default_rng(0)
    return ArrayRecord(
        {
            "conv.weight": Array(rng.standard_normal((20, 10)).astype(np.float32)),
            "norm.running_var": Array(np.ones(4, np.float32)),
            "norm.num_batches_tracked": Array(np.array(counter)),
        }
    )


def make_app():
    """Nodes that move towards targets of their own, as a gradient step would."""
    app = ClientApp()
    report_device(app, lambda context: 10.0 * (1 + context.node_config["partition-id"]))

    @app.train()
    def train(message, context):
        node = context.node_config["partition-id"]
        before = {name: array.numpy() for name, array in message.content["arrays"].items()}
        assert before["norm.num_batches_tracked"].dtype == np.int64
        target = np.random.default_rng([7, node]).standard_normal((20, 10))
        moved = 0.3 * (target - before["conv.weight"])
        pull = float(message.content["config"].get("proximal-mu", 0.0))
        after = {
            "conv.weight": (before["conv.weight"] + moved / (1 + pull)).astype(np.float32),
            "norm.running_var": before["norm.running_var"] * np.float32(1 + node),
            "norm.num_batches_tracked": before["norm.num_batches_tracked"] + 100,
        }
        arrays = ArrayRecord({name: Array(np.asarray(value)) for name, value in after.items()})
        metrics = MetricRecord({"num-examples": 10.0 * (1 + node)})
        return Message(RecordDict({"arrays": arrays, "metrics": metrics}), reply_to=message)

    return app


def source():
    return NetworkSource(NetworkParameters(NODES, 4))


def band():
    return NetworkSource(NetworkParameters(NODES, 4, subcarriers=3, taps=2))


INNER = {
    "FedAvg": lambda: flower.FedAvg(**ALL),
    "FedProx": lambda: flower.FedProx(proximal_mu=0.5, **ALL),
    "FedAvgM": lambda: flower.FedAvgM(server_momentum=0.5, **ALL),
    "FedAdam": lambda: flower.FedAdam(**ALL),
    "FedYogi": lambda: flower.FedYogi(**ALL),
    "FedAdagrad": lambda: flower.FedAdagrad(**ALL),
}


@pytest.mark.parametrize("name", INNER)
def test_without_noise_it_is_the_strategy_itself(scheduler, name):
    app, plain = make_app(), INNER[name]()
    wrapped = OverTheAir(INNER[name](), scheduler, source(), schedule=QUIET)
    ours = wrapped.start(FakeGrid(app, NODES), start(), num_rounds=4)
    theirs = plain.start(FakeGrid(tolerant(app), NODES), start(), num_rounds=4)
    np.testing.assert_allclose(
        ours.arrays["conv.weight"].numpy(), theirs.arrays["conv.weight"].numpy(), atol=2e-6
    )
    assert ours.train_metrics_clientapp[4]["air-sent"] == NODES


def tolerant(app):
    """The same nodes, given the types that Flower alone loses."""

    def call(message, context):
        if message.metadata.message_type.startswith("train"):
            arrays = message.content["arrays"]
            counter = arrays["norm.num_batches_tracked"].numpy()
            arrays["norm.num_batches_tracked"] = Array(np.asarray(np.rint(counter), np.int64))
        return app(message, context)

    return call


def test_types_stay_so_counters_never_go_over_the_air(scheduler):
    """From round 2 on, they would set the scale of the round, and the noise with it."""
    wrapped = OverTheAir(flower.FedAvg(**ALL), scheduler, source(), schedule=QUIET)
    result = wrapped.start(FakeGrid(make_app(), NODES), start(5), num_rounds=3)
    counter = result.arrays["norm.num_batches_tracked"].numpy()
    assert counter.dtype == np.int64
    assert counter == 5 + 300
    assert result.arrays["conv.weight"].numpy().dtype == np.float32


def test_statistics_of_normalisation_stay_off_the_air_by_default(scheduler):
    noisy = {"gamma_db": 60.0, "noise_variance": 1.0, "algorithm": "all_devices"}
    wrapped = OverTheAir(flower.FedAvg(**ALL), scheduler, source(), schedule=noisy)
    messages = wrapped.configure_train(1, start(), ConfigRecord(), grid := FakeGrid(make_app(), 6))
    arrays, _ = wrapped.aggregate_train(1, grid.send_and_receive(list(messages)))
    expected = np.average(range(1, NODES + 1), weights=range(1, NODES + 1))
    np.testing.assert_allclose(arrays["norm.running_var"].numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize(
    "name", ["FedMedian", "FedTrimmedAvg", "Krum", "MultiKrum", "Bulyan", "QFedAvg"]
)
def test_strategies_that_need_every_model_are_refused_by_name(scheduler, name):
    given = {"client_learning_rate": 0.1} if name == "QFedAvg" else {}
    inner = getattr(flower, name)(**given)
    with pytest.raises(ValueError, match=f"^{name} needs every node's model"):
        OverTheAir(inner, scheduler, source())


def test_privacy_of_the_server_is_refused_and_what_is_wrapped_too(scheduler):
    clipped = flower.DifferentialPrivacyServerSideFixedClipping(flower.FedAvg(), 0.1, 1.0, NODES)
    with pytest.raises(ValueError, match="DifferentialPrivacyServerSide"):
        OverTheAir(clipped, scheduler, source())
    with pytest.raises(ValueError, match="Krum"):
        OverTheAir(_holding(flower.Krum()), scheduler, source())


def _holding(inner):
    outer = flower.FedAvg()
    outer.strategy = inner
    return outer


def test_over_a_band_the_sum_lacks_only_those_who_failed(scheduler):
    """Without noise every coordinate is the mean of those who sent, whatever its subcarrier."""
    quiet = {"noise_variance": 1e-20, "max_error": 1.0}
    wrapped = OverTheAir(flower.FedAvg(**ALL), scheduler, band(), schedule=quiet)
    grid = FakeGrid(make_app(), NODES, failing=(2,))
    messages = list(wrapped.configure_train(1, start(), ConfigRecord(), grid))
    arrays, metrics = wrapped.aggregate_train(1, grid.send_and_receive(messages))
    assert (metrics["air-active"], metrics["air-sent"]) == (NODES, NODES - 1)
    senders = [k for k in range(NODES) if k != 2]
    before = start()["conv.weight"].numpy()
    targets = [np.random.default_rng([7, k]).standard_normal((20, 10)) for k in senders]
    steps = [0.3 * (target - before) for target in targets]
    expected = before + np.average(steps, axis=0, weights=[1 + k for k in senders])
    np.testing.assert_allclose(arrays["conv.weight"].numpy(), expected, atol=2e-6)


def test_a_band_needs_a_tolerance(scheduler):
    wrapped = OverTheAir(flower.FedAvg(**ALL), scheduler, band())
    with pytest.raises(ValueError, match="a band has no frontier to choose from: give a tolerance"):
        wrapped.configure_train(1, start(), ConfigRecord(), FakeGrid(make_app(), NODES))


def test_request_and_air_have_one_noise_variance(scheduler):
    class Louder(OverTheAir):
        def schedule_options(self, server_round, devices):
            return {**super().schedule_options(server_round, devices), "noise_variance": 50.0}

    options = {"gamma_db": 20.0, "algorithm": "all_devices"}
    wrapped = Louder(flower.FedAvg(**ALL), scheduler, source(), schedule=options)
    grid, ratios = FakeGrid(make_app(), NODES), []
    for number in range(1, 21):
        messages = list(wrapped.configure_train(number, start(), ConfigRecord(), grid))
        _, metrics = wrapped.aggregate_train(number, grid.send_and_receive(messages))
        ratios.append(metrics["air-measured-error"] / metrics["air-computation-error"])
    # 20 rounds of 200 symbols.
    assert np.mean(ratios) == pytest.approx(1.0, abs=5 / np.sqrt(20 * 200))


class Heard:
    """A scheduler that remembers the requests."""

    def __init__(self, scheduler):
        self._scheduler, self.requests, self.schedules = scheduler, [], []

    def with_options(self, **options):
        return self

    def schedule(self, channels, **options):
        self.requests.append((channels, options))
        self.schedules.append(self._scheduler.schedule(channels, **options))
        return self.schedules[-1]


def request_of(scheduler, given, **options):
    heard = Heard(scheduler)
    wrapped = OverTheAir(flower.FedAvg(**ALL), heard, given, schedule={"gamma_db": 20, **options})
    wrapped.configure_train(1, start(), ConfigRecord(), FakeGrid(make_app(), NODES))
    ((_, sent),) = heard.requests
    return wrapped, sent


def test_a_trace_is_sent_with_its_power_and_noise(scheduler, tmp_path):
    rng = np.random.default_rng(0)
    channels = (rng.standard_normal((3, 4, NODES)) + 1j) * 1e-6
    np.savez(tmp_path / "trace.npz", channels=channels, power=0.2, noise_variance=1e-13)
    trace = TraceSource(Trace.open(tmp_path / "trace.npz"))
    wrapped, sent = request_of(scheduler, trace)
    assert (sent["power"], sent["noise_variance"]) == (0.2, 1e-13)
    # And the air has the same.
    assert wrapped._round.noise_variance == 1e-13
    with pytest.raises(ValueError, match=r"go with noise_variance 1e-13, not 2\.0"):
        request_of(scheduler, trace, noise_variance=2.0)


def test_the_error_of_the_estimates_is_sent(scheduler):
    wrong = NetworkSource(NetworkParameters(NODES, 4, csi_error=0.01))
    assert request_of(scheduler, wrong)[1]["csi_error"] == 0.01
    assert "csi_error" not in request_of(scheduler, source())[1]


def test_the_fading_stays_for_the_coherence(scheduler):
    slow = NetworkSource(NetworkParameters(NODES, 4), seed=2, coherence=3)
    fast = NetworkSource(NetworkParameters(NODES, 4), seed=2)
    devices = [Device(k, 1.0, k) for k in range(NODES)]
    for number, expected in ((1, 1), (3, 1), (4, 2), (7, 3)):
        np.testing.assert_array_equal(
            slow.channels(number, devices).direct, fast.channels(expected, devices).direct
        )
    with pytest.raises(ValueError, match="coherence"):
        NetworkSource(coherence=0)


def test_the_optimiser_sees_the_noisy_mean_before_its_step(scheduler):
    """Noise after FedAdam's step would move every weight by far more than its learning rate."""
    noisy = {"gamma_db": 30.0, "noise_variance": 1.0, "algorithm": "all_devices"}
    adam = flower.FedAdam(eta=0.01, **ALL)
    wrapped = OverTheAir(adam, scheduler, source(), schedule=noisy)
    result = wrapped.start(FakeGrid(make_app(), NODES), start(), num_rounds=1)
    moved = result.arrays["conv.weight"].numpy() - start()["conv.weight"].numpy()
    assert np.abs(moved).max() < 0.1
    assert result.train_metrics_clientapp[1]["air-measured-error"] > 0.01


def test_the_last_receiver_is_sent_until_the_run_ends(scheduler):
    heard = Heard(scheduler)
    options = {"gamma_db": 10.0, "algorithm": "dual_pursuit"}
    wrapped = OverTheAir(flower.FedAvg(**ALL), heard, source(), schedule=options)
    for _ in range(2):
        wrapped.start(FakeGrid(make_app(), NODES), start(), num_rounds=3)
    starts = [options.get("warm_start") for _, options in heard.requests]
    for at, found in enumerate(starts):
        if at % 3 == 0:
            assert found is None
        else:
            np.testing.assert_array_equal(found, heard.schedules[at - 1].receiver)


def test_a_warm_start_of_your_own_is_sent_instead(scheduler):
    class Own(OverTheAir):
        def schedule_options(self, server_round, devices):
            return {**super().schedule_options(server_round, devices), "warm_start": np.ones(4)}

    heard = Heard(scheduler)
    wrapped = Own(flower.FedAvg(**ALL), heard, source(), schedule={"gamma_db": 10.0})
    wrapped.start(FakeGrid(make_app(), NODES), start(), num_rounds=2)
    for _, options in heard.requests:
        np.testing.assert_array_equal(options["warm_start"], np.ones(4))
