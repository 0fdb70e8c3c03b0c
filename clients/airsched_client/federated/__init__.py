"""Federated learning over the air, scheduled by the service round by round.

The modules follow the path of a round::

    channels   devices on a ring, new fading every round
    client     the service's schedule: who transmits, how, and through which receiver
    tasks      local training on the scheduled devices
    air        superposition of what they send, noise, the receiver
    loop       T rounds of it, with a checkpoint after each
    report     the results, as a table and a picture

``python -m airsched_client.federated --help`` runs it from the command line.
"""

from airsched_client._retry import Patience
from airsched_client.federated.channels import Channels, NetworkParameters
from airsched_client.federated.experiment import Experiment, Record, Run
from airsched_client.federated.loop import compare
from airsched_client.federated.partition import PartitionParameters, partition
from airsched_client.federated.tasks import Evaluation, Task
from airsched_client.federated.traces import Trace

__all__ = [
    "Channels",
    "Evaluation",
    "Experiment",
    "NetworkParameters",
    "PartitionParameters",
    "Patience",
    "Record",
    "Run",
    "Task",
    "Trace",
    "compare",
    "partition",
]
