"""Settings: ``AIRSCHED_*`` environment variables, all with working defaults."""

from typing import Annotated, Literal, Self

from pydantic import (
    Field,
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
    SecretStr,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from app.execution.host import available_cores


class Settings(BaseSettings):
    """Limits and behaviour of one service process."""

    model_config = SettingsConfigDict(env_prefix="AIRSCHED_", frozen=True)

    api_keys: Annotated[tuple[SecretStr, ...], NoDecode] = Field(
        default=(), description="Comma-separated bearer keys; unset leaves the service open."
    )
    max_devices: PositiveInt = Field(default=4096, description="Largest K accepted.")
    max_antennas: PositiveInt = Field(default=256, description="Largest N accepted.")
    max_elements: PositiveInt = Field(default=1024, description="Largest M accepted.")
    max_batch: PositiveInt = Field(default=256, description="Most rounds in one batch.")
    max_batch_devices: PositiveInt = Field(
        default=65_536, description="Most devices in one batch, over all its rounds."
    )
    max_body_bytes: PositiveInt = Field(
        default=64 * 2**20, description="Largest request body accepted, in bytes."
    )
    deadline_ms: PositiveFloat = Field(
        default=30_000,
        description="Longest time a schedule may take; `deadline_ms` can shorten it.",
    )
    solver_workers: PositiveInt = Field(
        default_factory=available_cores,
        description="Solves that run at once in processes, and in threads.",
    )
    queue_length: PositiveInt = Field(
        default_factory=available_cores,
        description="Solves that may wait for a thread, and for a process; beyond it the answer is "
        "503.",
    )
    workers: PositiveInt = Field(
        default=1, description="Processes that serve requests, each with solver workers of its own."
    )
    max_concurrency: PositiveInt = Field(
        default=64,
        description="Requests to schedule in progress at once; beyond it the answer is 503.",
    )
    max_bytes_in_flight: PositiveInt = Field(
        default=128 * 2**20,
        description="Bytes of request bodies and answers held at once; beyond it the answer is "
        "503.",
    )
    client_share: float = Field(
        default=0.75,
        gt=0,
        le=1,
        description="Largest part of those requests and bytes that one client may hold: one key, "
        "or one address if there are no keys.",
    )
    max_connections: PositiveInt = Field(
        default=1000,
        description="Open connections; beyond it the longest idle one of the address that has the "
        "most is closed.",
    )
    read_timeout_ms: PositiveFloat = Field(
        default=10_000,
        description="Longest time a request's head may take to arrive, and its body.",
    )
    write_timeout_ms: PositiveFloat = Field(
        default=10_000, description="Longest time a client may take to read its answer."
    )
    drain_seconds: NonNegativeFloat = Field(
        default=0,
        description="How long after SIGTERM requests are still taken, with `/health/ready` at 503.",
    )
    docs: bool = Field(default=True, description="Whether `/docs` and `/openapi.json` are served.")
    docs_key: bool = Field(
        default=False, description="Whether `/openapi.json` needs a key; `/docs` asks for it."
    )
    page: bool = Field(default=True, description="Whether the page at `/` is served.")
    metrics: bool = Field(default=True, description="Whether `/metrics` is served.")
    metrics_key: bool = Field(default=False, description="Whether `/metrics` needs a key.")
    tracing: bool = Field(
        default=False,
        description="Whether OpenTelemetry spans are sent: needs extra `tracing`.",
    )
    log_level: Literal["critical", "error", "warning", "info", "debug"] = Field(
        default="info", description="Least severe level that is logged."
    )
    log_format: Literal["text", "json"] = Field(
        default="text", description="How a line of the log is written: `text` or `json`."
    )

    @field_validator("api_keys", mode="before")
    @classmethod
    def _split_keys(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        keys = tuple(key.strip() for key in value.split(",") if key.strip())
        if not keys:
            raise ValueError(
                "is set but holds no key; put a key in it, or unset it to leave the service open"
            )
        return keys

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.docs_key or self.metrics_key) and not self.api_keys:
            raise ValueError("docs_key and metrics_key need api_keys: there is no key to ask for")
        if self.max_body_bytes > self.client_share * self.max_bytes_in_flight:
            raise ValueError(
                "max_body_bytes must be at most client_share * max_bytes_in_flight: raise the "
                "latter, or no client could send the largest body"
            )
        return self
