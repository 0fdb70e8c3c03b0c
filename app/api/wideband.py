"""A round over a band of subcarriers: what is asked, and what is answered."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field, ValidationInfo, field_validator

from app.api.algorithms import WIDEBAND_CHOICES, AlgorithmChoice, algorithm_in
from app.api.requests import (
    ALGORITHM,
    BoundedRequest,
    RoundRequest,
    require_within_batch,
)
from app.api.responses import BoundedRound, ScheduledRound, schedule_answer
from app.api.wire import NestedMatrix, PackedArray, complex_array
from app.scheduling import AnyProblem, Schedule, WidebandProblem
from app.scheduling.types import ComplexArray
from app.scheduling.wideband.coordinates import state_in_cell
from app.scheduling.wideband.problem import Criterion


class WidebandRequest(BoundedRequest):
    """One round over a band, to be scheduled with one set of devices on all subcarriers."""

    choices = WIDEBAND_CHOICES

    channels: Annotated[Any, complex_array("subcarriers", "antennas", "devices")] = Field(
        description="Uplink channels of every subcarrier, subcarriers × antennas × devices."
    )
    algorithm: Annotated[AlgorithmChoice, algorithm_in(WIDEBAND_CHOICES)] = Field(
        default=WIDEBAND_CHOICES["dual_pursuit"](name="dual_pursuit"), description=ALGORITHM
    )
    criterion: Criterion = Field(
        default="mean",
        description="What the tolerance limits: the mean of the subcarriers' errors, which is the "
        "error of the aggregated model, or each of them.",
    )
    warm_start: Annotated[Any, complex_array("subcarriers", "antennas")] | None = Field(
        default=None,
        description="Last round's receivers, complex F×N, for algorithms that can start from some.",
    )

    @property
    def devices(self) -> int:
        """The number of devices."""
        return int(self.channels.shape[2])

    @property
    def answered_devices(self) -> int:
        """How many devices the answer speaks of, over all subcarriers."""
        return self.devices * int(self.channels.shape[0])

    @field_validator("channels")
    @classmethod
    def _bounded(cls, channels: ComplexArray, info: ValidationInfo) -> ComplexArray:
        subcarriers, _, devices = channels.shape
        require_within_batch(
            info, subcarriers, "subcarriers", devices, "; leave out neighbours that are alike"
        )
        return channels

    def _state(self, stated: dict[str, Any]) -> Sequence[AnyProblem]:
        own = {"priorities": self.priorities, "criterion": self.criterion}
        problem = WidebandProblem(channels=self.channels, **stated | own)
        cell = state_in_cell(
            problem,
            power=self.power_limits(problem.devices),
            noise_covariance=self.covariance(problem.antennas),
            **self.named_devices(problem.devices, self.device_ids),
        )
        return [cell]


class WidebandAnswer(BoundedRound, ScheduledRound):
    """Who transmits, and on every subcarrier how and through which receiver."""

    receivers: NestedMatrix | PackedArray | None = Field(
        description="Receivers c, complex F×N, unit norm each; null when nobody is active."
    )
    power_factors: list[float] | None = Field(
        description="η of every subcarrier; null when nobody is active."
    )
    computation_errors: list[float] | None = Field(
        description="E of every subcarrier; null when nobody is active."
    )
    computation_error: float | None = Field(
        description="What the criterion compares with the tolerable error: the mean or the largest "
        "of computation_errors; null when nobody is active."
    )
    transmit_scalars: NestedMatrix | PackedArray = Field(
        description="ψ, complex F×K, zero for inactive devices."
    )


def wideband_answer(
    request: RoundRequest, schedules: Sequence[Schedule], media_type: str
) -> dict[str, Any]:
    """Return the fields of :class:`WidebandAnswer`; arrays as ``media_type`` carries them."""
    (schedule,) = schedules
    answer = schedule_answer(request, schedules, media_type)
    factors, errors = schedule.power_factors, schedule.computation_errors
    del answer["power_factor"]
    answer["receivers"] = answer.pop("receiver")
    answer["power_factors"] = None if factors is None else factors.tolist()
    answer["computation_errors"] = None if errors is None else errors.tolist()
    return answer
