"""Playing with the cell: drag, slide, choose, compare, and see what the service says."""

import httpx
import numpy as np
import pytest
from playwright.sync_api import expect

from app.scheduling import IRS_SCHEDULERS, SCHEDULERS
from tests.browser.visits import FRAMES, REFUSED, unpacked


def test_dragging_a_device_changes_who_is_active(visit):
    visit.open("second=")
    before = visit.devices()
    waiting = visit.devices("waiting")[-1]
    visit.drag(waiting, (0, 20))
    assert waiting in visit.devices()
    served = before[0]
    visit.drag(served, (-105, 20))
    assert served not in visit.devices()
    expect(visit.page.locator("#put-back")).to_be_visible()
    visit.page.locator("#put-back").click()
    visit.answered()
    expect(visit.page.locator("#put-back")).to_be_hidden()
    assert visit.devices() == before


def test_the_same_with_the_keyboard(visit):
    page = visit.open("second=")
    device = visit.devices()[-1]
    # The first device is a stop of the Tab key; Page Down goes on from there.
    page.locator("#algorithm-first").focus()
    page.keyboard.press("Tab")
    for _ in range(device):
        page.keyboard.press("PageDown")
    expect(visit.device(device)).to_be_focused()
    assert visit.device(device).get_attribute("aria-label").startswith(f"Device {device}, ")
    for _ in range(22):
        page.keyboard.press("Shift+ArrowRight")
    visit.answered()
    assert device not in visit.devices()
    page.keyboard.press("Backspace")
    visit.answered()
    assert device in visit.devices()


def test_a_larger_tolerance_serves_more_and_the_counts_are_the_service_s(visit):
    page = visit.open("second=&gamma=-10")
    few = len(visit.devices())
    page.locator("#gamma").focus()
    page.keyboard.press("End")
    visit.answered()
    assert few < 3
    assert len(visit.devices()) > 15
    assert len(visit.devices()) == int(visit.reading("active"))
    assert page.locator("output[for=gamma]").inner_text() == "40 dB"


def test_the_picture_is_what_the_service_answers(visit):
    """States, counts and readings, from the request that the page sent."""
    with visit.page.expect_request("**/schedule") as sent:
        visit.open("second=&gamma=12")
    body = sent.value.post_data_json
    answer = httpx.post(f"{visit.url}/schedule", json=body).json()
    assert visit.devices() == answer["active"]
    assert float(visit.reading("error")) == pytest.approx(answer["computation_error"], rel=5e-3)
    assert float(visit.reading("power")) == pytest.approx(answer["power_factor"], rel=5e-3)
    channels = unpacked(body["channels"])
    alone = (np.abs(channels) ** 2).sum(axis=0) * 10 ** (body["gamma_db"] / 10) >= 1
    assert visit.devices("never") == np.flatnonzero(~alone).tolist()
    # The curve around the array: radius l₀ (γ |a(θ)ᴴc|²)^(1/3) in every direction.
    outline = visit.page.locator("[data-panel=first] .cell .beam").get_attribute("d")
    points = np.array([pair.split() for pair in outline[1:-1].split("L")], float)
    receiver = np.array(answer["receiver"]["real"]) + 1j * np.array(answer["receiver"]["imag"])
    azimuths = np.radians(np.arange(360))
    steering = np.exp(1j * np.pi * np.outer(np.arange(6), np.sin(azimuths)))
    gains = answer["gamma"] * np.abs(steering.conj().T @ receiver) ** 2
    nearest = visit.page.evaluate(
        'async () => (await import("/page/channels.js")).place(20, 3).reference'
    )
    radii = np.hypot(*points.T)
    np.testing.assert_allclose(radii, np.minimum(nearest * gains ** (1 / 3), 440), atol=0.1)
    far = radii > 5
    angles = np.arctan2(-points[far, 1], points[far, 0])
    np.testing.assert_allclose(np.cos(angles - azimuths[far]), 1, atol=1e-3)


@pytest.mark.parametrize(
    ("state", "schedulers"), [("", SCHEDULERS), ("&surface=40,50,8,2", IRS_SCHEDULERS)]
)
def test_every_algorithm_answers(visit, state, schedulers):
    page = visit.open(f"second=&devices=8{state}")
    offered = page.locator("#algorithm-first option").evaluate_all(
        "all => all.map((each) => each.value)"
    )
    assert sorted(offered) == sorted(schedulers)
    for name in offered:
        page.select_option("#algorithm-first", name)
        visit.answered()
        assert page.locator("[data-panel=first] .summary").inner_text() == schedulers[name].summary
        assert visit.reading("active").isdigit()
        assert visit.reading("solver").endswith(" ms")


def test_two_algorithms_side_by_side_get_the_same_channels(visit):
    page = visit.page
    bodies = []
    page.on(
        "request",
        lambda sent: bodies.append(sent.post_data_json) if sent.url.endswith("/schedule") else None,
    )
    visit.open("", ("first", "second"))
    first, second = bodies[:2]
    assert first["channels"] == second["channels"]
    assert (first["algorithm"]["name"], second["algorithm"]["name"]) == (
        "matching_pursuit",
        "dual_pursuit",
    )
    assert len(visit.devices(panel="second")) > len(visit.devices())
    page.locator("[data-panel=second] .remove").click()
    assert page.locator("[data-panel=second]").count() == 0
    page.locator("#compare").click()
    visit.answered("first", "second")


def test_parameters_come_from_the_service_and_go_to_it(visit):
    page = visit.open("second=")
    page.locator("#first-matching_pursuit-search").select_option("forward")
    page.locator("#first-matching_pursuit-delta").fill("0.7")
    page.keyboard.press("Enter")
    visit.answered()
    asked = [sent.post_data_json.get("algorithm") for sent in visit.requests if sent.post_data]
    wanted = {"name": "matching_pursuit", "search": "forward", "delta": 0.7}
    assert wanted in asked


def test_a_surface_can_be_switched_on_and_dragged(visit):
    page = visit.open("second=&gamma=5")
    without = int(visit.reading("active"))
    page.locator("#surface").check()
    visit.answered()
    assert int(visit.reading("active")) > without
    surface = page.locator("[data-panel=first] .surface")
    box = surface.locator(".hit").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    with page.expect_request("**/schedule/irs"):
        page.mouse.move(x - 60, y + 40)
    page.mouse.up()
    visit.answered()
    moved = surface.get_attribute("aria-label")
    surface.focus()
    page.keyboard.press("Shift+ArrowUp")
    visit.answered()
    assert surface.get_attribute("aria-label") != moved


def test_errors_are_in_the_service_s_own_words(visit):
    visit.expect(REFUSED)
    page = visit.page
    with page.expect_response("**/schedule") as answered:
        page.goto(f"{visit.url}/#second=&first=random&priorities=0,2")
    said = page.locator("[data-panel=first] .error")
    expect(said).to_contain_text(answered.value.json()["detail"])
    expect(said).to_contain_text(answered.value.json()["title"])
    page.select_option("#algorithm-first", "matching_pursuit")
    visit.answered()
    expect(said).to_be_hidden()


def test_a_newer_request_cancels_the_older(visit):
    """While the service is slow, only the last of many positions is answered, by its own answer."""
    page = visit.open("second=")
    held, cancelled = [], []

    def is_the_panels(request):
        """Not the curve, nor the proof of the bound: those are asked for elsewhere."""
        return request.url.endswith("/schedule") and "optimal" not in (request.post_data or "")

    def hold(route):
        held.append(route) if is_the_panels(route.request) else route.continue_()

    page.route("**/schedule", hold)
    page.on("requestfailed", lambda request: cancelled.append(request))
    page.locator("#gamma").focus()
    for _ in range(10):
        page.keyboard.press("ArrowRight")
        page.evaluate(FRAMES)
    aborted = [request.failure for request in cancelled if is_the_panels(request)]
    assert aborted == ["net::ERR_ABORTED"] * 9
    assert [route.request.post_data_json["gamma_db"] for route in held][-1] == 15
    last = held[-1]
    last.continue_()
    visit.answered()
    answer = httpx.post(f"{visit.url}/schedule", json=last.request.post_data_json).json()
    assert visit.devices() == answer["active"]


def test_the_curve_comes_after_the_schedules(visit):
    """Together they would need more places than the service's queue has, and be refused."""
    page = visit.open("", ("first", "second"))
    # The curves of the first round have come.
    page.wait_for_load_state("networkidle")
    held, curves, let_go = [], [], []
    page.route("**/schedule", lambda route: route.continue_() if let_go else held.append(route))
    page.on("request", lambda sent: curves.append(sent.url.split("/schedule/")[1:]))
    page.locator("#new-fading").click()
    page.wait_for_timeout(400)
    assert len(held) == 2
    assert [found for found in curves if found] == []
    let_go.append(True)
    with page.expect_response("**/schedule/batch"):
        for route in held:
            route.continue_()


def test_a_full_queue_is_asked_again_without_a_word(visit):
    """The next request may find the places of those that the page has just cancelled."""
    visit.expect(f"{REFUSED} 503")
    page = visit.open("second=")
    refused = []

    def refuse_once(route):
        if refused:
            route.continue_()
            return
        refused.append(route)
        problem = {"title": "Full", "detail": "Try again.", "retryable": True}
        route.fulfill(status=503, json=problem, headers={"Retry-After": "1"})

    page.route("**/schedule", refuse_once)
    page.evaluate(
        """() => {
          window.shown = [];
          const error = document.querySelector("[data-panel=first] .error");
          new MutationObserver(() => shown.push(error.hidden)).observe(error, {attributes: true});
        }"""
    )
    page.locator("#new-fading").click()
    visit.answered()
    assert len(refused) == 1
    assert False not in page.evaluate("shown")
