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


def container():
    deployment = yaml.safe_load((KUBERNETES / "deployment.yaml").read_text())
    return deployment["spec"]["template"]["spec"]["containers"][0]


def test_every_setting_exists():
    known = {name.upper() for name in Settings.model_fields}
    for path in [*(ROOT / "deploy").rglob("*.y*ml"), ROOT / "Dockerfile"]:
        for name in re.findall(r"AIRSCHED_(\w+)", path.read_text()):
            assert name in known, f"AIRSCHED_{name} in {path}"


def test_probes_ask_for_routes_that_exist():
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert container()[probe]["httpGet"]["path"] in PATHS
    deployment = yaml.safe_load((KUBERNETES / "deployment.yaml").read_text())
    pod = deployment["spec"]["template"]["metadata"]
    assert pod["annotations"]["prometheus.io/path"] in PATHS
    assert re.search(r"127\.0\.0\.1:8000(/[\w/]+)", (ROOT / "Dockerfile").read_text())[1] in PATHS


def test_a_pod_is_given_the_time_to_drain():
    deployment = yaml.safe_load((KUBERNETES / "deployment.yaml").read_text())
    settings = {item["name"]: item.get("value") for item in container()["env"]}
    drain = float(settings["AIRSCHED_DRAIN_SECONDS"])
    longest = Settings.model_fields["deadline_ms"].default / 1e3
    grace = deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
    assert grace > drain + longest


def test_the_manifests_name_this_version_and_each_other():
    assert container()["image"] == f"airsched:{__version__}"
    files = {path.name for path in KUBERNETES.glob("*.yaml")} - {"kustomization.yaml"}
    listed = yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text())["resources"]
    assert set(listed) == files
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
