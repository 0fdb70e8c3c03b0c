import pytest

from tests.client.callers import CALLERS


@pytest.fixture(params=CALLERS)
def call(request):
    """``call(base_url, settings of the client, method, …)``, through each of the clients."""
    return CALLERS[request.param]
