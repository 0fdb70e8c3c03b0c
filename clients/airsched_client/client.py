"""The synchronous client; :mod:`.async_client` has the same calls for asyncio."""

from time import sleep
from types import TracebackType
from typing import Self, Unpack

import httpx
from numpy.typing import ArrayLike

from airsched_client import _calls
from airsched_client._arrays import Layout
from airsched_client._calls import Call, Result
from airsched_client._connection import connection
from airsched_client._wire import EncodingName
from airsched_client.errors import AirschedError
from airsched_client.frontier import Frontier
from airsched_client.models import Algorithm, IrsSchedule, Schedule
from airsched_client.options import FrontierOptions, IrsOptions, ScheduleOptions


class SchedulerClient:
    """A client with one pool of connections; threads may share it.

    Parameters
    ----------
    base_url
        Address of the service, such as ``http://127.0.0.1:8000``.
    api_key
        Bearer key, if the service requires one.
    timeout
        Seconds to wait for an answer; the default is a little above the service's own limit.
    retries
        How often a call is repeated at most when the connection fails or the service says that
        repeating can help, after a random wait that doubles, and not sooner than the service's
        ``Retry-After``. Scheduling is stateless, so repeating is safe.
    encoding
        ``msgpack``, or ``json`` for readable bodies.
    max_connections
        Size of the pool.
    transport
        An httpx transport to use in place of the network, for example in tests.
    """

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        timeout: float = 35.0,
        retries: int = 2,
        encoding: EncodingName = "msgpack",
        max_connections: int = 100,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        made = connection(base_url, api_key, timeout, retries, encoding, max_connections)
        self._encoding, self._retries = made.encoding, made.retries
        self._http = httpx.Client(transport=transport, **made.http)

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
        layout: Layout = "antennas_first",
        **options: Unpack[ScheduleOptions],
    ) -> Schedule:
        """Schedule one round.

        Parameters
        ----------
        channels
            (N, K) complex: column k is device k's uplink channel. Leading axes of length one are
            dropped; complex64 is sent as it is.
        layout
            ``devices_first`` if ``channels`` is (K, N).
        options
            Exactly one of ``gamma``, ``gamma_db`` and ``max_error``; ``weights``, ``power``,
            ``noise_variance``, ``device_ids``, ``algorithm``, ``csi_error``, ``coordination``,
            ``polish``, ``warm_start``, ``bound``, ``bound_ms``, ``deadline_ms``, ``seed``,
            ``priorities``: see :class:`ScheduleOptions`.

        Raises
        ------
        ValueError
            An array has the wrong shape; nothing was sent.
        AirschedError
            There was no answer, or an error: see :mod:`.errors`.
        """
        return self._send(_calls.schedule(self._encoding, channels, layout, options))

    def schedule_irs(
        self,
        direct: ArrayLike,
        irs_to_server: ArrayLike,
        devices_to_irs: ArrayLike,
        *,
        layout: Layout = "antennas_first",
        **options: Unpack[IrsOptions],
    ) -> IrsSchedule:
        """Schedule one round with an intelligent reflecting surface.

        Parameters
        ----------
        direct
            (N, K) complex, channels from the devices to the server.
        irs_to_server
            (N, M) complex, channels from the M elements of the surface to the server.
        devices_to_irs
            (M, K) complex, channels from the devices to the surface.
        layout
            ``devices_first`` if ``direct`` is (K, N) and ``devices_to_irs`` (K, M).
        options
            As for :meth:`schedule` without ``bound`` and ``priorities``, and ``phase_bits``,
            ``initial_phases``: see :class:`IrsOptions`.

        Raises
        ------
        ValueError, AirschedError
            As for :meth:`schedule`; :class:`NotFoundError` from a service without the route.
        """
        return self._send(
            _calls.schedule_irs(
                self._encoding, direct, irs_to_server, devices_to_irs, layout, options
            )
        )

    def schedule_batch(
        self,
        channels: ArrayLike,
        *,
        layout: Layout = "antennas_first",
        **options: Unpack[ScheduleOptions],
    ) -> tuple[Schedule, ...]:
        """Schedule many rounds or subcarriers in one request; they share all other options.

        Parameters
        ----------
        channels
            (B, N, K) complex.
        layout
            ``devices_first`` if ``channels`` is (B, K, N).
        options
            As for :meth:`schedule`.

        Returns
        -------
        B schedules, in order.

        Raises
        ------
        ValueError, AirschedError
            As for :meth:`schedule`; :class:`NotFoundError` from a service without the route.
        """
        return self._send(_calls.schedule_batch(self._encoding, channels, layout, options))

    def frontier(
        self,
        channels: ArrayLike,
        *,
        layout: Layout = "antennas_first",
        **options: Unpack[FrontierOptions],
    ) -> Frontier:
        """Schedule one round at every tolerance: more devices for more error.

        Parameters
        ----------
        channels, layout
            As for :meth:`schedule`.
        options
            As for :meth:`schedule` without a tolerance, ``polish`` and ``bound``;
            ``min_devices`` and ``max_error`` leave out points: see :class:`FrontierOptions`.

        Returns
        -------
        The points, and rules to choose one, such as :meth:`Frontier.best`.

        Raises
        ------
        ValueError, AirschedError
            As for :meth:`schedule`; :class:`NotFoundError` from a service without the route.
        """
        return self._send(_calls.frontier(self._encoding, channels, layout, options))

    def algorithms(self) -> tuple[Algorithm, ...]:
        """Return the service's algorithms with their parameters, defaults and bounds."""
        return self._send(_calls.ALGORITHMS)

    def ready(self) -> bool:
        """Return whether the service can schedule now; does not retry."""
        try:
            return self._http.get(_calls.READY).is_success
        except httpx.RequestError:
            return False

    def _send(self, call: Call[Result]) -> Result:
        repeated = 0
        while True:
            try:
                return call.result(self._http.request(**call.request))
            except (httpx.RequestError, AirschedError) as error:
                wait = self._retries.wait(error, repeated)
            sleep(wait)
            repeated += 1
