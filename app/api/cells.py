"""What a request states about the cell: power limits, noise, and who must or must not take part."""

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, Field, PlainValidator, TypeAdapter

from app.api.wire import Number, Vector, complex_array
from app.scheduling import InvalidProblemError, IrsProblem, Problem
from app.scheduling.cells.cell import Cell, state
from app.scheduling.cells.transform import checked_covariance
from app.scheduling.types import ComplexArray, IndexArray, RealArray

Positive = Annotated[Number, Field(gt=0)]
Devices = list[int | Annotated[str, Field(max_length=256)]]

_number: TypeAdapter[Any] = TypeAdapter(Number)
_positive: TypeAdapter[Any] = TypeAdapter(Positive)
_vector: TypeAdapter[Any] = TypeAdapter(Vector)


def number_or_vector(value: object) -> Any:
    """Return one number, or one per device."""
    return (_vector if isinstance(value, list) else _number).validate_python(value)


def _positive_or_vector(value: object) -> Any:
    return (_vector if isinstance(value, list) else _positive).validate_python(value)


class CellFields(BaseModel):
    """The fields of every scheduling route that describe its cell."""

    power: Annotated[
        Any, PlainValidator(_positive_or_vector, json_schema_input_type=Positive | Vector)
    ] = Field(
        default=1.0,
        description="Transmit power limit P, for all or for each device. γ refers to the largest.",
    )
    noise_variance: Positive = Field(default=1.0, description="Noise variance σ² at an antenna.")
    noise_covariance: Annotated[Any, complex_array("antennas", "antennas")] | None = Field(
        default=None,
        description="Noise and interference covariance R, N × N, Hermitian and positive definite, "
        "in place of noise_variance. γ refers to the mean of its diagonal.",
    )
    excluded: Devices | None = Field(
        default=None, description="Devices that do not take part: indices, or names of device_ids."
    )
    required: Devices | None = Field(
        default=None,
        description="Devices that must take part: indices, or names. If they cannot be served "
        "together, nobody is active, and required_missing and required_gamma say why.",
    )
    previous: Devices | None = Field(
        default=None,
        description="The last round's active devices: among sets of equal size, the one that keeps "
        "most of them is preferred. Not together with priorities.",
    )

    @property
    def reference_power(self) -> float:
        """P: the largest power limit."""
        if not isinstance(self.power, list):
            return float(self.power)
        if not self.power:
            raise InvalidProblemError("power", "must be one number, or one per device")
        return float(max(self.power))

    @property
    def reference_noise(self) -> float:
        """σ²: the noise variance, on average over the antennas."""
        if self.noise_covariance is None:
            return self.noise_variance
        mean = float(np.trace(self.noise_covariance).real / self.noise_covariance.shape[0])
        if not 0 < mean < np.inf:
            raise InvalidProblemError(
                "noise_covariance", "must be positive definite: every antenna has noise"
            )
        return mean

    def cell(
        self, problem: Problem | IrsProblem, ids: Sequence[str] | None
    ) -> Problem | IrsProblem | Cell:
        """Return ``problem``, stated with the references, as the cell that these fields describe.

        Raises
        ------
        InvalidProblemError
            A field is wrong; the error names it.
        """
        antennas, devices = problem.antennas, problem.devices
        if (
            antennas <= devices
            and self.noise_covariance is self.excluded is self.required is self.previous is None
            and not isinstance(self.power, list)
        ):
            # The standard problem says it all; most requests are like this, so it must cost little.
            return problem
        return state(
            problem,
            power=self.power_limits(devices),
            noise_covariance=self.covariance(antennas),
            **self.named_devices(devices, ids),
        )

    def named_devices(self, devices: int, ids: Sequence[str] | None) -> dict[str, IndexArray]:
        """Return the ascending indices of the excluded, required and previous devices.

        Raises
        ------
        InvalidProblemError
            There is no such device; the error names the field.
        """
        return {
            name: _indices(name, getattr(self, name), devices, ids)
            for name in ("excluded", "required", "previous")
        }

    def power_limits(self, devices: int) -> RealArray | None:
        """Return (K,) P_k; None if all are the same."""
        if not isinstance(self.power, list):
            return None
        if len(self.power) != devices:
            raise InvalidProblemError(
                "power", f"must be one number, or {devices}, one per device, not {len(self.power)}"
            )
        power = np.array(self.power)
        if not power.min() > 0:
            raise InvalidProblemError(
                "power", "must be positive; list a device without power in excluded"
            )
        return None if (power == power[0]).all() else power

    def covariance(self, antennas: int) -> ComplexArray | None:
        """Return (N, N) R; None for white noise."""
        if self.noise_covariance is None:
            return None
        if "noise_variance" in self.model_fields_set:
            raise InvalidProblemError(
                "noise_covariance", "replaces noise_variance: leave out one of the two"
            )
        return checked_covariance(self.noise_covariance, antennas)


def _indices(
    field: str, named: Devices | None, devices: int, ids: Sequence[str] | None
) -> IndexArray:
    """Return the ascending indices of devices given by index or by name."""
    found = set()
    places = {} if ids is None else {name: place for place, name in enumerate(ids)}
    for item in named or ():
        if isinstance(item, str):
            if item not in places:
                known = "device_ids has no such name" if places else "names need device_ids"
                raise InvalidProblemError(field, f"{item[:80]!r} is no device: {known}")
            found.add(places[item])
        elif not 0 <= item < devices:
            raise InvalidProblemError(
                field, f"{item} is no device: indices run from 0 to {devices - 1}"
            )
        else:
            found.add(item)
    return np.array(sorted(found), np.int64)
