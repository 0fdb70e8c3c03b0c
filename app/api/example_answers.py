"""Answers and errors as the OpenAPI document shows them: to the first example of each request.

The tests post those requests and compare.
"""

from typing import Any

from pydantic import BaseModel

from app.api.error_responses import problem
from app.api.errors import ApiError, Cause
from app.api.responses import BatchAnswer, FrontierAnswer, IrsScheduleAnswer, ScheduleAnswer
from app.api.wideband import WidebandAnswer

_MATCHING_PURSUIT = {"name": "matching_pursuit", "delta": 0.55, "search": "backward"}
_SCHEDULE = {
    "feasible": True,
    "active": [0, 1],
    "active_ids": ["phone", "car"],
    "receiver": {"real": [0.78158, 0.48932], "imag": [0.33308, -0.19688]},
    "power_factor": 0.68965,
    "computation_error": 1.45,
    "transmit_scalars": {"real": [0.99937, 0.45423, 0.0], "imag": [0.035351, -0.42319, 0.0]},
    "gamma": 1.9953,
    "algorithm": _MATCHING_PURSUIT,
    "iterations": 2,
    "stopped": "converged",
}

ANSWERS: dict[type[BaseModel], dict[str, Any]] = {
    ScheduleAnswer: _SCHEDULE,
    IrsScheduleAnswer: {
        "feasible": True,
        "active": [0, 1, 2],
        "active_ids": ["phone", "car", "meter"],
        "receiver": {"real": [0.55547, -0.27632], "imag": [0.28255, 0.73162]},
        "power_factor": 0.87355,
        "computation_error": 1.1448,
        "transmit_scalars": {
            "real": [0.62402, -0.39598, 0.59275],
            "imag": [0.35503, 0.91826, 0.69878],
        },
        "gamma": 3.1623,
        "algorithm": {"name": "matching_pursuit", "delta": 0.55, "phase_update": "mm"},
        "iterations": 1,
        "stopped": "converged",
        "phases": {"real": [0.82836, -0.93157], "imag": [-0.5602, -0.36355]},
    },
    BatchAnswer: {
        "device_ids": None,
        "schedules": [
            {**_SCHEDULE, "active_ids": None},
            {
                "feasible": True,
                "active": [0, 1, 2],
                "active_ids": None,
                "receiver": {"real": [0.57215, 0.65256], "imag": [0.38636, 0.31231]},
                "power_factor": 0.6057,
                "computation_error": 1.651,
                "transmit_scalars": {
                    "real": [0.99175, 0.75796, 0.87419],
                    "imag": [-0.12817, -0.15644, -0.15957],
                },
                "gamma": 1.9953,
                "algorithm": _MATCHING_PURSUIT,
                "iterations": 1,
                "stopped": "converged",
            },
        ],
    },
    WidebandAnswer: {
        "feasible": True,
        "active": [0, 1],
        "active_ids": ["phone", "car"],
        "receivers": {
            "real": [[0.89247, 0.40418], [0.73934, 0.38571]],
            "imag": [[0.17055, 0.10513], [0.44335, 0.32869]],
        },
        "power_factors": [1.1347, 0.73791],
        "computation_errors": [0.88129, 1.3552],
        "computation_error": 1.3552,
        "transmit_scalars": {
            "real": [[0.999, 0.70711, 0.0], [0.99983, 0.94134, 0.0]],
            "imag": [[0.0, -0.70711, 0.0], [0.0, -0.33746, 0.0]],
        },
        "gamma": 3.1623,
        "algorithm": {"name": "dual_pursuit", "starts": 5},
        "iterations": 1,
        "stopped": "converged",
    },
    FrontierAnswer: {
        "device_ids": None,
        "points": [
            {
                "feasible": True,
                "active": [1],
                "active_ids": None,
                "receiver": {"real": [0.14003, 0.70014], "imag": [0.70014, 0.0]},
                "power_factor": 2.04,
                "computation_error": 0.4902,
                "transmit_scalars": {"real": [0.0, 1.0, 0.0], "imag": [0.0, 0.0, 0.0]},
                "gamma": 0.4902,
                "algorithm": {"name": "dual_pursuit", "starts": 5},
                "iterations": 376,
                "stopped": "converged",
            },
            {
                "feasible": True,
                "active": [0, 1],
                "active_ids": None,
                "receiver": {"real": [0.86525, 0.40532], "imag": [-0.27692, -0.10179]},
                "power_factor": 1.1362,
                "computation_error": 0.8801,
                "transmit_scalars": {
                    "real": [0.87805, 0.2828, 0.0],
                    "imag": [-0.47856, -0.95918, 0],
                },
                "gamma": 0.8801,
                "algorithm": {"name": "dual_pursuit", "starts": 5},
                "iterations": 376,
                "stopped": "converged",
            },
            {
                "feasible": True,
                "active": [0, 1, 2],
                "active_ids": None,
                "receiver": {"real": [0.18938, 0.98114], "imag": [-0.034243, 0.018164]},
                "power_factor": 0.27,
                "computation_error": 3.7037,
                "transmit_scalars": {
                    "real": [0.49955, 0.51095, 0.98404],
                    "imag": [-0.52648, -0.092388, -0.17793],
                },
                "gamma": 3.7037,
                "algorithm": {"name": "dual_pursuit", "starts": 5},
                "iterations": 376,
                "stopped": "converged",
            },
        ],
        "stopped": "converged",
        "recommended": 2,
    },
}
"""By model of the answer."""

_VALUES: dict[Cause, dict[str, object]] = {
    Cause.MALFORMED_BODY: {"format": "JSON", "reason": "unexpected end of data: line 1 column 2"},
    Cause.HEAD_TOO_LARGE: {"limit": 32768},
    Cause.BODY_TOO_SLOW: {"seconds": 10},
    Cause.BODY_TOO_LARGE: {"limit": 67108864},
    Cause.TOO_MANY_VALUES: {"limit": 262144},
    Cause.UNSUPPORTED_MEDIA_TYPE: {"given": "text/plain"},
    Cause.UNSUPPORTED_TRANSFER_CODING: {"given": "gzip, chunked"},
    Cause.NOT_READY: {"error": "The service is being stopped"},
    Cause.COMPILING: {"error": "optimal: still being compiled, which happens once per machine"},
}
"""What fills in the placeholders of a cause's detail."""

_WRONG_FIELD = {"loc": ["weights"], "msg": "must be 3 numbers, one for each device, not 2"}


def error_example(cause: Cause) -> dict[str, Any]:
    """Return an example for OpenAPI: what the service answers for a cause."""
    errors = [_WRONG_FIELD] if cause is Cause.INVALID_REQUEST else []
    error = ApiError(cause, errors=errors, **_VALUES.get(cause, {}))
    return {"summary": cause.value.title, "value": problem(cause, error, {})}
