"""Alerts and dashboard ask for metrics and labels that the service has."""

import json
import re
from pathlib import Path

import pytest
import yaml

from app.api.errors import Cause

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
METRICS = {
    name: set(re.findall(r"\w+", labels))
    for name, labels in re.findall(
        r'(?:Counter|Gauge|Histogram)\(\s*"(airsched_\w+)",\s*"[^"]*"(?:,\s*\[([^]]*)\])?',
        (ROOT / "app" / "metrics.py").read_text(),
    )
}
"""Every metric of the service, and its labels."""

SCRAPED = {"instance", "job", "le"}
"""Labels that Prometheus or a histogram adds."""


def rules():
    (group,) = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yml").read_text())["groups"]
    return group["rules"]


def panels():
    board = json.loads((DEPLOY / "grafana" / "dashboards" / "airsched.json").read_text())
    return board["panels"]


EXPRESSIONS = {rule["alert"]: rule["expr"] for rule in rules()} | {
    f"{panel['title']} {target['refId']}": target["expr"]
    for panel in panels()
    for target in panel["targets"]
}


def test_every_metric_is_looked_at():
    for name in METRICS:
        assert any(name in expression for expression in EXPRESSIONS.values()), name


@pytest.mark.parametrize("expression", EXPRESSIONS.values(), ids=EXPRESSIONS)
def test_every_metric_and_label_exists(expression):
    labels = set(SCRAPED)
    for name in re.findall(r"\bairsched_\w+", expression):
        base = re.sub(r"_(bucket|sum|count)$", "", name)
        assert base in METRICS, name
        labels |= METRICS[base]
    used = set(re.findall(r'(\w+)\s*(?:=~|!~|!=|=)\s*"', expression))
    for group in re.findall(r"\bby \(([^)]*)\)", expression):
        used |= set(re.findall(r"\w+", group))
    assert used <= labels


def test_every_alert_is_explained():
    page = (ROOT / "docs" / "operations.md").read_text()
    for rule in rules():
        assert f"`{rule['alert']}`" in page, rule["alert"]
        assert rule["labels"]["severity"] in ("warning", "critical")


def test_every_reason_that_means_overload_raises_an_alert():
    overload = {cause.slug for cause in Cause if cause.value.status == 503}
    overload -= {"not-ready", "compiling"}
    for name in ("AirschedRejecting", "Refused A"):
        assert set(re.search(r'reason=~"([^"]+)"', EXPRESSIONS[name])[1].split("|")) == overload
    page = (ROOT / "docs" / "operations.md").read_text()
    (row,) = (line for line in page.splitlines() if line.startswith("| `AirschedRejecting`"))
    assert all(f"`{reason}`" in row for reason in overload)


def test_no_two_panels_share_a_place():
    taken = set()
    for panel in panels():
        place = panel["gridPos"]
        cells = {
            (place["x"] + right, place["y"] + down)
            for right in range(place["w"])
            for down in range(place["h"])
        }
        assert place["x"] + place["w"] <= 24
        assert not cells & taken, panel["title"]
        taken |= cells
