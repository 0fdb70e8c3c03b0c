"""Fixed features of CIFAR-10 from random patches: computed once, kept in a file.

The single-layer network of Coates, Ng and Lee (2011), *An Analysis of Single-Layer Networks in
Unsupervised Feature Learning*, with random patches in place of K-means centroids and every second
position in place of every one:

1. A patch of 6×6 pixels in three colours, x ∈ ℝ¹⁰⁸, has its mean subtracted and is divided by
   √(variance + 10).
2. Patches are whitened (ZCA) with the mean and covariance of random patches of training images.
3. c_1 … c_P are random whitened patches. With z_j = ‖x − c_j‖, feature j of a patch is the
   "triangle" max(0, mean(z) − z_j).
4. The features of all patches of a quadrant of the image are summed: 4P numbers per image.
5. Every one has its mean over the training images subtracted, and is divided by its deviation.
"""

import os
from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from airsched_client.federated.tasks.cifar10_data import read

Single = NDArray[np.float32]

_SIDE, _STRIDE = 6, 2
_CONTRAST, _WHITENING = 10.0, 0.1
_SAMPLED = 20_000
_AT_ONCE = 50


def patch_features(folder: Path, patches: int, seed: int = 0) -> tuple[Single, Single]:
    """Return the features of the training and of the test images, (L, 4P) each.

    Parameters
    ----------
    folder
        Holds ``cifar-10-batches-py``; the features are kept there too.
    patches
        P.
    seed
        Of the random patches.
    """
    file = folder / f"patch-features-{patches}-{seed}.npy"
    if not file.exists():
        data = read(folder)
        found = compute(data.images, data.test_images, patches, np.random.default_rng(seed))
        # In one step: another process may be computing the same.
        beside = file.with_suffix(f".{os.getpid()}.npy")
        np.save(beside, np.concatenate(found))
        os.replace(beside, file)
    # Mapped, so that processes side by side share it.
    together = np.load(file, mmap_mode="r")
    training = together.shape[0] * 5 // 6
    return together[:training], together[training:]


def compute(
    images: NDArray[np.uint8],
    test_images: NDArray[np.uint8],
    patches: int,
    rng: np.random.Generator,
) -> tuple[Single, Single]:
    """Return the features of training and test images, (L, 3, 32, 32) each."""
    sampled = _sample(images, rng)
    centre = sampled.mean(axis=0)
    values, vectors = np.linalg.eigh(np.cov(sampled - centre, rowvar=False))
    whitening = ((vectors / np.sqrt(values + _WHITENING)) @ vectors.T).astype(np.float32)
    chosen = (sampled[rng.permutation(len(sampled))[:patches]] - centre) @ whitening
    found = [
        np.concatenate(
            [
                _encode(some[first : first + _AT_ONCE], centre, whitening, chosen)
                for first in range(0, len(some), _AT_ONCE)
            ]
        )
        for some in (images, test_images)
    ]
    mean, deviation = found[0].mean(axis=0), found[0].std(axis=0) + 1e-6
    training, test = ((each - mean) / deviation for each in found)
    return training, test


def _sample(images: NDArray[np.uint8], rng: np.random.Generator) -> Single:
    """Return random patches of the images, (…, 108), normalised in contrast."""
    which = rng.integers(len(images), size=_SAMPLED)
    row, column = rng.integers(32 - _SIDE + 1, size=(2, _SAMPLED, 1))
    span = np.arange(_SIDE)
    rows, columns = (row + span)[:, None, :, None], (column + span)[:, None, None, :]
    taken = images[which[:, None, None, None], np.arange(3)[:, None, None], rows, columns]
    return _normalised(taken.reshape(_SAMPLED, -1))


def _normalised(patches: NDArray[np.uint8]) -> Single:
    values = patches.astype(np.float32)
    values -= values.mean(axis=-1, keepdims=True)
    values /= np.sqrt(values.var(axis=-1, keepdims=True) + np.float32(_CONTRAST))
    return values


def _encode(images: NDArray[np.uint8], centre: Single, whitening: Single, chosen: Single) -> Single:
    """Return the features before they are standardised, (L, 4P)."""
    windows = sliding_window_view(images, (_SIDE, _SIDE), axis=(2, 3))[:, :, ::_STRIDE, ::_STRIDE]
    count, _, high, wide = windows.shape[:4]
    patches = windows.transpose(0, 2, 3, 1, 4, 5).reshape(count * high * wide, -1)
    whitened = (_normalised(patches) - centre) @ whitening
    squares = (whitened**2).sum(axis=1)[:, None] + (chosen**2).sum(axis=1)
    squares -= 2 * whitened @ chosen.T
    distances = np.sqrt(np.maximum(squares, 0))
    triangles = np.maximum(distances.mean(axis=1, keepdims=True) - distances, 0)
    halves = triangles.reshape(count, 2, high // 2, 2, wide // 2, -1)
    return np.asarray(halves.sum(axis=(2, 4)).reshape(count, -1), np.float32)
