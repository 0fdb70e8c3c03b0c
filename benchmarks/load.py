"""Load from another process: as much as a service answers, or requests at given times."""

import json
import subprocess
import sys
from collections.abc import Sequence

import httpx

from benchmarks import generator
from benchmarks.generator import Outcome


def request(path: str, body: bytes, media_type: str) -> bytes:
    """Return the bytes of a POST."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {media_type}\r\n"
        f"Accept: {media_type}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def post(
    address: httpx.URL | str,
    path: str,
    body: bytes,
    media_type: str,
    *,
    connections: int = 4,
    seconds: float = 2,
    cores: set[int] | None = None,
) -> Outcome:
    """Post ``body`` to a service of this machine again and again, for some seconds."""
    content = request(path, body, media_type)
    return offer(address, content, None, seconds, connections=connections, cores=cores)


def offer(
    address: httpx.URL | str,
    content: bytes,
    due: Sequence[float] | None,
    seconds: float,
    *,
    connections: int,
    statuses: Sequence[int] = (200,),
    cores: set[int] | None = None,
) -> Outcome:
    """Send ``content`` to a service of this machine when it is due, from a process on ``cores``.

    The other arguments and the errors are those of :func:`benchmarks.generator.run`.
    """
    work = {
        "port": httpx.URL(address).port,
        "due": due,
        "seconds": seconds,
        "connections": connections,
        "statuses": statuses,
        "cores": sorted(cores or ()),
    }
    result = subprocess.run(
        [sys.executable, "-m", generator.__name__],
        input=json.dumps(work).encode() + b"\n" + content,
        stdout=subprocess.PIPE,
        check=True,
        timeout=seconds + generator.DRAIN_SECONDS + 60,
    )
    return Outcome(**json.loads(result.stdout))
