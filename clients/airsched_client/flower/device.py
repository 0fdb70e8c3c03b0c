"""What a node tells the strategy, and how it is read."""

from collections.abc import Callable

import numpy as np
from flwr.app import Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from numpy.typing import ArrayLike

from airsched_client.flower.sources import Device

_ACTION = "airsched"
_RECORD = "airsched"
QUERY = f"query.{_ACTION}"
"""Type of the messages that ask a node."""


def report_device(
    app: ClientApp,
    samples: Callable[[Context], float],
    channel: Callable[[Context], ArrayLike] | None = None,
) -> None:
    """Let a ClientApp answer the strategy.

    Parameters
    ----------
    app
        The app; it gets a handler of queries.
    samples
        Returns how many training samples the node has: its aggregation weight.
    channel
        Returns the node's uplink channel, (N,) complex, as it is known now; for
        :class:`~airsched_client.flower.ReportedSource`.

    The node's index in a network or a trace is ``partition-id`` of its ``node_config``. Simulations
    set it; a SuperNode is told with ``--node-config 'partition-id=3'``.
    """

    @app.query(_ACTION)
    def answer(message: Message, context: Context) -> Message:
        record = MetricRecord({"samples": float(samples(context))})
        if "partition-id" in context.node_config:
            record["index"] = int(context.node_config["partition-id"])
        if channel is not None:
            found = np.asarray(channel(context), complex).ravel()
            record["channel-real"], record["channel-imag"] = (
                found.real.tolist(),
                found.imag.tolist(),
            )
        return Message(RecordDict({_RECORD: record}), reply_to=message)


def device_from(message: Message) -> Device:
    """Return what a node answered.

    Raises
    ------
    ValueError
        The answer is not one of :func:`report_device`, or its number of samples is not positive.
    """
    record = message.content.metric_records.get(_RECORD, {})
    samples = float(record.get("samples", np.nan))
    if not 0 < samples < np.inf:
        raise ValueError("it must report a positive number of samples: see report_device")
    channel = None
    if "channel-real" in record:
        channel = np.array(record["channel-real"]) + 1j * np.array(record["channel-imag"])
    index = int(record["index"]) if "index" in record else None
    return Device(message.metadata.src_node_id, samples, index, channel)
