"""Settings: ``AIRSCHED_*`` environment variables, all with working defaults."""

from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt, SecretStr, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from app.cores import available_cores


class Settings(BaseSettings):
    """Limits and behaviour of one service process."""

    model_config = SettingsConfigDict(env_prefix="AIRSCHED_", frozen=True)

    api_keys: Annotated[tuple[SecretStr, ...], NoDecode] = Field(
        default=(), description="Comma-separated bearer keys; empty leaves the service open."
    )
    max_devices: PositiveInt = Field(default=4096, description="Largest K accepted.")
    max_antennas: PositiveInt = Field(default=256, description="Largest N accepted.")
    max_elements: PositiveInt = Field(default=1024, description="Largest M accepted.")
    max_batch: PositiveInt = Field(default=256, description="Most rounds in one batch.")
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
        default=8, description="Solves that may wait for either; beyond it the answer is 503."
    )
    workers: PositiveInt = Field(
        default=1, description="Processes that serve requests, each with solver workers of its own."
    )
    max_concurrency: PositiveInt = Field(
        default=64,
        description="Requests to schedule in progress at once; beyond it the answer is 503.",
    )
    read_timeout_ms: PositiveFloat = Field(
        default=10_000, description="Longest time a request's body may take to arrive."
    )
    drain_seconds: NonNegativeFloat = Field(
        default=0,
        description="How long after SIGTERM requests are still taken, with `/health/ready` at 503.",
    )
    docs: bool = Field(default=True, description="Whether `/docs` and `/openapi.json` are served.")
    metrics: bool = Field(default=True, description="Whether `/metrics` is served.")
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
        if isinstance(value, str):
            return tuple(key.strip() for key in value.split(",") if key.strip())
        return value
