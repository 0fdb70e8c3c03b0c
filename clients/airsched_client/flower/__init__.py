"""Over-the-air federated learning inside Flower: the service says who takes part.

A wrapper for strategies of Flower's message interface (``flwr.serverapp``), the sources of its
channels, and what a node tells it::

    wrapper    trains the scheduled nodes only, and receives their mean over the air
    fedavg     the same for FedAvg, in one call
    sources    channels from the paper's network, from a trace, or as the nodes report them
    device     the answer of a node: how much data it has, which device it is, its channel

``pip install './clients[flower]'`` brings Flower. ``examples/flower`` is a whole app.
"""

from airsched_client._extras import install_hint

try:
    import flwr  # noqa: F401
except ImportError as error:
    raise ImportError(f"{error}: {install_hint('flower')}") from error

from airsched_client.flower.device import report_device
from airsched_client.flower.fedavg import OverTheAirFedAvg
from airsched_client.flower.sources import (
    ChannelSource,
    Device,
    NetworkSource,
    ReportedSource,
    TraceSource,
)
from airsched_client.flower.wrapper import OverTheAir

__all__ = [
    "ChannelSource",
    "Device",
    "NetworkSource",
    "OverTheAir",
    "OverTheAirFedAvg",
    "ReportedSource",
    "TraceSource",
    "report_device",
]
