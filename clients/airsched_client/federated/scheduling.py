"""One round's schedule from the service, for the loop and for Flower."""

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from airsched_client.client import SchedulerClient
from airsched_client.federated.channels import Channels
from airsched_client.models import Schedule, WidebandSchedule
from airsched_client.options import (
    FrontierOptions,
    IrsOptions,
    ScheduleOptions,
    WidebandOptions,
)

Receiver = NDArray[np.complexfloating]
"""(N,) complex, or (F, N) over a band."""

_TOLERANCES = ("gamma", "gamma_db", "max_error")


def request_schedule(
    scheduler: SchedulerClient,
    channels: Channels,
    options: ScheduleOptions,
    participation: float | None = None,
    last_receiver: Receiver | None = None,
) -> Schedule | WidebandSchedule | None:
    """Ask the service for a schedule, or for the best point of the frontier.

    Parameters
    ----------
    channels
        Of the round; the service gets the estimates. With a reflecting surface, it tunes that too;
        over a band, it finds one set for all subcarriers.
    options
        Of the request. Without a tolerance, the schedule is the best point of the frontier.
    participation
        ρ of the point of the frontier that the service recommends; None for its default.
    last_receiver
        Of an earlier round, to start the search from unless ``options`` have a ``warm_start``; it
        is not sent if the channels have another shape by now.

    Returns
    -------
    The schedule; None if the frontier has no point.
    """
    given = {name: value for name, value in options.items() if value is not None}
    if last_receiver is not None and last_receiver.shape == channels.estimates.shape[:-1]:
        given.setdefault("warm_start", last_receiver)
    if not any(name in given for name in _TOLERANCES):
        if channels.estimates.ndim == 3:
            raise ValueError("a band has no frontier to choose from: give a tolerance")
        # A frontier has no receiver to polish: every point has the best one.
        given.pop("polish", None)
        rest = cast(FrontierOptions, {**given, "participation": participation})
        return scheduler.schedule_frontier(channels.estimates, **rest).best()
    if channels.estimates.ndim == 3:
        return scheduler.schedule_wideband(channels.estimates, **cast(WidebandOptions, given))
    if channels.irs_to_server is None or channels.devices_to_irs is None:
        return scheduler.schedule(channels.estimates, **cast(ScheduleOptions, given))
    links: tuple[Any, Any] = channels.irs_to_server, channels.devices_to_irs
    return scheduler.schedule_irs(channels.estimates, *links, **cast(IrsOptions, given))


def receiver_of(schedule: Schedule | WidebandSchedule) -> Receiver | None:
    """Return the receiver, or those of all subcarriers; None when nobody is active."""
    return schedule.receivers if isinstance(schedule, WidebandSchedule) else schedule.receiver
