"""A client on httpx that speaks MessagePack."""

from types import TracebackType
from typing import Any, Self

import httpx
import msgpack
import numpy as np
from numpy.typing import ArrayLike

from airsched_client._wire import encode_complex
from airsched_client.errors import UnreachableError, error_from
from airsched_client.models import Schedule

_MSGPACK = "application/msgpack"


class SchedulerClient:
    """Asks a service for schedules, over one pool of connections.

    Parameters
    ----------
    base_url
        Where the service is, such as ``http://127.0.0.1:8000``.
    api_key
        Bearer key, where the service asks for one.
    timeout
        Seconds to wait for an answer.
    transport
        An httpx transport to use in place of the network, for tests.
    """

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        timeout: float = 35.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        headers = {"Accept": _MSGPACK}
        if api_key is not None:
            headers["Authorization"] = f"Bearer {api_key}"
        self._http = httpx.Client(
            base_url=base_url, headers=headers, timeout=timeout, transport=transport
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def schedule(
        self,
        channels: ArrayLike,
        *,
        weights: ArrayLike | None = None,
        warm_start: ArrayLike | None = None,
        algorithm: str | dict[str, Any] = "matching_pursuit",
        **options: Any,
    ) -> Schedule:
        """Schedule one round.

        Parameters
        ----------
        channels
            (N, K) complex: column k is device k's uplink channel.
        weights
            (K,) positive aggregation weights; all 1 if None.
        warm_start
            (N,) complex, last round's receiver, for algorithms that can start from one.
        algorithm
            Its name, or a dictionary with its name and parameters.
        options
            The other fields of the request: exactly one of ``gamma``, ``gamma_db`` and
            ``max_error``; ``power``, ``noise_variance``, ``device_ids``, ``csi_error``,
            ``coordination``, ``polish``, ``deadline_ms``, ``seed``.

        Raises
        ------
        AirschedError
            The service did not answer, or answered with an error: see :mod:`.errors`.
        """
        body = {"channels": encode_complex(channels), "algorithm": algorithm, **options}
        if weights is not None:
            body["weights"] = np.asarray(weights, float).tolist()
        if warm_start is not None:
            body["warm_start"] = encode_complex(warm_start)
        response = self._request(
            "POST",
            "/schedule",
            content=msgpack.packb(body),
            headers={"Content-Type": _MSGPACK},
        )
        return Schedule.from_answer(msgpack.unpackb(response.content))

    def algorithms(self) -> list[dict[str, Any]]:
        """Return the algorithms on offer, each with its parameters, their defaults and bounds."""
        found: list[dict[str, Any]] = self._request("GET", "/algorithms").json()["algorithms"]
        return found

    def ready(self) -> bool:
        """Return whether the service can schedule now."""
        try:
            return self._http.get("/health/ready").status_code == httpx.codes.OK
        except httpx.TransportError:
            return False

    def _request(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        try:
            response = self._http.request(method, path, **arguments)
        except httpx.TransportError as error:
            message = f"no answer from {self._http.base_url}: {error or type(error).__name__}"
            raise UnreachableError(message) from error
        if response.is_error:
            raise error_from(response)
        return response
