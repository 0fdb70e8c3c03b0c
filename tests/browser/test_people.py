"""A key, a service that goes away, narrow screens, screen readers, no other host."""

import socket

import pytest
from playwright.sync_api import expect

from app.settings import Settings
from tests.browser.visits import REFUSED, UNREACHABLE, Visit
from tests.conftest import running_service

KILOBYTES = 150


def test_a_key_is_asked_for_and_kept_for_the_tab_only(browser):
    with (
        running_service(Settings(api_keys=("right",))) as url,
        Visit(browser, url, REFUSED) as visit,
    ):
        page = visit.page
        page.goto(url)
        reason = page.locator("#key-reason")
        expect(reason).to_contain_text("Authorization")
        missing = reason.inner_text()
        page.locator("#key-value").fill("wrong")
        page.keyboard.press("Enter")
        expect(reason).not_to_have_text(missing)
        expect(page.locator("#key")).to_be_visible()
        page.locator("#key-value").fill("right")
        page.keyboard.press("Enter")
        visit.answered("first", "second")
        page.reload()
        visit.answered("first", "second")
        kept = page.evaluate("[JSON.stringify(localStorage), document.cookie, location.href]")
        assert not any("right" in place for place in kept)
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.locator("[data-panel=first] [data-copy=curl]").click()
        expect(page.locator("#said")).to_have_text("Copied.")
        command = page.evaluate("navigator.clipboard.readText()")
        assert "right" not in command
        assert "Bearer $API_KEY" in command
        other = page.context.new_page()
        other.goto(url)
        expect(other.locator("#key")).to_be_visible()


def test_the_page_says_that_the_service_is_away_and_goes_on_when_it_is_back(browser):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with Visit(browser, f"http://127.0.0.1:{port}", UNREACHABLE) as visit:
        with running_service(Settings(), port):
            page = visit.open("second=")
            before = visit.devices()
        page.locator("#gamma").fill("11")
        said = page.locator("[data-panel=first] .error")
        expect(said).to_contain_text("does not answer")
        assert visit.devices() == []
        page.locator("#gamma").fill("10")
        with running_service(Settings(), port):
            visit.answered()
            expect(said).to_be_hidden()
            assert visit.devices() == before


def test_everything_comes_from_the_service_and_is_small(visit):
    sizes = {}
    visit.page.on("response", lambda answer: sizes.update({answer.url: len(answer.body())}))
    visit.open("", ("first", "second"))
    visit.page.wait_for_selector("#curve .sample.second")
    static = {url: size for url, size in sizes.items() if "/page/" in url or url == f"{visit.url}/"}
    assert len(static) > 15
    assert sum(static.values()) < KILOBYTES * 1000, static


def test_a_narrow_screen_needs_no_scrolling_sideways(browser, service_url):
    with Visit(browser, service_url, has_touch=True) as visit:
        page = visit.open("surface=40,50,16,0", ("first", "second"))
        for width in (1000, 760, 400, 320):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") == width
            for control in ("#gamma", "#devices", "#algorithm-first", "#elements", "[data-copy]"):
                box = page.locator(control).first.bounding_box()
                assert box["x"] >= 0
                assert box["x"] + box["width"] <= width


@pytest.mark.parametrize(("width", "scheme"), [(1360, "light"), (400, "dark")])
def test_axe_finds_no_fault(browser, service_url, axe, width, scheme):
    size = {"width": width, "height": 900}
    with Visit(browser, service_url, viewport=size, color_scheme=scheme) as visit:
        page = visit.open("surface=40,50,16,0", ("first", "second"))
        page.wait_for_selector("#curve .sample.second")
        page.evaluate(axe)
        assert faults(page) == []
        page.locator("#open-own").click()
        assert faults(page) == []


def faults(page):
    # What stands still: colours in the middle of a transition have no contrast of their own.
    page.evaluate("Promise.all(document.getAnimations().map((each) => each.finished))")
    found = page.evaluate("axe.run()")
    assert found["passes"]
    return [
        (fault["id"], fault["impact"], [node["html"][:200] for node in fault["nodes"]][:3])
        for fault in found["violations"]
    ]


def test_the_choice_of_colours_stays(visit):
    page = visit.open("second=")
    page.locator("#theme").click()
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"
    page.reload()
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"


def test_the_answer_is_told_to_screen_readers(visit):
    page = visit.open("second=")
    reached = f"{visit.reading('active')} devices active, error {visit.reading('error')}"
    expect(page.locator("#spoken")).to_have_text(f"Matching pursuit: {reached}")


@pytest.mark.parametrize("size", [(1280, 720), (390, 844)])
def test_the_first_screen_explains_itself(browser, service_url, size):
    width, height = size
    viewport = {"width": width, "height": height}
    with Visit(browser, service_url, viewport=viewport, has_touch=width < 500) as visit:
        page = visit.open("", ("first", "second"))
        for sign in page.locator("#key-to-signs li:visible").all():
            box = sign.bounding_box()
            assert box["y"] + box["height"] < height
        page.locator("#places").focus()
        expect(page.locator("#tip")).to_contain_text("Where the devices are")
        page.keyboard.press("Escape")
        expect(page.locator("#tip")).to_be_hidden()
        # What a tap or a click tells is on the screen.
        place = visit.device(3)
        place.scroll_into_view_if_needed()
        place.locator(".hit").tap() if width < 500 else place.locator(".hit").click()
        told = page.locator("#marked")
        expect(told).to_contain_text("Device 3, ")
        expect(told).to_be_in_viewport(ratio=0.9)
