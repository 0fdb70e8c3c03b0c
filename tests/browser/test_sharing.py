"""Links, copied requests, channels from elsewhere, the curve."""

import json
import re
import subprocess
import sys

import httpx
import numpy as np
import pytest
from playwright.sync_api import expect

from lab.channels import iid_channels
from tests.api.bodies import nested
from tests.browser.visits import unpacked


def test_a_link_shows_the_same_picture(visit):
    page = visit.open()
    page.locator("#devices").fill("15")
    page.locator("#antennas").fill("4")
    page.select_option("#algorithm-first", "dual_pursuit")
    page.locator("#first-dual_pursuit-starts").fill("3")
    page.locator("#gamma").fill("7.5")
    page.locator("#new-fading").click()
    page.locator("#polish").check()
    page.locator("#surface").check()
    visit.answered("first", "second")
    visit.drag(2, (30, -40))
    visit.answered("first", "second")
    expect(page).to_have_url(re.compile("moved=2,30"))
    shown = visit.devices(), visit.devices(panel="second"), visit.reading("error")
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    visit.answered("first", "second")
    assert (visit.devices(), visit.devices(panel="second"), visit.reading("error")) == shown
    assert page.locator("#first-dual_pursuit-starts").input_value() == "3"
    assert page.locator("#polish").is_checked()
    assert page.url == address


@pytest.mark.parametrize(
    "state",
    [
        "devices=abc&gamma=1e999&surface=x&moved=;;1,2&first=&fading=-3.7",
        "devices=1e9&antennas=-1&gamma=NaN&moved=3,1e9,1e9&first=no_such&second=%00",
    ],
)
def test_a_broken_link_still_shows_something(visit, state):
    visit.open(state)
    assert visit.reading("active").isdigit()


def copied(visit, what):
    page = visit.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator(f"[data-panel=first] [data-copy={what}]").click()
    expect(page.locator("#said")).to_have_text("Copied.")
    return page.evaluate("navigator.clipboard.readText()")


@pytest.mark.parametrize("state", ["", "&surface=40,50,8,2&polish=1"])
def test_a_copied_request_works_when_pasted(visit, state):
    visit.open(f"second=&first=dual_pursuit&first.starts=3&gamma=8{state}")
    command = copied(visit, "curl")
    ran = subprocess.run(["bash", "-c", command], check=True, capture_output=True, timeout=30)
    assert json.loads(ran.stdout)["active"] == visit.devices()
    program = copied(visit, "python")
    ran = subprocess.run(
        [sys.executable, "-"], input=program.encode(), check=True, capture_output=True, timeout=30
    )
    assert [
        int(word) for word in ran.stdout.decode().strip(" []\n()").replace(",", " ").split()
    ] == (visit.devices())


CHANNELS = iid_channels(np.random.default_rng(5), 4, 9)
OTHERS = np.stack([CHANNELS, iid_channels(np.random.default_rng(6), 4, 9)])


def active(visit, channels):
    body = {"channels": nested(channels), "gamma_db": 3}
    return httpx.post(f"{visit.url}/schedule", json=body).json()["active"]


@pytest.mark.parametrize("text", [nested(CHANNELS), {"channels": nested(CHANNELS), "gamma_db": 3}])
def test_channels_can_be_pasted(visit, text):
    page = visit.open("second=&gamma=3")
    paste(page, json.dumps(text))
    visit.answered()
    expect(page.locator("#given-size")).to_have_text("9 devices, 4 antennas")
    assert visit.devices() == active(visit, CHANNELS)
    page.locator("#use-model").click()
    visit.answered()
    assert visit.reading("of") == "of 20 devices"


def paste(page, text):
    if not page.locator("#own").is_visible():
        page.locator("#open-own").click()
    page.locator("#own-text").fill(text)
    page.locator("#use-own").click()


def test_a_trace_can_be_chosen_in_every_format(visit, tmp_path):
    page = visit.open("second=&gamma=3")
    single = OTHERS.astype(np.complex64)
    (tmp_path / "trace.json").write_text(json.dumps({"channels": nested(OTHERS)}))
    np.save(tmp_path / "trace.npy", OTHERS)
    positions = np.random.default_rng(0).uniform(-300, 300, (9, 2))
    np.savez(tmp_path / "plain.npz", channels=single, positions=positions, power=1.0)
    np.savez_compressed(tmp_path / "packed.npz", estimates=single, channels=2 * single)
    expected = [active(visit, channels) for channels in OTHERS]
    assert expected == [active(visit, channels) for channels in single]
    for name in ("trace.json", "trace.npy", "plain.npz", "packed.npz"):
        page.locator("#open-own").click()
        page.locator("#own-file").set_input_files(tmp_path / name)
        expect(page.locator("#own")).to_be_hidden()
        visit.answered()
        assert visit.devices() == expected[0], name
        page.locator("#round").fill("1")
        visit.answered()
        assert visit.devices() == expected[1], name


def test_what_is_no_matrix_is_refused_with_a_reason(visit):
    page = visit.open("second=")
    for text, problem in (
        ("{", "not JSON"),
        ("[1, 2]", "one row per antenna"),
        ('{"real": [[1, 2], [3]]}', "one row per antenna"),
        ("null", "one row per antenna"),
        (json.dumps({"real": [[1] * 101]}), "up to 100 devices"),
    ):
        paste(page, text)
        expect(page.locator("#own-error")).to_contain_text(problem)


def test_the_curve_is_what_the_service_answers_and_a_click_sets_the_tolerance(visit):
    page = visit.page
    with page.expect_response("**/schedule/batch") as answered:
        visit.open("second=")
    counts = [len(schedule["active"]) for schedule in answered.value.json()["schedules"]]
    asked = next(sent for sent in visit.requests if sent.url.endswith("/schedule"))
    channels = unpacked(asked.post_data_json["channels"])
    gammas = list(range(-10, 41, 2))
    body = {"channels": nested(channels), "seed": 1}
    for gamma, count in list(zip(gammas, counts, strict=True))[::5]:
        answer = httpx.post(f"{visit.url}/schedule", json={**body, "gamma_db": gamma}).json()
        assert len(answer["active"]) == count
    drawn = points(page, "circle.sample.first")
    assert len(drawn) == len(counts)
    steps = (drawn[0, 1] - drawn[:, 1]) / (drawn[0, 1] - drawn[-1, 1])
    np.testing.assert_allclose(
        steps, (np.array(counts) - counts[0]) / (counts[-1] - counts[0]), atol=2e-3
    )
    box = page.locator("#curve").bounding_box()
    page.mouse.click(box["x"] + drawn[gammas.index(30), 0], box["y"] + 60)
    visit.answered()
    assert page.locator("output[for=gamma]").inner_text() == "30 dB"
    assert int(visit.reading("active")) == counts[gammas.index(30)]


def points(page, drawn):
    """Return the middles of circles of the chart."""
    page.wait_for_selector(f"#curve {drawn}")
    return np.array(
        page.locator(f"#curve {drawn}").evaluate_all(
            "all => all.map((each) => [each.cx.baseVal.value, each.cy.baseVal.value])"
        )
    )


@pytest.mark.parametrize("polish", ["", "&polish=1"])
def test_the_frontier_and_the_recommended_point_are_the_service_s(visit, polish):
    page = visit.page
    with page.expect_response("**/schedule/frontier") as answered:
        visit.open(f"second={polish}")
    answer = answered.value.json()
    found = answer["points"]
    assert len(found) > 5
    page.wait_for_selector("#curve path.frontier")
    path = page.locator("#curve path.frontier").get_attribute("d")
    drawn = np.array([pair.split() for pair in path[1:].split("L")], float)
    # Flat at first, then up at each point's own γ, and flat to the end.
    levels = (10 * np.log10([point["gamma"] for point in found])).clip(-10, 40)
    left, right = drawn[0, 0], drawn[-1, 0]
    places = left + (levels + 10) / 50 * (right - left)
    np.testing.assert_allclose(drawn[2:-1:2, 0], places, atol=0.1)
    heights = drawn[0, 1] - drawn[2:-1:2, 1]
    counts = np.array([len(point["active"]) for point in found])
    np.testing.assert_allclose(heights / heights[-1], counts / counts[-1], atol=2e-3)
    ((x, _),) = points(page, "circle.recommended")
    assert x == pytest.approx(places[answer["recommended"]], abs=0.1)
    # Dual pursuit serves those devices at that tolerance, for no more error.
    page.select_option("#algorithm-first", "dual_pursuit")
    page.locator("#take").click()
    visit.answered()
    assert int(visit.reading("active")) >= counts[answer["recommended"]]
    # The algorithm stands at its own error.
    ((x, _),) = points(page, "circle.dot.first")
    own = 10 * np.log10(float(visit.reading("error")))
    assert x == pytest.approx(left + (own + 10) / 50 * (right - left), abs=0.3)
