"""What one ``POST /schedule`` passes: functions of ``app``, their files, and switches of file.

A request is answered in this process, without a socket, and every call of a function below ``app``
is noted in order. Comprehensions count as part of the function around them. A switch is a call of
a function in another file than the call before.
"""

import asyncio
import json
import sys
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import app
from app.api.bodies import ARRIVED
from app.main import create_app
from app.settings import Settings

_ROOT = Path(app.__file__).parent
_BODY = json.dumps({"channels": {"real": [[1, 0.5]], "imag": [[0, 0.1]]}, "gamma": 1}).encode()
_SCOPE = {
    "type": "http",
    "asgi": {"version": "3.0"},
    "http_version": "1.1",
    "method": "POST",
    "scheme": "http",
    "path": "/schedule",
    "raw_path": b"/schedule",
    "query_string": b"",
    "root_path": "",
    "headers": [(b"host", b"test"), (b"content-type", b"application/json")],
    "client": ("127.0.0.1", 1),
    "server": ("127.0.0.1", 2),
}

Call = tuple[str, str]
"""File and function."""


def main() -> None:
    calls = asyncio.run(_traced())
    files = [file for file, _ in calls]
    switches = sum(before != after for before, after in pairwise(files))
    print("\n## One POST /schedule\n")
    functions = len(set(calls))
    print(f"{functions} functions in {len(set(files))} files, with {switches} switches of file:\n")
    for file, function in calls:
        print(f"    {file}: {function}")


async def _traced() -> list[Call]:
    """Return the calls of one request, after some that fill the caches."""
    service = create_app(Settings())
    async with service.router.lifespan_context(service):
        while await _status(service, {**_SCOPE, "method": "GET", "path": "/health/ready"}) != 200:
            await asyncio.sleep(0.05)
        for _ in range(20):
            assert await _status(service, _SCOPE) == 200
        begun: dict[FrameType, Call | None] = {}

        def note(frame: FrameType, event: str, _: object) -> None:
            # A coroutine that goes on has the frame that it began with.
            if event == "call" and frame not in begun:
                begun[frame] = _described(frame)

        request = asyncio.ensure_future(_status(service, _SCOPE))
        sys.setprofile(note)
        await request
        sys.setprofile(None)
    return [call for call in begun.values() if call is not None]


async def _status(service: Any, scope: dict[str, Any]) -> int:
    statuses, body = [], iter([{"type": "http.request", "body": _BODY, "more_body": False}])

    async def receive() -> dict[str, Any]:
        return next(body, {"type": "http.disconnect"})

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    await service({**scope, "state": {ARRIVED: True}}, receive, send)
    return int(statuses[0])


def _described(frame: FrameType) -> Call | None:
    path, code = Path(frame.f_code.co_filename), frame.f_code
    if not path.is_relative_to(_ROOT) or code.co_name.startswith("<"):
        return None
    return path.relative_to(_ROOT).as_posix(), code.co_qualname
