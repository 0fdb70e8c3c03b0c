"""Tasks against independent computations: closed forms, finite differences, the format on disk."""

import io
import json
import pickle
import subprocess
import sys
import tarfile

import numpy as np
import pytest

from airsched_client.federated.tasks import TASKS, LocalRound, build
from airsched_client.federated.tasks.cifar10_data import read
from airsched_client.federated.tasks.digits import Digits
from airsched_client.federated.tasks.regression import Regression
from experiments.cifar10_convert import convert


def train(task, model, samples, rng):
    return task.train(model, LocalRound(0, 0, samples, [], rng))


def test_regression_solves_each_devices_least_squares():
    task = Regression(samples=400, features=6)
    rng = np.random.default_rng(0)
    samples = np.arange(50, 90)
    inputs, outputs = task._inputs[samples], task._outputs[samples]
    expected = np.linalg.solve(inputs.T @ inputs, inputs.T @ outputs)
    for start in (task.initial(rng), rng.standard_normal(6)):
        np.testing.assert_allclose(train(task, start, samples, rng), expected)
    # With two samples for six unknowns it fits them, and moves no further than it must.
    start = rng.standard_normal(6)
    few = train(task, start, samples[:2], rng)
    np.testing.assert_allclose(inputs[:2] @ few, outputs[:2])
    assert np.linalg.matrix_rank(np.vstack([inputs[:2], few - start])) == 2


def test_regression_accuracy_is_the_variance_explained():
    task = Regression(samples=4000, features=6, noise=0.5)
    rng = np.random.default_rng(0)
    best = train(task, task.initial(rng), np.arange(4000), rng)
    found = task.evaluate(best)
    assert found.loss == pytest.approx(0.25, rel=0.1)
    assert found.accuracy == pytest.approx(1 - found.loss / np.var(task._test_outputs))
    # What least squares leaves of the training data is smaller than any other model's.
    rest = np.linalg.lstsq(task._inputs, task._outputs, rcond=None)[1]
    assert found.train_loss == pytest.approx(rest[0] / 4000)
    assert task.evaluate(task.initial(rng)).accuracy == pytest.approx(0, abs=0.01)
    assert not task.labels.any()
    assert task.labels.size == 4000


def test_digits_are_split_once_and_disjoint():
    task = Digits()
    assert task.labels.size == 1348
    assert task._test_labels.size == 449
    assert set(task.labels.tolist()) == set(range(10))
    assert task._images.min() == 0
    assert task._images.max() == 1
    assert Digits(samples=100).labels.tolist() == task.labels[:100].tolist()


def test_digits_accuracy_by_label():
    task = Digits()
    rng = np.random.default_rng(0)
    model = train(task, task.initial(rng), np.arange(200), rng)
    found = task.accuracy_by_label(model)
    assert 0 < np.ptp(found) <= 1
    shares = np.bincount(task._test_labels) / task._test_labels.size
    assert found @ shares == pytest.approx(task.evaluate(model).accuracy)
    # Whatever it sees, it says three.
    always = np.zeros(model.size)
    always[-10 + 3] = 1
    assert task.accuracy_by_label(always).tolist() == np.eye(10)[3].tolist()


def test_digits_gradient_is_that_of_the_loss():
    task = Digits(hidden=5)
    rng = np.random.default_rng(1)
    model = task.initial(rng) + 0.1 * rng.standard_normal(task.initial(rng).size)
    batch = np.arange(20)

    def loss(vector):
        _, logits = task._forward(vector, task._images[batch])
        normaliser = np.log(np.exp(logits).sum(axis=1))
        return np.mean(normaliser - logits[np.arange(20), task.labels[batch]])

    few = Digits(samples=20, hidden=5)
    assert few.evaluate(model).train_loss == pytest.approx(loss(model))
    gradient = task._gradient(model, batch)
    for _ in range(20):
        direction = rng.standard_normal(model.size)
        direction /= np.linalg.norm(direction)
        slope = (loss(model + 1e-6 * direction) - loss(model - 1e-6 * direction)) / 2e-6
        assert slope == pytest.approx(gradient @ direction, rel=1e-4, abs=1e-7)


def test_digits_are_learnt():
    task = Digits(epochs=30)
    rng = np.random.default_rng(2)
    start = task.initial(rng)
    before = start.copy()
    trained = train(task, start, np.arange(task.labels.size), rng)
    np.testing.assert_array_equal(start, before)
    assert task.evaluate(start).accuracy < 0.3
    assert task.evaluate(trained).accuracy > 0.95
    assert task.evaluate(trained).loss < 0.2


def test_unknown_tasks_and_missing_data(tmp_path):
    with pytest.raises(ValueError, match="digits"):
        build("no_such")
    with pytest.raises(FileNotFoundError, match=r"data_batch_1.*unpack"):
        read(tmp_path)
    assert set(TASKS) == {"digits", "regression", "cifar10"}
    assert build("regression", samples=64).labels.size == 64


def batches(folder, per_batch=2):
    """Write pickled batches as the official archive has them, with known pixels."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    written = []
    for name in [*(f"data_batch_{n}" for n in range(1, 6)), "test_batch"]:
        pixels = rng.integers(0, 256, (per_batch, 3072), np.uint8)
        labels = rng.integers(0, 10, per_batch).tolist()
        content = {b"batch_label": b"some", b"labels": labels, b"data": pixels}
        (folder / name).write_bytes(pickle.dumps(content, protocol=2))
        written.append((pixels, labels))
    return written


def test_official_archive_is_read(tmp_path):
    written = batches(tmp_path / "cifar-10-batches-py")
    for folder in (tmp_path, tmp_path / "cifar-10-batches-py"):
        data = read(folder)
        assert data.images.shape == (10, 3, 32, 32)
        assert data.test_images.shape == (2, 3, 32, 32)
        pixels, labels = written[3]
        # Red, green, blue planes, row by row: pixel (channel, row, column).
        assert data.images[6, 1, 4, 7] == pixels[0, 1024 + 4 * 32 + 7]
        assert data.labels[6:8].tolist() == labels
        assert data.test_labels.tolist() == written[5][1]


def test_a_pickle_that_is_more_than_arrays_is_refused(tmp_path):
    batches(tmp_path / "cifar-10-batches-py")
    harm = pickle.dumps({b"data": subprocess.run, b"labels": [1]})
    (tmp_path / "cifar-10-batches-py" / "data_batch_2").write_bytes(harm)
    with pytest.raises(pickle.UnpicklingError, match=r"subprocess\.run"):
        read(tmp_path)


def test_the_npm_package_becomes_the_official_format(tmp_path, monkeypatch):
    image = pytest.importorskip("PIL.Image", reason="pillow comes with the cifar extra")
    monkeypatch.setattr("experiments.cifar10_convert._IMAGES", 3)
    rng = np.random.default_rng(0)
    sheets, labels = (
        {},
        {"train_lables.json": [*range(10), 0, 1, 2, 3, 4], "test_lables.json": [7] * 3},
    )
    package = tmp_path / "package.tgz"
    with tarfile.open(package, "w:gz") as archive:

        def add(name, content):
            info = tarfile.TarInfo(f"package/{name}")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))

        for name in [*(f"data_batch_{n}" for n in range(1, 6)), "test_batch"]:
            # One image a row, 1024 pixels of red, green and blue.
            sheets[name] = rng.integers(0, 256, (3, 1024, 3), np.uint8)
            file = io.BytesIO()
            image.fromarray(sheets[name]).save(file, "PNG")
            add(f"{name}.png", file.getvalue())
        for name, values in labels.items():
            add(name, json.dumps(values).encode())
    convert(package, tmp_path / "data")
    data = read(tmp_path / "data")
    assert data.labels.tolist() == labels["train_lables.json"]
    assert data.test_labels.tolist() == [7] * 3
    for channel in range(3):
        expected = sheets["data_batch_4"][1, :, channel].reshape(32, 32)
        np.testing.assert_array_equal(data.images[10, channel], expected)
    np.testing.assert_array_equal(
        data.test_images[2].transpose(1, 2, 0).reshape(1024, 3), sheets["test_batch"][2]
    )


def test_cifar10_without_torch_says_what_to_install(tmp_path):
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from pathlib import Path\n"
        "from airsched_client.federated.tasks import build\n"
        f"build('cifar10', Path({str(tmp_path)!r}))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install './clients[torch]'" in result.stderr
    with pytest.raises(ValueError, match="cifar10 needs its data: pass the folder"):
        build("cifar10")
