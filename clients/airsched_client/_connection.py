"""What both clients share: address, headers, timeouts and retries."""

from dataclasses import dataclass
from typing import Any

import httpx

from airsched_client._retry import Retries
from airsched_client._wire import ENCODINGS, Encoding, EncodingName

CONNECT_TIMEOUT = 5.0
"""Seconds to wait for a connection; connecting does not depend on scheduling."""


@dataclass(frozen=True)
class Connection:
    """How to reach a service.

    Parameters
    ----------
    http
        Arguments of the httpx client.
    encoding
        How bodies are written, and which format to accept.
    retries
        When a call is repeated.
    """

    http: dict[str, Any]
    encoding: Encoding
    retries: Retries


def connection(
    base_url: str,
    api_key: str | None,
    timeout: float,
    retries: int,
    encoding: EncodingName,
    max_connections: int,
) -> Connection:
    """Check and collect the arguments of a client; :class:`SchedulerClient` describes them."""
    if not base_url.startswith(("http://", "https://")):
        raise ValueError(f"base_url must begin with http:// or https://, not {base_url!r}")
    if encoding not in ENCODINGS:
        raise ValueError(f"encoding must be one of {', '.join(ENCODINGS)}, not {encoding!r}")
    headers = {"Accept": ENCODINGS[encoding].media_type}
    if api_key is not None:
        headers["Authorization"] = f"Bearer {api_key}"
    http = {
        "base_url": base_url,
        "headers": headers,
        "timeout": httpx.Timeout(timeout, connect=min(timeout, CONNECT_TIMEOUT)),
        "limits": httpx.Limits(
            max_connections=max_connections, max_keepalive_connections=max_connections
        ),
    }
    return Connection(http, ENCODINGS[encoding], Retries(retries))
