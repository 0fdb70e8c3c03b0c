"""Request examples of the OpenAPI document. The tests post each of them and verify the answer."""

from typing import Any

from pydantic import BaseModel

from app.api.requests import (
    BatchRequest,
    FrontierRequest,
    IrsScheduleRequest,
    ScheduleRequest,
)
from app.api.wideband import WidebandRequest

_CHANNELS = {
    "real": [[1.0, 0.2, 0.1], [0.3, 1.0, 0.5]],
    "imag": [[0.0, 1.0, 0.0], [0.5, 0.0, 0.1]],
}
_OTHER_CHANNELS = {
    "real": [[0.7, 0.1, 0.6], [0.2, 0.9, 0.4]],
    "imag": [[0.3, 0.8, 0.1], [0.4, 0.1, 0.7]],
}

EXAMPLES: dict[type[BaseModel], dict[str, dict[str, Any]]] = {
    ScheduleRequest: {
        "nested": {
            "summary": "Three devices, two antennas, channels as nested lists",
            "value": {
                "channels": _CHANNELS,
                "gamma_db": 3,
                "device_ids": ["phone", "car", "meter"],
            },
        },
        "packed": {
            "summary": "The same channels packed, an algorithm with a parameter, a tolerated error",
            "value": {
                "channels": {
                    "dtype": "complex64",
                    "shape": [2, 3],
                    "data": "AACAPwAAAADNzEw+AACAP83MzD0AAAAAmpmZPgAAAD8AAIA/AAAAAAAAAD/NzMw9",
                },
                "algorithm": {"name": "dual_pursuit", "starts": 8},
                "weights": [1.0, 0.5, 0.5],
                "max_error": 0.2,
                "power": 10.0,
                "deadline_ms": 1000,
            },
        },
    },
    IrsScheduleRequest: {
        "surface": {
            "summary": "Three devices, two antennas, a surface of two elements",
            "value": {
                "direct": {
                    "real": [[0.4, 0.1, 0.1], [0.1, 0.4, 0.2]],
                    "imag": [[0.0, 0.4, 0.0], [0.2, 0.0, 0.1]],
                },
                "irs_to_server": {
                    "real": [[0.6, 0.5], [0.2, -0.5]],
                    "imag": [[0.1, 0.3], [0.6, 0.2]],
                },
                "devices_to_irs": {
                    "real": [[0.5, 0.3, 0.4], [-0.2, 0.6, 0.1]],
                    "imag": [[0.3, -0.4, 0.2], [0.5, 0.1, 0.6]],
                },
                "gamma_db": 5,
                "device_ids": ["phone", "car", "meter"],
            },
        },
    },
    BatchRequest: {
        "subcarriers": {
            "summary": "Two subcarriers of three devices",
            "value": {
                "channels": {
                    part: [_CHANNELS[part], _OTHER_CHANNELS[part]] for part in ("real", "imag")
                },
                "gamma_db": 3,
            },
        },
    },
    WidebandRequest: {
        "band": {
            "summary": "Three devices over two subcarriers, each within the tolerance",
            "value": {
                "channels": {
                    part: [_CHANNELS[part], _OTHER_CHANNELS[part]] for part in ("real", "imag")
                },
                "criterion": "each",
                "gamma_db": 5,
                "device_ids": ["phone", "car", "meter"],
            },
        },
    },
    FrontierRequest: {
        "priorities": {
            "summary": "The trade-off of three devices, of which one matters more",
            "value": {"channels": _CHANNELS, "priorities": [1.0, 1.0, 3.0]},
        },
    },
}
"""By request model: name → summary and body."""
