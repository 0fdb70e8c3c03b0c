"""Matching pursuit the plain way: a full SVD of H√W per iteration, nothing compiled or updated.

Written from the paper's Algorithm 1, independently of the kernels: the reference that the tests
check them against and the benchmarks compare their speed with.
"""

import numpy as np
from numpy.typing import NDArray

EQUAL_SINGULAR_VALUES = 1e-9
TOLERANCE = 1e-9

Result = tuple[NDArray[np.complex128], NDArray[np.bool_], int]


def principal(
    weighted: NDArray[np.complex128], previous: NDArray[np.complex128]
) -> NDArray[np.complex128]:
    """Left singular vector of the largest singular value; of several, the closest to previous."""
    vectors, values, _ = np.linalg.svd(weighted, full_matrices=False)
    count = np.count_nonzero(values >= values[0] * (1 - EQUAL_SINGULAR_VALUES))
    if count == 1:
        return vectors[:, 0]
    basis = vectors[:, :count]
    projection = basis @ (basis.conj().T @ previous)
    norm = np.linalg.norm(projection)
    return projection / norm if norm > 1e-8 else vectors[:, 0]


def first_receiver(channels: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Sum of the channels, each turned to agree with the sum so far."""
    total = np.zeros(channels.shape[0], complex)
    for channel in channels.T:
        overlap = np.vdot(channel, total)
        orthogonal = abs(overlap) <= 1e-9 * np.linalg.norm(channel) * np.linalg.norm(total)
        total = total + channel * (1 if orthogonal else overlap / abs(overlap))
    norm = np.linalg.norm(total)
    return np.asarray(total / norm if norm else np.eye(channels.shape[0])[0], complex)


def violations(
    channels: NDArray[np.complex128], required: NDArray[np.float64], c: NDArray[np.complex128]
) -> NDArray[np.float64]:
    """F_k/γ, with values that are zero but for rounding set to zero."""
    value: NDArray[np.float64] = required - np.abs(channels.conj().T @ c) ** 2
    value[np.abs(value) <= TOLERANCE * required] = 0
    return value


def largest(values: NDArray[np.float64], required: NDArray[np.float64]) -> int:
    """First index among those equal to the maximum but for rounding."""
    k = int(np.argmax(values))
    return int(np.flatnonzero(values >= values[k] - TOLERANCE * required[k])[0])


def backward(
    channels: NDArray[np.complex128],
    required: NDArray[np.float64],
    delta: float,
    bidirectional: bool = False,
) -> Result:
    """Algorithm 1; with ``bidirectional``, devices that become served come back, once each."""
    devices = channels.shape[1]
    remaining = np.ones(devices, bool)
    returned = np.zeros(devices, bool)
    weights = np.ones(devices)
    c = first_receiver(channels)
    iterations = 0
    while remaining.any():
        iterations += 1
        c = principal(channels * np.sqrt(weights), c)
        violation = violations(channels, required, c)
        served = violation <= 0
        if served[remaining].all():
            return c, served if bidirectional else remaining, iterations
        remaining[largest(np.where(remaining, violation, -np.inf), required)] = False
        if bidirectional:
            back = served & ~remaining & ~returned
            remaining |= back
            returned |= back
        weights = np.where(remaining, np.where(violation > 0, delta, 1 - delta), 0)
    return c, remaining, iterations


def forward(
    channels: NDArray[np.complex128], required: NDArray[np.float64], delta: float
) -> Result:
    """Add the least violated device for as long as one receiver serves all."""
    devices = channels.shape[1]
    taken = np.zeros(devices, bool)
    best = c = first_receiver(channels)
    served = taken
    violation = required - np.linalg.norm(channels, axis=0) ** 2
    iterations = 0
    while not taken.all():
        candidate = largest(np.where(taken, -np.inf, -violation), required)
        taken = served.copy()
        taken[candidate] = True
        is_violated = violation > TOLERANCE * required
        weights = np.where(taken, np.where(is_violated, delta, 1 - delta), 0)
        iterations += 1
        c = principal(channels * np.sqrt(weights), c)
        violation = violations(channels, required, c)
        if (violation[taken] > 0).any():
            break
        best, served = c, violation <= 0
        taken = served
    return best, served, iterations
