"""What is answered: schedules, algorithms, health."""

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from app.api.requests import FrontierRequest, RoundRequest
from app.api.wire import NestedVector, PackedArray, complex_value
from app.scheduling import Frontier, Schedule


class Answer(BaseModel):
    """Base of every answer: nothing in it that is not documented."""

    model_config = ConfigDict(extra="forbid")


def _leave_out_default(schema: dict[str, Any]) -> None:
    """Describe a field that is absent rather than null."""
    del schema["default"]


class ScheduledRound(Answer):
    """What every scheduled round has."""

    feasible: bool = Field(
        description="False when no device can be served, or all_devices misses the tolerance."
    )
    active: list[int] = Field(description="Ascending indices of the scheduled devices.")
    active_ids: list[str] | None = Field(
        description="Their names, if device_ids was given. Null in a batch and a frontier, "
        "which return device_ids once."
    )
    gamma: float = Field(description="γ as resolved.")
    algorithm: dict[str, Any] = Field(description="The algorithm with all its parameters.")
    nominal_error: float | SkipJsonSchema[None] = Field(
        default=None,
        description="E if the channel estimates are right. Only if csi_error was given.",
        json_schema_extra=_leave_out_default,
    )
    iterations: int
    stopped: Literal["converged", "deadline", "limit"] = Field(description="Why it ended.")
    required_missing: list[int] | SkipJsonSchema[None] = Field(
        default=None,
        description="Required devices that could not be served; only if there are any.",
        json_schema_extra=_leave_out_default,
    )
    required_gamma: float | None = Field(
        default=None,
        description="The least tolerance γ found that serves all required devices together; given "
        "with required_missing. Null if none would.",
        json_schema_extra=_leave_out_default,
    )


class RoundAnswer(ScheduledRound):
    """What a round with one receiver has."""

    receiver: NestedVector | PackedArray | None = Field(
        description="Receiver c, complex N, unit norm; null when nobody is active."
    )
    power_factor: float | None = Field(description="η; null when nobody is active.")
    computation_error: float | None = Field(
        description="E, in the worst case if csi_error was given; null when nobody is active."
    )
    transmit_scalars: NestedVector | PackedArray = Field(
        description="ψ, complex K, zero for inactive devices."
    )


class BoundedRound(Answer):
    """What is proven about a round."""

    upper_bound: float | SkipJsonSchema[None] = Field(
        default=None,
        description="Proven: no receiver serves more devices, or with priorities a larger sum of "
        "them. Only if bound was asked for, or the algorithm is optimal.",
        json_schema_extra=_leave_out_default,
    )
    optimal: bool | SkipJsonSchema[None] = Field(
        default=None,
        description="Whether upper_bound proves that no schedule serves more; given with it.",
        json_schema_extra=_leave_out_default,
    )


class ScheduleAnswer(BoundedRound, RoundAnswer):
    """Who transmits, how, and through which receiver."""


class IrsScheduleAnswer(BoundedRound, RoundAnswer):
    """Who transmits, how, through which receiver, and how the surface is tuned.

    Everything refers to the tuned channels.
    """

    phases: NestedVector | PackedArray = Field(
        description="Phases μ, complex M, unit modulus; all zero with no_irs."
    )


class BatchAnswer(Answer):
    """The schedules of all rounds."""

    device_ids: list[str] | None = Field(description="The names of the devices, if given.")
    schedules: list[ScheduleAnswer] = Field(description="One per round, in their order.")


class FrontierAnswer(Answer):
    """The schedules that no other beats in both the number of devices and the error."""

    device_ids: list[str] | None = Field(description="The names of the devices, if given.")
    points: list[ScheduleAnswer] = Field(
        description="With rising number of devices (with priorities, rising sum of those) and "
        "rising error. gamma is the least tolerance that serves the point's devices."
    )
    stopped: Literal["converged", "deadline"] = Field(
        description="Why the search ended; after a deadline, there may be better points."
    )
    recommended: int | None = Field(
        description="Index of the point with the least E/(2Φ_S²) + ρ(Φ/Φ_S - 1)/K, ρ being "
        "participation, for a controller without a tolerance; null without points."
    )


class ParameterInfo(Answer):
    """One parameter of an algorithm."""

    name: str
    default: Any
    json_schema: dict[str, Any] = Field(description="Its type and bounds, as JSON Schema.")


class AlgorithmInfo(Answer):
    """One algorithm that the service offers."""

    name: str
    summary: str
    reference: str
    endpoints: list[str] = Field(
        description="The endpoints that take it. Where it differs between endpoints, each has an "
        "entry of the same name."
    )
    max_devices: int | None = Field(description="The largest K it takes; null for the service's.")
    max_elements: int | None = Field(description="The largest M it takes; null for the service's.")
    takes_priorities: bool = Field(description="Whether it takes priorities.")
    parameters: list[ParameterInfo]


class Algorithms(Answer):
    """Every algorithm that the service offers."""

    algorithms: list[AlgorithmInfo]


class Health(Answer):
    """The state of the service."""

    status: Literal["live", "ready"]


def schedule_answer(
    request: RoundRequest, schedules: Sequence[Schedule], media_type: str
) -> dict[str, Any]:
    """Return the fields of :class:`ScheduleAnswer`; arrays as ``media_type`` carries them.

    With a surface they are those of :class:`IrsScheduleAnswer`.
    """
    (schedule,) = schedules
    ids = request.device_ids
    names = None if ids is None else [ids[k] for k in schedule.active]
    return _fields(request, schedule, names, media_type)


def batch_answer(
    request: RoundRequest, schedules: Sequence[Schedule], media_type: str
) -> dict[str, Any]:
    """Return the fields of :class:`BatchAnswer`; the names only once, however many rounds."""
    return {
        "device_ids": request.device_ids,
        "schedules": [_fields(request, schedule, None, media_type) for schedule in schedules],
    }


def frontier_answer(request: FrontierRequest, found: Frontier, media_type: str) -> dict[str, Any]:
    """Return the fields of :class:`FrontierAnswer`; the names only once, however many points."""
    return {
        "device_ids": request.device_ids,
        "points": [
            _fields(request, point.schedule, None, media_type) | {"gamma": point.gamma}
            for point in found.points
        ],
        "stopped": found.stopped,
        "recommended": found.recommended(request.participation),
    }


def _fields(
    request: RoundRequest, schedule: Schedule, names: list[str] | None, media_type: str
) -> dict[str, Any]:
    receiver, phases = schedule.receiver, schedule.phases
    answer = {
        "feasible": schedule.feasible,
        "active": schedule.active.tolist(),
        "active_ids": names,
        "receiver": None if receiver is None else complex_value(receiver, media_type),
        "power_factor": schedule.power_factor,
        "computation_error": schedule.computation_error,
        "transmit_scalars": complex_value(schedule.transmit_scalars, media_type),
        "gamma": request.problems[0].gamma,
        "algorithm": request.algorithm.resolved,
        "iterations": schedule.iterations,
        "stopped": schedule.stopped,
    }
    if schedule.required_missing is not None:
        answer["required_missing"] = schedule.required_missing.tolist()
        answer["required_gamma"] = schedule.required_gamma
    if schedule.nominal_error is not None:
        answer["nominal_error"] = schedule.nominal_error
    if phases is not None:
        answer["phases"] = complex_value(phases, media_type)
    if schedule.upper_bound is not None:
        answer["upper_bound"] = schedule.upper_bound
        answer["optimal"] = schedule.optimal
    return answer
