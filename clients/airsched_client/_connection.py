"""What both clients share: address, headers, timeouts and retries."""

import os
import platform
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

import httpx

from airsched_client._calls import Call
from airsched_client._retry import RetryRule, rule_of
from airsched_client._version import __version__
from airsched_client._wire import ENCODINGS, Encoding, EncodingName

CONNECT_TIMEOUT = 5.0
"""Seconds to wait for a connection; connecting does not depend on scheduling."""

DEADLINE_MARGIN = 5.0
"""Seconds that the client waits beyond a request's own deadline."""

USER_AGENT = f"airsched-client/{__version__} httpx/{httpx.__version__} " + (
    f"python/{platform.python_version()}"
)


@dataclass(frozen=True)
class Connection:
    """How to reach a service.

    Parameters
    ----------
    base_url
        Address of the service, without a slash at its end.
    headers
        Of every request.
    timeout
        Seconds to wait for an answer.
    encoding
        How bodies are written, and which format to accept.
    retries
        Decides when a call is repeated.
    """

    base_url: str
    headers: dict[str, str]
    timeout: float
    encoding: Encoding
    retries: RetryRule

    def request(self, call: Call[Any], timeout: float | None = None) -> dict[str, Any]:
        """Return the arguments of httpx's ``request``.

        Parameters
        ----------
        timeout
            Seconds for this call in place of the client's. Without it, the client waits for longer
            than the call's own ``deadline_ms``.
        """
        if timeout is None:
            longer = call.deadline + DEADLINE_MARGIN if call.deadline else 0.0
            timeout = max(self.timeout, longer)
        request_id = {"X-Request-ID": uuid4().hex}
        return {
            **call.request,
            "url": self.base_url + call.request["url"],
            "headers": {**self.headers, **request_id, **call.request.get("headers", {})},
            "timeout": httpx.Timeout(timeout, connect=min(timeout, CONNECT_TIMEOUT)),
        }

    def with_options(
        self,
        timeout: float | None,
        retries: "int | RetryRule | None",
        api_key: str | None,
    ) -> "Connection":
        """Return the same connection with some options changed."""
        return replace(
            self,
            timeout=self.timeout if timeout is None else timeout,
            retries=self.retries if retries is None else rule_of(retries),
            headers=self.headers if api_key is None else {**self.headers, **_bearer(api_key)},
        )


def connection(
    base_url: str | None,
    api_key: str | None,
    timeout: float,
    retries: "int | RetryRule",
    encoding: EncodingName,
) -> Connection:
    """Check and collect the arguments of a client; :class:`SchedulerClient` describes them."""
    if base_url is None:
        base_url = os.environ.get("AIRSCHED_URL")
        if not base_url:
            raise ValueError(
                "no address: pass base_url, or set AIRSCHED_URL, for example to"
                " http://127.0.0.1:8000"
            )
    if not base_url.startswith(("http://", "https://")):
        raise ValueError(f"base_url must begin with http:// or https://, not {base_url!r}")
    if encoding not in ENCODINGS:
        raise ValueError(f"encoding must be one of {', '.join(ENCODINGS)}, not {encoding!r}")
    if api_key is None:
        api_key = os.environ.get("AIRSCHED_API_KEY")
    headers = {"Accept": ENCODINGS[encoding].media_type, "User-Agent": USER_AGENT}
    return Connection(
        base_url.rstrip("/"),
        headers | (_bearer(api_key) if api_key else {}),
        timeout,
        ENCODINGS[encoding],
        rule_of(retries),
    )


def pool(max_connections: int) -> dict[str, Any]:
    """Return the arguments of an httpx client of our own."""
    limits = httpx.Limits(
        max_connections=max_connections, max_keepalive_connections=max_connections
    )
    return {"limits": limits}


def _bearer(api_key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {api_key}"}
