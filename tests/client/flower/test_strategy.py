"""The strategy on a grid in process: who is asked, what is received, what goes wrong."""

import numpy as np
import pytest

pytest.importorskip("flwr", reason="needs Flower: `make check-flower` runs it")

from flwr.app import ArrayRecord, ConfigRecord
from flwr.clientapp import ClientApp

from airsched_client.federated.channels import Channels, NetworkParameters
from airsched_client.flower import NetworkSource, OverTheAirFedAvg, report_device
from tests.client.flower.grid import FakeGrid
from tests.client.flower.learners import (
    MODEL,
    NODES,
    QUIET,
    assert_mean_of,
    make_app,
    one_round,
    strategy,
    update,
)


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
    # Not None: Flower would end without a model.
    assert arrays == MODEL
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
    arrays, metrics = one_round(built, grid)
    assert grid.trained() == []
    assert metrics["air-active"] == 0
    assert arrays == MODEL


def test_a_run_in_which_nobody_is_ever_served_fails_and_says_what_to_do(scheduler):
    built, grid = strategy(scheduler, schedule={"gamma_db": -90.0}), FakeGrid(make_app(), NODES)
    with pytest.raises(RuntimeError, match=r"no node could be served in any round.*raise gamma_db"):
        built.start(grid, MODEL, num_rounds=2)


def test_the_arrays_of_the_last_good_round_are_always_there(scheduler):
    class OnlyFirst(OverTheAirFedAvg):
        def schedule_options(self, server_round, devices):
            options = super().schedule_options(server_round, devices)
            return options if server_round == 1 else {"gamma_db": -90.0}

    source = NetworkSource(NetworkParameters(NODES, 4))
    built = OnlyFirst(scheduler, source, schedule=QUIET, fraction_evaluate=0.0)
    result = built.start(FakeGrid(make_app(), NODES), MODEL, num_rounds=3)
    assert result.train_metrics_clientapp[3]["air-active"] == 0
    mean = np.average([update(k) for k in range(NODES)], axis=0, weights=range(1, NODES + 1))
    np.testing.assert_allclose(
        result.arrays["weights"].numpy(), MODEL["weights"].numpy() + mean, atol=1e-8
    )


def test_without_a_tolerance_and_without_channels_nobody_trains(scheduler):
    class Silent:
        reported = False

        def channels(self, server_round, devices):
            nothing = np.zeros((4, len(devices)), complex)
            return Channels(nothing, nothing)

    grid = FakeGrid(make_app(), NODES)
    arrays, metrics = one_round(strategy(scheduler, Silent(), schedule={}), grid)
    assert arrays == MODEL
    assert (metrics["air-active"], metrics["air-sent"], grid.trained()) == (0, 0, [])


def test_nodes_are_asked_once_unless_they_report_channels(scheduler):
    grid = FakeGrid(make_app(), NODES)
    strategy(scheduler).start(grid, MODEL, num_rounds=3)
    queries = [m for m in grid.messages if m.metadata.message_type == "query.airsched"]
    assert len(queries) == NODES


def test_a_node_that_does_not_describe_itself_is_left_out(scheduler, caplog):
    app = make_app()
    grid = FakeGrid(app, NODES)
    answer = grid.answer
    silent = next(node for node, partition in grid.partitions.items() if partition == 2)
    grid.answer = lambda m: None if m.metadata.dst_node_id == silent else answer(m)
    arrays, metrics = one_round(strategy(scheduler), grid)
    assert metrics["air-devices"] == NODES - 1
    assert_mean_of(arrays, [0, 1, 3, 4, 5, 6, 7])
    assert f"nodes [{silent}] did not describe themselves" in caplog.text


def test_one_odd_reply_does_not_end_the_run(scheduler, caplog):
    grid = FakeGrid(make_app(), NODES)
    answer = grid.answer

    def odd(message):
        reply = answer(message)
        if (
            message.metadata.message_type == "train"
            and grid.partitions[message.metadata.dst_node_id] == 2
        ):
            reply.content["more"] = ArrayRecord()
        return reply

    grid.answer = odd
    arrays, _ = one_round(strategy(scheduler), grid)
    assert_mean_of(arrays, [0, 1, 3, 4, 5, 6, 7])
    assert "without one ArrayRecord" in caplog.text


@pytest.mark.parametrize("count", [0.0, -1.0, np.nan, np.inf])
def test_a_node_without_samples_is_left_out(scheduler, count, caplog):
    app = ClientApp()
    report_device(app, lambda context: count)
    with pytest.raises(RuntimeError, match="no node has described itself"):
        strategy(scheduler).configure_train(1, MODEL, ConfigRecord(), FakeGrid(app, 2))
    assert "positive number of samples" in caplog.text


def test_a_forgotten_report_ends_the_run_and_says_what_to_do(scheduler, caplog):
    built, grid = strategy(scheduler), FakeGrid(ClientApp(), 2)
    with pytest.raises(RuntimeError, match=r"call report_device\(app, …\) in the ClientApp"):
        built.start(grid, MODEL, num_rounds=3)
    assert "failed to describe itself" in caplog.text


def test_a_hung_node_costs_one_timeout(scheduler, caplog):
    grid = FakeGrid(make_app(), NODES)
    answer, hung = grid.answer, next(iter(grid.partitions))
    asked = []

    def silent(message):
        if message.metadata.dst_node_id == hung:
            asked.append(message)
            return None
        return answer(message)

    grid.answer = silent
    result = strategy(scheduler).start(grid, MODEL, num_rounds=4)
    assert len(asked) == 1
    assert result.train_metrics_clientapp[4]["air-devices"] == NODES - 1
    assert "left out from now on" in caplog.text


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
