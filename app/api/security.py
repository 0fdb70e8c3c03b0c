"""Bearer keys, and who a client is."""

import hmac

from starlette.types import Scope

from app.api.errors import ApiError, Cause
from app.settings import Settings


def authorise(scope: Scope, settings: Settings) -> str:
    """Return who asks: the number of the key, or the address where no key is configured.

    Every configured key is compared in full, so that timing reveals nothing.

    Raises
    ------
    ApiError
        Keys are configured, and the request carries none of them.
    """
    if not settings.api_keys:
        address = scope.get("client")
        return str(address[0]) if address else ""
    scheme, _, token = scope["observation"].headers.get(b"authorization", b"").partition(b" ")
    given = token.strip()
    if scheme.lower() != b"bearer" or not given:
        raise ApiError(Cause.KEY_MISSING)
    matches = [
        hmac.compare_digest(given, key.get_secret_value().encode()) for key in settings.api_keys
    ]
    if not any(matches):
        raise ApiError(Cause.KEY_WRONG)
    return f"key {matches.index(True)}"
