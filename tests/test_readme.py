"""What the README shows is what happens."""

import json
import re
from pathlib import Path

import httpx
import pytest

from app.scheduling import IRS_SCHEDULERS, SCHEDULERS
from app.settings import Settings

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


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


def test_the_python_example_runs(service_url, capsys):
    example = re.search(r"```python\n(.*?)```", README, re.DOTALL).group(1)
    exec(example.replace("http://127.0.0.1:8000", service_url), {})
    assert capsys.readouterr().out.startswith("[")


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
