"""The client's schedule over a band."""

import numpy as np
import pytest

from airsched_client import InvalidRequestError
from app.scheduling import WidebandProblem, solve
from lab.channels import iid_band
from tests.client.callers import CALLERS
from tests.client.test_congruence import bits, every_way

CHANNELS = iid_band(np.random.default_rng(64), 3, 4, 10, taps=2)
WEIGHTS = np.linspace(0.8, 1.2, 10)
CALL = "schedule_wideband"


@pytest.mark.parametrize("criterion", ["mean", "each"])
def test_every_way_gives_what_the_core_gives(service_url, criterion):
    start = np.ones((3, 4), complex)
    core = solve(
        WidebandProblem(CHANNELS, WEIGHTS, 1.5, criterion=criterion),
        "dual_pursuit",
        seed=7,
        warm_start=start,
    )
    options = {"weights": WEIGHTS, "gamma": 1.5, "criterion": criterion, "seed": 7}
    for found in every_way(service_url, CALL, CHANNELS, warm_start=start, **options):
        assert bits(found.active) == bits(core.active)
        assert bits(found.receivers) == bits(core.receiver)
        assert bits(found.transmit_scalars) == bits(core.transmit_scalars)
        assert bits(found.power_factors) == bits(core.power_factors)
        assert bits(found.computation_errors) == bits(core.computation_errors)
        assert found.computation_error == core.computation_error
        assert found.upper_bound is None
        assert found.request_id
        assert "solve" in found.server_timing
        with pytest.raises(ValueError, match="read-only"):
            found.power_factors[0] = 0


def test_wrong_estimates(service_url):
    problem = WidebandProblem(CHANNELS, WEIGHTS, 1.5, csi_error=0.02)
    core = solve(problem, "dual_pursuit", seed=7)
    options = {"weights": WEIGHTS, "gamma": 1.5, "csi_error": 0.02, "seed": 7}
    for found in every_way(service_url, CALL, CHANNELS, **options):
        assert found.computation_error == core.computation_error
        assert found.nominal_error == core.nominal_error < core.computation_error
        assert {each.nominal_error for each in found.subcarriers()} == {None}


def test_options_of_both_clients(service_url):
    for call in CALLERS.values():
        turned = np.swapaxes(CHANNELS, 1, 2)
        found = call(
            service_url,
            {},
            CALL,
            turned,
            layout="devices_first",
            gamma_db=3,
            device_ids=list("abcdefghij"),
            bound=True,
        )
        assert found.active_ids == tuple("abcdefghij"[k] for k in found.active)
        assert found.upper_bound >= found.active.size
        nobody = call(service_url, {}, CALL, CHANNELS, gamma_db=-60)
        assert nobody.receivers is None
        assert nobody.computation_errors is None
        with pytest.raises(TypeError, match="no option 'criterium'; did you mean 'criterion'"):
            call(service_url, {}, CALL, CHANNELS, gamma=1.0, criterium="each")
        with pytest.raises(ValueError, match="channels must have the shape"):
            call(service_url, {}, CALL, CHANNELS[0], gamma=1.0)
        with pytest.raises(ValueError, match="warm_start has 2 subcarriers"):
            call(service_url, {}, CALL, CHANNELS, gamma=1.0, warm_start=np.ones((2, 4)))
        with pytest.raises(InvalidRequestError, match="csi_error"):
            call(service_url, {}, CALL, CHANNELS, gamma=1.0, csi_error=-0.1)
