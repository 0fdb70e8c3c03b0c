"""A real browser for the page: Chromium, driven by Playwright."""

import os
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from app.settings import Settings
from lab.browser import FLAGS, chromium
from tests.browser.visits import Visit
from tests.conftest import running_service

AXE = "axe-core@4"


# Per package: while Playwright runs, its event loop keeps other tests from running theirs.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    executable = chromium()
    if executable is None:
        pytest.skip(
            "THE PAGE IS NOT TESTED: there is no Chromium (Debian: apt-get install chromium)"
        )
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture(scope="package")
def service_url() -> Iterator[str]:
    """Serve with a queue that a person cannot fill, so that a slow machine refuses nothing.

    With the usual queue, requests that the page cancelled may still hold its places.
    """
    with running_service(Settings(queue_length=64)) as url:
        yield url


@pytest.fixture
def visit(browser: Browser, service_url: str) -> Iterator[Visit]:
    """Visit the page of the common service; afterwards hold what happened against the policy."""
    with Visit(browser, service_url) as visiting:
        yield visiting


@pytest.fixture(scope="package")
def modules(browser: Browser, service_url: str) -> Iterator[Page]:
    """Return a page from which the page's modules can be imported by themselves."""
    page = browser.new_page()
    page.goto(f"{service_url}/health/live")
    yield page
    page.close()


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the source of axe-core, which finds faults of accessibility."""
    folder: Path = tmp_path_factory.mktemp("axe")
    try:
        subprocess.run(
            ["npm", "pack", "--silent", AXE],
            cwd=folder,
            check=True,
            capture_output=True,
            timeout=60,
        )
    except (OSError, subprocess.SubprocessError) as error:
        if "CI" in os.environ:
            raise
        pytest.skip(f"ACCESSIBILITY IS NOT TESTED: npm could not fetch {AXE}: {error}")
    (archive,) = folder.glob("*.tgz")
    with tarfile.open(archive) as packed:
        source = packed.extractfile("package/axe.min.js")
        assert source is not None
        return source.read().decode()
