"""What the documentation shows is what happens: its examples run, its commands and facts exist."""

import importlib.util
import json
import re
import shlex
import subprocess
import sys
import tomllib
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.pages import BLOCKS, LINKED, PAGES, ROOT, URL, blocks, prose

SHELL = ("console", "sh")
ANSWERED = [pair for pair in pairwise(BLOCKS) if pair[0].text.startswith("curl ")]
"""Every request and the block that shows its answer."""
COMMANDS = [
    pytest.param(command, id=f"{block}: {command[:40]}")
    for block in BLOCKS
    if block.language in SHELL and not block.text.startswith("curl ")
    for command in block.commands()
] + [
    pytest.param(command, id=f"{page.relative_to(ROOT)}: {command[:40]}")
    for page in PAGES
    for command in re.findall(r"`((?:make |\.venv/bin/|pip install )[^`]+)`", prose(page))
]
"""Every command but the requests, in blocks and in sentences."""


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_every_block_is_of_a_kind_that_is_checked(block):
    assert block.language in ("python", "json", *SHELL)
    if block.language == "json":
        assert any(block == answer for _, answer in ANSWERED)


@pytest.mark.parametrize(("block", "answer"), ANSWERED, ids=str)
def test_a_request_gives_the_answer_shown(service_url, block, answer):
    assert answer.page == block.page
    assert answer.language == "json"
    command, url, *options = [word for word in shlex.split(block.text) if word != "-s"]
    assert command == "curl"
    given = dict(zip(options[::2], options[1::2], strict=True))
    assert given.keys() <= {"-H", "-d"}
    name, _, value = given["-H"].partition(": ")
    response = httpx.post(url.replace(URL, service_url), content=given["-d"], headers={name: value})
    assert response.status_code == 200
    assert_shown(response.json(), json.loads(answer.text))


def assert_shown(answer: Any, shown: Any) -> None:
    """Everything shown is in the answer, where numbers may be rounded to three digits."""
    if isinstance(shown, dict):
        for name, value in shown.items():
            assert_shown(answer[name], value)
    elif isinstance(shown, list):
        assert len(answer) == len(shown)
        for value, part in zip(answer, shown, strict=True):
            assert_shown(value, part)
    elif isinstance(shown, float):
        assert answer == pytest.approx(shown, abs=5.1e-4)
    else:
        assert answer == shown


def test_every_scheduling_route_has_an_example():
    document = json.loads((ROOT / "openapi" / "openapi.json").read_text())
    shown = {shlex.split(block.text)[2].removeprefix(URL) for block, _ in ANSWERED}
    assert shown == {path for path, methods in document["paths"].items() if "post" in methods}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_python_examples_run(service_url, page):
    """One after the other, as a reader would."""
    names: dict[str, Any] = {}
    for block in blocks(page):
        if block.language == "python":
            code = compile(block.text.replace(URL, service_url), str(block), "exec")
            if not block.skipped:
                exec(code, names)


@pytest.mark.parametrize(
    "block",
    [
        block
        for block in BLOCKS
        if block.language in SHELL and not block.skipped and not block.text.startswith("curl ")
    ],
    ids=str,
)
def test_the_commands_run(service_url, tmp_path, block):
    for command in block.commands():
        program, *arguments = shlex.split(command)
        assert program == ".venv/bin/python", "mark what cannot run here: <!-- not run: why -->"
        arguments = [str(ROOT / word) if (ROOT / word).is_file() else word for word in arguments]
        if "airsched_client.federated" in arguments:
            arguments += ["--url", service_url]
        subprocess.run([sys.executable, *arguments], check=True, cwd=tmp_path, timeout=120)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_exist(command):
    program, *arguments = shlex.split(command, comments=True)
    match Path(program).name, arguments:
        case "make", [target, *variables]:
            makefile = (ROOT / "Makefile").read_text()
            assert re.search(rf"^{re.escape(target)}:", makefile, re.MULTILINE)
            for variable in variables:
                assert f"$({variable.partition('=')[0]})" in makefile
        case "python", ["-m", module, *words]:
            assert_known(module, words)
        case "pip", ["install", "--group", group]:
            project = tomllib.loads((ROOT / "pyproject.toml").read_text())
            assert group in project["dependency-groups"]
        case "python3", ["-m", "venv", folder]:
            assert folder.startswith("build/")
        case "pip", ["install", "-r", file]:
            assert (ROOT / file).is_file()
        case "pip", ["install", *requirements]:
            for requirement in requirements:
                if requirement != "--editable":
                    assert_installable(requirement)
        case "pytest" | "pre-commit", words:
            assert importlib.util.find_spec(Path(program).name.replace("-", "_"))
            assert all((ROOT / word).exists() for word in words if "/" in word)
        case "docker" | "kubectl", words:
            for word in words:
                assert not word.startswith("deploy/") or (ROOT / word).exists()
        case "flwr", ["run", app, *words]:
            project = tomllib.loads((ROOT / app / "pyproject.toml").read_text())
            changed = words[words.index("--run-config") + 1]
            known = project["tool"]["flwr"]["app"]["config"].keys()
            assert {pair.partition("=")[0] for pair in changed.split()} <= known
        case ("npm", ["pack", _]) | ("export" | "flower-superlink" | "flower-supernode" | "ray", _):
            pass
        case _:
            pytest.fail(f"say here how to check `{program}`")


def assert_known(module: str, words: list[str]) -> None:
    """The module can be run and has these options; benchmarks and figures have these names."""
    described = described_by(module)
    for word in words:
        if word.startswith("--"):
            assert re.search(rf"{re.escape(word)}\b", described), word
        elif module in ("benchmarks", "experiments", "experiments.studies") and words[0] == word:
            assert re.search(rf"\b{word}\b", described), word


@cache
def described_by(module: str) -> str:
    command = [sys.executable, "-m", module, "--help"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return ran.stdout


def assert_installable(requirement: str) -> None:
    """A folder of this repository, with extras that it declares."""
    folder, _, extras = requirement.partition("[")
    project = tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]
    wanted = {extra for extra in extras.rstrip("]").split(",") if extra}
    assert wanted <= project["optional-dependencies"].keys()


@pytest.mark.parametrize("page", LINKED, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)]+)\)", prose(page)):
        if target.startswith("https://"):
            continue
        file, _, anchor = target.partition("#")
        linked = page.parent / file if file else page
        assert linked.exists(), target
        if anchor:
            assert anchor in anchors(linked), target


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", LINKED, ids=lambda page: str(page.relative_to(ROOT)))
def test_paths_exist(page):
    folders = {path.name for path in ROOT.iterdir() if path.is_dir()} - {".venv", "build"}
    for path in re.findall(r"`([\w.]+/[\w./*<>-]*)`", prose(page)):
        if path.partition("/")[0] in folders and "<" not in path:
            assert list(ROOT.glob(path.rstrip("/"))), path
