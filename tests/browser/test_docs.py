"""Swagger UI at ``/docs``."""

import pytest
from playwright.sync_api import expect

from app.settings import Settings
from tests.browser.visits import REFUSED, Visit
from tests.conftest import running_service


def test_swagger_ui_works_offline_and_its_examples_run(visit):
    page = visit.page
    page.goto(f"{visit.url}/docs")
    expect(page.locator(".info a", has_text="openapi.json")).to_be_visible()
    for path in ("/schedule", "/schedule/irs", "/schedule/batch"):
        execute(page, path)
    page.locator("#back").click()
    visit.answered("first", "second")


def execute(page, path):
    """Run the example of a route."""
    block = page.locator(".opblock", has=page.locator(f"[data-path='{path}']"))
    block.locator(".opblock-summary-control").click()
    with page.expect_response(f"**{path}") as answered:
        block.locator("button.execute").click()
    assert answered.value.status == 200
    status = block.locator(".live-responses-table .response .response-col_status").first
    expect(status).to_contain_text("200")


@pytest.mark.parametrize("chosen", ["dark", "light"])
def test_the_colours_are_those_chosen_on_the_page(browser, service_url, chosen):
    other = {"dark": "light", "light": "dark"}[chosen]
    with Visit(browser, service_url, color_scheme=other) as visit:
        page = visit.page
        page.goto(f"{service_url}/docs")
        page.evaluate("theme => localStorage.setItem('theme', theme)", chosen)
        page.reload()
        expect(page.locator(".info .title")).to_be_visible()
        assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == chosen
        assert ("dark-mode" in (page.locator("html").get_attribute("class") or "")) == (
            chosen == "dark"
        )


def test_a_key_is_asked_for_and_used(browser):
    """Also where the page at ``/``, whose modules it shares, is switched off."""
    settings = Settings(api_keys=("right",), docs_key=True, page=False)
    with running_service(settings) as url, Visit(browser, url, REFUSED) as visit:
        page = visit.page
        page.goto(f"{url}/docs")
        reason = page.locator("#key-reason")
        expect(reason).to_contain_text("Authorization")
        missing = reason.inner_text()
        expect(page.locator(".opblock")).to_have_count(0)
        assert page.locator("#key").bounding_box()["width"] > 300
        page.locator("#key-value").fill("wrong")
        page.keyboard.press("Enter")
        expect(reason).not_to_have_text(missing)
        page.keyboard.press("Escape")
        expect(page.locator("#said")).to_contain_text("key")
        page.reload()
        page.locator("#key-value").fill("right")
        page.keyboard.press("Enter")
        execute(page, "/schedule")
        kept = page.evaluate("[JSON.stringify(localStorage), document.cookie, location.href]")
        assert not any("right" in place for place in kept)
