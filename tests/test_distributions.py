"""Two distributions that share nothing, and an sdist that holds the whole repository."""

import subprocess
import sys
import tarfile
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
PACKAGES = {"app": ROOT, "airsched_client": ROOT / "clients"}
"""The one package of each distribution, and where its project is."""

SERVICE = """
import sys
import app.main
foreign = {name.partition(".")[0] for name in sys.modules} & {"airsched_client", "httpx"}
assert not foreign, foreign
"""


def built(project: Path, target: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "--target", target]
    subprocess.run([*command, "--directory", str(folder)], check=True, cwd=project)
    [file] = folder.iterdir()
    return file


@pytest.fixture(scope="module")
def wheels(tmp_path_factory) -> dict[str, zipfile.ZipFile]:
    return {
        package: zipfile.ZipFile(built(project, "wheel", tmp_path_factory.mktemp(package)))
        for package, project in PACKAGES.items()
    }


def metadata(wheel: zipfile.ZipFile) -> Message:
    [name] = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    return Parser().parsestr(wheel.read(name).decode())


@pytest.mark.parametrize("package", PACKAGES)
def test_a_wheel_holds_one_package_and_all_of_it(wheels, package):
    project = PACKAGES[package]
    source = {
        path.relative_to(project).as_posix()
        for path in (project / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    info = {name for name in wheels[package].namelist() if ".dist-info/" in name}
    assert set(wheels[package].namelist()) - info == source
    assert any(name.endswith("/licenses/LICENSE") for name in info)


def test_the_wheels_share_no_file(wheels):
    service, client = (set(wheel.namelist()) for wheel in wheels.values())
    assert not service & client


def test_an_extra_exists_once(wheels):
    service, client = (
        set(metadata(wheel).get_all("Provides-Extra", [])) for wheel in wheels.values()
    )
    assert not service & client
    assert "tracing" in service
    assert {"federated", "torch"} <= client


def test_the_distributions_do_not_need_each_other(wheels):
    names = {f"airsched{suffix}" for suffix in ("", "-client")}
    for wheel in wheels.values():
        needed = {Requirement(item).name for item in metadata(wheel).get_all("Requires-Dist")}
        assert not needed & names


def test_the_service_needs_nothing_of_the_client(wheels):
    needed = map(Requirement, metadata(wheels["app"]).get_all("Requires-Dist"))
    assert "httpx" not in {requirement.name for requirement in needed}
    subprocess.run([sys.executable, "-c", SERVICE], check=True)


def test_the_sdist_holds_the_repository(tmp_path):
    if not (ROOT / ".git").exists():
        pytest.skip("this is not a checkout")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    with tarfile.open(built(ROOT, "sdist", tmp_path)) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    tracked = {name for name in listed.stdout.decode().split("\0") if (ROOT / name).is_file()}
    assert tracked
    assert not tracked - held
