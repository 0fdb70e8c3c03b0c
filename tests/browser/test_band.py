"""A band on the page: its channels, its one schedule, and the error of every subcarrier."""

import re

import httpx
import numpy as np
import pytest
from playwright.sync_api import expect

from airsched_client.federated.band import subcarrier_channels, tap_powers
from lab.channels import iid_channels
from tests.browser.visits import unpacked


def asked(visit, route):
    """Return the last request for the schedule shown; those for other tolerances have less time."""
    sent = [each.post_data_json for each in visit.requests if each.url.endswith(route)]
    return [each for each in sent if each["deadline_ms"] == 2000][-1]


def heights(page):
    """Return the heights of the bars in units of what is tolerated."""
    return page.locator("[data-panel=first] .spectrum").evaluate(
        """root => {
          const y = (each) => Number(/ ([\\d.]+)H/.exec(each.getAttribute("d"))[1]);
          const [zero, limit] = [".grid", ".now"].map((each) => y(root.querySelector(each)));
          const bars = [...root.querySelectorAll(".bar")];
          return bars.map((bar) => Number(bar.getAttribute("height")) / (zero - limit));
        }"""
    )


@pytest.mark.parametrize(("taps", "subcarriers"), [(1, 4), (4, 16), (6, 3)])
def test_subcarriers_are_those_of_the_client(modules, taps, subcarriers):
    rng = np.random.default_rng(taps)
    drawn = rng.standard_normal((taps, 3, 5)) + 1j * rng.standard_normal((taps, 3, 5))
    parts = [
        {"rows": 3, "columns": 5, "real": a.real.ravel().tolist(), "imag": a.imag.ravel().tolist()}
        for a in drawn
    ]
    found = modules.evaluate(
        """async ([taps, count]) => (await import("/page/channels.js"))
             .bandOf(taps, count).map(({ real, imag }) => [[...real], [...imag]])""",
        [parts, subcarriers],
    )
    expected = subcarrier_channels(np.sqrt(tap_powers(taps))[:, None, None] * drawn, subcarriers)
    real, imag = np.moveaxis(np.array(found), 1, 0).reshape(2, subcarriers, 3, 5)
    np.testing.assert_allclose(real + 1j * imag, expected, atol=1e-12)


def test_a_band_has_one_schedule_and_an_error_for_every_subcarrier(visit):
    page = visit.open("second=&first=dual_pursuit&gamma=10")
    spectrum = page.locator("[data-panel=first] .spectrum")
    expect(spectrum).to_be_hidden()
    page.locator("#subcarriers").focus()
    with page.expect_response("**/schedule/wideband"):
        page.keyboard.press("PageUp")
    visit.answered()
    subcarriers = int(page.locator("output[for=subcarriers]").inner_text())
    body = asked(visit, "/schedule/wideband")
    assert unpacked(body["channels"]).shape == (subcarriers, 6, 20)
    answer = httpx.post(f"{visit.url}/schedule/wideband", json=body).json()
    assert visit.devices() == answer["active"]
    assert float(visit.reading("power")) == pytest.approx(min(answer["power_factors"]), rel=5e-3)
    expect(spectrum).to_be_visible()
    errors = np.array(answer["computation_errors"])
    assert subcarriers > 1
    assert np.ptp(errors) > 0
    np.testing.assert_allclose(heights(page), errors / 10.0, atol=0.02)
    said = spectrum.get_attribute("aria-label")
    numbers = [float(each) for each in re.findall(r"[\d.]+(?=\D)", said)]
    assert numbers == pytest.approx([errors.min(), errors.max(), subcarriers, 10.0], rel=5e-3)
    expect(page.locator("#surface-section")).to_be_hidden()
    page.locator("#subcarriers").fill("1")
    visit.answered()
    expect(spectrum).to_be_hidden()
    expect(page.locator("#surface-section")).to_be_visible()


def test_one_path_makes_all_subcarriers_the_plain_channels(visit):
    visit.open("second=&first=dual_pursuit")
    plain = unpacked(asked(visit, "/schedule")["channels"])
    page = visit.open("second=&first=dual_pursuit&subcarriers=3&taps=1&fading=2")
    page.locator("#fading").fill("1")
    visit.answered()
    band = unpacked(asked(visit, "/schedule/wideband")["channels"])
    for each in band:
        np.testing.assert_allclose(each, plain, rtol=1e-12)
    page.locator("#taps").fill("16")
    visit.answered()
    expect(page).to_have_url(re.compile("subcarriers=3&taps=16"))
    many = unpacked(asked(visit, "/schedule/wideband")["channels"])
    assert not np.allclose(many[0], many[1])


def test_rounds_of_a_band_can_be_played(visit):
    page = visit.open("second=&first=dual_pursuit&subcarriers=4")
    page.locator("#play").click()
    expect(page.locator("#played")).to_contain_text("rounds")
    page.locator("#play").click()


def test_a_recorded_band_shows_its_first_round(visit, tmp_path):
    rng = np.random.default_rng(5)
    channels = np.array([[iid_channels(rng, 4, 7) for _ in range(3)] for _ in range(2)])
    np.savez(tmp_path / "band.npz", channels=channels)
    page = visit.open("second=&first=dual_pursuit")
    page.locator("#open-own").click()
    with page.expect_request("**/schedule/wideband"):
        page.locator("#own-file").set_input_files(tmp_path / "band.npz")
    visit.answered()
    expect(page.locator("#given-ignored")).to_contain_text("all rounds but the first of 2")
    np.testing.assert_array_equal(
        unpacked(asked(visit, "/schedule/wideband")["channels"]), channels[0]
    )
    expect(page.locator("[data-panel=first] .bar.chosen")).to_have_count(1)
