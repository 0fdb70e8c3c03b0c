"""Bodies of the scheduling routes: one round to schedule, and the problem it states."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import fields
from functools import cache, cached_property, lru_cache
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationInfo,
    field_validator,
    model_validator,
)

from app.api.algorithms import CHOICES, IRS_CHOICES, AlgorithmChoice, Choices, algorithm_in
from app.api.cells import CellFields, Positive, number_or_vector
from app.api.errors import invalid
from app.api.wire import Number, Vector, complex_array
from app.scheduling import (
    AnyProblem,
    InvalidProblemError,
    IrsProblem,
    Method,
    Problem,
    SolveSpec,
)
from app.scheduling.frontier import PARTICIPATION, most_points
from app.scheduling.irs.problem import MAX_PHASE_BITS
from app.scheduling.problem import LARGEST
from app.scheduling.spec import BOUND_MS
from app.scheduling.types import ComplexArray, RealArray

TOLERANCES = ("gamma", "gamma_db", "max_error")


@lru_cache(maxsize=64)
def _unit(devices: int) -> RealArray:
    """Return unit weights, read-only."""
    weights = np.ones(devices)
    weights.flags.writeable = False
    return weights


def require_within_batch(
    info: ValidationInfo, count: int, what: str, devices: int, advice: str = ""
) -> None:
    """Raise if ``count`` schedules of so many devices are more than one answer may hold."""
    total = count * devices
    limit = (info.context or {}).get("batch_devices", total)
    if total > limit:
        raise ValueError(
            f"{count} {what} of {devices} devices are {total} in all, over this server's limit of "
            f"{limit}{advice}"
        )


@cache
def _options_of(request: type[BaseModel]) -> tuple[str, ...]:
    """Return the fields of a request that are options of the solve: they have their names."""
    return tuple(item.name for item in fields(SolveSpec) if item.name in request.model_fields)


Priorities = Annotated[
    Vector | None,
    Field(
        description="Priorities, positive, one per device, on any scale: the sum of those of the "
        "active devices is maximised instead of their number. `GET /algorithms` says which "
        "algorithms take them.",
    ),
]

ALGORITHM = "Name of an algorithm, or an object with its name and parameters."


class RoundRequest(CellFields):
    """What every round to schedule states beside its channels."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    choices: ClassVar[Choices]
    """The algorithms to choose from."""

    algorithm: AlgorithmChoice
    weights: Vector | None = Field(
        default=None, description="Aggregation weights φ, positive, one per device; default all 1."
    )
    device_ids: list[Annotated[str, Field(max_length=256)]] | None = Field(
        default=None,
        fail_fast=True,
        description="Distinct names, one per device, returned for the active ones.",
    )
    csi_error: Annotated[
        Any, PlainValidator(number_or_vector, json_schema_input_type=Number | Vector)
    ] = Field(
        default=0.0,
        description="Bound on ‖h_k - ĥ_k‖ of the channel estimates, for all or for each device: "
        "the tolerance then holds for the worst channels within it.",
    )
    coordination: Method = Field(
        default="zero_forcing",
        description="How the transmit scalars are set: inverting every channel, or for the least "
        "mean squared error.",
    )
    warm_start: Annotated[Any, complex_array("antennas")] | None = Field(
        default=None,
        description="Last round's receiver, complex N, for algorithms that can start from one.",
    )
    deadline_ms: Positive | None = Field(
        default=None, description="Answer within this time; the server's limit if left out."
    )
    seed: Annotated[int, Field(ge=0, lt=2**63)] = Field(
        default=0, description="Source of randomness, for algorithms that use any."
    )

    @cached_property
    def problems(self) -> Sequence[AnyProblem]:
        """The problems stated; 422 if the fields do not agree with each other."""
        devices, ids = self.devices, self.device_ids
        tolerance, gamma = self._tolerance()
        if ids is not None and len(ids) != devices:
            message = f"must be {devices} names, one for each device, not {len(ids)}"
            raise InvalidProblemError("device_ids", message)
        if ids is not None and len(set(ids)) != devices:
            raise InvalidProblemError("device_ids", "must be distinct")
        stated = {
            "weights": _unit(devices) if self.weights is None else np.array(self.weights),
            "gamma": gamma,
            "power": self.reference_power,
            "noise_variance": self.reference_noise,
            "csi_error": self.csi_error,
        }
        try:
            return self._state(stated)
        except InvalidProblemError as error:
            if error.field != "gamma":
                raise
            raise InvalidProblemError(tolerance, error.message) from None

    def specification(self) -> SolveSpec:
        """Return how the problems are to be solved."""
        options = {name: getattr(self, name) for name in _options_of(type(self))}
        return SolveSpec(self.algorithm.scheduler, self.algorithm.parameters, **options)

    @property
    @abstractmethod
    def devices(self) -> int:
        """The number of devices."""

    @property
    def answered_devices(self) -> int:
        """How many devices the answer speaks of: those of all its schedules."""
        return self.devices * len(self.problems)

    @abstractmethod
    def _state(self, stated: dict[str, Any]) -> Sequence[AnyProblem]:
        """Return the problems with these arguments and the channels."""

    @abstractmethod
    def _tolerance(self) -> tuple[str, float]:
        """Return the name of the field that states the tolerance, and γ."""


class ToleranceRequest(RoundRequest):
    """A round to schedule within a stated tolerance."""

    gamma: Positive | None = Field(
        default=None,
        description="Tolerance γ. Exactly one of gamma, gamma_db and max_error is required.",
    )
    gamma_db: Annotated[Number, Field(ge=-300, le=300)] | None = Field(
        default=None, description="γ in decibels, 10·log10 γ."
    )
    max_error: Positive | None = Field(
        default=None, description="Tolerable computation error ε; γ = power·ε/noise_variance."
    )
    polish: bool = Field(
        default=False,
        description="Once the set is fixed, replace the receiver by the one with the least error; "
        "everyone it serves joins.",
    )

    def _tolerance(self) -> tuple[str, float]:
        gamma, gamma_db, max_error = self.gamma, self.gamma_db, self.max_error
        if gamma is not None and gamma_db is max_error is None:
            return "gamma", gamma
        if gamma_db is not None and gamma is max_error is None:
            return "gamma_db", 10 ** (gamma_db / 10)
        if max_error is not None and gamma is gamma_db is None:
            return "max_error", self.reference_power * max_error / self.reference_noise
        given = [name for name in TOLERANCES if getattr(self, name) is not None]
        message = (
            "exactly one of gamma, gamma_db and max_error must be given, "
            f"not {' and '.join(given) or 'none'}"
        )
        raise invalid([{"loc": [name], "msg": message} for name in given or TOLERANCES[:1]])


class BoundedRequest(ToleranceRequest):
    """A round to schedule whose devices can have priorities, and whose best can be bounded."""

    priorities: Priorities = None
    bound: bool = Field(
        default=False,
        description="Prove how many devices (with priorities: what sum of them) any receiver can "
        "serve at most, and say whether the schedule is optimal.",
    )
    bound_ms: Positive | None = Field(
        default=None,
        description=f"Milliseconds that the proof may take for each round, {BOUND_MS:g} if left "
        "out. The bound is smaller, or the same, the longer it takes.",
    )


class PlainRequest(BoundedRequest):
    """A request for a tolerance, on one subcarrier and without a surface."""

    choices = CHOICES

    algorithm: Annotated[AlgorithmChoice, algorithm_in(CHOICES)] = Field(
        default=CHOICES["matching_pursuit"](name="matching_pursuit"), description=ALGORITHM
    )


class ScheduleRequest(PlainRequest):
    """One round to schedule."""

    channels: Annotated[Any, complex_array("antennas", "devices")] = Field(
        description="Uplink channels H, antennas × devices: column k is device k."
    )

    @property
    def devices(self) -> int:
        """The number of devices."""
        return int(self.channels.shape[1])

    def _state(self, stated: dict[str, Any]) -> Sequence[AnyProblem]:
        problem = Problem(channels=self.channels, **stated | {"priorities": self.priorities})
        return [self.cell(problem, self.device_ids)]


class BatchRequest(PlainRequest):
    """Rounds to schedule at once, which differ in their channels only."""

    channels: Annotated[Any, complex_array("rounds", "antennas", "devices")] = Field(
        description="Uplink channels of every round, rounds × antennas × devices."
    )

    @property
    def devices(self) -> int:
        """The number of devices."""
        return int(self.channels.shape[2])

    @field_validator("channels")
    @classmethod
    def _bounded(cls, channels: ComplexArray, info: ValidationInfo) -> ComplexArray:
        rounds, _, devices = channels.shape
        require_within_batch(info, rounds, "rounds", devices, "; split the batch")
        return channels

    def _state(self, stated: dict[str, Any]) -> Sequence[AnyProblem]:
        problems: list[AnyProblem] = []
        stated = stated | {"priorities": self.priorities}
        for index, channels in enumerate(self.channels):
            try:
                problem = Problem(channels=channels, **stated)
                problems.append(self.cell(problem, self.device_ids))
            except InvalidProblemError as error:
                if error.field != "channels":
                    raise
                raise invalid([{"loc": ["channels", index], "msg": error.message}]) from None
        return problems


class FrontierRequest(RoundRequest):
    """One round, to be scheduled at every tolerance."""

    choices: ClassVar[Choices] = {"dual_pursuit": CHOICES["dual_pursuit"]}

    channels: Annotated[Any, complex_array("antennas", "devices")] = Field(
        description="Uplink channels H, antennas × devices: column k is device k."
    )
    algorithm: Annotated[AlgorithmChoice, algorithm_in(choices)] = Field(
        default=CHOICES["dual_pursuit"](name="dual_pursuit"), description=ALGORITHM
    )
    priorities: Priorities = None
    min_devices: Annotated[int, Field(ge=1)] = Field(
        default=1, description="Points with fewer active devices are left out."
    )
    max_error: Positive | None = Field(
        default=None, description="Points with a larger error are left out."
    )
    participation: Annotated[Number, Field(ge=0, le=1e9)] = Field(
        default=PARTICIPATION,
        description="ρ of the recommended point: how much missing devices matter against noise.",
    )

    @property
    def devices(self) -> int:
        """The number of devices."""
        return int(self.channels.shape[1])

    @property
    def answered_devices(self) -> int:
        """How many devices the answer speaks of, at most."""
        preferring = self.priorities is not None or bool(self.previous)
        return self.devices * most_points(self.devices, preferring=preferring)

    @field_validator("channels")
    @classmethod
    def _bounded(cls, channels: ComplexArray, info: ValidationInfo) -> ComplexArray:
        devices = channels.shape[1]
        require_within_batch(info, most_points(devices), "points", devices)
        return channels

    @field_validator("priorities")
    @classmethod
    def _bounded_with(cls, priorities: Vector | None, info: ValidationInfo) -> Vector | None:
        channels = info.data.get("channels")
        if priorities is not None and channels is not None:
            devices = channels.shape[1]
            require_within_batch(info, most_points(devices, preferring=True), "points", devices)
        return priorities

    @model_validator(mode="after")
    def _bounded_with_previous(self, info: ValidationInfo) -> Self:
        if self.previous:
            points = most_points(self.devices, preferring=True)
            require_within_batch(info, points, "points", self.devices)
        return self

    def _state(self, stated: dict[str, Any]) -> Sequence[AnyProblem]:
        problem = Problem(channels=self.channels, **stated | {"priorities": self.priorities})
        return [self.cell(problem, self.device_ids)]

    def _tolerance(self) -> tuple[str, float]:
        if self.max_error is None:
            return "max_error", LARGEST
        return "max_error", self.reference_power * self.max_error / self.reference_noise


class IrsScheduleRequest(BoundedRequest):
    """One round to schedule together with the phases of a reflecting surface."""

    choices = IRS_CHOICES

    direct: Annotated[Any, complex_array("antennas", "devices")] = Field(
        description="Channels H⁰ past the surface, antennas × devices: column k is device k."
    )
    irs_to_server: Annotated[Any, complex_array("antennas", "elements")] = Field(
        description="Channels T from the surface, antennas × elements. The tuned channels are "
        "H⁰ + T diag(phases) G."
    )
    devices_to_irs: Annotated[Any, complex_array("elements", "devices")] = Field(
        description="Channels G to the surface, elements × devices."
    )
    algorithm: Annotated[AlgorithmChoice, algorithm_in(IRS_CHOICES)] = Field(
        default=IRS_CHOICES["matching_pursuit"](name="matching_pursuit"), description=ALGORITHM
    )
    phase_bits: Annotated[int, Field(ge=1, le=MAX_PHASE_BITS)] | None = Field(
        default=None,
        description="The phases are multiples of 2π/2^bits; continuous if left out.",
    )
    initial_phases: Annotated[Any, complex_array("elements")] | None = Field(
        default=None,
        description="Where tuning starts, complex M of unit modulus, such as the last round's "
        "phases; all 1 if left out.",
    )

    @property
    def devices(self) -> int:
        """The number of devices."""
        return int(self.direct.shape[1])

    def _state(self, stated: dict[str, Any]) -> Sequence[AnyProblem]:
        problem = IrsProblem(
            direct=self.direct,
            irs_to_server=self.irs_to_server,
            devices_to_irs=self.devices_to_irs,
            phase_bits=self.phase_bits,
            initial_phases=self.initial_phases,
            **stated | {"priorities": self.priorities},
        )
        return [self.cell(problem, self.device_ids)]
