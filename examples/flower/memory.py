"""``python -m examples.flower.memory``: the server's memory for a model as large as a ResNet-18.

Twenty nodes in this process send 11 million weights each, for two rounds, to plain FedAvg and to
FedAvg over the air, each in a separate process. Starts a service.
"""

import resource
import sys
from multiprocessing import get_context

import numpy as np
from flwr.app import Array, ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp.strategy import FedAvg, Strategy

from airsched_client import ScheduleOptions, SchedulerClient
from airsched_client.flower import NetworkSource, OverTheAir, report_device
from examples.flower.in_process import InProcessGrid
from lab.service import running_command

NODES, LAYERS, PARAMETERS = 20, 60, 11_173_962
_MIB = 1024


def nodes() -> ClientApp:
    """Return nodes that add a small number to every weight."""
    app = ClientApp()
    report_device(app, lambda context: 100.0)

    @app.train()
    def train(message: Message, context: Context) -> Message:
        step = np.float32(0.01 * (1 + int(context.node_config["partition-id"])))
        before = message.content["arrays"].items()
        arrays = ArrayRecord({name: Array(array.numpy() + step) for name, array in before})
        metrics = MetricRecord({"num-examples": 100.0})
        return Message(RecordDict({"arrays": arrays, "metrics": metrics}), reply_to=message)

    return app


def peak(over_the_air: bool, url: str) -> int:
    """Return the peak of resident memory in MiB."""
    layer = np.zeros(PARAMETERS // LAYERS, np.float32)
    model = ArrayRecord({f"layer.{number}": Array(layer) for number in range(LAYERS)})
    strategy: Strategy = FedAvg(min_available_nodes=NODES, fraction_evaluate=0.0)
    with SchedulerClient(url) as scheduler:
        if over_the_air:
            everyone = ScheduleOptions(gamma_db=60.0, algorithm="all_devices")
            strategy = OverTheAir(strategy, scheduler, NetworkSource(), schedule=everyone)
        strategy.start(InProcessGrid(nodes(), NODES), model, num_rounds=2)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // _MIB


def main() -> int:
    """Measure both."""
    processes = get_context("spawn")
    found = {}
    with running_command(log_level="warning") as (_, url):
        for name, over_the_air in (("FedAvg", False), ("OverTheAir(FedAvg)", True)):
            with processes.Pool(1) as pool:
                found[name] = pool.apply(peak, (over_the_air, url))
    for name, memory in found.items():
        print(f"{name:20} {memory} MiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
