"""Channels and requests from elsewhere: everything that they state is kept, or named as ignored."""

import json
from pathlib import Path

import httpx
import numpy as np
import pytest
from playwright.sync_api import expect

from lab.channels import iid_channels
from tests.api.bodies import nested
from tests.browser.test_sharing import copied, paste
from tests.browser.visits import unpacked

ROOT = Path(__file__).parents[2]
RNG = np.random.default_rng(11)
CHANNELS = iid_channels(RNG, 4, 9)


def sent_by(page, act, path="/schedule"):
    """Return the body of the request that an action makes the page send, but for a bound."""

    def wanted(sent):
        bound = {"name": "optimal"}
        return sent.url.endswith(path) and sent.post_data_json.get("algorithm") != bound

    with page.expect_request(wanted) as sent:
        act()
    return sent.value.post_data_json


def test_a_pasted_request_keeps_what_it_states(visit):
    page = visit.open()
    request = {
        "channels": nested(CHANNELS),
        "weights": np.linspace(0.5, 1.5, 9).tolist(),
        "power": 4.0,
        "noise_variance": 0.5,
        "max_error": 0.1,
        "algorithm": {"name": "dual_pursuit", "starts": 7},
        "device_ids": [f"node {k}" for k in range(9)],
        "csi_error": 0.01,
        "coordination": "mmse",
        "seed": 5,
    }
    answer = httpx.post(f"{visit.url}/schedule", json=request).json()
    assert 0 < len(answer["active"]) < 9
    body = sent_by(page, lambda: paste(page, json.dumps(request)))
    for name in ("weights", "power", "noise_variance", "device_ids", "csi_error", "coordination"):
        assert body[name] == request[name], name
    assert body["seed"] == 5
    assert body["algorithm"] == request["algorithm"]
    assert 10 ** (body["gamma_db"] / 10) == pytest.approx(4.0 * 0.1 / 0.5)
    visit.answered()
    assert visit.devices() == answer["active"]
    assert float(visit.reading("error")) == pytest.approx(answer["computation_error"], rel=5e-3)
    assert visit.reading("limit") == "tolerated 0.1"
    expect(page.locator("#given-kept")).to_contain_text("weights, power, noise_variance")
    assert visit.device(3).get_attribute("aria-label").startswith("Device 3 (node 3)")


def test_what_a_pasted_request_states_for_another_route_is_named(visit):
    page = visit.open("second=")
    # The frontier of the model's round has come.
    page.wait_for_selector("#curve .frontier")
    request = {"channels": nested(CHANNELS), "min_devices": 3, "participation": 3.0}
    body = sent_by(page, lambda: paste(page, json.dumps(request)), "/schedule/frontier")
    assert body["participation"] == 3.0
    visit.answered()
    expect(page.locator("#given-ignored")).to_have_text("Ignored: min_devices.")


def test_a_pasted_request_keeps_its_surface(visit):
    page = visit.open("second=&gamma=3")
    request = {
        "direct": nested(0.3 * CHANNELS),
        "irs_to_server": nested(iid_channels(RNG, 4, 5)),
        "devices_to_irs": nested(iid_channels(RNG, 5, 9)),
        "gamma_db": 1.5,
        "phase_bits": 3,
        "algorithm": "dual_pursuit",
    }
    answer = httpx.post(f"{visit.url}/schedule/irs", json=request).json()
    body = sent_by(page, lambda: paste(page, json.dumps(request)), "/schedule/irs")
    for name in ("direct", "irs_to_server", "devices_to_irs"):
        kept = np.array(request[name]["real"]) + 1j * np.array(request[name]["imag"])
        np.testing.assert_array_equal(unpacked(body[name]), kept)
    assert (body["gamma_db"], body["phase_bits"]) == (1.5, 3)
    visit.answered()
    assert visit.devices() == answer["active"]
    page.locator("#use-model").click()
    visit.answered()
    assert visit.reading("of").startswith("of 20 devices")


def test_a_copied_curl_can_be_pasted_back(visit):
    page = visit.open("second=&first=dual_pursuit&first.starts=3&gamma=8&weights=2,1.5&polish=1")
    before = visit.devices(), visit.reading("error")
    command = copied(visit, "curl")
    page.locator("#gamma").fill("20")
    page.select_option("#algorithm-first", "matching_pursuit")
    visit.answered()
    assert (visit.devices(), visit.reading("error")) != before
    paste(page, command)
    expect(page.locator("#own")).to_be_hidden()
    visit.answered()
    assert (visit.devices(), visit.reading("error")) == before
    assert page.locator("#first-dual_pursuit-starts").input_value() == "3"


def test_the_tolerance_follows_the_data(visit):
    """The strongest device of this trace is served from −64 dB on."""
    page = visit.open("second=&first=dual_pursuit")
    page.locator("#open-own").click()
    page.locator("#own-file").set_input_files(ROOT / "examples" / "sionna" / "umi.npz")
    expect(page.locator("#given-size")).to_contain_text("20 devices, 6 antennas")
    expect(page.locator("#given-ignored")).to_have_text("Ignored: carrier_frequency.")
    visit.answered()
    assert 0 < len(visit.devices()) < 20
    # A whole request may ask for less than that, too.
    page.locator("#gamma").focus()
    page.keyboard.press("Home")
    visit.answered()
    assert float(page.locator("#gamma").get_attribute("min")) <= -35
    assert len(visit.devices()) <= 1
    page.keyboard.press("End")
    visit.answered()
    assert len(visit.devices()) >= 19


def test_power_and_noise_of_a_trace_are_honoured(visit, tmp_path):
    page = visit.open("second=&gamma=3")
    np.savez(tmp_path / "trace.npz", channels=CHANNELS[None], power=2.0, noise_variance=0.1)
    page.locator("#open-own").click()
    file = page.locator("#own-file")
    body = sent_by(page, lambda: file.set_input_files(tmp_path / "trace.npz"))
    assert (body["power"], body["noise_variance"]) == (2.0, 0.1)
    visit.answered()
    answer = httpx.post(f"{visit.url}/schedule", json=body).json()
    assert float(visit.reading("error")) == pytest.approx(answer["computation_error"], rel=5e-3)
    tolerated = 10 ** (body["gamma_db"] / 10) * 0.1 / 2
    said = float(visit.reading("limit").removeprefix("tolerated "))
    assert said == pytest.approx(tolerated, rel=5e-3)


def test_the_subcarriers_of_a_band_have_one_schedule(visit):
    page = visit.open("second=")
    band = np.stack([CHANNELS, iid_channels(RNG, 4, 9), iid_channels(RNG, 4, 9)])
    request = {"channels": nested(band), "gamma_db": 0, "seed": 4}
    request["algorithm"] = "dual_pursuit"
    paste(page, json.dumps(request))
    visit.answered()
    body = sent_by(page, lambda: page.locator("#band").check(), "/schedule/wideband")
    np.testing.assert_array_equal(unpacked(body["channels"]), band)
    visit.answered()
    answer = httpx.post(f"{visit.url}/schedule/wideband", json=request).json()
    assert visit.devices() == answer["active"]
    assert float(visit.reading("error")) == pytest.approx(answer["computation_error"], rel=5e-3)
    # A request that says how a band is judged is one.
    paste(page, json.dumps({**request, "criterion": "each"}))
    visit.answered()
    expect(page.locator("#band")).to_be_checked()
    answer = httpx.post(
        f"{visit.url}/schedule/wideband", json={**request, "criterion": "each"}
    ).json()
    assert visit.devices() == answer["active"]


def test_a_pasted_cell_keeps_its_powers_and_its_noise(visit):
    """γ refers to the largest power limit and to the mean noise."""
    page = visit.open("second=")
    powers = [1.0, 4.0, *[2.0] * 7]
    covariance = nested(np.diag([1.0, 0.5, 2.0, 0.5]).astype(complex))
    request = {"channels": nested(CHANNELS), "power": powers, "noise_covariance": covariance}
    request |= {"max_error": 0.4, "excluded": [2], "seed": 3, "algorithm": "dual_pursuit"}
    body = sent_by(page, lambda: paste(page, json.dumps(request)))
    assert 10 ** (body["gamma_db"] / 10) == pytest.approx(4 * 0.4 / 1)
    visit.answered()
    assert visit.reading("limit") == "tolerated 0.4"
    answer = httpx.post(f"{visit.url}/schedule", json=request).json()
    assert visit.devices() == answer["active"]
    assert 2 not in answer["active"]
    page.wait_for_selector("#curve .frontier")
    visit.device(1).focus()
    body = sent_by(page, lambda: page.locator("#power").fill("3"))
    assert body["power"] == [1.0, 3.0, *[2.0] * 7]
