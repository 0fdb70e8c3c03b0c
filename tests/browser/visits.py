"""One visit to the page, as a person sees it, and everything that the browser complained about."""

import base64
from types import TracebackType
from typing import Any, Self

import numpy as np
from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, Request

ANSWERED = "[data-panel={panel}][data-state=answered]"
FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
REFUSED = "the server responded with a status of"
UNREACHABLE = "net::ERR_CONNECTION"


def unpacked(value: dict[str, Any]) -> np.ndarray:
    """Return a complex array that the page packed."""
    return np.frombuffer(base64.b64decode(value["data"]), "<c16").reshape(value["shape"])


class Visit:
    """A page of its own, with empty storage.

    Parameters
    ----------
    expected
        Parts of console errors that this visit provokes.
    """

    def __init__(self, browser: Browser, url: str, *expected: str, **options: Any) -> None:
        self.url = url
        self.requests: list[Request] = []
        self.complaints: list[str] = []
        self._expected = expected
        options = {"viewport": {"width": 1360, "height": 900}, **options}
        self._context = browser.new_context(**options)
        self.page: Page = self._context.new_page()
        self.page.set_default_timeout(15_000)
        self.page.on("request", lambda request: self.requests.append(request))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", self._hear)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._context.close()
        if error is None:
            unexpected = [
                text
                for text in self.complaints
                if not any(known in text for known in self._expected)
            ]
            assert not unexpected, unexpected
            origins = {
                "/".join(request.url.removeprefix("blob:").split("/")[:3])
                for request in self.requests
            }
            assert origins == {self.url}, origins

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def expect(self, *complaints: str) -> None:
        """Let the browser complain like this from now on."""
        self._expected += complaints

    def open(self, state: str = "", panels: tuple[str, ...] = ("first",)) -> Page:
        """Open the page in a state, and wait for the answers."""
        self.page.goto(f"{self.url}/#{state}")
        self.answered(*panels)
        return self.page

    def answered(self, *panels: str) -> None:
        """Wait until everything that was asked for is drawn."""
        # What changes several times per frame is asked for in the next.
        self.page.evaluate(FRAMES)
        for panel in panels or ("first",):
            self.page.wait_for_selector(ANSWERED.format(panel=panel))

    def devices(self, state: str = "active", panel: str = "first") -> list[int]:
        """Return the devices that are drawn in a state."""
        found = self.page.locator(f"[data-panel={panel}] .cell .device[data-state={state}]")
        drawn = found.evaluate_all("all => all.map((each) => Number(each.dataset.device))")
        return sorted(drawn)

    def device(self, number: int, panel: str = "first") -> Locator:
        """Return one device."""
        return self.page.locator(f"[data-panel={panel}] .device[data-device='{number}']")

    def reading(self, name: str, panel: str = "first") -> str:
        """Return a number beside the cell, as shown."""
        return self.page.locator(f"[data-panel={panel}] [data-reading={name}]").inner_text()

    def drag(self, number: int, metres: tuple[float, float]) -> None:
        """Drag a device to a place as seen from the array."""
        cell = self.page.locator("[data-panel=first] .cell").bounding_box()
        held = self.device(number).locator(".hit").bounding_box()
        assert cell is not None
        assert held is not None
        scale = cell["width"] / 230
        mouse = self.page.mouse
        mouse.move(held["x"] + held["width"] / 2, held["y"] + held["height"] / 2)
        mouse.down()
        middle = cell["x"] + cell["width"] / 2, cell["y"] + cell["height"] / 2
        x, y = middle[0] + scale * metres[0], middle[1] - scale * metres[1]
        mouse.move(x, y, steps=5)
        mouse.up()
        self.answered()
