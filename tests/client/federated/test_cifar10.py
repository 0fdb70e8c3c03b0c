"""The paper's network in torch, where torch is installed."""

import numpy as np
import pytest

from tests.client.federated.test_tasks import batches

torch = pytest.importorskip("torch", reason="torch comes with the cifar extra, which is not in dev")

from airsched_client.federated.tasks import build  # noqa: E402
from airsched_client.federated.tasks.cifar10 import (  # noqa: E402
    Cifar10,
    _load,
    _network,
    _to_vector,
    learning_rate,
)
from airsched_client.federated.tasks.cifar10_data import read  # noqa: E402


@pytest.fixture
def task(tmp_path):
    batches(tmp_path / "cifar-10-batches-py", per_batch=8)
    return build("cifar10", tmp_path, epochs=1)


def test_layers_are_the_papers():
    network = _network()
    convolutions = [layer for layer in network if isinstance(layer, torch.nn.Conv2d)]
    assert [layer.out_channels for layer in convolutions] == [32, 32, 64, 64, 128, 128, 256, 256]
    assert {layer.kernel_size for layer in convolutions} == {(3, 3)}
    dense = [layer for layer in network if isinstance(layer, torch.nn.Linear)]
    assert [layer.out_features for layer in dense] == [512, 10]
    assert [layer.p for layer in network if isinstance(layer, torch.nn.Dropout)] == [0.5]
    assert network(torch.zeros(2, 3, 32, 32)).shape == (2, 10)


def test_vector_and_network_are_the_same_thing():
    one, other = _network(), _network()
    one.train()(torch.randn(16, 3, 32, 32))
    _load(other, _to_vector(one))
    images = torch.randn(4, 3, 32, 32)
    torch.testing.assert_close(one.eval()(images), other.eval()(images))
    vector = _to_vector(one)
    parameters = sum(parameter.numel() for parameter in one.parameters())
    assert vector.size == parameters + 2 * sum([32, 32, 64, 64, 128, 128, 256, 256])


def test_batch_statistics_of_two_devices_are_those_of_their_data_together():
    rng = np.random.default_rng(0)
    # The first layer's statistics of two devices with very different images, weights 1 and 3.
    first, second = rng.normal(-2, 1, (100, 32)), rng.normal(3, 2, (300, 32))
    networks = [_network(), _network()]
    for network, values in zip(networks, (first, second), strict=True):
        network[1].running_mean.copy_(torch.from_numpy(values.mean(axis=0)))
        network[1].running_var.copy_(torch.from_numpy(values.var(axis=0)))
    vectors = [_to_vector(network) for network in networks]
    pooled = _network()
    _load(pooled, np.average(vectors, axis=0, weights=[1, 3]))
    together = np.concatenate([first, second])
    np.testing.assert_allclose(pooled[1].running_mean, together.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(pooled[1].running_var, together.var(axis=0), rtol=1e-5)


def test_noise_never_makes_a_variance_negative():
    network = _network()
    vector = _to_vector(network)
    vector[-512:] = -1.0
    _load(network, vector)
    assert network.eval()(torch.randn(2, 3, 32, 32)).isfinite().all()


def test_training_repeats_itself_and_learns(task):
    start = task.initial(np.random.default_rng(0))
    samples = np.arange(40)

    def train(seed):
        return task.train(start, samples, [], np.random.default_rng(seed))

    np.testing.assert_array_equal(train(1), train(1))
    assert not np.array_equal(train(1), train(2))
    state = torch.get_rng_state()
    train(1)
    assert torch.equal(state, torch.get_rng_state())
    found = task.evaluate(start)
    assert found.loss == pytest.approx(np.log(10), abs=0.3)


def test_evaluation_is_cross_entropy_on_the_first_images(tmp_path):
    batches(tmp_path / "cifar-10-batches-py", per_batch=8)
    task = Cifar10(tmp_path, evaluated=5)
    model = task.initial(np.random.default_rng(0))
    found = task.evaluate(model)
    data = read(tmp_path)
    network = _network()
    _load(network, model)
    centre = data.images.mean(axis=(0, 2, 3), keepdims=True)
    spread = data.images.std(axis=(0, 2, 3), keepdims=True)

    def loss(images, labels):
        with torch.no_grad():
            logits = network.eval()(torch.from_numpy((images[:5] - centre) / spread).float())
        chances = torch.softmax(logits.double(), 1).numpy()
        return -np.mean(np.log(chances[np.arange(5), labels[:5]]))

    assert found.loss == pytest.approx(loss(data.test_images, data.test_labels), rel=1e-4)
    assert found.train_loss == pytest.approx(loss(data.images, data.labels), rel=1e-4)


def test_rate_is_halved_on_a_plateau():
    assert learning_rate([], 0.005, 2) == 0.005
    assert learning_rate([3.0, 2.0, 1.0], 0.005, 2) == 0.005
    assert learning_rate([3.0, 3.5], 0.005, 2) == 0.005
    assert learning_rate([3.0, 3.5, 3.1], 0.005, 2) == 0.0025
    assert learning_rate([3.0, 3.5, 2.9, 3.0], 0.005, 2) == 0.005
    assert learning_rate([3.0] * 5, 0.005, 2) == 0.00125
    assert learning_rate([float("inf"), 1.0], 0.005, 1) == 0.0025
