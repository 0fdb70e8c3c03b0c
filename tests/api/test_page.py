"""The page and Swagger UI as files; tests/browser looks at them in a browser."""

import re
from importlib.metadata import version
from pathlib import Path

import httpx
import pytest
from packaging.requirements import Requirement

from app.settings import Settings
from tests.conftest import running_service

ROOT = Path(__file__).parents[2]
FILES = ROOT / "app" / "page"


@pytest.mark.parametrize("path", ["/", "/docs"])
def test_a_strict_policy_comes_with_the_document_and_with_all_it_loads(client, path):
    document = client.get(path)
    assert document.headers["content-type"] == "text/html; charset=utf-8"
    loaded = re.findall(r'(?:src|href)="((?:page|docs)/[^"]+)"', document.text)
    assert len(loaded) >= 3
    for answer in [document, *(client.get(f"/{name}") for name in loaded)]:
        assert answer.status_code == 200
        policy = dict(part.split(" ", 1) for part in answer.headers[POLICY].split("; "))
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
        assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
        assert "unsafe" not in answer.headers[POLICY]
    # What such a policy forbids is not there; a link may lead elsewhere.
    text = re.sub(r'<a href="https://[^"]+"', "<a", document.text)
    assert not re.search(r"<script>|<style|style=|\son\w+=|https?:", text)


POLICY = "content-security-policy"


def test_every_module_is_served_with_its_type(client):
    types = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
    for file in FILES.iterdir():
        if file.suffix in types and not file.name.startswith("docs."):
            answer = client.get(f"/page/{file.name}")
            assert answer.content == file.read_bytes()
            assert answer.headers["content-type"].startswith(types[file.suffix])


@pytest.mark.parametrize(
    "path", ["/page/", "/page/nothing.js", "/page/..%2Fsettings.py", "/docs/%2e%2e/settings.py"]
)
def test_nothing_else_is_served(client, path):
    answer = client.get(path)
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"


def test_both_can_be_switched_off():
    with running_service(Settings(page=False)) as url:
        assert httpx.get(f"{url}/").status_code == 404
        assert httpx.get(f"{url}/page/main.js").status_code == 404
        assert httpx.get(f"{url}/docs").status_code == 200
    with running_service(Settings(docs=False)) as url:
        assert httpx.get(f"{url}/docs/docs.js").status_code == 404
        page = httpx.get(f"{url}/")
        assert page.status_code == 200
        assert 'href="docs"' not in page.text


def test_the_documentation_says_which_swagger_ui_it_is():
    text = (ROOT / "docs" / "page.md").read_text(encoding="utf-8")
    locked = next(
        Requirement(line.partition(" \\")[0])
        for line in (ROOT / "requirements.lock").read_text().splitlines()
        if line.startswith("fastapi-swagger==")
    )
    assert f"`{locked.name}` {str(locked.specifier).removeprefix('==')}" in text
    if locked.specifier.contains(version("fastapi-swagger")):
        stated = re.search(r"Swagger UI ([\d.]+\d)", text)[1]
        with running_service(Settings()) as url:
            assert f'"{stated}"' in httpx.get(f"{url}/docs/swagger-ui-bundle.js").text
