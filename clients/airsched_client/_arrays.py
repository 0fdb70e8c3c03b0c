"""Converts arrays as wireless tools produce them to the shapes of the API, or refuses them."""

from collections.abc import Iterable
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from airsched_client._wire import ComplexArray

Layout = Literal["antennas_first", "devices_first"]
LAYOUTS: tuple[str, ...] = get_args(Layout)


class Shapes:
    """Converts the arrays of one request, and checks that the lengths of their axes agree.

    Parameters
    ----------
    layout
        ``devices_first`` if the device axis of a matrix comes before its other axis.
    """

    def __init__(self, layout: Layout = "antennas_first") -> None:
        if layout not in LAYOUTS:
            raise ValueError(f"layout must be one of {', '.join(LAYOUTS)}, not {layout!r}")
        self._devices_first = layout == "devices_first"
        self._lengths: dict[str, tuple[int, str]] = {}

    def complex(self, name: str, value: ArrayLike, *axes: str) -> ComplexArray:
        """Return ``value`` with these axes, in its precision, without leading axes of one.

        Raises
        ------
        ValueError
            It does not hold numbers, has other axes, is empty, or does not fit an earlier array.
        """
        array = _numbers(name, value)
        single = np.result_type(array.dtype, np.complex64) == np.complex64
        transposed = self._devices_first and len(axes) > 1 and axes[-1] == "devices"
        given = (*axes[:-2], axes[-1], axes[-2]) if transposed else axes
        array = _without_leading_ones(name, array, given)
        if transposed:
            array = array.swapaxes(-1, -2)
        for axis, length in zip(axes, array.shape, strict=True):
            self._agree(name, axis, length)
        # Real or extended-precision arrays are sent as the closest type that the API has.
        dtype: type[np.complexfloating] = np.complex64 if single else np.complex128
        return array.astype(dtype, copy=False)

    def real(self, name: str, value: ArrayLike, axis: str) -> NDArray[np.float64]:
        """Return a vector of real numbers along ``axis``; ValueError as for :meth:`complex`."""
        array = _numbers(name, value)
        if array.dtype.kind == "c":
            raise ValueError(f"{name} must be real numbers, not {array.dtype}")
        array = _without_leading_ones(name, array, (axis,))
        self._agree(name, axis, len(array))
        return array.astype(np.float64, copy=False)

    def names(self, name: str, value: Iterable[str], axis: str) -> list[str]:
        """Return a list of names along ``axis``."""
        if isinstance(value, str):
            raise ValueError(f"{name} must be a list of strings, not one string")
        names = list(value)
        self._agree(name, axis, len(names))
        return names

    def _agree(self, name: str, axis: str, length: int) -> None:
        known, owner = self._lengths.setdefault(axis, (length, name))
        if length != known:
            hint = "" if self._devices_first else "; are the matrices layout='devices_first'?"
            raise ValueError(f"{name} has {length} {axis}, but {owner} has {known}{hint}")


def _numbers(name: str, value: ArrayLike) -> NDArray[Any]:
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"{name} cannot be read as an array: {error}") from error
    if array.dtype.kind not in "iufc":
        raise ValueError(f"{name} must be numbers in equal rows, not {array.dtype}")
    return array


def _without_leading_ones(name: str, array: NDArray[Any], axes: tuple[str, ...]) -> NDArray[Any]:
    shape = array.shape
    extra = max(array.ndim - len(axes), 0)
    if set(shape[:extra]) <= {1}:
        array = array.reshape(shape[extra:])
    if array.ndim != len(axes):
        hint = ""
        if array.dtype.kind != "c" and array.ndim == len(axes) + 1 and 2 in (shape[0], shape[-1]):
            hint = "; join real and imaginary parts as real + 1j * imag"
        raise ValueError(f"{name} must have the shape ({', '.join(axes)}), not {shape}{hint}")
    if array.size == 0:
        raise ValueError(f"{name} must not be empty, but is of shape {shape}")
    return array
