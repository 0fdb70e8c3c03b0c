"""What the deployments allow: memory, keys, passwords, network, and images that do not change."""

import re

import pytest
import yaml

from app.settings import Settings
from tests.deploy.test_manifests import KUBERNETES, ROOT, composed, container, manifest, pod

DEFAULTS = Settings.model_construct()
OPERATIONS = (ROOT / "docs" / "operations.md").read_text()
UNITS = {"Mi": 2**20, "Gi": 2**30, "m": 2**20, "g": 2**30}


def size(text):
    number, unit = re.fullmatch(r"(\d+)([A-Za-z]+)", text).groups()
    return int(number) * UNITS[unit]


def idle_bytes(cores):
    """Return what a worker takes with all its solver processes, as docs/operations.md says."""
    return (400 + 65 * cores) * 2**20


def busy_bytes(cores):
    """Return what a worker takes at most."""
    return idle_bytes(cores) + DEFAULTS.max_bytes_in_flight + 3 * DEFAULTS.max_body_bytes


def test_a_pod_has_the_memory_that_the_defaults_allow():
    requests, limits = (container()["resources"][kind] for kind in ("requests", "limits"))
    (temporary,) = pod()["spec"]["volumes"]
    cores = int(limits["cpu"])
    # Files in memory count as well.
    most = busy_bytes(cores) + size(temporary["emptyDir"]["sizeLimit"])
    assert most <= size(limits["memory"]) <= 1.25 * most
    assert idle_bytes(cores) <= size(requests["memory"]) < size(limits["memory"])


def test_compose_has_the_memory_for_two_workers():
    limits = composed()["deploy"]["resources"]["limits"]
    (temporary,) = composed()["tmpfs"]
    most = 2 * busy_bytes(int(limits["cpus"])) + size(re.search(r"size=(\w+)", temporary)[1])
    assert most <= size(limits["memory"]) <= 1.25 * most


def test_the_cpu_limit_decides_the_number_of_solver_workers():
    names = {item["name"] for item in container()["env"]} | composed()["environment"].keys()
    assert "AIRSCHED_SOLVER_WORKERS" not in names


def test_a_pod_needs_its_keys_unless_it_is_open_on_purpose():
    (keys,) = (item for item in container()["env"] if item["name"] == "AIRSCHED_API_KEYS")
    secret = keys["valueFrom"]["secretKeyRef"]
    assert not secret.get("optional", False)
    assert f"kubectl create secret generic {secret['name']}" in OPERATIONS
    assert f"--from-literal={secret['key']}=" in OPERATIONS
    overlay = yaml.safe_load((ROOT / "deploy/kubernetes-open/kustomization.yaml").read_text())
    (patch,) = overlay["patches"]
    change = yaml.safe_load(patch["patch"])
    (patched,) = change["spec"]["template"]["spec"]["containers"]
    assert change["metadata"]["name"] == manifest("deployment")["metadata"]["name"]
    assert patched == {
        "name": container()["name"],
        "env": [{"name": "AIRSCHED_API_KEYS", "$patch": "delete"}],
    }


def test_compose_passes_keys_on_only_if_they_are_set():
    """Set but empty would stop the start."""
    assert composed()["environment"]["AIRSCHED_API_KEYS"] is None


def test_there_is_no_default_password():
    compose = (ROOT / "deploy" / "compose.yaml").read_text()
    (password,) = re.findall(r"PASSWORD: (.*)", compose)
    assert re.fullmatch(r'"\$\{GRAFANA_PASSWORD:\?[^}]+\}"', password)


def test_the_labels_that_the_network_policy_asks_for_are_documented():
    text = (KUBERNETES / "network-policy.yaml").read_text()
    labels = re.findall(r'(airsched/\w+): "true"', text)
    assert sorted(labels) == ["airsched/client", "airsched/collector"]
    for label in labels:
        assert f"{label}=true" in OPERATIONS or f'{label}: "true"' in OPERATIONS


def test_traces_may_leave():
    exporter = pytest.importorskip("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    default = int(re.search(r":(\d+)", exporter.DEFAULT_ENDPOINT)[1])
    egress = manifest("network-policy")["spec"]["egress"]
    ports = {(port["protocol"], port["port"]) for rule in egress for port in rule["ports"]}
    assert ports == {("TCP", default), ("UDP", 53), ("TCP", 53)}
    assert f":{default}" in OPERATIONS


def test_images_and_actions_are_pinned():
    for base in re.findall(r"^FROM (?!base)(\S+)", (ROOT / "Dockerfile").read_text(), re.M):
        assert re.fullmatch(r"python:3\.\d+\.\d+-slim-[a-z]+(@sha256:[0-9a-f]{64})?", base)
    services = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text())["services"]
    for name in ("prometheus", "grafana"):
        assert re.search(r":v?\d+\.\d+\.\d+(@sha256:[0-9a-f]{64})?$", services[name]["image"])
    actions = re.findall(r"uses: (.*)", (ROOT / ".github" / "workflows" / "ci.yml").read_text())
    assert actions
    for action in actions:
        assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action)
