"""Client of airsched: NumPy arrays in, typed schedules out.

>>> from airsched_client import SchedulerClient
>>> with SchedulerClient("http://127.0.0.1:8000") as client:  # doctest: +SKIP
...     schedule = client.schedule(channels, gamma_db=3.0)
...     schedule.active
"""

from airsched_client.client import SchedulerClient
from airsched_client.errors import (
    AirschedError,
    AuthenticationError,
    DeadlineError,
    InvalidRequestError,
    OverloadedError,
    ServiceError,
    UnreachableError,
)
from airsched_client.models import Schedule

__version__ = "0.1.0"

__all__ = [
    "AirschedError",
    "AuthenticationError",
    "DeadlineError",
    "InvalidRequestError",
    "OverloadedError",
    "Schedule",
    "SchedulerClient",
    "ServiceError",
    "UnreachableError",
]
