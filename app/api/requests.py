"""``POST /schedule``: the request, and the problem it states."""

from dataclasses import fields
from functools import cache, cached_property, reduce
from operator import or_
from typing import Annotated, Any, Literal, get_type_hints

import numpy as np
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    TypeAdapter,
    create_model,
)

from app.api.problems import invalid
from app.api.wire import Number, Vector, complex_array
from app.scheduling import (
    SCHEDULERS,
    InvalidProblemError,
    Method,
    Parameters,
    Problem,
    Scheduler,
)
from app.scheduling.problem import LARGEST
from app.scheduling.types import RealArray

Positive = Annotated[Number, Field(gt=0)]
TOLERANCES = ("gamma", "gamma_db", "max_error")


class AlgorithmChoice(BaseModel):
    """An algorithm and its parameters; every scheduler has its own subclass."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    name: str

    @cached_property
    def resolved(self) -> dict[str, Any]:
        """The name and every parameter, as the answer echoes them."""
        return self.model_dump()

    @cached_property
    def parameters(self) -> Parameters:
        """The scheduler's own parameters."""
        values = {name: value for name, value in self.resolved.items() if name != "name"}
        return SCHEDULERS[self.name].parameters(**values)


def _choice_model(scheduler: Scheduler) -> type[AlgorithmChoice]:
    """Build the request model of one scheduler from the annotations of its parameters."""
    hints = get_type_hints(scheduler.parameters, include_extras=True)
    parameters: dict[str, Any] = {"name": (Literal[scheduler.name], ...)}
    parameters |= {
        item.name: (hints[item.name], item.default) for item in fields(scheduler.parameters)
    }
    return create_model(
        "".join(word.title() for word in scheduler.name.split("_")),
        __base__=AlgorithmChoice,
        __doc__=scheduler.summary,
        **parameters,
    )


CHOICES = {name: _choice_model(scheduler) for name, scheduler in SCHEDULERS.items()}
_Choices: Any = Annotated[reduce(or_, CHOICES.values()), Field(discriminator="name")]
_Names: Any = Literal[tuple(SCHEDULERS)]


def _choose(value: object) -> AlgorithmChoice:
    """Take an object with a name and parameters, or a name alone for the defaults."""
    asked = {"name": value} if isinstance(value, str) else value
    name = asked.get("name") if isinstance(asked, dict) else None
    if not isinstance(name, str):
        raise ValueError("must be the name of an algorithm, or an object with a name")
    if name not in CHOICES:
        raise ValueError(f"{name[:100]!r} is not one of {', '.join(CHOICES)}")
    return CHOICES[name].model_validate(asked)


_number: TypeAdapter[Any] = TypeAdapter(Number)
_vector: TypeAdapter[Any] = TypeAdapter(Vector)


def _number_or_vector(value: object) -> Any:
    return (_vector if isinstance(value, list) else _number).validate_python(value)


@cache
def _unit(devices: int) -> RealArray:
    """Return unit weights, read-only."""
    weights = np.ones(devices)
    weights.flags.writeable = False
    return weights


class ScheduleRequest(BaseModel):
    """One round to schedule."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    channels: Annotated[Any, complex_array("antennas", "devices")] = Field(
        description="Uplink channels H, antennas × devices: column k is device k."
    )
    weights: Vector | None = Field(
        default=None, description="Aggregation weights φ, positive, one a device; default all 1."
    )
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
    power: Positive = Field(default=1.0, description="Transmit power limit P of every device.")
    noise_variance: Positive = Field(default=1.0, description="Noise variance σ² at an antenna.")
    device_ids: list[Annotated[str, Field(max_length=256)]] | None = Field(
        default=None, description="Distinct names, one a device, echoed for the active ones."
    )
    algorithm: Annotated[
        AlgorithmChoice, PlainValidator(_choose, json_schema_input_type=_Names | _Choices)
    ] = Field(
        default=CHOICES["matching_pursuit"](name="matching_pursuit"),
        description="Name of an algorithm, or an object with its name and parameters.",
    )
    csi_error: Annotated[
        Any, PlainValidator(_number_or_vector, json_schema_input_type=Number | Vector)
    ] = Field(
        default=0.0,
        description="Bound on ‖h_k - ĥ_k‖ of the channel estimates, for all or for each device: "
        "a device counts as served only if its worst channel is.",
    )
    coordination: Method = Field(
        default="zero_forcing",
        description="How the transmit scalars are set: inverting every channel, or for the least "
        "mean squared error.",
    )
    polish: bool = Field(
        default=False,
        description="Once the set is fixed, replace the receiver by the one with the least error; "
        "everyone it serves joins.",
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

    def problem(self) -> Problem:
        """Return the problem stated; 422 if the fields do not agree with each other."""
        devices = self.channels.shape[1]
        tolerance, gamma = self._tolerance()
        self._check_ids(devices)
        self._check_warm_start()
        try:
            return Problem(
                channels=self.channels,
                weights=_unit(devices) if self.weights is None else np.array(self.weights),
                gamma=gamma,
                power=self.power,
                noise_variance=self.noise_variance,
                csi_error=self.csi_error,
            )
        except InvalidProblemError as error:
            field = tolerance if error.field == "gamma" else error.field
            raise invalid([{"loc": [field], "msg": error.message}]) from None

    def _tolerance(self) -> tuple[str, float]:
        """Return the tolerance field that was given, and γ."""
        gamma, gamma_db, max_error = self.gamma, self.gamma_db, self.max_error
        if gamma is not None and gamma_db is max_error is None:
            return "gamma", gamma
        if gamma_db is not None and gamma is max_error is None:
            return "gamma_db", 10 ** (gamma_db / 10)
        if max_error is not None and gamma is gamma_db is None:
            return "max_error", self.power * max_error / self.noise_variance
        given = [name for name in TOLERANCES if getattr(self, name) is not None]
        message = (
            "exactly one of gamma, gamma_db and max_error must be given, "
            f"not {' and '.join(given) or 'none'}"
        )
        raise invalid([{"loc": [name], "msg": message} for name in given or TOLERANCES[:1]])

    def _check_warm_start(self) -> None:
        antennas, start = self.channels.shape[0], self.warm_start
        if start is None:
            return
        message = ""
        if start.shape != (antennas,):
            message = f"must have {antennas} entries, one for each antenna, not {start.size}"
        elif not np.abs(start.view(np.float64)).max() <= LARGEST:
            message = f"must be finite, and at most {LARGEST:g} in magnitude"
        if message:
            raise invalid([{"loc": ["warm_start"], "msg": message}])

    def _check_ids(self, devices: int) -> None:
        ids = self.device_ids
        if ids is not None and len(ids) != devices:
            message = f"must be {devices} names, one for each device, not {len(ids)}"
            raise invalid([{"loc": ["device_ids"], "msg": message}])
        if ids is not None and len(set(ids)) != devices:
            raise invalid([{"loc": ["device_ids"], "msg": "must be distinct"}])
