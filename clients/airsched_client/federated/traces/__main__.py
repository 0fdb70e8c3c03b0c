"""``python -m airsched_client.federated.traces``: show what is in a trace, and scale it."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from airsched_client.federated.traces import Trace, gains

Complex = NDArray[np.complex128]
Real = NDArray[np.float64]

_MATRICES = 200
"""Matrices that are looked at: all subcarriers of evenly spread rounds."""


def least_gammas(channels: Complex) -> tuple[Real, Real]:
    """Return bounds on the least γ that serves n = 1 … K devices of weight one, (K,) each.

    The first is too low for more than n = 1, because every device gets a receiver of its own. The
    second is enough: the best of the K receivers that match one device serves n.
    """
    norms = np.sqrt(gains(channels))
    receivers = channels / np.where(norms > 0, norms, 1.0)
    through = np.abs(receivers.conj().T @ channels) ** 2
    with np.errstate(divide="ignore"):
        alone = 1 / np.sort(norms**2)[::-1]
        together = 1 / np.sort(through, axis=1)[:, ::-1].max(axis=0)
    return alone, together


def describe(trace: Trace) -> str:
    """Return what is in a trace: shapes, units, gains, and which γ serves how many."""
    mapped = "memory-mapped" if isinstance(trace.channels, np.memmap) else "compressed"
    said = [f"{name} {value:g}" for name, value in trace.scalars().items()]
    said += [name for name in ("estimates", "positions") if getattr(trace, name) is not None]
    ignored = f"; ignored: {', '.join(trace.ignored)}" if trace.ignored else ""
    looked_at = -(-_MATRICES // trace.subcarriers)
    numbers = np.unique(np.linspace(0, len(trace) - 1, looked_at).astype(int)).tolist()
    shape = (-1, trace.antennas, trace.devices)
    matrices = list(np.concatenate([trace.at(at).direct.reshape(shape) for at in numbers]))
    band = f" {trace.subcarriers} subcarriers," if trace.subcarriers > 1 else ""
    with np.errstate(divide="ignore"):
        mean = 10 * np.log10(np.mean([gains(matrix) for matrix in matrices], axis=0))
    return "\n".join(
        [
            f"{trace.path}: {len(trace)} rounds,{band} {trace.antennas} antennas,"
            f" {trace.devices} devices, {trace.channels.dtype}, {mapped}",
            f"has {', '.join(said) or 'nothing else'}{ignored}",
            f"mean gain ‖h‖² of the devices [dB]: {mean.min():.1f} weakest,"
            f" {np.median(mean):.1f} median, {mean.max():.1f} strongest",
            *_served(matrices, "subcarriers" if band else "rounds"),
        ]
    )


def _served(matrices: list[Complex], what: str) -> list[str]:
    """Return a table of γ and the number of devices that one receiver serves, as bounds."""
    with np.errstate(divide="ignore"):
        bounds = 10 * np.log10([least_gammas(matrix) for matrix in matrices])
    at_most, at_least = bounds[:, 0], bounds[:, 1]
    finite = at_least[np.isfinite(at_least)]
    if not finite.size:
        return ["every channel is 0: nobody can be served"]
    step = 5 if finite.max() - at_most.min() < 100 else 10
    first, last = np.floor(at_most.min() / step), np.ceil(finite.max() / step)
    lines = [
        f"devices of weight 1 that γ serves, mean over {len(matrices)} {what}:",
        "γ [dB]   at least   at most",
    ]
    for gamma_db in step * np.arange(first, last + 1):
        low, high = (np.mean(np.sum(found <= gamma_db, axis=1)) for found in (at_least, at_most))
        lines.append(f"{gamma_db:6.0f}   {low:8.1f}   {high:7.1f}")
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Describe a trace, and scale it if asked; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m airsched_client.federated.traces",
        description="Show what is in a trace of channels: shapes, gains, which γ serves how many.",
    )
    parser.add_argument("trace", type=Path, help="an .npz file with `channels`")
    parser.add_argument(
        "--scale", type=Path, metavar="OUTPUT", help="also write it for P = σ² = 1 to this file"
    )
    options = parser.parse_args(arguments)
    try:
        trace = Trace.open(options.trace)
        if options.scale is not None:
            trace.save_scaled(options.scale)
            trace = Trace.open(options.scale)
        print(describe(trace))
    except (ValueError, OSError) as error:
        print(f"stopped: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
