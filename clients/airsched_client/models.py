"""Answers of the service as frozen values with read-only NumPy arrays."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from airsched_client._wire import decode_complex


@dataclass(frozen=True, eq=False)
class Schedule:
    """Who transmits, how, and through which receiver.

    Parameters
    ----------
    feasible
        Whether at least one device is active and all active devices are within the tolerance.
    active, active_ids
        Ascending indices of the scheduled devices, and their names if names were given.
    receiver
        (N,) complex, unit norm; None when nobody is active.
    power_factor, computation_error
        η and the mean squared error of the aggregate, in the worst case if ``csi_error`` was
        given; None when nobody is active.
    transmit_scalars
        (K,) complex, zero for inactive devices.
    gamma, algorithm
        The tolerance and the algorithm with all its parameters, as the service resolved them.
    iterations, stopped
        How long the algorithm ran, and why it ended.
    upper_bound, optimal
        Proven: no receiver serves more devices (with priorities: a larger sum of them), and whether
        this schedule therefore serves the most. None unless ``bound`` was asked for, or the
        algorithm is ``optimal``.
    nominal_error
        The error if the channel estimates are right. None unless ``csi_error`` was given.
    required_missing, required_gamma
        Required devices that could not be served, and the least tolerance found that serves all
        required ones. None unless some could not; the latter also if no tolerance would do.
    request_id, server_timing
        The request's name in the service's log, and the milliseconds that the service took by part
        (``Server-Timing``).
    """

    feasible: bool
    active: NDArray[np.int64]
    active_ids: tuple[str, ...] | None
    receiver: NDArray[np.complex128] | None
    power_factor: float | None
    computation_error: float | None
    transmit_scalars: NDArray[np.complex128]
    gamma: float
    algorithm: Mapping[str, Any]
    iterations: int
    stopped: Literal["converged", "deadline", "limit"]
    upper_bound: float | None = field(default=None, kw_only=True)
    optimal: bool | None = field(default=None, kw_only=True)
    nominal_error: float | None = field(default=None, kw_only=True)
    required_missing: tuple[int, ...] | None = field(default=None, kw_only=True)
    required_gamma: float | None = field(default=None, kw_only=True)
    request_id: str | None = field(default=None, kw_only=True)
    server_timing: Mapping[str, float] = field(default_factory=dict, kw_only=True)

    @classmethod
    def from_answer(cls, answer: Mapping[str, Any]) -> Self:
        """Build it from the service's answer; unknown fields are ignored."""
        return cls(**_fields(cls, answer))


@dataclass(frozen=True, eq=False)
class IrsSchedule(Schedule):
    """A schedule with a reflecting surface; everything in it refers to the tuned channel.

    Parameters
    ----------
    phases
        (M,) complex of unit modulus, the reflection of every element; all 0 with ``no_irs``.
    """

    phases: NDArray[np.complex128]


@dataclass(frozen=True, eq=False)
class WidebandSchedule:
    """Who transmits, and on every subcarrier how and through which receiver.

    Parameters
    ----------
    receivers
        (F, N) complex, unit norm each; None when nobody is active.
    power_factors, computation_errors
        (F,) η and the mean squared error of every subcarrier; None when nobody is active.
    computation_error
        What the criterion compares with the tolerable error: their mean, or the largest.
    transmit_scalars
        (F, K) complex, zero for inactive devices.
    nominal_error
        The same as ``computation_error`` if the channel estimates are right. None unless
        ``csi_error`` was given.

    All others are as in :class:`Schedule`.
    """

    feasible: bool
    active: NDArray[np.int64]
    active_ids: tuple[str, ...] | None
    receivers: NDArray[np.complex128] | None
    power_factors: NDArray[np.float64] | None
    computation_errors: NDArray[np.float64] | None
    computation_error: float | None
    transmit_scalars: NDArray[np.complex128]
    gamma: float
    algorithm: Mapping[str, Any]
    iterations: int
    stopped: Literal["converged", "deadline", "limit"]
    upper_bound: float | None = field(default=None, kw_only=True)
    optimal: bool | None = field(default=None, kw_only=True)
    nominal_error: float | None = field(default=None, kw_only=True)
    required_missing: tuple[int, ...] | None = field(default=None, kw_only=True)
    required_gamma: float | None = field(default=None, kw_only=True)
    request_id: str | None = field(default=None, kw_only=True)
    server_timing: Mapping[str, float] = field(default_factory=dict, kw_only=True)

    @classmethod
    def from_answer(cls, answer: Mapping[str, Any]) -> Self:
        """Build it from the service's answer; unknown fields are ignored."""
        return cls(**_fields(cls, answer))

    def subcarriers(self) -> tuple[Schedule, ...]:
        """Return the schedule of every subcarrier; none when nobody is active.

        The service does not say their nominal errors one by one.
        """
        if self.receivers is None or self.power_factors is None or self.computation_errors is None:
            return ()
        shared = {
            name: getattr(self, name)
            for name in Schedule.__dataclass_fields__
            if name in WidebandSchedule.__dataclass_fields__
        }
        return tuple(
            Schedule(
                **shared
                | {
                    "receiver": self.receivers[f],
                    "power_factor": float(self.power_factors[f]),
                    "computation_error": float(self.computation_errors[f]),
                    "nominal_error": None,
                    "transmit_scalars": self.transmit_scalars[f],
                }
            )
            for f in range(len(self.receivers))
        )


def _fields(model: type[Any], answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a schedule of this class, with read-only arrays."""
    # These are in the answer only if they were asked for.
    fields: dict[str, Any] = dict.fromkeys(_OPTIONAL) | dict(answer)
    fields = {
        name: fields[name]
        for name in model.__dataclass_fields__
        if name not in ("request_id", "server_timing")
    }
    for name, dtype in _REAL.items():
        if fields.get(name) is not None:
            fields[name] = np.array(fields[name], dtype)
            fields[name].flags.writeable = False
    for name in ("active_ids", "required_missing"):
        if fields.get(name) is not None:
            fields[name] = tuple(fields[name])
    for name in _COMPLEX & fields.keys():
        if fields[name] is not None:
            fields[name] = decode_complex(fields[name])
    return fields


def schedules_from(
    answers: Iterable[Mapping[str, Any]], names: Sequence[str] | None
) -> tuple[Schedule, ...]:
    """Build several from one answer, which has the names of all devices only once."""
    return tuple(
        Schedule.from_answer({**item, "active_ids": names and [names[k] for k in item["active"]]})
        for item in answers
    )


_OPTIONAL = ("upper_bound", "optimal", "nominal_error", "required_missing", "required_gamma")
_COMPLEX = {"receiver", "receivers", "transmit_scalars", "phases"}
_REAL: dict[str, type[Any]] = {
    "active": np.int64,
    "power_factors": np.float64,
    "computation_errors": np.float64,
}


@dataclass(frozen=True)
class Parameter:
    """One parameter of an algorithm: its name, default, and type and bounds as JSON Schema."""

    name: str
    default: Any
    json_schema: Mapping[str, Any]


@dataclass(frozen=True)
class Algorithm:
    """One algorithm that the service offers.

    Parameters
    ----------
    name, summary, reference
        Its name, what it does, and its source.
    endpoints
        The routes that take it.
    max_devices, max_elements
        The largest K and M that it takes; None for as many as the service takes.
    takes_priorities
        Whether it takes priorities.
    """

    name: str
    summary: str
    reference: str
    endpoints: tuple[str, ...]
    max_devices: int | None
    max_elements: int | None
    takes_priorities: bool
    parameters: tuple[Parameter, ...]

    @classmethod
    def from_answer(cls, answer: Mapping[str, Any]) -> Self:
        """Build it from an entry of the service's answer."""
        return cls(
            name=answer["name"],
            summary=answer["summary"],
            reference=answer["reference"],
            endpoints=tuple(answer["endpoints"]),
            max_devices=answer["max_devices"],
            max_elements=answer["max_elements"],
            takes_priorities=answer["takes_priorities"],
            parameters=tuple(
                Parameter(item["name"], item["default"], item["json_schema"])
                for item in answer["parameters"]
            ),
        )
