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
try:
    airsched_client.SchedulerClient("http://127.0.0.1:9", retries=0).schedule([[1]], gamma=1)
except airsched_client.UnreachableError:
    pass
else:
    raise AssertionError("somebody answered on port 9")
"""

OFFLINE = ("ConnectionError", "NewConnectionError", "ConnectTimeoutError", "ReadTimeoutError")


def test_needs_three_packages():
    project = tomllib.loads((CLIENTS / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {item.partition(">=")[0] for item in project["dependencies"]} == {
        "httpx",
        "msgpack",
        "numpy",
    }


def test_imports_nothing_of_the_service():
    subprocess.run([sys.executable, "-c", IMPORTED], check=True)


@pytest.mark.network
def test_installs_alone(tmp_path):
    """In an environment of its own, with what its own pyproject.toml asks for."""
    venv.create(tmp_path / "venv")
    folder = "Scripts" if sys.platform == "win32" else "bin"
    python = tmp_path / "venv" / folder / "python"
    quick = ["--quiet", "--no-input", "--disable-pip-version-check", "--no-compile"]
    # The pip at hand installs there: making one there would take longer than all else.
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", *quick, str(CLIENTS)]
    done = subprocess.run(pip, capture_output=True, text=True)
    if done.returncode and any(sign in done.stderr for sign in OFFLINE):
        pytest.skip(f"no package index within reach: {done.stderr[-500:]}")
    assert done.returncode == 0, done.stderr
    # -I: nothing from this folder, nor from the environment.
    subprocess.run([str(python), "-I", "-c", ALONE], check=True, cwd=tmp_path)
