"""Reads an ``.npz`` file array by array, memory-mapped where it is not compressed."""

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

_LOCAL_HEADER = 30
"""Bytes of a zip member's own header, before its name and extra field."""


def read_arrays(path: Path) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the arrays of a file by name.

    Raises
    ------
    ValueError
        The file is not an ``.npz`` file, or holds something else than numbers.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                yield member.filename.removesuffix(".npy"), _read(path, archive, member)
    except zipfile.BadZipFile as error:
        raise ValueError(f"{path} is not an .npz file: write it with numpy.savez") from error


def _read(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    try:
        with archive.open(member) as content:
            shape, fortran, dtype = _header(content)
            header = content.tell()
        if member.compress_type != zipfile.ZIP_STORED or not shape or 0 in shape or dtype.hasobject:
            with archive.open(member) as content:
                return np.asarray(np.lib.format.read_array(content, allow_pickle=False))
    except ValueError as error:
        raise ValueError(
            f"{path}: {member.filename} is not an array of numbers: {error}"
        ) from error
    offset = _content_offset(path, member) + header
    return np.memmap(path, dtype, "r", offset, shape, "F" if fortran else "C")


def _header(content: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, whether in Fortran's order, and type of an array."""
    if np.lib.format.read_magic(content) == (1, 0):
        return np.lib.format.read_array_header_1_0(content)
    return np.lib.format.read_array_header_2_0(content)


def _content_offset(path: Path, member: zipfile.ZipInfo) -> int:
    """Return where in the file the content of a member begins."""
    with path.open("rb") as file:
        file.seek(member.header_offset)
        header = file.read(_LOCAL_HEADER)
    name, extra = (int.from_bytes(header[at : at + 2], "little") for at in (26, 28))
    return member.header_offset + _LOCAL_HEADER + name + extra
