import pytest

from airsched_client import SchedulerClient


@pytest.fixture(scope="session")
def scheduler(service_url):
    with SchedulerClient(service_url) as scheduler:
        yield scheduler
