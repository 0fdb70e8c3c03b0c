"""Bodies in MessagePack or JSON, with NumPy arrays in the format of the API.

A complex array is sent packed, ``{"dtype", "shape", "data"}``, little-endian and row-major, with
``data`` as raw bytes in MessagePack and base64 in JSON. It is received in that form or as nested
lists, ``{"real": …, "imag": …}``.
"""

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import msgpack
import numpy as np
from numpy.typing import NDArray

EncodingName = Literal["msgpack", "json"]
ComplexArray = NDArray[np.complexfloating]

_LITTLE_ENDIAN: dict[str, np.dtype[Any]] = {
    "complex64": np.dtype("<c8"),
    "complex128": np.dtype("<c16"),
}


@dataclass(frozen=True)
class Encoding:
    """One body format: its media type, and how to encode and decode values."""

    media_type: str
    dump: Callable[[dict[str, Any]], bytes]
    load: Callable[[bytes], Any]


def load(content: bytes, content_type: str) -> Any:
    """Decode an answer by its Content-Type; ValueError if that fails."""
    media_type = content_type.partition(";")[0].strip()
    for encoding in ENCODINGS.values():
        if encoding.media_type == media_type:
            return encoding.load(content)
    raise ValueError(f"its Content-Type is {media_type or 'missing'}")


def decode_complex(value: dict[str, Any]) -> NDArray[np.complex128]:
    """Return a received array, read-only."""
    if "data" in value:
        data = value["data"]
        raw = base64.b64decode(data) if isinstance(data, str) else data
        array = np.frombuffer(raw, _LITTLE_ENDIAN[value["dtype"]]).reshape(value["shape"])
        decoded: NDArray[np.complex128] = array.astype(np.complex128, copy=False)
    else:
        real = np.array(value["real"], np.float64)
        decoded = np.empty(real.shape, np.complex128)
        # Part by part: multiplying by 1j would lose the sign of a zero.
        decoded.real, decoded.imag = real, value["imag"]
    decoded.flags.writeable = False
    return decoded


def _dump_msgpack(body: dict[str, Any]) -> bytes:
    content: bytes = msgpack.packb(body, default=_raw)
    return content


def _dump_json(body: dict[str, Any]) -> bytes:
    return json.dumps(body, default=_text, separators=(",", ":")).encode()


def _raw(value: object) -> Any:
    """Convert a value that MessagePack cannot represent."""
    if isinstance(value, np.ndarray):
        return value.tolist() if value.dtype.kind != "c" else _packed(value)
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"cannot send a {type(value).__name__}: {value!r:.100}")


def _text(value: object) -> Any:
    """Convert the same for JSON, which has no bytes either."""
    plain = _raw(value)
    if isinstance(plain, dict):
        plain["data"] = base64.b64encode(plain["data"]).decode()
    return plain


def _packed(array: ComplexArray) -> dict[str, Any]:
    name = array.dtype.name
    data = array.astype(_LITTLE_ENDIAN[name], copy=False).tobytes()
    return {"dtype": name, "shape": array.shape, "data": data}


ENCODINGS: dict[EncodingName, Encoding] = {
    "msgpack": Encoding("application/msgpack", _dump_msgpack, msgpack.unpackb),
    "json": Encoding("application/json", _dump_json, json.loads),
}
