"""What the example records from Sionna becomes a trace: subcarriers, rounds and drops in order."""

import numpy as np
import pytest

from examples.sionna.record import frequencies, stacked

DROPS, ROUNDS, ANTENNAS, DEVICES, PATHS = 2, 3, 4, 5, 6
BANDWIDTH = 20e6


def recorded(subcarriers):
    """Return made-up paths, and every round's channels as Sionna's OFDM conversion gives them."""
    rng = np.random.default_rng(0)
    shape = (ROUNDS, DROPS, ANTENNAS, DEVICES, PATHS)
    gains = rng.standard_normal((*shape, 2)) @ [1, 1j]
    delays = rng.uniform(0, 1e-6, (DROPS, DEVICES, PATHS))
    turns = np.exp(-2j * np.pi * np.multiply.outer(delays, frequencies(subcarriers, BANDWIDTH)))
    return gains, delays, list(np.einsum("rdnkp,dkpf->rdnkf", gains, turns))


def test_subcarriers_share_the_bandwidth_around_the_carrier():
    np.testing.assert_allclose(frequencies(4, 20e6), [-7.5e6, -2.5e6, 2.5e6, 7.5e6])
    np.testing.assert_array_equal(frequencies(1, 20e6), [0.0])


@pytest.mark.parametrize("subcarriers", [1, 4])
def test_a_drops_rounds_follow_each_other(subcarriers):
    gains, delays, rounds = recorded(subcarriers)
    found = stacked(rounds)
    if subcarriers == 1:
        assert found.shape == (DROPS * ROUNDS, ANTENNAS, DEVICES)
        found = found[:, None]
    assert found.shape == (DROPS * ROUNDS, subcarriers, ANTENNAS, DEVICES)
    for drop, round_, device in np.ndindex(DROPS, ROUNDS, DEVICES):
        for f, offset in enumerate(frequencies(subcarriers, BANDWIDTH)):
            turns = np.exp(-2j * np.pi * offset * delays[drop, device])
            expected = gains[round_, drop, :, device] @ turns
            at = drop * ROUNDS + round_
            np.testing.assert_allclose(found[at, f, :, device], expected, rtol=1e-12)
