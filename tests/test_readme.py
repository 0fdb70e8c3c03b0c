"""What the README shows is what happens."""

import json
import re
from pathlib import Path

import httpx
import pytest

from app.scheduling import IRS_SCHEDULERS, SCHEDULERS
from app.settings import Settings

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


EXAMPLES = re.findall(
    r"curl -s http://127.0.0.1:8000(\S+) .*?-d '(\{.*?\n\})'.*?```json\n(.*?)```", README, re.DOTALL
)


@pytest.mark.parametrize(("path", "body", "shown"), EXAMPLES, ids=[path for path, *_ in EXAMPLES])
def test_the_curl_request_gives_the_answer_shown(service_url, path, body, shown):
    shown = json.loads(shown)
    response = httpx.post(
        f"{service_url}{path}", content=body, headers={"Content-Type": "application/json"}
    )
    answer = response.json()
    assert answer.keys() == shown.keys()
    for name in ("active", "active_ids", "feasible", "algorithm", "iterations", "stopped"):
        assert answer[name] == shown[name]
    for name in ("gamma", "power_factor", "computation_error"):
        assert answer[name] == pytest.approx(shown[name])
    for name in {"receiver", "transmit_scalars", "phases"} & shown.keys():
        for part in ("real", "imag"):
            assert answer[name][part] == pytest.approx(shown[name][part])


def test_every_scheduling_route_has_an_example():
    assert [path for path, *_ in EXAMPLES] == ["/schedule", "/schedule/irs"]


def run_python(page, service_url):
    """Run every Python example of a page, one after the other, as a reader would."""
    examples = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert examples
    names = {}
    for example in examples:
        exec(example.replace("http://127.0.0.1:8000", service_url), names)


def test_the_python_examples_run(service_url, capsys):
    section = README.partition("## From Python")[2].partition("\n## ")[0]
    run_python(section, service_url)
    first, *sweep = capsys.readouterr().out.splitlines()
    assert first.startswith("[")
    assert [float(line.split()[0]) for line in sweep] == pytest.approx([10**-0.5, 1, 10**0.5])


def test_the_clients_examples_run(service_url):
    run_python((ROOT / "clients" / "README.md").read_text(encoding="utf-8"), service_url)


@pytest.mark.parametrize("name", Settings.model_fields)
def test_every_setting_is_listed(name):
    row = re.search(rf"^\| `AIRSCHED_{name.upper()}` \| (.*?) \| (.*?) \|$", README, re.MULTILINE)
    assert row, f"AIRSCHED_{name.upper()} is missing from the README"
    assert row.group(2) == Settings.model_fields[name].description


@pytest.mark.parametrize(
    ("section", "name"),
    [("Algorithms", name) for name in SCHEDULERS]
    + [("With a reflecting surface", name) for name in IRS_SCHEDULERS],
)
def test_every_algorithm_is_listed(section, name):
    text = README.partition(f"## {section}\n")[2].partition("\n## ")[0]
    assert re.search(rf"^\|[^|]*`{name}`", text, re.MULTILINE)
