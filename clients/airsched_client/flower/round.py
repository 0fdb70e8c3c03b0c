"""A round between its schedule and its sum."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from flwr.app import ArrayRecord, Message
from numpy.typing import NDArray

from airsched_client.federated.channels import Channels
from airsched_client.flower.model import Model
from airsched_client.flower.sources import Device
from airsched_client.models import Schedule, WidebandSchedule

_log = logging.getLogger("flwr")


@dataclass(frozen=True, eq=False)
class Round:
    """Who was asked to train which model, over which channels.

    Parameters
    ----------
    schedule
        None if no device can be served.
    arrays, model
        The global model before the round, as Flower has it and as a vector for the air.
    """

    devices: Sequence[Device]
    weights: NDArray[np.float64]
    channels: Channels
    schedule: Schedule | WidebandSchedule | None
    noise_variance: float
    arrays: ArrayRecord
    model: Model

    @property
    def active(self) -> list[int]:
        """The scheduled devices; none if no device can be served."""
        return [] if self.schedule is None else self.schedule.active.tolist()

    def senders(self, replies: Iterable[Message]) -> dict[int, Message]:
        """Return the valid replies by device; log what is wrong with the others."""
        # Not the errors: that of a node that died carries another node's id.
        answers = {m.metadata.src_node_id: m for m in replies if not m.has_error()}
        senders = {}
        for k in self.active:
            node = self.devices[k].node_id
            problem = "no model"
            if node in answers:
                try:
                    self.model.update(model_in(answers[node]))
                    senders[k] = answers[node]
                    continue
                except ValueError as error:
                    problem = str(error)
            _log.warning("aggregate_train: node %s sent %s: it is left out", node, problem)
        return senders


def model_in(reply: Message) -> ArrayRecord:
    """Return the model of a reply.

    Raises
    ------
    ValueError
        The reply does not have one model and one record of metrics.
    """
    models = list(reply.content.array_records.values())
    if len(models) != 1 or len(reply.content.metric_records) != 1:
        raise ValueError("a reply without one ArrayRecord and one MetricRecord")
    return models[0]
