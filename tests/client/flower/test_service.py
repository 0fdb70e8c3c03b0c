"""What the strategy asks of the service, and what it does when that fails."""

import httpx
import numpy as np
import pytest

pytest.importorskip("flwr", reason="needs Flower: `make check-flower` runs it")

from flwr.app import Array, ArrayRecord, ConfigRecord

from airsched_client import InvalidRequestError, Patience, SchedulerClient, ServiceDownError
from airsched_client.federated.channels import NetworkParameters
from airsched_client.flower import NetworkSource, OverTheAirFedAvg
from tests.client.flower.grid import FakeGrid
from tests.client.flower.learners import (
    MODEL,
    NODES,
    assert_mean_of,
    make_app,
    one_round,
    samples,
    strategy,
)


def test_every_option_reaches_the_service(scheduler):
    """Sent as they are, beside weights by samples, names by node, and a seed that rises."""
    seen = []

    def answer(request):
        seen.append(httpx.Response(200, json=None, content=request.content).json())
        return httpx.Response(503, json={"detail": "enough"})

    grid = FakeGrid(make_app(), NODES)
    schedule = {"gamma_db": 3.0, "algorithm": "dc", "polish": True, "csi_error": 0.1, "seed": 40}
    schedule["priorities"] = [float(k + 1) for k in range(NODES)]
    with SchedulerClient(
        "http://test", transport=httpx.MockTransport(answer), encoding="json", retries=0
    ) as client:
        built = strategy(client, schedule=schedule, patience=Patience(0.0))
        with pytest.raises(ServiceDownError):
            built.configure_train(3, MODEL, ConfigRecord(), grid)
    (sent,) = seen
    assert sent["polish"] is True
    assert sent["priorities"] == schedule["priorities"]
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
