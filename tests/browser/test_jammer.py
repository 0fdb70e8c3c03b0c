"""The jammer of the page: what the service is told of it, and what the page says of the devices."""

import re

import httpx
import numpy as np
import pytest
from playwright.sync_api import expect

from airsched_client.federated.channels import array_response
from tests.browser.visits import unpacked


def asked(visit):
    """Return the last request for a schedule; those for other tolerances have less time."""
    sent = [each for each in visit.requests if re.search("/schedule(/irs)?$", each.url)]
    bodies = [each.post_data_json for each in sent]
    return [each for each in bodies if each["deadline_ms"] == 2000][-1]


def covariance(place, strength_db, antennas, reference):
    """Return I + s a aᴴ for a jammer in plain view."""
    distance, azimuth = np.hypot(*place), np.arctan2(place[1], place[0])
    power = 10 ** (strength_db / 10) * max(distance / reference, 1.0) ** -3
    steering = array_response(np.array([azimuth]), antennas, 0.5)
    return np.eye(antennas) + power * steering @ steering.conj().T


def reference_of(visit):
    """Return l_0 of the page's network, from where it draws the devices."""
    places = visit.page.locator("[data-panel=first] .device").evaluate_all(
        "all => all.map((each) => each.getAttribute('transform').match(/[-.\\d]+/g).map(Number))"
    )
    return min(np.hypot(*place) for place in places)


def test_the_service_is_told_the_covariance_and_the_error_stays_as_tolerated(visit):
    page = visit.open("second=&first=dual_pursuit&gamma=10")
    without, tolerated = int(visit.reading("active")), visit.reading("limit")
    page.locator("#jammer").check()
    visit.answered()
    expect(page).to_have_url(re.compile("jammer=-60,25,25"))
    body = asked(visit)
    told = unpacked(body["noise_covariance"])
    expected = covariance((-60, 25), 25, 6, reference_of(visit))
    np.testing.assert_allclose(told, expected, atol=2e-3 * np.abs(expected).max())
    assert visit.reading("limit") == tolerated
    # γ of the service refers to the mean noise: the tolerated error is that of the noise alone.
    mean = np.trace(told).real / 6
    assert 10 ** (body["gamma_db"] / 10) * mean == pytest.approx(10.0)
    answer = httpx.post(f"{visit.url}/schedule", json=body).json()
    assert visit.devices() == answer["active"]
    assert 0 < len(answer["active"]) < without
    assert answer["computation_error"] <= 10.0 * (1 + 1e-6)


def test_dragging_it_away_brings_devices_back(visit):
    page = visit.open("second=&first=dual_pursuit&gamma=10&jammer=20,5,25")
    near = int(visit.reading("active"))
    jammer = page.locator("[data-panel=first] .jammer")
    box = jammer.locator(".hit").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    with page.expect_request("**/schedule"):
        page.mouse.move(x + 150, y - 20)
    page.mouse.up()
    visit.answered()
    assert int(visit.reading("active")) > near
    placed = jammer.get_attribute("aria-label")
    jammer.focus()
    page.keyboard.press("Shift+ArrowUp")
    visit.answered()
    assert jammer.get_attribute("aria-label") != placed
    page.locator("#strength").fill("0")
    visit.answered()
    weak = asked(visit)
    assert np.trace(unpacked(weak["noise_covariance"])).real / 6 < 2


def test_active_devices_have_what_they_need(visit):
    """Also against the jammer: the page says who is short, and by how much."""
    visit.open("second=&first=dual_pursuit&gamma=12&jammer=-40,10,25")
    active = set(visit.devices())
    for device in range(20):
        words = visit.device(device).get_attribute("aria-label")
        assert ("more than it needs" in words) == (device in active)
    assert "short" in visit.device(next(k for k in range(20) if k not in active)).get_attribute(
        "aria-label"
    )


def test_the_frontier_is_in_the_tolerance_of_the_page(visit):
    """Its points lie where their error is tolerated, so no algorithm is above it."""
    page = visit.open("second=&first=dual_pursuit&gamma=10&jammer=-60,25,25")
    page.wait_for_selector("#curve .frontier")
    sent = next(each for each in visit.requests if each.url.endswith("/frontier"))
    answer = httpx.post(sent.url, json=sent.post_data_json).json()
    point = answer["points"][answer["recommended"]]
    gamma_db = 10 * np.log10(point["computation_error"])
    shown = f"{len(point['active'])} at {gamma_db:.1f} dB"
    expect(page.locator("#recommended")).to_have_text(shown.replace("-", "−"))
    assert len(point["active"]) > int(visit.reading("active"))
    assert gamma_db > 10


def test_with_a_surface_too(visit):
    page = visit.open("second=&first=dual_pursuit&gamma=5&surface=40,50,8,0&jammer=-40,10,25")
    body = asked(visit)
    answer = httpx.post(f"{visit.url}/schedule/irs", json=body).json()
    assert visit.devices() == answer["active"]
    assert page.locator("[data-panel=first] .jammer").is_visible()
    assert page.locator("[data-panel=first] .surface").is_visible()


def test_its_formulas(modules):
    """h_kᴴR⁻¹h_k and cᴴRc, against the matrices themselves."""
    rng = np.random.default_rng(0)
    channels = rng.standard_normal((5, 7)) + 1j * rng.standard_normal((5, 7))
    receiver = rng.standard_normal(5) + 1j * rng.standard_normal(5)
    receiver /= np.linalg.norm(receiver)
    as_page = [
        {
            "rows": 5,
            "columns": columns,
            "real": a.real.ravel().tolist(),
            "imag": a.imag.ravel().tolist(),
        }
        for columns, a in ((7, channels), (1, receiver))
    ]
    packed, alone, heard, gamma = modules.evaluate(
        """async ([channels, receiver]) => {
          const page = await import("/page/jammer.js");
          const jammer = page.jammerOf({ on: true, x: -30, y: 50, strength: 20 }, 5, 12);
          const heard = [page.heardAlone(channels, jammer), page.through(jammer, receiver)];
          return [page.covariance(jammer), ...heard, page.asAsked(3, jammer)];
        }""",
        as_page,
    )
    noise = covariance((-30, 50), 20, 5, 12)
    np.testing.assert_allclose(unpacked(packed), noise, rtol=1e-9)
    inverse = np.linalg.inv(noise)
    np.testing.assert_allclose(alone, [(h.conj() @ inverse @ h).real for h in channels.T])
    assert heard == pytest.approx((receiver.conj() @ noise @ receiver).real)
    assert gamma == pytest.approx(3 - 10 * np.log10(np.trace(noise).real / 5))


def test_a_broken_jammer_in_a_link_is_the_usual_one(visit):
    page = visit.open("second=&jammer=x,1")
    expect(page.locator("#jammer")).to_be_checked()
    assert visit.reading("active").isdigit()
