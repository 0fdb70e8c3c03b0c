"""``python -m app`` as an operator starts it."""

import re
import signal
import subprocess
import sys

import httpx


def test_starts_says_where_it_is_and_stops():
    command = [sys.executable, "-m", "app", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        address = re.search(r"(http://127.0.0.1:\d+), .* \1/docs$", line.strip())[1]
        assert httpx.get(f"{address}/health/live").status_code == 200
        assert httpx.get(f"{address}/docs").status_code == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) in (0, -signal.SIGTERM)
        assert process.stdout.read() == ""
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
