"""Everything of a call but sending it: what is asked, and how the answer is read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Generic, TypeVar

import httpx
import numpy as np
from numpy.typing import ArrayLike

from airsched_client._arrays import Layout, Shapes
from airsched_client._wire import Encoding, load
from airsched_client.errors import UnexpectedAnswerError, error_from
from airsched_client.frontier import Frontier
from airsched_client.models import Algorithm, IrsSchedule, Schedule, schedules_from
from airsched_client.options import FrontierOptions, IrsOptions, ScheduleOptions

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
    """

    request: dict[str, Any]
    read: Callable[[Any], Result]

    def result(self, response: httpx.Response) -> Result:
        """Return what ``response`` says, or raise the error that it is."""
        if not response.is_success:
            raise error_from(response)
        try:
            return self.read(load(response.content, response.headers.get("content-type", "")))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            reason = f"{error} is missing" if isinstance(error, KeyError) else error
            message = f"{response.url} did not answer as airsched does: {reason}"
            raise UnexpectedAnswerError(message) from error


def schedule(
    encoding: Encoding, channels: ArrayLike, layout: Layout, options: ScheduleOptions
) -> Call[Schedule]:
    """Ask for one round."""
    shapes = Shapes(layout)
    matrix = shapes.complex("channels", channels, "antennas", "devices")
    body = {"channels": matrix, **_fields(shapes, _SCHEDULE_OPTIONS, options)}
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
        **_fields(shapes, _IRS_OPTIONS, options),
    }
    return _post(encoding, "/schedule/irs", body, IrsSchedule.from_answer)


def schedule_batch(
    encoding: Encoding, channels: ArrayLike, layout: Layout, options: ScheduleOptions
) -> Call[tuple[Schedule, ...]]:
    """Ask for many rounds at once."""
    shapes = Shapes(layout)
    matrices = shapes.complex("channels", channels, "rounds", "antennas", "devices")

    def read(answer: Any) -> tuple[Schedule, ...]:
        found = schedules_from(answer["schedules"], answer["device_ids"])
        if len(found) != len(matrices):
            raise ValueError(f"{len(found)} schedules for {len(matrices)} channel matrices")
        return found

    body = {"channels": matrices, **_fields(shapes, _SCHEDULE_OPTIONS, options)}
    return _post(encoding, "/schedule/batch", body, read)


def frontier(
    encoding: Encoding, channels: ArrayLike, layout: Layout, options: FrontierOptions
) -> Call[Frontier]:
    """Ask for one round at every tolerance."""
    shapes = Shapes(layout)
    matrix = shapes.complex("channels", channels, "antennas", "devices")
    body = {"channels": matrix, **_fields(shapes, _FRONTIER_OPTIONS, options)}
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

READY = "/health/ready"


def _post(
    encoding: Encoding, path: str, body: dict[str, Any], read: Callable[[Any], Result]
) -> Call[Result]:
    headers = {"Content-Type": encoding.media_type}
    request = {"method": "POST", "url": path, "content": encoding.dump(body), "headers": headers}
    return Call(request, read)


_SCHEDULE_OPTIONS: frozenset[str] = ScheduleOptions.__optional_keys__
_IRS_OPTIONS: frozenset[str] = IrsOptions.__optional_keys__
_FRONTIER_OPTIONS: frozenset[str] = FrontierOptions.__optional_keys__

_VECTORS: dict[str, tuple[Callable[..., Any], str]] = {
    "weights": (Shapes.real, "devices"),
    "priorities": (Shapes.real, "devices"),
    "device_ids": (Shapes.names, "devices"),
    "warm_start": (Shapes.complex, "antennas"),
    "initial_phases": (Shapes.complex, "elements"),
}


def _fields(shapes: Shapes, known: frozenset[str], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that are given, arrays converted and held against the others."""
    if unknown := options.keys() - known:
        name = min(unknown)
        near = get_close_matches(name, known, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise TypeError(f"there is no option {name!r}{hint}")
    given = {name: value for name, value in options.items() if value is not None}
    for name, (convert, axis) in _VECTORS.items():
        if name in given:
            given[name] = convert(shapes, name, given[name], axis)
    if np.ndim(given.get("csi_error", 0)) > 0:
        given["csi_error"] = shapes.real("csi_error", given["csi_error"], "devices")
    return given
