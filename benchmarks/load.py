"""Load from another process: as much as a service answers, or requests at given times."""

import json
import subprocess
import sys
from collections.abc import Sequence

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
    port: int,
    path: str,
    body: bytes,
    media_type: str,
    *,
    connections: int = 4,
    seconds: float = 2,
    cores: set[int] | None = None,
) -> Outcome:
    """Post ``body`` to 127.0.0.1 again as soon as it is answered, for some seconds."""
    content = request(path, body, media_type)
    return offer(port, content, None, seconds, connections=connections, cores=cores)


def offer(
    port: int,
    content: bytes,
    due: Sequence[float] | None,
    seconds: float,
    *,
    connections: int,
    statuses: Sequence[int] = (200,),
    cores: set[int] | None = None,
) -> Outcome:
    """Send ``content`` to 127.0.0.1 when it is due, from a process on ``cores``.

    Arguments and errors are those of :func:`benchmarks.generator.run`.
    """
    work = {
        "port": port,
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
