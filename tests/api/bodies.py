"""Request bodies, written here from the contract, independently of the service's own code."""

import base64

import numpy as np


def nested(array):
    array = np.asarray(array, complex)
    return {"real": array.real.tolist(), "imag": array.imag.tolist()}


def packed(array, dtype="complex128", *, raw=False):
    array = np.asarray(array, dtype)
    data = array.astype(array.dtype.newbyteorder("<")).tobytes()
    return {
        "dtype": dtype,
        "shape": list(array.shape),
        "data": data if raw else base64.b64encode(data).decode(),
    }


def unpacked(value):
    if "data" in value:
        return np.frombuffer(value["data"], "<c16").reshape(value["shape"])
    return np.array(value["real"]) + 1j * np.array(value["imag"])
