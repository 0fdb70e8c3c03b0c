"""Client of airsched: NumPy arrays in, typed schedules out.

>>> from airsched_client import SchedulerClient
>>> with SchedulerClient("http://127.0.0.1:8000") as client:  # doctest: +SKIP
...     schedule = client.schedule(channels, gamma_db=3.0)
...     schedule.active

:class:`AsyncSchedulerClient` is the same for asyncio and trio.
"""

from airsched_client._retry import Patience, RetryRule
from airsched_client._version import __version__
from airsched_client.async_client import AsyncSchedulerClient
from airsched_client.client import SchedulerClient
from airsched_client.errors import (
    AirschedError,
    AnswerTimeoutError,
    AuthenticationError,
    DeadlineError,
    InvalidRequestError,
    NotFoundError,
    OverloadedError,
    ServiceDownError,
    ServiceError,
    SlowRequestError,
    TooLargeError,
    UnexpectedAnswerError,
    UnreachableError,
)
from airsched_client.frontier import Frontier
from airsched_client.models import Algorithm, IrsSchedule, Parameter, Schedule, WidebandSchedule
from airsched_client.options import (
    FrontierOptions,
    IrsOptions,
    ScheduleOptions,
    WidebandOptions,
)

__all__ = [
    "AirschedError",
    "Algorithm",
    "AnswerTimeoutError",
    "AsyncSchedulerClient",
    "AuthenticationError",
    "DeadlineError",
    "Frontier",
    "FrontierOptions",
    "InvalidRequestError",
    "IrsOptions",
    "IrsSchedule",
    "NotFoundError",
    "OverloadedError",
    "Parameter",
    "Patience",
    "RetryRule",
    "Schedule",
    "ScheduleOptions",
    "SchedulerClient",
    "ServiceDownError",
    "ServiceError",
    "SlowRequestError",
    "TooLargeError",
    "UnexpectedAnswerError",
    "UnreachableError",
    "WidebandOptions",
    "WidebandSchedule",
    "__version__",
]
