"""Nodes with known updates, a strategy for them, and what it must make of them."""

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from airsched_client.federated.channels import NetworkParameters
from airsched_client.flower import NetworkSource, OverTheAirFedAvg, report_device

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
