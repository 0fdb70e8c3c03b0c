"""Image, compose file and manifests agree with the service and with each other."""

import re
import tomllib
from pathlib import Path

import yaml
from packaging.requirements import Requirement
from packaging.version import Version

from app import __version__
from app.main import app
from app.settings import Settings

ROOT = Path(__file__).parents[2]
KUBERNETES = ROOT / "deploy" / "kubernetes"
PATHS = {route.path for route in app.routes}


def manifest(name):
    return yaml.safe_load((KUBERNETES / f"{name}.yaml").read_text())


def pod():
    return manifest("deployment")["spec"]["template"]


def container():
    return pod()["spec"]["containers"][0]


def composed():
    return yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text())["services"]["airsched"]


def test_every_setting_exists():
    known = {name.upper() for name in Settings.model_fields}
    for path in [*(ROOT / "deploy").rglob("*.y*ml"), ROOT / "Dockerfile"]:
        for name in re.findall(r"AIRSCHED_(\w+)", path.read_text()):
            assert name in known, f"AIRSCHED_{name} in {path}"


def test_probes_ask_for_routes_that_exist():
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert container()[probe]["httpGet"]["path"] in PATHS
    assert pod()["metadata"]["annotations"]["prometheus.io/path"] in PATHS
    assert re.search(r"127\.0\.0\.1:8000(/[\w/]+)", (ROOT / "Dockerfile").read_text())[1] in PATHS


def test_there_is_time_to_drain():
    """A stop takes at most the drain, the longest solve and 5 s."""
    longest = Settings.model_fields["deadline_ms"].default / 1e3
    settings = {item["name"]: item.get("value") for item in container()["env"]}
    stop = float(settings["AIRSCHED_DRAIN_SECONDS"]) + longest + 5
    assert pod()["spec"]["terminationGracePeriodSeconds"] > stop
    stop = float(composed()["environment"]["AIRSCHED_DRAIN_SECONDS"]) + longest + 5
    assert int(composed()["stop_grace_period"].removesuffix("s")) > stop


def test_the_manifests_name_this_version_and_each_other():
    (image,) = manifest("kustomization")["images"]
    assert image["name"] == container()["image"]
    assert image["newTag"] == __version__
    files = {path.name for path in KUBERNETES.glob("*.yaml")} - {"kustomization.yaml"}
    assert set(manifest("kustomization")["resources"]) == files
    selectors = set()
    for name in files:
        text = (KUBERNETES / name).read_text()
        selectors |= set(re.findall(r"app\.kubernetes\.io/name: (\w+)", text))
    assert selectors == {"airsched"}


def test_the_lock_file_fits_the_dependencies():
    """Every dependency is in it, in a version that fits, with hashes and no address."""
    lock = (ROOT / "requirements.lock").read_text()
    assert "://" not in lock
    locked = {}
    for entry in re.split(r"\n(?=\w)", lock):
        assert "--hash=sha256:" in entry, entry
        name, version = re.match(r"([\w.-]+)==([^\s;\\]+)", entry).groups()
        locked.setdefault(name, []).append(Version(version))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = project["dependencies"] + project["optional-dependencies"]["tracing"]
    for dependency in map(Requirement, wanted):
        assert dependency.name in locked, f"{dependency.name} is missing: run `make lock`"
        for version in locked[dependency.name]:
            assert dependency.specifier.contains(version, prereleases=True), (
                f"{dependency}: run `make lock`"
            )
