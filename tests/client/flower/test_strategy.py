"""The strategy on a grid in process: who is asked, what is received, what goes wrong."""

import httpx
import numpy as np
import pytest

pytest.importorskip("flwr", reason="needs Flower: `make check-flower` runs it")

from flwr.app import Array, ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from airsched_client import InvalidRequestError, SchedulerClient
from airsched_client.federated.channels import Channels, NetworkParameters
from airsched_client.federated.waiting import Patience, ServiceDownError
from airsched_client.flower import NetworkSource, OverTheAirFedAvg, report_device
from tests.client.flower.grid import FakeGrid

NODES = 8
MODEL = ArrayRecord(
    {
        "weights": Array(np.arange(300.0).reshape(3, 100)),
        "bias": Array(np.array(0.5, np.float32)),
        "variance": Array(np.full(4, 1e-12)),
        "steps": Array(np.array(10)),
    }
)
# So little noise that the sum is exact to rounding; everyone strong enough to be served.
QUIET = {"noise_variance": 1e-20, "max_error": 1.0, "algorithm": "all_devices"}


def update(partition):
    """What a node adds to every weight."""
    return np.random.default_rng(partition).standard_normal((3, 100))


def samples(partition):
    return 10.0 * (1 + partition)


def make_app(trained=lambda partition, arrays: arrays):
    app = ClientApp()
    report_device(app, lambda context: samples(context.node_config["partition-id"]))

    @app.train()
    def train(message, context):
        partition = context.node_config["partition-id"]
        before = {name: array.numpy() for name, array in message.content["arrays"].items()}
        after = {
            "weights": before["weights"] + update(partition),
            "bias": before["bias"] + np.float32(partition),
            "variance": before["variance"] * (1 + partition),
            "steps": before["steps"] + partition,
        }
        arrays = ArrayRecord(
            {name: Array(np.asarray(v)) for name, v in trained(partition, after).items()}
        )
        metrics = MetricRecord({"num-examples": samples(partition), "norm": 1.0})
        return Message(RecordDict({"arrays": arrays, "metrics": metrics}), reply_to=message)

    return app


def strategy(scheduler, source=None, **options):
    schedule = options.pop("schedule", QUIET)
    source = source or NetworkSource(NetworkParameters(NODES, 4))
    return OverTheAirFedAvg(
        scheduler,
        source,
        schedule=schedule,
        over_the_air=lambda name, array: name != "variance",
        fraction_evaluate=0.0,
        **options,
    )


def one_round(built, grid, number=1):
    messages = list(built.configure_train(number, MODEL, ConfigRecord(), grid))
    return built.aggregate_train(number, grid.send_and_receive(messages))


def assert_mean_of(arrays, partitions):
    """The model after a round without noise is the mean of these nodes' models."""
    weights = [samples(partition) for partition in partitions]
    before = MODEL["weights"].numpy()
    expected = np.average([update(partition) for partition in partitions], axis=0, weights=weights)
    np.testing.assert_allclose(arrays["weights"].numpy(), before + expected, atol=1e-8)
    mean = np.average(partitions, weights=weights)
    assert arrays["bias"].numpy() == pytest.approx(0.5 + mean, rel=1e-6)
    assert arrays["bias"].numpy().dtype == np.float32
    # Digitally: exact, though the noise of the air would dwarf it.
    np.testing.assert_allclose(arrays["variance"].numpy(), 1e-12 * (1 + mean), rtol=1e-12)
    assert arrays["steps"].numpy() == round(10 + mean)
    assert arrays["steps"].numpy().dtype == MODEL["steps"].numpy().dtype
    assert arrays["steps"].numpy().shape == arrays["bias"].numpy().shape == ()


def test_without_noise_the_model_is_the_weighted_mean(scheduler):
    arrays, metrics = one_round(strategy(scheduler), FakeGrid(make_app(), NODES))
    assert_mean_of(arrays, range(NODES))
    assert metrics["air-schedule"] == list(range(NODES))
    assert metrics["norm"] == pytest.approx(1.0)


def test_only_scheduled_nodes_are_asked_to_train(scheduler):
    grid = FakeGrid(make_app(), NODES)
    _, metrics = one_round(strategy(scheduler, schedule={"gamma_db": 10.0}), grid)
    assert 0 < metrics["air-active"] < NODES
    assert grid.trained() == metrics["air-schedule"]
    assert metrics["air-sent"] == metrics["air-active"] == len(metrics["air-schedule"])
    assert metrics["air-devices"] == NODES


def test_the_error_reported_is_the_error_measured(scheduler):
    built = strategy(scheduler, schedule={"gamma_db": 10.0, "noise_variance": 2.5})
    grid = FakeGrid(make_app(), NODES)
    ratios = []
    for number in range(1, 31):
        _, metrics = one_round(built, grid, number)
        ratios.append(metrics["air-measured-error"] / metrics["air-computation-error"])
    # 30 rounds of 301 symbols; each squared complex error has a deviation of its own mean.
    assert np.mean(ratios) == pytest.approx(1.0, abs=4 / np.sqrt(30 * 301))


@pytest.mark.parametrize("trouble", ["failing", "late"])
def test_a_node_that_does_not_send_is_missing_from_sum_and_divisor(scheduler, trouble, caplog):
    grid = FakeGrid(make_app(), NODES, **{trouble: (1, 6)})
    arrays, metrics = one_round(strategy(scheduler), grid)
    assert_mean_of(arrays, [0, 2, 3, 4, 5, 7])
    assert (metrics["air-active"], metrics["air-sent"]) == (NODES, NODES - 2)
    assert caplog.text.count("sent no model: it is left out") == 2


def test_without_any_model_nothing_changes(scheduler):
    grid = FakeGrid(make_app(), NODES, failing=range(NODES))
    arrays, metrics = one_round(strategy(scheduler), grid)
    assert arrays is None
    assert (metrics["air-active"], metrics["air-sent"]) == (NODES, 0)


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (lambda after: after | {"weights": np.full((3, 100), np.nan)}, "not finite"),
        (lambda after: after | {"weights": np.zeros((2, 100))}, "other arrays"),
    ],
)
def test_a_broken_model_is_left_out(scheduler, caplog, broken, words):
    app = make_app(lambda partition, after: broken(after) if partition == 3 else after)
    arrays, _ = one_round(strategy(scheduler), FakeGrid(app, NODES))
    assert_mean_of(arrays, [0, 1, 2, 4, 5, 6, 7])
    assert words in caplog.text


def test_when_nobody_can_be_served_nobody_trains_and_the_model_stays(scheduler):
    built, grid = strategy(scheduler, schedule={"gamma_db": -90.0}), FakeGrid(make_app(), NODES)
    result = built.start(grid, MODEL, num_rounds=2)
    assert grid.trained() == []
    assert result.train_metrics_clientapp[2]["air-active"] == 0
    assert result.arrays == ArrayRecord()


def test_nodes_are_asked_once_unless_they_report_channels(scheduler):
    grid = FakeGrid(make_app(), NODES)
    strategy(scheduler).start(grid, MODEL, num_rounds=3)
    queries = [m for m in grid.messages if m.metadata.message_type == "query.airsched"]
    assert len(queries) == NODES


def test_a_node_that_does_not_describe_itself_is_left_out(scheduler, caplog):
    app = make_app()
    grid = FakeGrid(app, NODES)
    answer = grid._answer
    silent = next(node for node, partition in grid.partitions.items() if partition == 2)
    grid._answer = lambda m: None if m.metadata.dst_node_id == silent else answer(m)
    arrays, metrics = one_round(strategy(scheduler), grid)
    assert metrics["air-devices"] == NODES - 1
    assert_mean_of(arrays, [0, 1, 3, 4, 5, 6, 7])
    assert f"nodes [{silent}] did not describe themselves" in caplog.text


@pytest.mark.parametrize("count", [0.0, -1.0, np.nan, np.inf])
def test_a_node_without_samples_is_left_out(scheduler, count, caplog):
    app = ClientApp()
    report_device(app, lambda context: count)
    assert (
        list(strategy(scheduler).configure_train(1, MODEL, ConfigRecord(), FakeGrid(app, 2))) == []
    )
    assert "positive number of samples" in caplog.text


def test_a_node_without_the_report_is_left_out(scheduler, caplog):
    built, grid = strategy(scheduler), FakeGrid(ClientApp(), 2)
    assert one_round(built, grid) == (None, None)
    assert "failed to describe itself" in caplog.text


def test_every_option_reaches_the_service(scheduler):
    """Sent as they are, beside weights by samples, names by node, and a seed that rises."""
    seen = []

    def answer(request):
        seen.append(httpx.Response(200, json=None, content=request.content).json())
        return httpx.Response(503, json={"detail": "enough"})

    grid = FakeGrid(make_app(), NODES)
    schedule = {"gamma_db": 3.0, "algorithm": "dc", "polish": True, "csi_error": 0.1, "seed": 40}
    with SchedulerClient(
        "http://test", transport=httpx.MockTransport(answer), encoding="json", retries=0
    ) as client:
        built = strategy(client, schedule=schedule, patience=Patience(0.0))
        with pytest.raises(ServiceDownError):
            built.configure_train(3, MODEL, ConfigRecord(), grid)
    (sent,) = seen
    assert sent["polish"] is True
    assert sent["algorithm"] in ("dc", {"name": "dc"})
    assert (sent["gamma_db"], sent["csi_error"], sent["seed"]) == (3.0, 0.1, 42)
    expected = np.array([samples(partition) for partition in range(NODES)])
    np.testing.assert_allclose(sent["weights"], expected / expected.mean())
    by_partition = sorted(grid.partitions, key=grid.partitions.__getitem__)
    assert sent["device_ids"] == [str(node) for node in by_partition]


def test_options_can_change_from_round_to_round(scheduler):
    class Alternating(OverTheAirFedAvg):
        def schedule_options(self, server_round, devices):
            options = super().schedule_options(server_round, devices)
            return {**options, "gamma_db": -90.0 if server_round % 2 else 60.0}

    source = NetworkSource(NetworkParameters(NODES, 4))
    built = Alternating(scheduler, source, schedule={}, fraction_evaluate=0.0)
    result = built.start(FakeGrid(make_app(), NODES), MODEL, num_rounds=4)
    active = [result.train_metrics_clientapp[number]["air-active"] for number in range(1, 5)]
    assert active == [0, NODES, 0, NODES]


def test_a_service_that_is_down_is_waited_for_and_the_run_says_so(service_url, caplog):
    calls = []

    def flaky(request):
        calls.append(request)
        if len(calls) < 3:
            return httpx.Response(503, text="starting")
        return httpx.post(
            f"{service_url}{request.url.path}",
            content=request.content,
            headers={
                "content-type": request.headers["content-type"],
                "accept": request.headers["accept"],
            },
        )

    transport = httpx.MockTransport(flaky)
    with SchedulerClient("http://test", transport=transport, retries=0) as client:
        arrays, _ = one_round(strategy(client), FakeGrid(make_app(), NODES))
    assert_mean_of(arrays, range(NODES))
    assert caplog.text.count("trying again in") == 2


def test_a_request_that_the_service_refuses_ends_the_run(scheduler):
    built = strategy(scheduler, schedule={"gamma_db": 3.0, "algorithm": "no_such_one"})
    with pytest.raises(InvalidRequestError):
        built.start(FakeGrid(make_app(), NODES), MODEL, num_rounds=1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"schedule": {"gamma_db": 3.0, "weights": [1.0]}}, "the strategy itself sets weights"),
        ({"fraction_train": 0.5}, "the service decides who trains"),
    ],
)
def test_options_that_would_be_ignored_are_refused(scheduler, options, words):
    with pytest.raises(ValueError, match=words):
        strategy(scheduler, **options)


def test_a_model_that_sends_nothing_is_refused(scheduler):
    built, grid = strategy(scheduler), FakeGrid(make_app(), NODES)
    counters = ArrayRecord({"steps": Array(np.array([1, 2]))})
    with pytest.raises(ValueError, match="no array of the model goes over the air"):
        built.configure_train(1, counters, ConfigRecord(), grid)


def test_the_air_uses_the_true_channels_and_the_service_the_estimates(scheduler):
    """With wrong estimates, what arrives is not what the schedule promised."""

    class Wrong:
        reported = False

        def channels(self, server_round, devices):
            direct = (
                NetworkSource(NetworkParameters(NODES, 4)).channels(server_round, devices).direct
            )
            return Channels(direct, direct * np.exp(1j * np.arange(NODES)))

    _, metrics = one_round(
        strategy(scheduler, Wrong(), schedule={"gamma_db": 60.0, "noise_variance": 1e-9}),
        FakeGrid(make_app(), NODES),
    )
    assert metrics["air-measured-error"] > 1e3 * metrics["air-computation-error"]
