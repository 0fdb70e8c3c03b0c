"""``python -m examples.frontier``: ask for one round's frontier, and draw it.

Starts a service, draws one round of the paper's network, and asks for every trade-off of devices
and error. Matching pursuit, asked at many tolerances, stands beside it.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from airsched_client import Frontier, Schedule, SchedulerClient
from airsched_client.federated.channels import Network, NetworkParameters
from airsched_client.federated.palette import color_of
from lab.service import running_command


def main() -> None:
    """Ask, draw, and print the points."""
    parser = argparse.ArgumentParser(prog="python -m examples.frontier", description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("build/frontier.png"))
    parser.add_argument("--seed", type=int, default=0, help="of the devices' places and fading")
    parser.add_argument("--noise-variance", type=float, default=25.0, help="σ²")
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    channels = Network(NetworkParameters(), rng).fade(rng).direct
    with running_command(log_level="warning") as (_, url), SchedulerClient(url) as client:
        noise = options.noise_variance
        frontier = client.schedule_frontier(channels, noise_variance=noise)
        others = [
            client.schedule(channels, gamma_db=gamma_db, noise_variance=noise)
            for gamma_db in np.arange(-10.0, 41.0)
        ]
    best = frontier.best()
    for point in frontier:
        mark = "  <- auto" if point is best else ""
        print(f"{point.active.size:3d} devices, error {point.computation_error:9.4g}{mark}")
    options.output.parent.mkdir(parents=True, exist_ok=True)
    antennas, devices = channels.shape
    figure = draw(frontier, best, others)
    figure.suptitle(
        f"One round of the paper's network, K = {devices}, N = {antennas}, σ² = {noise:g}, "
        f"seed {options.seed}",
        fontsize=10,
    )
    figure.savefig(options.output, dpi=120)
    print(f"drew {options.output}")


def draw(frontier: Frontier, best: Schedule | None, others: list[Schedule]) -> Figure:
    """Draw the number of devices over the error."""
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.subplots()
    _plot(axes, list(frontier), "o-", color=color_of("frontier"), label="frontier")
    blue = color_of("matching_pursuit")
    _plot(axes, others, "s", ms=4, color=blue, label="matching pursuit, γ = −10…40 dB")
    if best is not None:
        _plot(axes, [best], "*", ms=18, color=color_of("auto"), mec="black", label="auto")
    axes.set(xscale="log", xlabel="computation error E", ylabel="active devices |S|")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(alpha=0.3)
    axes.legend()
    return figure


def _plot(axes: Axes, points: list[Schedule], marker: str, **style: Any) -> None:
    """Draw those points that have active devices."""
    served = [point for point in points if point.active.size]
    errors = [point.computation_error or 0.0 for point in served]
    axes.plot(errors, [point.active.size for point in served], marker, **style)


if __name__ == "__main__":
    main()
