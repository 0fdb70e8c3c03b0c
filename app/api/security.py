"""Bearer keys."""

import hmac

from app.api.errors import ApiError, Cause
from app.api.wire import Headers
from app.settings import Settings


def require_key(headers: Headers, settings: Settings) -> None:
    """Let the request pass if it carries one of the configured keys, or none is configured.

    Every configured key is compared in full, so that timing reveals nothing.
    """
    if not settings.api_keys:
        return
    scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
    given = token.strip()
    if scheme.lower() != b"bearer" or not given:
        raise ApiError(Cause.KEY_MISSING)
    matches = [
        hmac.compare_digest(given, key.get_secret_value().encode()) for key in settings.api_keys
    ]
    if not any(matches):
        raise ApiError(Cause.KEY_WRONG)
