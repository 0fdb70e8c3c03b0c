"""The request of every call, and how its answer is read; the clients only send."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Generic, TypeVar

import httpx
import numpy as np
from numpy.typing import ArrayLike

from airsched_client._arrays import Layout, Shapes
from airsched_client._wire import Encoding, load
from airsched_client.errors import (
    ServiceDownError,
    UnexpectedAnswerError,
    error_from,
    request_id_of,
)
from airsched_client.frontier import Frontier
from airsched_client.models import (
    Algorithm,
    IrsSchedule,
    Schedule,
    WidebandSchedule,
    schedules_from,
)
from airsched_client.options import (
    FrontierOptions,
    IrsOptions,
    ScheduleOptions,
    WidebandOptions,
)

Result = TypeVar("Result")


@dataclass(frozen=True)
class Call(Generic[Result]):
    """One request and the reading of its answer.

    Parameters
    ----------
    request
        Arguments of httpx's ``request``.
    read
        From the answer's plain values to the result.
    deadline
        Seconds that the request allows the service; 0 for the service's own limit.
    """

    request: dict[str, Any]
    read: Callable[[Any], Result]
    deadline: float = 0.0

    def result(self, response: httpx.Response) -> Result:
        """Return what ``response`` says, or raise the error that it reports."""
        if not response.is_success:
            raise error_from(response)
        try:
            found = self.read(load(response.content, response.headers.get("content-type", "")))
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            reason = f"{error} is missing" if isinstance(error, KeyError) else error
            message = f"{response.url} did not answer as airsched does: {reason}"
            unexpected = UnexpectedAnswerError(message)
            unexpected.request_id = request_id_of(response)
            raise unexpected from error
        labelled: Result = _labelled(found, request_id_of(response), _server_timing(response))
        return labelled


def schedule(
    encoding: Encoding, channels: ArrayLike, layout: Layout, options: ScheduleOptions
) -> Call[Schedule]:
    """Ask for one round."""
    shapes = Shapes(layout)
    matrix = shapes.complex("channels", channels, "antennas", "devices")
    body = {"channels": matrix, **_fields(shapes, ScheduleOptions, options)}
    return _post(encoding, "/schedule", body, Schedule.from_answer)


def schedule_irs(
    encoding: Encoding,
    direct: ArrayLike,
    irs_to_server: ArrayLike,
    devices_to_irs: ArrayLike,
    layout: Layout,
    options: IrsOptions,
) -> Call[IrsSchedule]:
    """Ask for one round with a reflecting surface."""
    shapes = Shapes(layout)
    body = {
        "direct": shapes.complex("direct", direct, "antennas", "devices"),
        "irs_to_server": shapes.complex("irs_to_server", irs_to_server, "antennas", "elements"),
        "devices_to_irs": shapes.complex("devices_to_irs", devices_to_irs, "elements", "devices"),
        **_fields(shapes, IrsOptions, options),
    }
    return _post(encoding, "/schedule/irs", body, IrsSchedule.from_answer)


MAX_BATCH, MAX_BATCH_DEVICES = 256, 65_536
"""The service's default limits on a batch: rounds, and devices summed over them."""


def schedule_batch(
    encoding: Encoding,
    channels: ArrayLike,
    layout: Layout,
    options: ScheduleOptions,
    batch_size: int | None,
) -> Iterator[Call[tuple[Schedule, ...]]]:
    """Ask for many rounds at once, in as many requests as the service's limits take."""
    shapes = Shapes(layout)
    matrices = shapes.complex("channels", channels, "rounds", "antennas", "devices")
    fields = _fields(shapes, ScheduleOptions, options)
    if batch_size is None:
        batch_size = max(1, min(MAX_BATCH, MAX_BATCH_DEVICES // matrices.shape[2]))
    if batch_size < 1:
        raise ValueError(f"batch_size must be 1 or more, not {batch_size}")
    for first in range(0, len(matrices), batch_size):
        some = matrices[first : first + batch_size]

        def read(answer: Any, count: int = len(some)) -> tuple[Schedule, ...]:
            found = schedules_from(answer["schedules"], answer["device_ids"])
            if len(found) != count:
                raise ValueError(f"{len(found)} schedules for {count} channel matrices")
            return found

        yield _post(encoding, "/schedule/batch", {"channels": some, **fields}, read)


def schedule_wideband(
    encoding: Encoding, channels: ArrayLike, layout: Layout, options: WidebandOptions
) -> Call[WidebandSchedule]:
    """Ask for one round over a band."""
    shapes = Shapes(layout)
    band = shapes.complex("channels", channels, "subcarriers", "antennas", "devices")
    fields = _fields(shapes, WidebandOptions, options, warm_start=("subcarriers", "antennas"))
    body = {"channels": band, **fields}
    return _post(encoding, "/schedule/wideband", body, WidebandSchedule.from_answer)


def schedule_frontier(
    encoding: Encoding, channels: ArrayLike, layout: Layout, options: FrontierOptions
) -> Call[Frontier]:
    """Ask for one round at every tolerance."""
    shapes = Shapes(layout)
    matrix = shapes.complex("channels", channels, "antennas", "devices")
    body = {"channels": matrix, **_fields(shapes, FrontierOptions, options)}
    weights = body.get("weights", np.ones(matrix.shape[1]))
    return _post(
        encoding,
        "/schedule/frontier",
        body,
        lambda answer: Frontier.from_answer(answer, weights),
    )


ALGORITHMS: Call[tuple[Algorithm, ...]] = Call(
    {"method": "GET", "url": "/algorithms"},
    lambda answer: tuple(Algorithm.from_answer(item) for item in answer["algorithms"]),
)

READY: Call[Any] = Call({"method": "GET", "url": "/health/ready"}, lambda answer: answer)
READY_PERIOD = 0.25
"""Seconds between two checks whether the service is ready."""

RENAMED = "frontier() is now schedule_frontier(); the old name will be removed in the next release"


def not_ready(base_url: str, timeout: float) -> ServiceDownError:
    """Return the error of a service that did not become ready."""
    return ServiceDownError(f"{base_url} was not ready within {timeout:g} s: is it running?")


def _post(
    encoding: Encoding, path: str, body: dict[str, Any], read: Callable[[Any], Result]
) -> Call[Result]:
    headers = {"Content-Type": encoding.media_type}
    request = {"method": "POST", "url": path, "content": encoding.dump(body), "headers": headers}
    return Call(request, read, float(body.get("deadline_ms", 0)) / 1000)


def _labelled(found: Any, request_id: str | None, timing: Mapping[str, float]) -> Any:
    """Return a result with what the answer's headers say."""
    if isinstance(found, Schedule | WidebandSchedule):
        return replace(found, request_id=request_id, server_timing=timing)
    if isinstance(found, Frontier):
        points = tuple(_labelled(point, request_id, timing) for point in found.points)
        return replace(found, points=points, request_id=request_id, server_timing=timing)
    if isinstance(found, tuple):
        return tuple(_labelled(item, request_id, timing) for item in found)
    return found


def _server_timing(response: httpx.Response) -> dict[str, float]:
    """Return the milliseconds by name in ``Server-Timing``: ``solve;dur=1.2, decode;dur=0.1``."""
    found = {}
    for part in response.headers.get("server-timing", "").split(","):
        name, *parameters = (text.strip() for text in part.split(";"))
        for parameter in parameters:
            key, _, value = parameter.partition("=")
            if key.strip().lower() == "dur":
                with suppress(ValueError):
                    found[name] = float(value.strip().strip('"'))
    return found


_ARRAYS: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "weights": (Shapes.real, ("devices",)),
    "priorities": (Shapes.real, ("devices",)),
    "power": (Shapes.real, ("devices",)),
    "csi_error": (Shapes.real, ("devices",)),
    "device_ids": (Shapes.names, ("devices",)),
    "warm_start": (Shapes.complex, ("antennas",)),
    "initial_phases": (Shapes.complex, ("elements",)),
    "noise_covariance": (Shapes.complex, ("antennas", "antennas")),
}
_ONE_FOR_ALL = ("power", "csi_error")
"""Options that may be one number for all devices."""


def _fields(
    shapes: Shapes, kind: type[Any], options: Mapping[str, Any], **axes: tuple[str, ...]
) -> dict[str, Any]:
    """Return the options that are given, with arrays converted and their axes compared.

    Parameters
    ----------
    kind
        The TypedDict of the options.
    axes
        Of arrays that have others than in :data:`_ARRAYS`.
    """
    known = kind.__optional_keys__
    if unknown := options.keys() - known:
        name = min(unknown)
        near = get_close_matches(name, known, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise TypeError(f"there is no option {name!r}{hint}")
    given = {name: value for name, value in options.items() if value is not None}
    for name, (convert, usual) in _ARRAYS.items():
        if name in given and not (name in _ONE_FOR_ALL and np.ndim(given[name]) == 0):
            given[name] = convert(shapes, name, given[name], *axes.get(name, usual))
    for name in ("excluded", "required", "previous"):
        if name in given:
            # NumPy's integers, such as those of ``Schedule.active``, are not JSON's.
            given[name] = [item if isinstance(item, str) else int(item) for item in given[name]]
    return given
