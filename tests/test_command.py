"""``python -m app`` as an operator starts it."""

import os
import re
import signal
import socket
import subprocess
import sys

import httpx


def test_starts_says_where_it_is_and_stops():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "app", "--port", str(port)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    try:
        line = process.stdout.readline()
        address = f"http://127.0.0.1:{port}"
        assert re.search(rf"{address}, .* {address}/docs$", line.strip())
        assert httpx.get(f"{address}/health/live").status_code == 200
        assert httpx.get(f"{address}/docs").status_code == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) in (0, -signal.SIGTERM)
        assert process.stdout.read() == ""
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
