"""Complex arrays as the contract packs them in MessagePack."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def encode_complex(array: ArrayLike) -> dict[str, Any]:
    """Pack an array as little-endian, row-major bytes; complex64 stays as small as it is."""
    values = np.asarray(array)
    name = "complex64" if values.dtype == np.complex64 else "complex128"
    data = values.astype(np.dtype(name).newbyteorder("<")).tobytes()
    return {"dtype": name, "shape": list(values.shape), "data": data}


def decode_complex(value: dict[str, Any]) -> NDArray[np.complex128]:
    """Unpack what :func:`encode_complex` packs."""
    dtype = np.dtype(value["dtype"]).newbyteorder("<")
    return np.frombuffer(value["data"], dtype).reshape(value["shape"]).astype(np.complex128)
