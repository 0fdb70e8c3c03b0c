"""Answers of the service as frozen values with NumPy arrays."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from airsched_client._wire import decode_complex


@dataclass(frozen=True, eq=False)
class Schedule:
    """Who transmits, how, and through which receiver.

    Parameters
    ----------
    feasible
        Whether somebody is active and everyone active is within the tolerance.
    active, active_ids
        Ascending indices of the scheduled devices, and their names where names were given.
    receiver
        (N,) complex, unit norm; None when nobody is active.
    power_factor, computation_error
        η and the mean squared error of the aggregate; None when nobody is active.
    transmit_scalars
        (K,) complex, zero for inactive devices.
    gamma, algorithm
        The tolerance and the algorithm with all its parameters, as the service resolved them.
    iterations, stopped
        How long the algorithm ran, and why it ended: converged, deadline or limit.
    """

    feasible: bool
    active: NDArray[np.int64]
    active_ids: tuple[str, ...] | None
    receiver: NDArray[np.complex128] | None
    power_factor: float | None
    computation_error: float | None
    transmit_scalars: NDArray[np.complex128]
    gamma: float
    algorithm: dict[str, Any]
    iterations: int
    stopped: str

    @classmethod
    def from_answer(cls, answer: dict[str, Any]) -> "Schedule":
        """Build it from the service's answer; fields it does not know are left out."""
        ids, receiver = answer["active_ids"], answer["receiver"]
        return cls(
            feasible=answer["feasible"],
            active=np.array(answer["active"], np.int64),
            active_ids=None if ids is None else tuple(ids),
            receiver=None if receiver is None else decode_complex(receiver),
            power_factor=answer["power_factor"],
            computation_error=answer["computation_error"],
            transmit_scalars=decode_complex(answer["transmit_scalars"]),
            gamma=answer["gamma"],
            algorithm=answer["algorithm"],
            iterations=answer["iterations"],
            stopped=answer["stopped"],
        )
