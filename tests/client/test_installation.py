"""The client installs and imports by itself, without anything of the service."""

import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest

CLIENTS = Path(__file__).parents[2] / "clients"

SERVICE_ONLY = [
    *("app", "cvxpy", "fastapi", "llvmlite", "numba", "orjson", "pydantic", "scipy", "starlette"),
    *("matplotlib", "sklearn", "torch", "uvicorn"),
]

IMPORTED = f"""
import sys
import airsched_client
foreign = {{name.partition(".")[0] for name in sys.modules}} & set({SERVICE_ONLY})
assert not foreign, foreign
assert "airsched_client.federated" not in sys.modules
for name in airsched_client.__all__:
    getattr(airsched_client, name)
"""

ALONE = f"""
{IMPORTED}
import importlib.util, pathlib
present = [name for name in {SERVICE_ONLY} if importlib.util.find_spec(name)]
assert not present, present
package = pathlib.Path(airsched_client.__file__).parent
assert package.is_relative_to(sys.prefix), package
assert (package / "py.typed").exists()
with airsched_client.SchedulerClient(sys.argv[1]) as client:
    assert client.schedule([[1, 1j], [0, 1]], gamma=2).feasible
try:
    airsched_client.SchedulerClient("http://127.0.0.1:9", retries=0).schedule([[1]], gamma=1)
except airsched_client.UnreachableError:
    pass
else:
    raise AssertionError("somebody answered on port 9")
"""

OFFLINE = ("error sending request", "operation timed out")

LOWEST = pytest.param(
    "lowest-direct",
    marks=pytest.mark.skipif(sys.version_info >= (3, 12), reason="has no wheels for this Python"),
)


def test_needs_four_packages():
    project = tomllib.loads((CLIENTS / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {item.partition(">=")[0] for item in project["dependencies"]} == {
        "anyio",
        "httpx",
        "msgpack",
        "numpy",
    }


def test_imports_nothing_of_the_service():
    subprocess.run([sys.executable, "-c", IMPORTED], check=True)


@pytest.mark.network
@pytest.mark.parametrize("resolution", ["highest", LOWEST])
def test_installs_alone(service_url, tmp_path, resolution):
    """In an environment of its own, with the newest and the lowest versions that it allows."""
    venv.create(tmp_path / "venv")
    folder = "Scripts" if sys.platform == "win32" else "bin"
    python = str(tmp_path / "venv" / folder / "python")
    uv = [sys.executable, "-m", "uv", "pip", "install", "--python", python]
    done = subprocess.run(
        [*uv, "--resolution", resolution, str(CLIENTS)], capture_output=True, text=True
    )
    if done.returncode and any(sign in done.stderr for sign in OFFLINE):
        pytest.skip(f"no package index within reach: {done.stderr[-500:]}")
    assert done.returncode == 0, done.stderr
    # -I: nothing from this folder, nor from the environment.
    subprocess.run([python, "-I", "-c", ALONE, service_url], check=True, cwd=tmp_path)
