"""How soon the page draws an answer: from the slider's event to the frame that shows it.

Beside it, measured in the same browser: the bare request without any drawing, and the solver's own
time. The size is that of all files that the page loads.
"""

import statistics
from functools import partial

from playwright.sync_api import Response, sync_playwright

from lab.browser import FLAGS, chromium
from lab.service import running_command

MOVES = 200
CASES = (("20 / 6", "devices=20&antennas=6"), ("100 / 16", "devices=100&antennas=16"))

SLIDE = """async (moves) => {
  const slider = document.querySelector("#gamma");
  const panel = document.querySelector("[data-panel=first]");
  const frame = () => new Promise((shown) => requestAnimationFrame(() => setTimeout(shown)));
  const [drawn, seen, solver] = [[], [], []];
  for (let move = 0; move < moves; move++) {
    await new Promise((rest) => setTimeout(rest, 30));
    const answered = new Promise((resolve) => {
      const watch = new MutationObserver(() => {
        if (panel.dataset.state !== "answered") return;
        watch.disconnect();
        resolve();
      });
      watch.observe(panel, { attributes: true, attributeFilter: ["data-state"] });
    });
    const began = performance.now();
    slider.value = 5 + (move % 20) / 2;
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    await answered;
    drawn.push(performance.now() - began);
    await frame();
    seen.push(performance.now() - began);
    solver.push(parseFloat(panel.querySelector("[data-reading=solver]").textContent));
  }
  return { drawn, seen, solver };
}"""

REQUEST = """async ({ body, moves }) => {
  const headers = { "Content-Type": "application/json" };
  const bare = [];
  for (let move = 0; move < moves; move++) {
    await new Promise((rest) => setTimeout(rest, 30));
    const began = performance.now();
    await (await fetch("schedule", { method: "POST", headers, body })).json();
    bare.push(performance.now() - began);
  }
  return bare;
}"""


def main() -> None:
    executable = chromium()
    if executable is None:
        print("page: NOT MEASURED, there is no Chromium (Debian: apt-get install chromium)")
        return
    with running_command() as (_, url), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        print(f"page: {MOVES} moves of the slider for γ in ms, median (90 % are below)")
        print(f"{'K / N':>10}{'drawn':>16}{'on screen':>16}{'bare request':>16}{'solver':>16}")
        for name, state in CASES:
            page = browser.new_page()
            files: dict[str, int] = {}
            page.on("response", partial(_weigh, files))
            page.goto(f"{url}/#second=&{state}")
            with page.expect_request("**/schedule") as sent:
                page.wait_for_selector("[data-panel=first][data-state=answered]")
                page.locator("#gamma").fill("9")
            moved = page.evaluate(SLIDE, MOVES)
            bare = page.evaluate(REQUEST, {"body": sent.value.post_data, "moves": MOVES})
            times = (moved["drawn"], moved["seen"], bare, moved["solver"])
            print(f"{name:>10}" + "".join(f"{_middle(each):>16}" for each in times))
            page.close()
        browser.close()
    print(f"The page loads {len(files)} files, {sum(files.values()) / 1e3:.1f} kB.")


def _weigh(files: dict[str, int], response: Response) -> None:
    if response.request.resource_type != "fetch":
        files[response.url] = len(response.body())


def _middle(times: list[float]) -> str:
    tenths = statistics.quantiles(times, n=10)
    return f"{statistics.median(times):.1f} ({tenths[-1]:.1f})"
