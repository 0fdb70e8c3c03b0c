"""Record a trace of 3GPP channels with Sionna: K users of one sector, N antennas, uplink.

TR 38.901 urban micro- or macrocell: users are dropped uniformly in a sector, most of them indoors,
with path loss, shadowing and line of sight as the scenario draws them. They stay for the rounds of
a drop, while the small-scale fading is drawn anew in every round. Each channel is that at the
carrier, or with ``--subcarriers F`` those of F subcarriers, evenly spread over the bandwidth.

The channels are divided by the noise's amplitude and multiplied by that of the transmitter, so that
P = σ² = 1: ‖h_k‖² is the signal-to-noise ratio after matching. Subcarriers share the power as they
share the noise, so the ratio does not depend on their number.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_THERMAL_DBM = -174.0
"""Power of thermal noise in one hertz."""


def record(options: argparse.Namespace) -> dict[str, Any]:
    """Return the arrays of the trace: drops one after the other, each with its rounds."""
    # Here, because it takes seconds: `--help` and a wrong option answer at once.
    import sionna.phy
    import torch
    from sionna.phy.channel import cir_to_ofdm_channel, gen_single_sector_topology
    from sionna.phy.channel.tr38901 import PanelArray, UMa, UMi

    sionna.phy.config.seed = options.seed
    user, base = (
        PanelArray(1, columns, "single", "V", pattern, options.carrier)
        for columns, pattern in ((1, "omni"), (options.antennas, "38.901"))
    )
    scenario = {"umi": UMi, "uma": UMa}[options.scenario]
    model = scenario(options.carrier, "low", user, base, "uplink")
    topology = gen_single_sector_topology(options.drops, options.devices, options.scenario)
    model.set_topology(*topology)
    offsets = torch.tensor(
        frequencies(options.subcarriers, options.bandwidth), device=sionna.phy.config.device
    ).float()
    rounds = []
    for _ in range(options.rounds):
        gains, delays = model(1, 1.0)
        found = cir_to_ofdm_channel(offsets, gains, delays, normalize=False)
        # [drop, server, antenna, user, its antenna, time, subcarrier]
        rounds.append(found[:, 0, :, :, 0, 0, :].cpu().numpy())
    channels = stacked(rounds)
    noise_dbm = _THERMAL_DBM + 10 * np.log10(options.bandwidth) + options.noise_figure
    amplitude = 10 ** ((options.power_dbm - noise_dbm) / 20)
    trace = {
        "channels": (amplitude * channels).astype(np.complex64),
        "power": 1.0,
        "noise_variance": 1.0,
        "carrier_frequency": options.carrier,
    }
    # Positions change with the drop; the format has room for one.
    return trace if options.drops > 1 else {**trace, "positions": topology[0][0].cpu().numpy()}


def frequencies(subcarriers: int, bandwidth: float) -> NDArray[np.float64]:
    """Return the centres of the subcarriers relative to the carrier, (F,) hertz."""
    return (np.arange(subcarriers) - (subcarriers - 1) / 2) * bandwidth / subcarriers


def stacked(rounds: list[NDArray[Any]]) -> NDArray[Any]:
    """Return the channels of a trace, for (drops, N, K, F) in every round.

    A drop's rounds follow each other: (R, F, N, K), or (R, N, K) for one subcarrier.
    """
    channels = np.moveaxis(np.stack(rounds, axis=1), -1, 2)
    channels = channels.reshape(-1, *channels.shape[2:])
    return channels[:, 0] if channels.shape[1] == 1 else channels


def main() -> None:
    """Write the trace that the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="python -m examples.sionna.record",
        description="Record a trace of 3GPP TR 38.901 uplink channels with Sionna.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("output", type=Path, help="the .npz file to write")
    add("--scenario", choices=["umi", "uma"], default="umi", help="urban micro- or macrocell")
    add("--carrier", type=float, default=3.5e9, help="hertz")
    add("--devices", type=int, default=20, help="K, users of the sector")
    add("--antennas", type=int, default=6, help="N, of the base station, in one row")
    add("--drops", type=int, default=1, help="how often the users are placed anew")
    add("--rounds", type=int, default=10, help="rounds per drop")
    add("--bandwidth", type=float, default=20e6, help="hertz, of the noise and the subcarriers")
    add("--subcarriers", type=int, default=1, help="F, over the bandwidth")
    add("--noise-figure", type=float, default=5.0, help="dB, of the base station")
    add("--power-dbm", type=float, default=23.0, help="dBm, of a user")
    add("--seed", type=int, default=0, help="seed of everything random")
    options = parser.parse_args()
    np.savez(options.output, **record(options))


if __name__ == "__main__":
    main()
