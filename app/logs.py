"""Logging: one line per request or event, as text or JSON."""

import logging
from datetime import UTC, datetime
from typing import Any

import orjson

from app.settings import Settings

logger = logging.getLogger("airsched")


def configuration(settings: Settings) -> dict[str, Any]:
    """Return the ``logging.config`` dictionary that logs to standard error, one line per event."""
    formatter = {"text": TextFormatter, "json": JsonFormatter}[settings.log_format]
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"()": formatter}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
        "root": {"level": settings.log_level.upper(), "handlers": ["stderr"]},
    }


class TextFormatter(logging.Formatter):
    """``LEVEL: message name=value …``."""

    def __init__(self) -> None:
        super().__init__("%(levelname)s: %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Append the fields of the event."""
        fields: dict[str, Any] = getattr(record, "fields", {})
        return " ".join(
            [super().formatMessage(record), *(f"{name}={value}" for name, value in fields.items())]
        )


class JsonFormatter(logging.Formatter):
    """An object: ``time``, ``level``, ``logger``, ``message``, and the fields of the event."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return orjson.dumps(line, default=str).decode()
