"""FedAvg over the air in one call."""

from typing import Any

from flwr.serverapp.strategy import FedAvg

from airsched_client._retry import RetryRule
from airsched_client.client import SchedulerClient
from airsched_client.federated.air import AirOptions
from airsched_client.flower.model import OverTheAirRule, not_statistics
from airsched_client.flower.sources import ChannelSource
from airsched_client.flower.wrapper import OverTheAir
from airsched_client.options import ScheduleOptions

_DECIDED_BY_SERVICE = frozenset({"fraction_train", "min_train_nodes"})


class OverTheAirFedAvg(OverTheAir):
    """FedAvg over the air: ``OverTheAir(FedAvg(**fedavg), scheduler, source, ...)``.

    Parameters
    ----------
    scheduler, source, schedule, over_the_air, air, seed, query_timeout, patience
        As of :class:`OverTheAir`.
    fedavg
        Other options of :class:`flwr.serverapp.strategy.FedAvg`, such as ``min_available_nodes``.
    """

    def __init__(
        self,
        scheduler: SchedulerClient,
        source: ChannelSource,
        *,
        schedule: ScheduleOptions | None = None,
        over_the_air: OverTheAirRule = not_statistics,
        air: AirOptions | None = None,
        seed: int = 0,
        query_timeout: float = 600.0,
        patience: RetryRule | None = None,
        **fedavg: Any,
    ) -> None:
        if clash := sorted(_DECIDED_BY_SERVICE & fedavg.keys()):
            raise ValueError(f"the service decides who trains: leave out {', '.join(clash)}")
        super().__init__(
            FedAvg(**fedavg),
            scheduler,
            source,
            schedule=schedule,
            over_the_air=over_the_air,
            air=air,
            seed=seed,
            query_timeout=query_timeout,
            patience=patience,
        )
