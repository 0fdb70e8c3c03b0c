"""Bearer keys."""

import hmac
from http import HTTPStatus

from app.api.problems import ApiError
from app.api.wire import Headers
from app.settings import Settings


def require_key(headers: Headers, settings: Settings) -> None:
    """Let the request pass if no key is configured or it carries one of them; else 401.

    Every configured key is compared in full, so that the time taken tells nothing.
    """
    if not settings.api_keys:
        return
    scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
    given = token.strip()
    matches = [
        hmac.compare_digest(given, key.get_secret_value().encode()) for key in settings.api_keys
    ]
    if scheme.lower() != b"bearer" or not any(matches):
        raise ApiError(
            HTTPStatus.UNAUTHORIZED,
            "This service needs a key: send the header Authorization: Bearer <key>.",
            headers={"WWW-Authenticate": "Bearer", "Connection": "close"},
        )
