r"""Soft starts: climb a soft count of the served devices before any device is dropped.

Let :math:`r_k = \sqrt N|a_k^H c|/\|a_k\|` be the response of device k in units of its response to a
random receiver, and :math:`t_k = \sqrt N/\|a_k\|` what it needs. A *climb* moves a unit receiver up
:math:`\sum_k v_k f((r_k - t_k)/s)`, where f rises from zero to one around zero and the width s
falls from step to step: at first all devices pull, at the end those that are nearly served. The
slope of f is :math:`1/(1 + x^2)` below what a device needs, and the square of that above.

Climbs are cheap. The best quarter of them are finished by descents and kicks (:mod:`.dual.kicks`).
Climbs times steps times devices is constant, so that the effort has no jumps.

For few devices a climb finds no more than a plain start: up to :data:`FEW` devices there is none,
and from :data:`MANY` on there are no plain starts; between, the share of each changes gradually.

The constants were chosen on seeds 5000 to 5800 and 5900 to 5903.
"""

import math
from typing import NamedTuple

import numpy as np

from app.scheduling.kernels.compile import compiled, vectorised
from app.scheduling.kernels.dual.descent import State
from app.scheduling.kernels.dual.sweeps import add, response, rotate
from app.scheduling.kernels.linalg.eigen import squared_norm
from app.scheduling.types import ComplexArray, RealArray

FEW, MANY = 20, 60
"""Up to the first number of devices all starts are plain, from the second on all are soft."""

CLIMB_VISITS = 20_000
"""Visits to a device by all climbs, for each start that is asked for."""

MOST_CLIMBS = 8
"""Most climbs for each start that is asked for."""

STEPS, DEVICES_PER_STEP = 8.0, 12.0
"""STEPS + K / DEVICES_PER_STEP steps per climb."""

FEWEST_STEPS = 20.0
"""Steps of a lone climb, however many devices there are."""

WIDEST, NARROWEST = 0.7, 0.05
"""Width of the soft count in the first and the last step."""

INERTIA = 0.5
"""Share of the last step that is repeated."""

NEARLY = 0.2
"""A miss by less counts in part when climbs are compared."""

MARGIN = 0.2
"""A device that the climb misses by less is a member of the first set."""


class Climber(NamedTuple):
    """The devices that can be served alone, and work space.

    ``lines`` (2, N, L) real and imaginary parts of √N a_k/‖a_k‖, antenna by antenna; ``levels``
    (L,) t, ``values`` (L,) v; ``real``, ``imag`` (L,) responses; ``step``, ``slope`` (2, N).
    """

    lines: RealArray
    levels: RealArray
    values: RealArray
    real: RealArray
    imag: RealArray
    step: RealArray
    slope: RealArray


@compiled
def soft_share(servable: int) -> float:
    """Return the share of the effort that goes into soft starts."""
    return min(1.0, max(0.0, (servable - FEW) / (MANY - FEW)))


@compiled
def steps_for(servable: int) -> int:
    """Return the steps of a climb among so many devices, where there are several."""
    return int(STEPS + servable / DEVICES_PER_STEP)


@compiled
def climbing(starts: int, servable: int) -> tuple[int, int]:
    """Return the number of climbs and of steps of each, whose product is about constant."""
    share = soft_share(servable)
    if share == 0.0:
        return 0, 0
    visits = share * CLIMB_VISITS * starts
    steps = STEPS + servable / DEVICES_PER_STEP
    climbs = min(share * MOST_CLIMBS * starts, visits / (servable * steps))
    whole = max(1, int(climbs + 0.5))
    if climbs < share * MOST_CLIMBS * starts:
        steps = visits / (servable * whole)
        if whole == 1:
            steps = max(FEWEST_STEPS, steps)
    return whole, int(steps + 0.5)


@compiled
def new_climber(rows: ComplexArray, sizes: RealArray, values: RealArray, least: float) -> Climber:
    """Return a climber among the devices whose squared norm is at least ``least``.

    Parameters
    ----------
    rows, sizes, values
        (K, N) scaled channels a, (K,) their squared norms, and v.
    """
    devices, antennas = rows.shape
    count = 0
    for k in range(devices):
        count += sizes[k] >= least
    lines = np.empty((2, antennas, count))
    levels, kept = np.empty(count), np.empty(count)
    place = 0
    for k in range(devices):
        if sizes[k] >= least:
            levels[place] = math.sqrt(antennas / sizes[k])
            kept[place] = values[k]
            for n in range(antennas):
                lines[0, n, place] = rows[k, n].real * levels[place]
                lines[1, n, place] = rows[k, n].imag * levels[place]
            place += 1
    shape = (2, antennas)
    return Climber(
        lines, levels, kept, np.empty(count), np.empty(count), np.empty(shape), np.empty(shape)
    )


@vectorised
def respond(climber: Climber, c: RealArray) -> None:
    """Write the responses to c (2, N); antenna by antenna, so that the inner loop vectorises."""
    lines, real, imag = climber.lines, climber.real, climber.imag
    for k in range(real.shape[0]):
        real[k] = 0.0
        imag[k] = 0.0
    for n in range(c.shape[1]):
        x, y = c[0, n], c[1, n]
        for k in range(real.shape[0]):
            real[k] += lines[0, n, k] * x + lines[1, n, k] * y
            imag[k] += lines[0, n, k] * y - lines[1, n, k] * x


@vectorised
def climb_step(climber: Climber, c: RealArray, width: float) -> None:
    """Move the unit receiver c (2, N) by about ``width`` up the soft count of that width."""
    lines, levels, values, real, imag, step, slope = climber
    antennas = c.shape[1]
    respond(climber, c)
    for k in range(real.shape[0]):
        size = math.sqrt(real[k] * real[k] + imag[k] * imag[k] + 1e-300)
        x = (size - levels[k]) / width
        bell = 1.0 / (1.0 + x * x)
        weight = values[k] * (bell * bell if x > 0.0 else bell) / size
        real[k] *= weight
        imag[k] *= weight
    radial = 0.0
    for n in range(antennas):
        p = q = 0.0
        for k in range(real.shape[0]):
            p += lines[0, n, k] * real[k] - lines[1, n, k] * imag[k]
            q += lines[1, n, k] * real[k] + lines[0, n, k] * imag[k]
        slope[0, n], slope[1, n] = p, q
        radial += p * c[0, n] + q * c[1, n]
    length = 1e-300
    for part in range(2):
        for n in range(antennas):
            slope[part, n] -= radial * c[part, n]
            length += slope[part, n] * slope[part, n]
    scale = width / math.sqrt(length)
    total = 0.0
    for part in range(2):
        for n in range(antennas):
            step[part, n] = INERTIA * step[part, n] + scale * slope[part, n]
            c[part, n] += step[part, n]
            total += c[part, n] * c[part, n]
    for part in range(2):
        for n in range(antennas):
            c[part, n] /= math.sqrt(total)


@compiled
def climb(climber: Climber, receiver: ComplexArray, steps: int) -> float:
    """Move the nonzero ``receiver`` (N,) up the soft count; return what it nearly serves."""
    antennas = receiver.shape[0]
    c = np.empty((2, antennas))
    scale = 1.0 / math.sqrt(squared_norm(receiver))
    for n in range(antennas):
        c[0, n], c[1, n] = receiver[n].real * scale, receiver[n].imag * scale
    climber.step[:] = 0.0
    width = WIDEST
    factor = (NARROWEST / WIDEST) ** (1.0 / max(1, steps - 1))
    for _ in range(steps):
        climb_step(climber, c, width)
        width *= factor
    for n in range(antennas):
        receiver[n] = complex(c[0, n], c[1, n])
    respond(climber, c)
    total = 0.0
    for k in range(climber.levels.shape[0]):
        size = math.sqrt(climber.real[k] ** 2 + climber.imag[k] ** 2)
        total += climber.values[k] * min(1.0, max(0.0, 1.0 + (size - climber.levels[k]) / NEARLY))
    return total


@compiled
def start_near(state: State, unit: ComplexArray, least: float) -> int:
    """Make members of all that a unit receiver serves or nearly serves; return how many.

    Their multipliers are the slopes of the soft count there.

    Parameters
    ----------
    least
        Devices of a smaller squared norm cannot be served alone.
    """
    rows, sizes, multipliers, _, members, _, receiver, _, values, _ = state
    receiver[:] = 0.0
    count = 0
    for k in range(rows.shape[0]):
        multipliers[k] = 0.0
        if sizes[k] < least:
            continue
        value = response(rows, k, unit)
        size = math.sqrt(value.real * value.real + value.imag * value.imag)
        level = math.sqrt(unit.shape[0] / sizes[k])
        missing = (1.0 - size) * level
        if missing <= MARGIN and size > 0.0:
            rotate(rows, k, value.real / size, value.imag / size)
            members[count] = k
            count += 1
            bell = 1.0 / (1.0 + (missing / NARROWEST) ** 2)
            multipliers[k] = values[k] * level * (bell * bell if missing < 0.0 else bell)
            add(rows, k, multipliers[k], receiver)
    total = squared_norm(receiver)
    if total > 0.0:
        scale = 1.0 / math.sqrt(total)
        for n in range(receiver.shape[0]):
            receiver[n] *= scale
        for k in range(rows.shape[0]):
            multipliers[k] *= scale
    return count
