"""Random-patch features and the linear layer on them, against plain loops."""

import numpy as np
import pytest

from airsched_client.federated import LocalRound
from airsched_client.federated.tasks.cifar10_data import read
from experiments import patch_features
from experiments.patches import Patches
from tests.client.federated.test_tasks import batches


@pytest.fixture
def folder(tmp_path):
    batches(tmp_path / "cifar-10-batches-py", per_batch=8)
    return tmp_path


def contrast(patch):
    values = patch.astype(float).ravel()
    return (values - values.mean()) / np.sqrt(values.var() + 10)


def test_features_are_those_of_a_plain_loop_over_patches(folder):
    images = read(folder).images[:2]
    rng = np.random.default_rng(1)
    centre = 0.1 * rng.standard_normal(108)
    whitening = np.eye(108) + 0.1 * rng.standard_normal((108, 108))
    chosen = rng.standard_normal((5, 108))
    expected = np.zeros((2, 2, 2, 5))
    for number, image in enumerate(images):
        for row in range(14):
            for column in range(14):
                patch = image[:, 2 * row : 2 * row + 6, 2 * column : 2 * column + 6]
                white = (contrast(patch) - centre) @ whitening
                distances = np.array([np.linalg.norm(white - each) for each in chosen])
                triangle = np.maximum(distances.mean() - distances, 0)
                expected[number, row // 7, column // 7] += triangle
    parts = [part.astype(np.float32) for part in (centre, whitening, chosen)]
    found = patch_features._encode(images, *parts)
    np.testing.assert_allclose(found, expected.reshape(2, 20), rtol=1e-3, atol=1e-3)


def test_sampled_patches_are_patches_of_the_images(folder):
    images = read(folder).images
    sampled = patch_features._sample(images, np.random.default_rng(0))
    windows = np.lib.stride_tricks.sliding_window_view(images, (6, 6), axis=(2, 3))
    every = windows.transpose(0, 2, 3, 1, 4, 5).reshape(-1, 108)
    known = {np.round(contrast(patch), 3).tobytes() for patch in every}
    assert all(np.round(one.astype(float), 3).tobytes() in known for one in sampled[:20])


def test_features_are_standardised_and_kept(folder, monkeypatch):
    training, test = patch_features.patch_features(folder, patches=10)
    assert training.shape == (40, 40)
    assert test.shape == (8, 40)
    np.testing.assert_allclose(training.mean(axis=0), 0, atol=1e-4)
    np.testing.assert_allclose(training.std(axis=0), 1, rtol=1e-3)
    monkeypatch.setattr(patch_features, "compute", None)
    np.testing.assert_array_equal(patch_features.patch_features(folder, patches=10)[1], test)
    assert [file.name for file in folder.glob("*.npy")] == ["patch-features-10-0.npy"]


def test_training_is_gradient_descent_with_momentum(folder):
    task = Patches(folder, epochs=2, batch_size=16, learning_rate=0.01, patches=5)
    samples = np.arange(3, 33)
    start = np.random.default_rng(0).standard_normal(task.initial(None).size)
    found = task.train(start, LocalRound(0, 0, samples, [], np.random.default_rng(1)))
    rng = np.random.default_rng(1)
    inputs = np.hstack([task._inputs, np.ones((40, 1))])
    layer, velocity = start.reshape(21, 10).copy(), np.zeros((21, 10))
    for _ in range(2):
        order = samples[rng.permutation(30)]
        for batch in (order[:16], order[16:]):
            slope = np.zeros((21, 10))
            for sample in batch:
                logits = inputs[sample] @ layer
                chances = np.exp(logits) / np.exp(logits).sum()
                chances[task.labels[sample]] -= 1
                slope += np.outer(inputs[sample], chances) / batch.size
            velocity = 0.9 * velocity + slope
            layer -= 0.01 * velocity
    np.testing.assert_allclose(found, layer.ravel(), rtol=1e-4, atol=1e-5)


def test_evaluation_is_cross_entropy_and_the_share_of_images_recognised(folder):
    task = Patches(folder, samples=30)
    model = 0.1 * np.random.default_rng(0).standard_normal(task.initial(None).size)
    layer = model.reshape(-1, 10)
    labels = read(folder).test_labels
    logits = np.hstack([task._test_inputs, np.ones((8, 1))]) @ layer
    chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    found = task.evaluate(model)
    expected = -np.mean(np.log(chances[np.arange(8), labels]))
    assert found.loss == pytest.approx(expected, rel=1e-4)
    assert found.accuracy == np.mean(chances.argmax(axis=1) == labels)
    assert task.labels.size == 30
