"""Federated learning over the air, scheduled by the service round by round.

:func:`compare` runs an :class:`Experiment`: every policy on every seed, for a number of rounds.
You plug in a task (:class:`TorchTask` takes any torch module), a partition of its data, a source of
channels, a policy, and what happens after a round::

    result = compare(experiment, client, task=task, channels=channels, on_round=print)
    result.table()
    result.plot("accuracy.png")
    net = result.model("auto", seed=0)

``python -m airsched_client.federated --help`` runs the built-in tasks from the command line.
"""

from typing import TYPE_CHECKING, Any

from airsched_client._retry import Patience, RetryRule
from airsched_client.federated.air import AirOptions
from airsched_client.federated.channels import Channels, NetworkParameters
from airsched_client.federated.comparison import OnRound, StopRule, compare, no_progress, reached
from airsched_client.federated.experiment import Experiment, PolicyFunction, Record, Run
from airsched_client.federated.fading import ChannelFunction, ChannelSource, Fading
from airsched_client.federated.partition import PartitionParameters, partition
from airsched_client.federated.policies import zero_forcing
from airsched_client.federated.result import DeviceSummary, Result
from airsched_client.federated.summary import Summary
from airsched_client.federated.tasks import Evaluation, LocalRound, Task
from airsched_client.federated.traces import Trace

if TYPE_CHECKING:
    from airsched_client.federated.tasks.torch_task import TorchTask

__all__ = [
    "AirOptions",
    "ChannelFunction",
    "ChannelSource",
    "Channels",
    "DeviceSummary",
    "Evaluation",
    "Experiment",
    "Fading",
    "LocalRound",
    "NetworkParameters",
    "OnRound",
    "PartitionParameters",
    "Patience",
    "PolicyFunction",
    "Record",
    "Result",
    "RetryRule",
    "Run",
    "StopRule",
    "Summary",
    "Task",
    "TorchTask",
    "Trace",
    "compare",
    "no_progress",
    "partition",
    "reached",
    "zero_forcing",
]


def __getattr__(name: str) -> Any:
    # Imported on demand: torch is optional, and takes seconds to import.
    if name == "TorchTask":
        from airsched_client.federated.tasks.torch_task import TorchTask

        return TorchTask
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
