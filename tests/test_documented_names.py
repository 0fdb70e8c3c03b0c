"""What the documentation lists is what there is: settings, algorithms, fields, errors, metrics."""

import json
import re
from dataclasses import fields

import pytest
from pydantic_core import PydanticUndefined

import airsched_client
from app import metrics
from app.api.errors import Cause
from app.scheduling import IRS_SCHEDULERS, SCHEDULERS, WIDEBAND_SCHEDULERS
from app.settings import Settings
from tests.pages import LINKED, ROOT, named, rows

DOCS = ROOT / "docs"
OPENAPI = json.loads((ROOT / "openapi" / "openapi.json").read_text())
METRICS = {
    metric._name: metric._labelnames
    for metric in vars(metrics).values()
    if hasattr(metric, "_labelnames")
}


OF_THE_CLIENT = ("AIRSCHED_URL", "AIRSCHED_API_KEY")
"""Environment variables of the client, not of the service."""


def test_the_settings_are_listed():
    listed = {named(name)[0]: (default, meaning) for name, default, meaning in settings()}
    assert list(listed) == [f"AIRSCHED_{name.upper()}" for name in Settings.model_fields]
    for name, field in Settings.model_fields.items():
        default, meaning = listed[f"AIRSCHED_{name.upper()}"]
        assert meaning == field.description
        if field.default not in (PydanticUndefined, ()):
            assert default.split()[0] == str(field.default).lower()


def settings():
    return rows(DOCS / "operations.md", "Settings")


@pytest.mark.parametrize("page", LINKED, ids=lambda page: str(page.relative_to(ROOT)))
def test_settings_and_metrics_that_are_mentioned_exist(page):
    text = page.read_text()
    for name in re.findall(r"\bAIRSCHED_(\w+)", text):
        assert name.lower() in Settings.model_fields or f"AIRSCHED_{name}" in OF_THE_CLIENT
    for name in re.findall(r"`(airsched_\w+)`", text):
        assert name == "airsched_client" or name.removesuffix("_total") in METRICS


def test_the_metrics_are_listed_with_their_labels():
    listed = {named(name)[0]: set(named(meaning)) for name, meaning in listed_metrics()}
    assert {name.removesuffix("_total") for name in listed} == METRICS.keys()
    for name, words in listed.items():
        assert set(METRICS[name.removesuffix("_total")]) <= words


def listed_metrics():
    return rows(DOCS / "operations.md", "Metrics")


@pytest.mark.parametrize(
    ("heading", "schedulers"),
    [
        ("Without a surface", SCHEDULERS),
        ("Over a band", WIDEBAND_SCHEDULERS),
        ("With a reflecting surface", IRS_SCHEDULERS),
    ],
)
def test_the_algorithms_are_listed_with_their_parameters(heading, schedulers):
    listed = {}
    for row in rows(DOCS / "algorithms.md", heading):
        if len(row) == 3:
            listed |= dict.fromkeys(named(row[0]), row[2])
    assert listed.keys() == schedulers.keys()
    for name, scheduler in schedulers.items():
        defaults = {field.name: field.default for field in fields(scheduler.parameters)}
        assert defaults.keys() <= set(named(listed[name])), name
        for parameter, default in re.findall(r"`(\w+)` \(([\d.e-]+)\)", listed[name]):
            assert float(default) == defaults[parameter], name


def properties(path, *, answer=False):
    operation = OPENAPI["paths"][path]["post"]
    content = (operation["responses"]["200"] if answer else operation["requestBody"])["content"]
    name = content["application/json"]["schema"]["$ref"].rpartition("/")[2]
    return OPENAPI["components"]["schemas"][name]["properties"].keys()


def listed_fields(heading):
    """Return the fields of a route's tables: those of the request, and those of the answer."""
    table = rows(DOCS / "api.md", heading)
    asked = {name for row in table if len(row) == 4 for name in named(row[0])}
    return asked, {name for row in table if len(row) == 2 for name in named(row[0])}


def test_the_fields_of_a_round_are_listed():
    asked, answered = listed_fields("POST /schedule")
    assert asked == properties("/schedule")
    assert answered == properties("/schedule", answer=True)
    assert properties("/schedule/batch") == asked


def test_the_fields_of_a_surface_are_listed():
    asked, _ = listed_fields("POST /schedule/irs")
    arrays = {"direct", "irs_to_server", "devices_to_irs"}
    assert asked | arrays == properties("/schedule/irs") - properties("/schedule")


def test_the_routes_are_listed():
    listed = {path for row in rows(DOCS / "api.md", "HTTP API") for path in named(row[0])}
    described = {
        f"{method.upper()} {path}"
        for path, methods in OPENAPI["paths"].items()
        for method in methods
    }
    assert listed == described | {"GET /", "GET /docs", "GET /openapi.json"}


def test_the_errors_are_listed():
    table = rows(DOCS / "api.md", "Errors")
    listed = [(named(cause)[0], int(status), retry == "yes") for cause, status, _, retry in table]
    assert listed == [(cause.slug, cause.value.status, cause.value.retryable) for cause in Cause]


def test_the_clients_errors_are_listed():
    table = rows(ROOT / "clients" / "README.md", "Errors")
    listed = {named(error)[0]: named(base)[0] for error, base, _ in table}
    errors = {name: getattr(airsched_client, name) for name in airsched_client.__all__}
    assert listed == {
        name: error.__base__.__name__
        for name, error in errors.items()
        if isinstance(error, type) and issubclass(error, airsched_client.AirschedError)
        if error is not airsched_client.AirschedError
    }


CALLS = {
    "all": set(),
    "a surface": {"IrsOptions"},
    "a band": {"WidebandOptions"},
    "a frontier": {"FrontierOptions"},
}
KINDS = {"ScheduleOptions", "IrsOptions", "WidebandOptions", "FrontierOptions"}


def test_the_clients_options_are_listed_with_their_calls():
    listed = {kind: set() for kind in KINDS}
    for options, of in rows(ROOT / "clients" / "README.md", "Options"):
        kinds = KINDS - {"FrontierOptions"} if of == "all but a frontier" else CALLS[of] or KINDS
        for kind in kinds:
            listed[kind] |= set(named(options))
    assert listed == {kind: set(getattr(airsched_client, kind).__annotations__) for kind in KINDS}
