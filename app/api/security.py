"""Bearer keys, and who a client is."""

import hmac

from app.api.errors import ApiError, Cause
from app.api.wire import Headers
from app.settings import Settings


def client_of(address: tuple[str, int] | None, headers: Headers, settings: Settings) -> str:
    """Return who asks: the number of the key, or the address where no key is configured.

    Raises
    ------
    ApiError
        Keys are configured, and the request carries none of them.
    """
    key = require_key(headers, settings)
    if key is not None:
        return f"key {key}"
    return str(address[0]) if address else ""


def require_key(headers: Headers, settings: Settings) -> int | None:
    """Return which of the configured keys the request carries; None if none is configured.

    Every configured key is compared in full, so that timing reveals nothing.
    """
    if not settings.api_keys:
        return None
    scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
    given = token.strip()
    if scheme.lower() != b"bearer" or not given:
        raise ApiError(Cause.KEY_MISSING)
    matches = [
        hmac.compare_digest(given, key.get_secret_value().encode()) for key in settings.api_keys
    ]
    if not any(matches):
        raise ApiError(Cause.KEY_WRONG)
    return matches.index(True)
