"""The paper's network in torch, where torch is installed."""

import pickle

import numpy as np
import pytest

from airsched_client import SchedulerClient
from airsched_client.federated import loop
from airsched_client.federated.channels import NetworkParameters
from airsched_client.federated.experiment import PERFECT, Experiment, Run
from tests.client.federated.test_tasks import batches

torch = pytest.importorskip("torch", reason="torch comes with the cifar extra")

from airsched_client.federated.checkpoint import Model  # noqa: E402
from airsched_client.federated.tasks import LocalRound, build  # noqa: E402
from airsched_client.federated.tasks.cifar10 import Cifar10, network, rate_after  # noqa: E402
from airsched_client.federated.tasks.cifar10_data import read  # noqa: E402

# Two threads wait for each other where other processes run.
torch.set_num_threads(1)


@pytest.fixture
def task(tmp_path):
    batches(tmp_path / "cifar-10-batches-py", per_batch=8)
    return build("cifar10", tmp_path, epochs=1)


PLAIN = (np.zeros((1, 3, 1, 1)), np.ones((1, 3, 1, 1)))


def test_layers_are_the_papers():
    made = network(*PLAIN)
    convolutions = [layer for layer in made if isinstance(layer, torch.nn.Conv2d)]
    assert [layer.out_channels for layer in convolutions] == [32, 32, 64, 64, 128, 128, 256, 256]
    assert {layer.kernel_size for layer in convolutions} == {(3, 3)}
    dense = [layer for layer in made if isinstance(layer, torch.nn.Linear)]
    assert [layer.out_features for layer in dense] == [512, 10]
    assert [layer.p for layer in made if isinstance(layer, torch.nn.Dropout)] == [0.5]
    assert made(torch.zeros(2, 3, 32, 32)).shape == (2, 10)


def test_a_narrower_network_has_a_share_of_the_filters():
    made = network(*PLAIN, 0.5)
    convolutions = [layer for layer in made if isinstance(layer, torch.nn.Conv2d)]
    assert [layer.out_channels for layer in convolutions] == [16, 16, 32, 32, 64, 64, 128, 128]
    assert made(torch.zeros(2, 3, 32, 32)).shape == (2, 10)


def test_vector_holds_the_parameters_and_nothing_else(task):
    vector = task.initial(np.random.default_rng(0))
    made = task.module(vector)
    assert vector.size == sum(parameter.numel() for parameter in made.parameters())
    flat = torch.cat([parameter.detach().flatten() for parameter in made.parameters()])
    np.testing.assert_array_equal(flat, vector)


def test_statistics_of_two_devices_are_those_of_their_images_together(tmp_path):
    batches(tmp_path / "cifar-10-batches-py", per_batch=8)
    task = Cifar10(tmp_path)
    rng = np.random.default_rng(0)
    model = task.initial(rng)
    devices = (np.arange(10), np.arange(10, 40))
    found = [task.statistics(model, LocalRound(0, 0, samples, (), rng)) for samples in devices]
    made = task.module(model, np.average(found, axis=0, weights=[10, 30]))
    # The first layer by hand, on the images of both.
    images = read(tmp_path).images / 1.0
    centre, spread = (f(axis=(0, 2, 3), keepdims=True) for f in (images.mean, images.std))
    with torch.no_grad():
        values = made[1](torch.from_numpy((images - centre) / spread).float()).numpy()
    layer = made[2]
    np.testing.assert_allclose(layer.running_mean, values.mean(axis=(0, 2, 3)), atol=1e-4)
    np.testing.assert_allclose(layer.running_var, values.var(axis=(0, 2, 3)), rtol=1e-3)


def pictures(folder):
    """Write 500 training and 2000 test images, each its class's pattern under noise."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    patterns = np.kron(rng.standard_normal((10, 3, 8, 8)), np.ones((4, 4)))
    for name in [*(f"data_batch_{n}" for n in range(1, 6)), "test_batch"]:
        labels = rng.integers(0, 10, 2000 if name == "test_batch" else 100)
        noise = 60 * rng.standard_normal((labels.size, 3, 32, 32))
        pixels = (128 + 40 * patterns[labels] + noise).clip(0, 255).astype(np.uint8)
        content = {b"labels": labels.tolist(), b"data": pixels.reshape(labels.size, -1)}
        (folder / name).write_bytes(pickle.dumps(content))


@pytest.fixture
def learning(tmp_path):
    """Return a task that is learnt in seconds, and its setting: ten devices of unlike classes."""
    pictures(tmp_path / "cifar-10-batches-py")
    task = Cifar10(tmp_path, epochs=1, batch_size=10, learning_rate=0.02, width=0.125)
    network = NetworkParameters(devices=10, antennas=3)
    return task, loop.Setting(Experiment(policies=(PERFECT,), network=network), task, 1)


def test_statistics_belong_to_the_mean_of_the_weights(learning):
    task, setting = learning
    model, done = Model(task.initial(np.random.default_rng(0))), []
    for _ in range(3):
        model, record = setting.round(Run(PERFECT, None, 1), model, done, None)
        done.append(record)
    # Estimated anew as torch does, over batches of all training images.
    made = task.module(model.parameters)
    for layer in made:
        if isinstance(layer, torch.nn.BatchNorm2d):
            layer.momentum = None
    order = torch.randperm(500, generator=torch.Generator().manual_seed(0))
    images, _ = task._train.batch(np.arange(500))
    test_images, test_targets = task._test.batch(np.arange(len(task._test)))
    with torch.no_grad():
        for batch in order.split(100):
            made.train()(images[batch])
        logits = made.eval()(test_images)
    right = (logits.argmax(1) == test_targets).double().mean()
    loss = torch.nn.functional.cross_entropy(logits, test_targets)
    assert record.accuracy == pytest.approx(float(right), abs=0.01)
    assert record.loss == pytest.approx(float(loss), abs=0.02)
    # It has learnt, or it would not matter how it is evaluated.
    assert record.accuracy > 0.4


def test_the_scale_of_the_air_is_that_of_the_parameters(learning, service_url, monkeypatch):
    task, _ = learning
    sent = []

    def listening(channels, schedule, *rest, **options):
        received = aggregate(channels, schedule, *rest, **options)
        sent.append((schedule.active, received.scale))
        return received

    aggregate = loop.aggregate
    monkeypatch.setattr(loop, "aggregate", listening)
    run = Run("dual_pursuit", 20.0, 1)
    experiment = Experiment(
        policies=(run.policy,), network=NetworkParameters(devices=10, antennas=3)
    )
    setting = loop.Setting(experiment, task, 1)
    start = task.initial(np.random.default_rng(0))
    with SchedulerClient(service_url) as scheduler:
        setting.round(run, Model(start), [], scheduler)
    ((active, scale),) = sent
    sizes = []
    for device in active.tolist():
        rng = np.random.default_rng([1, 4, 0, device])
        trained = task.train(start, LocalRound(device, 0, setting.parts[device], (), rng))
        after, before = (
            [parameter.detach().double().numpy() for parameter in task.module(each).parameters()]
            for each in (trained, start)
        )
        moved = [np.ravel(x - y) for x, y in zip(after, before, strict=True)]
        sizes.append(np.sqrt(np.mean(np.concatenate(moved) ** 2)))
    assert scale == pytest.approx(max(sizes), rel=1e-5)


def test_training_repeats_itself_and_learns(task):
    start = task.initial(np.random.default_rng(0))
    samples = np.arange(40)

    def train(seed):
        return task.train(start, LocalRound(0, 0, samples, [], np.random.default_rng(seed)))

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
    made = task.module(model)
    made[0] = torch.nn.Identity()
    centre = data.images.mean(axis=(0, 2, 3), keepdims=True)
    spread = data.images.std(axis=(0, 2, 3), keepdims=True)

    def loss(images, labels):
        with torch.no_grad():
            logits = made.eval()(torch.from_numpy((images[:5] - centre) / spread).float())
        chances = torch.softmax(logits.double(), 1).numpy()
        return -np.mean(np.log(chances[np.arange(5), labels[:5]]))

    assert found.loss == pytest.approx(loss(data.test_images, data.test_labels), rel=1e-4)
    assert found.train_loss == pytest.approx(loss(data.images, data.labels), rel=1e-4)


def test_rate_is_halved_on_a_plateau():
    assert rate_after([], 0.005, 2) == 0.005
    assert rate_after([3.0, 2.0, 1.0], 0.005, 2) == 0.005
    assert rate_after([3.0, 3.5], 0.005, 2) == 0.005
    assert rate_after([3.0, 3.5, 3.1], 0.005, 2) == 0.0025
    assert rate_after([3.0, 3.5, 2.9, 3.0], 0.005, 2) == 0.005
    assert rate_after([3.0] * 5, 0.005, 2) == 0.00125
    assert rate_after([float("inf"), 1.0], 0.005, 1) == 0.0025


def test_training_in_16_bits_differs_less_than_another_dropout(tmp_path):
    batches(tmp_path / "cifar-10-batches-py", per_batch=64)
    tasks = [Cifar10(tmp_path, epochs=1, width=0.25, bfloat16=half) for half in (False, True)]
    start = tasks[0].initial(np.random.default_rng(0))

    def update(task, seed):
        local = LocalRound(0, 0, np.arange(320), [], np.random.default_rng(seed))
        return task.train(start, local) - start

    exact, half = (update(task, 1) for task in tasks)
    other = update(tasks[0], 2)
    assert 0 < np.linalg.norm(half - exact) < 0.5 * np.linalg.norm(other - exact)
