"""The wire format: complex arrays and answers, as JSON or MessagePack.

A complex array is ``{"real": …, "imag": …}`` with nested lists, or packed as ``{"dtype", "shape",
"data"}``, where ``data`` is little-endian and row-major: base64 in JSON, raw bytes in MessagePack.
"""

import base64
import math
import re
import struct
from collections.abc import Mapping
from functools import lru_cache
from itertools import chain
from typing import Annotated, Any, Literal

import msgpack
import numpy as np
import orjson
from pydantic import (
    ConfigDict,
    Field,
    PlainValidator,
    TypeAdapter,
    ValidationInfo,
    WithJsonSchema,
    with_config,
)
from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from app.scheduling.types import ComplexArray, RealArray

Headers = Mapping[bytes, bytes]
"""A request's headers by lower-case name, as ASGI carries them."""

JSON = "application/json"
MSGPACK = "application/msgpack"

Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
# fail_fast: a million wrong numbers are reported as one.
Vector = Annotated[list[Number], Field(fail_fast=True)]
Matrix = Annotated[list[Vector], Field(fail_fast=True)]


def encode(data: Mapping[str, Any], media_type: str) -> bytes:
    """Serialise an answer."""
    if media_type == MSGPACK:
        packed: bytes = msgpack.packb(data)
        return packed
    return orjson.dumps(data)


@lru_cache(maxsize=64)
def answer_type(accept: bytes) -> str:
    """Return the media type to answer in: JSON, unless ``Accept`` wants MessagePack as much."""
    if MSGPACK.encode() not in accept.lower():
        return JSON
    wanted = {JSON: 0.0, MSGPACK: 0.0}
    for item in accept.decode("latin-1").lower().split(","):
        media_type, *parameters = (part.strip() for part in item.split(";"))
        weights = [part[2:] for part in parameters if part.startswith("q=")]
        wanted[media_type] = _weight(weights[0]) if weights else 1.0
    return MSGPACK if wanted[MSGPACK] > 0 and wanted[MSGPACK] >= wanted[JSON] else JSON


def _weight(text: str) -> float:
    """Return how much a media type is wanted, from 0 to 1; what is no number counts as 0."""
    return float(text) if re.fullmatch(r"[01](\.\d{0,3})?", text) else 0.0


def complex_value(array: ComplexArray, media_type: str) -> dict[str, Any]:
    """Return ``array`` as the answer carries it: packed in MessagePack, nested lists in JSON."""
    if media_type == MSGPACK:
        data = array.astype("<c16", copy=False).tobytes()
        return {"dtype": "complex128", "shape": list(array.shape), "data": data}
    return {"real": array.real.tolist(), "imag": array.imag.tolist()}


_STRICT = ConfigDict(extra="forbid", strict=True)


@with_config(_STRICT)
class NestedVector(TypedDict):
    """A complex vector as two lists."""

    real: Vector
    imag: Vector


@with_config(_STRICT)
class NestedMatrix(TypedDict):
    """A complex matrix as two lists of rows."""

    real: Matrix
    imag: Matrix


@with_config(_STRICT)
class NestedMatrices(TypedDict):
    """Complex matrices as two lists of lists of rows."""

    real: Annotated[list[Matrix], Field(fail_fast=True)]
    imag: Annotated[list[Matrix], Field(fail_fast=True)]


@with_config(_STRICT)
class PackedArray(TypedDict):
    """A complex array as bytes, little-endian and row-major."""

    dtype: Literal["complex64", "complex128"]
    shape: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1, max_length=3)]
    data: Annotated[
        str | bytes,
        WithJsonSchema({"type": "string", "contentEncoding": "base64"}),
        Field(description="Base64 in JSON, raw bytes in MessagePack."),
    ]


_PACKED_ADAPTER = TypeAdapter(PackedArray)
_NESTED: Any = {1: NestedVector, 2: NestedMatrix, 3: NestedMatrices}
_NESTED_ADAPTERS: dict[int, TypeAdapter[Any]] = {
    axes: TypeAdapter(nested) for axes, nested in _NESTED.items()
}


def complex_array(*axes: str) -> PlainValidator:
    """Return the validator of a complex array with these axes, for ``Annotated[Any, …]``.

    Each length is checked against the limit of that name in the validation context,
    ``{"devices": 4096, …}``, before anything is converted.
    """

    def convert(value: object, info: ValidationInfo) -> ComplexArray:
        limits: Mapping[str, int] = info.context or {}
        if isinstance(value, dict) and "data" in value:
            return _from_packed(_PACKED_ADAPTER.validate_python(value), axes, limits)
        return _from_nested(_NESTED_ADAPTERS[len(axes)].validate_python(value), axes, limits)

    return PlainValidator(convert, json_schema_input_type=_NESTED[len(axes)] | PackedArray)


def _check_shape(shape: list[int], axes: tuple[str, ...], limits: Mapping[str, int]) -> None:
    if len(shape) != len(axes):
        raise ValueError(f"must have the shape ({', '.join(axes)}), not {shape}")
    for length, axis in zip(shape, axes, strict=True):
        if length == 0:
            raise ValueError(f"must not be empty: it has no {axis}")
        if length > limits.get(axis, length):
            raise ValueError(f"{length} {axis} are over this server's limit of {limits[axis]}")


def _from_nested(
    nested: Mapping[str, list[Any]], axes: tuple[str, ...], limits: Mapping[str, int]
) -> ComplexArray:
    shape, real = _flattened("real", nested["real"])
    imag_shape, imag = _flattened("imag", nested["imag"])
    if imag_shape != shape:
        raise ValueError("real and imag must have equal shapes")
    _check_shape(shape, axes, limits)
    array = np.empty(math.prod(shape), np.complex128)
    array.real = _from_list(real)
    array.imag = _from_list(imag)
    array.flags.writeable = False
    return array.reshape(shape)


def _from_list(values: list[float]) -> RealArray:
    """Return floats as an array, in half the time that ``np.array`` takes."""
    return np.frombuffer(struct.pack(f"{len(values)}d", *values))


def _flattened(name: str, values: list[Any]) -> tuple[list[int], list[float]]:
    """Return the shape of nested lists, and their entries in one flat list."""
    shape = [len(values)]
    while values and isinstance(values[0], list):
        lengths = set(map(len, values))
        if len(lengths) > 1:
            raise ValueError(f"the rows of {name} must be equally long, not {sorted(lengths)[:5]}")
        shape.append(lengths.pop())
        values = list(chain.from_iterable(values))
    return shape, values


def _from_packed(
    packed: PackedArray, axes: tuple[str, ...], limits: Mapping[str, int]
) -> ComplexArray:
    dtype, shape, data = _DTYPES[packed["dtype"]], packed["shape"], packed["data"]
    _check_shape(shape, axes, limits)
    expected = math.prod(shape) * dtype.itemsize
    if isinstance(data, str):
        # Nothing is decoded that is too long anyway.
        if len(data) != 4 * -(-expected // 3):
            raise ValueError(
                f"data has {len(data)} characters where the base64 of {packed['dtype']} of shape "
                f"{shape} takes {4 * -(-expected // 3)}"
            )
        data = _from_base64(data)
    if len(data) != expected:
        raise ValueError(
            f"data has {len(data)} bytes where {packed['dtype']} of shape {shape} takes {expected}"
        )
    array: ComplexArray = np.frombuffer(data, dtype).astype(np.complex128, copy=False)
    # Nobody else has it: the problem need not copy it.
    array.flags.writeable = False
    return array.reshape(shape)


def _from_base64(text: str) -> bytes:
    """Decode in pieces, because each piece holds the interpreter lock."""
    try:
        return b"".join(
            base64.b64decode(text[start : start + _PIECE], validate=True)
            for start in range(0, len(text), _PIECE)
        )
    except ValueError:
        raise ValueError("data is not valid base64") from None


_PIECE = 2**20
"""Characters of base64 decoded at once, a multiple of four: about 5 ms."""

_DTYPES: dict[str, np.dtype[Any]] = {
    "complex64": np.dtype("<c8"),
    "complex128": np.dtype("<c16"),
}
