"""What the page says is what the service said: bounds, slow answers, missed tolerances, limits."""

import httpx
import numpy as np
import pytest
from playwright.sync_api import expect

from tests.browser.visits import unpacked


def optimal(visit):
    """Return the first schedule that was asked for, solved by the algorithm that proves.

    Later ones may be samples at other tolerances.
    """
    asked = [sent for sent in visit.requests if sent.url.endswith("/schedule")]
    body = {**asked[0].post_data_json, "algorithm": "optimal", "deadline_ms": 20_000}
    return httpx.post(f"{visit.url}/schedule", json=body, timeout=30).json()


def test_the_bound_stands_under_every_panel(visit):
    page = visit.open("gamma=10", ("first", "second"))
    bounds = page.locator(".bound")
    expect(bounds.nth(1)).not_to_be_empty()
    best = optimal(visit)
    assert best["optimal"]
    for panel, index in (("first", 0), ("second", 1)):
        reached = int(visit.reading("active", panel))
        proven = reached == best["upper_bound"]
        words = "no receiver serves more" if proven else f"{best['upper_bound']} could be served"
        expect(bounds.nth(index)).to_have_text(f"Proven: {words}.")


def test_what_is_not_proven_is_not_called_proven(visit):
    """As the service answers for 50 devices at −1 dB: the best so far, and a bound above it."""
    page = visit.page

    def unproven(route):
        answer = route.fetch()
        body = answer.json()
        if route.request.post_data_json["algorithm"]["name"] == "optimal":
            more = len(body["active"]) + 4
            body |= {"upper_bound": more, "optimal": False, "stopped": "deadline"}
        route.fulfill(response=answer, json=body)

    page.route("**/schedule", unproven)
    visit.open("first=optimal&second=&devices=12")
    count = int(visit.reading("active"))
    expect(page.locator(".bound")).to_have_text(f"{count}, at most {count + 4}, not proven.")
    expect(page.locator(".note")).to_have_text("Stopped after 2 s with the best so far.")
    # Samples may still be on their way.
    page.unroute_all(behavior="ignoreErrors")


def test_old_answers_go_while_a_slow_solve_runs(visit):
    page = visit.open("second=&first=dual_pursuit")
    page.wait_for_selector("#curve .frontier")
    held, let_go = [], []
    page.route("**/schedule", lambda route: route.continue_() if let_go else held.append(route))
    page.locator("#new-fading").click()
    expect(page.locator(".note")).to_contain_text("Solving for")
    assert visit.devices() == []
    assert visit.reading("active") == "–"
    assert visit.reading("bound") == ""
    assert page.locator("#curve :is(.frontier, .sample, .dot, .recommended)").count() == 0
    first = page.locator(".note").inner_text()
    expect(page.locator(".note")).not_to_have_text(first)
    # A proof for the round before may be held as well; the page has given it up.
    deadlines = [each.request.post_data_json["deadline_ms"] for each in held]
    let_go.append(True)
    held[deadlines.index(2000)].continue_()
    visit.answered()
    expect(page.locator(".note")).to_be_empty()
    assert len(visit.devices()) == int(visit.reading("active"))


def test_everyone_is_faint_where_the_tolerance_is_missed(visit):
    page = visit.open("second=&first=all_devices&devices=8")
    page.wait_for_selector("#curve .sample")
    samples = page.locator("#curve .sample").evaluate_all(
        "all => all.map((each) => each.classList.contains('missed'))"
    )
    asked = next(sent for sent in visit.requests if sent.url.endswith("/schedule/batch"))
    answer = httpx.post(asked.url, json=asked.post_data_json).json()
    assert samples == [not schedule["feasible"] for schedule in answer["schedules"]]
    assert len(set(samples)) == 2


def test_an_algorithm_for_fewer_devices_is_disabled_and_says_why(visit):
    def limit(route):
        answer = route.fetch().json()
        for each in answer["algorithms"]:
            if each["name"] == "dc":
                each["max_devices"] = 12
        route.fulfill(json=answer)

    visit.page.route("**/algorithms", limit)
    page = visit.open("second=&devices=12")
    unsuited = page.locator("#algorithm-first option[value=dc]")
    expect(unsuited).to_be_enabled()
    page.locator("#devices").press("ArrowRight")
    visit.answered()
    expect(unsuited).to_be_disabled()
    expect(unsuited).to_have_text("DC (at most 12 devices)")
    expect(page.locator("#algorithm-first option[value=matching_pursuit]")).to_be_enabled()


def test_weights_and_priorities_are_sizes_and_reach_the_service(visit):
    page = visit.open("second=&devices=13")
    visit.device(4).focus()
    page.locator("#weight").fill("3")
    visit.answered()
    page.locator("#priority").fill("5")
    visit.answered()
    own = [sent for sent in visit.requests if sent.url.endswith("/schedule")]
    # The schedule's own request; those for the bound and for samples come later.
    body = next(sent.post_data_json for sent in own if "priorities" in sent.post_data_json)
    assert body["weights"] == [1, 1, 1, 1, 3, *[1] * 8]
    assert body["priorities"] == [1, 1, 1, 1, 5, *[1] * 8]
    answer = httpx.post(f"{visit.url}/schedule", json=body).json()
    assert visit.devices() == answer["active"]
    size = visit.device(4).locator(".glyph").bounding_box()["width"]
    assert size > 1.5 * visit.device(5).locator(".glyph").bounding_box()["width"]
    unsuited = page.locator("#algorithm-first option[value=random]")
    expect(unsuited).to_be_disabled()
    expect(unsuited).to_contain_text("no priorities")
    # Who needs more than it can get is out of reach: γ‖h‖² against φ².
    energies = (np.abs(unpacked(body["channels"])) ** 2).sum(axis=0)
    alone = energies * 10 ** (body["gamma_db"] / 10) >= np.array(body["weights"]) ** 2
    assert visit.devices("never") == np.flatnonzero(~alone).tolist()
    # The chart and the bound count what is maximised.
    priorities = np.array(body["priorities"])
    expect(page.locator("#curve")).to_contain_text("sum of priorities")
    reached = priorities[answer["active"]].sum()
    expect(page.locator("#legend li.first")).to_have_text(f"Matching pursuit: {reached}")
    proof = httpx.post(f"{visit.url}/schedule", json={**body, "algorithm": "optimal"}).json()
    most = priorities[proof["active"]].sum()
    assert proof["optimal"]
    assert most > reached
    words = f"In priorities {reached} of 17; proven: {most} could be served."
    expect(page.locator("[data-reading=bound]")).to_have_text(words)
    page.locator("#equal").click()
    visit.answered()
    expect(page.locator("#equal")).to_be_hidden()
    expect(page.locator("#curve")).not_to_contain_text("sum of priorities")


def test_a_surface_takes_priorities_and_has_a_bound(visit):
    page = visit.open("second=&devices=8&surface=30,40,8,0")
    visit.device(2).focus()
    page.locator("#priority").fill("4")
    visit.answered()
    own = [sent.post_data_json for sent in visit.requests if sent.url.endswith("/schedule/irs")]
    body = next(body for body in own if "priorities" in body)
    assert body["priorities"] == [1, 1, 4, *[1] * 5]
    answer = httpx.post(f"{visit.url}/schedule/irs", json=body).json()
    reached, most = sum(body["priorities"][k] for k in answer["active"]), answer["upper_bound"]
    assert most >= reached
    proven = "proven: no receiver serves more" if most == reached else f"at most {most}, not proven"
    words = f"In priorities {reached} of 11; {proven}."
    expect(page.locator("[data-reading=bound]")).to_have_text(words)


def test_a_trace_is_played_round_by_round(visit, tmp_path):
    rng = np.random.default_rng(8)
    trace = rng.standard_normal((4, 3, 8)) + 1j * rng.standard_normal((4, 3, 8))
    np.save(tmp_path / "trace.npy", trace)
    page = visit.open("gamma=-3", ("first", "second"))
    page.locator("#open-own").click()
    page.locator("#own-file").set_input_files(tmp_path / "trace.npy")
    visit.answered("first", "second")
    gamma = page.locator("#gamma").input_value()
    page.locator("#play").click()
    expect(page.locator("#played")).to_have_text("Mean over 4 rounds:", timeout=20_000)
    expect(page.locator("#play")).to_have_text("Play rounds")
    counts = []
    for channels in trace:
        body = {"channels": {"real": channels.real.tolist(), "imag": channels.imag.tolist()}}
        body |= {"gamma_db": float(gamma), "algorithm": "dual_pursuit", "seed": 1}
        counts.append(len(httpx.post(f"{visit.url}/schedule", json=body).json()["active"]))
    told = page.locator("#means .second").inner_text()
    assert float(told.split(": ")[1].split()[0]) == pytest.approx(np.mean(counts), rel=5e-3)
    assert page.locator("#learning .curve").count() == 3
    # Once more from the beginning.
    page.locator("#play").click()
    expect(page.locator("#played")).to_have_text("Mean over 1 round:", timeout=20_000)
    expect(page.locator("#played")).to_have_text("Mean over 4 rounds:", timeout=20_000)
    assert page.locator("#means .second").inner_text() == told
    np.save(tmp_path / "one.npy", trace[0])
    page.locator("#open-own").click()
    page.locator("#own-file").set_input_files(tmp_path / "one.npy")
    expect(page.locator("#play")).to_be_disabled()
    page.locator("#use-model").click()
    expect(page.locator("#play")).to_be_enabled()


@pytest.mark.parametrize("place", ["[data-panel=first]", "#tolerance"])
def test_pictures_and_tables_can_be_saved(visit, tmp_path, place):
    page = visit.open("second=&devices=9")
    page.wait_for_selector("#curve .sample")
    saved = {}
    for kind in ("svg", "png", "csv"):
        with page.expect_download() as download:
            page.locator(f"{place} [data-save={kind}]").click()
        assert download.value.suggested_filename.endswith(f".{kind}")
        saved[kind] = tmp_path / f"saved.{kind}"
        download.value.save_as(saved[kind])
    assert saved["png"].read_bytes().startswith(b"\x89PNG")
    assert saved["png"].stat().st_size > 5000
    drawing = saved["svg"].read_text(encoding="utf-8")
    assert "class=" not in drawing
    assert "light-dark" not in drawing
    rows = [line.split(",") for line in saved["csv"].read_text(encoding="utf-8").split()]
    if place == "#tolerance":
        assert sum(row[0] == "frontier" for row in rows) > 3
    else:
        states = [row[rows[0].index("state")] for row in rows[1:]]
        assert [k for k, state in enumerate(states) if state == "active"] == visit.devices()
