"""What every request to the service says."""

import numpy as np

from airsched_client.flower.sources import ChannelSource
from airsched_client.options import ScheduleOptions

_SET_BY_STRATEGY = frozenset({"weights", "device_ids"})


def request_options(source: ChannelSource, schedule: ScheduleOptions) -> ScheduleOptions:
    """Return the options of every request: those given, and what the channels go with.

    Raises
    ------
    ValueError
        An option that the strategy sets, or one that contradicts the channels.
    """
    if clash := sorted(_SET_BY_STRATEGY & schedule.keys()):
        raise ValueError(f"the strategy itself sets {', '.join(clash)} in every round")
    own = getattr(source, "options", {})
    given = {name: value for name, value in schedule.items() if value is not None}
    for name in own.keys() & given.keys():
        if not np.allclose(own[name], given[name], rtol=1e-6, atol=0):  # type: ignore[arg-type]
            raise ValueError(
                f"the channels go with {name} {own[name]}, not {given[name]}: leave it out of"
                " schedule, or take channels for it"
            )
    return {**own, **given}  # type: ignore[typeddict-item]
