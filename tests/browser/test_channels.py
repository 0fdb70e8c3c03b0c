"""The page computes the channels of the paper's network as the client does."""

import copy
from dataclasses import replace

import numpy as np
import pytest

from airsched_client.federated.channels import Network, NetworkParameters

COMPUTE = """async (given) => {
  const { positions, deviations, reference, antennas, elements, surface, paper, drawn } = given;
  const { PAPER, links, surfaceToServer } = await import("/page/channels.js");
  const model = { ...PAPER, ...paper };
  const exponents = [model.pathLossExponent, model.surfaceExponent];
  const plain = ({ real, imag }) => ({ real: [...real], imag: [...imag] });
  const direct = links(
    positions, deviations, antennas, exponents[0], reference, drawn.direct, model);
  const found = { direct: plain(direct) };
  if (elements) {
    const seen = positions.map(([x, y]) => [x - surface[0], y - surface[1]]);
    found.devices_to_irs = plain(
      links(seen, deviations, elements, exponents[1], reference, drawn.devices_to_irs, model));
    found.irs_to_server = plain(
      surfaceToServer(surface, antennas, elements, reference, drawn.irs_to_server, model));
  }
  return found;
}"""


def drawn(rng, rows, columns):
    """Draw as the client does: real parts, then imaginary parts, of unit variance together."""
    real, imag = rng.standard_normal((2, rows, columns)) / np.sqrt(2)
    return {"columns": columns, "real": real.ravel().tolist(), "imag": imag.ravel().tolist()}


@pytest.mark.parametrize(
    "parameters",
    [
        NetworkParameters(),
        NetworkParameters(devices=1, antennas=1),
        NetworkParameters(devices=7, antennas=32, rician_factor_db=-5, path_loss_exponent=2.1),
        NetworkParameters(devices=9, antennas=5, elements=16, irs_distance=40, irs_azimuth=130),
        NetworkParameters(devices=4, antennas=8, elements=31, spacing=0.3, irs_azimuth=-75),
    ],
    ids=["paper", "one", "many antennas", "surface", "dense surface"],
)
def test_channels_agree_on_the_same_numbers(modules, parameters):
    rng = np.random.default_rng(17)
    network = Network(parameters, rng)
    again = copy.deepcopy(rng)
    expected = network.fade(rng)
    size = parameters.antennas, parameters.devices
    numbers = {"direct": drawn(again, *size)}
    # The client draws errors of the estimates even where their bound is 0.
    again.standard_normal((2, *size))
    again.uniform(size=size[1])
    if parameters.elements:
        numbers["irs_to_server"] = drawn(again, parameters.antennas, parameters.elements)
        numbers["devices_to_irs"] = drawn(again, parameters.elements, parameters.devices)
    azimuth = np.radians(parameters.irs_azimuth)
    found = modules.evaluate(
        COMPUTE,
        {
            "positions": network.positions.tolist(),
            "deviations": network.angular_deviations.tolist(),
            "reference": network.reference_distance,
            "antennas": parameters.antennas,
            "elements": parameters.elements,
            "surface": [
                parameters.irs_distance * np.cos(azimuth),
                parameters.irs_distance * np.sin(azimuth),
            ],
            "paper": {
                "ricianFactorDb": parameters.rician_factor_db,
                "spacing": parameters.spacing,
                "pathLossExponent": parameters.path_loss_exponent,
            },
            "drawn": numbers,
        },
    )
    for name, values in found.items():
        truth = getattr(expected, name)
        computed = np.array(values["real"]) + 1j * np.array(values["imag"])
        np.testing.assert_allclose(computed.reshape(truth.shape), truth, rtol=1e-6, atol=1e-7)
    assert len(found) == (3 if parameters.elements else 1)


def test_the_constants_are_those_of_the_client(modules):
    paper = modules.evaluate('async () => (await import("/page/channels.js")).PAPER')
    parameters = NetworkParameters()
    assert paper == {
        "innerRadius": parameters.inner_radius,
        "outerRadius": parameters.outer_radius,
        "ricianFactorDb": parameters.rician_factor_db,
        "spacing": parameters.spacing,
        "pathLossExponent": parameters.path_loss_exponent,
        "surfaceExponent": parameters.irs_path_loss_exponent,
        "angularDeviation": list(parameters.angular_deviation),
    }


def test_places_and_fading_have_the_model_s_statistics(modules):
    """Places uniform by area, fading with the mean and covariance that the client states."""
    places = modules.evaluate(
        'async () => (await import("/page/channels.js")).place(1500, 5).positions'
    )
    distances = np.hypot(*np.transpose(places))
    shares = (distances**2 - 10**2) / (100**2 - 10**2)
    azimuths = np.arctan2(*np.transpose(places)[::-1]) / (2 * np.pi) + 0.5
    for uniform in (shares, azimuths):
        ordered = np.sort(uniform)
        # Kolmogorov and Smirnov: 1.63/√n is exceeded once in a hundred seeds.
        assert np.abs(ordered - (np.arange(1500) + 0.5) / 1500).max() < 1.63 / np.sqrt(1500)
    parameters = replace(NetworkParameters(), devices=2, antennas=3)
    network = Network(parameters, np.random.default_rng(3))
    rounds = modules.evaluate(
        """async (network) => {
          const { fade } = await import("/page/channels.js");
          return Array.from({ length: 1500 }, (_, seed) => {
            const { real, imag } = fade(network, 3, seed).direct;
            return [[...real], [...imag]];
          });
        }""",
        {
            "positions": network.positions.tolist(),
            "deviations": network.angular_deviations.tolist(),
            "reference": network.reference_distance,
        },
    )
    samples = np.array(rounds)[:, 0] + 1j * np.array(rounds)[:, 1]
    samples = samples.reshape(-1, 3, 2)
    mean, covariance = network.mean_and_covariance()
    scale = np.sqrt(network.path_loss(np.hypot(*network.positions.T), 3.0))
    assert np.abs((samples.mean(axis=0) - mean) / scale).max() < 4 / np.sqrt(1500)
    for device in range(2):
        centred = samples[:, :, device] - mean[:, device]
        found = centred.T @ centred.conj() / len(centred)
        assert np.abs(found - covariance[device]).max() < 4 / np.sqrt(1500) * scale[device] ** 2
