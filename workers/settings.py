"""Settings of everything below the API, read from the environment (`UMBEL_*`)."""

from __future__ import annotations

import ipaddress
import os
import re
import tempfile
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

SHORTEST_SECRET = 24


def wrong_settings(error: ValidationError) -> str:
    """The errors in the environment, one line for each variable."""
    return "\n".join(
        f"UMBEL_{'_'.join(map(str, wrong['loc'])).upper()}: {wrong['msg']}"
        for wrong in error.errors()
    )


class WorkerSettings(BaseSettings):
    """The settings of workers and stores. `umbel serve` sets the first ones for its children."""

    model_config = SettingsConfigDict(env_prefix="UMBEL_", extra="ignore")

    redis_url: str = Field(
        "", description="redis://, rediss:// (TLS), unix:// or sentinel:// address of Redis."
    )
    store_url: str = Field("", description="file:///folder or s3://bucket/prefix.")
    s3_endpoint: str | None = Field(None, description="Address of an S3 store that is not AWS.")
    scratch_dir: Path = Field(
        Path(tempfile.gettempdir()) / "umbel", description="Where attempts are written first."
    )
    cache_bytes: int = Field(20 << 30, ge=0, description="Bound on downloads kept from S3.")
    stream_bytes: int = Field(
        1 << 30,
        ge=0,
        description="A larger object on S3 is not downloaded if it is only read by rows.",
    )
    key_prefix: str = Field("umbel:", description="Prefix of every key in Redis.")

    lease_s: float = Field(
        30.0, gt=0, description="A worker that is silent for longer has lost its job."
    )
    heartbeat_s: float = Field(2.0, gt=0, description="How often a worker renews its lease.")
    resend_s: float = Field(5.0, gt=0, description="A queued job is sent again after this time.")
    sweep_s: float = Field(1.0, gt=0, description="How often a process looks for due jobs.")
    max_attempts: int = Field(3, ge=1, description="How often a job is tried.")
    job_timeout_s: float = Field(24 * 3600.0, gt=0, description="A job running longer is killed.")
    still_s: float = Field(
        60.0,
        gt=0,
        description="A job's process that is silent and uses no CPU time for this long is killed.",
    )
    job_memory_bytes: int | None = Field(None, description="Limit on one job's memory.")
    drain_s: float = Field(2.0, ge=0, description="How long a stopping worker lets jobs continue.")
    threads: int = Field(
        default_factory=lambda: os.cpu_count() or 1, ge=1, description="Threads one job may use."
    )
    slots: int = Field(1, ge=1, description="Jobs that one worker process runs at a time.")
    quick_slots: int = Field(
        1,
        ge=0,
        description="Inspections, imports, evaluations, predictions and transformations that one "
        "worker process runs beside its other jobs; 0: they wait for a free slot, and come first.",
    )
    tenant_weights: Annotated[dict[str, int], NoDecode] = Field(
        {},
        description="Jobs that a tenant may take in its turn while others wait, as "
        "`acme:3,other:2`; one where it is not named.",
    )
    split_bytes: int = Field(
        2 << 30, ge=0, description="A fit on more bytes than this is cut into pieces; 0: none."
    )
    piece_bytes: int = Field(512 << 20, ge=1, description="Bytes of the inputs for each piece.")
    checkpoint_s: float = Field(
        10.0, gt=0, description="How often a long fit saves its state, to resume from after a loss."
    )
    log_level: Annotated[
        Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"], BeforeValidator(str.upper)
    ] = "INFO"
    log_format: Literal["json", "text"] = Field(
        "json", description="One JSON object a line for machines, or text for people."
    )

    webhook_senders: int = Field(
        16, ge=0, description="Webhooks that one process sends at a time; 0: it sends none."
    )
    webhook_allow: Annotated[
        tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...], NoDecode
    ] = Field(
        (),
        description="Private networks that may get webhooks, as `10.0.0.0/8,fd00::/8`.",
    )
    webhook_secret: SecretStr = Field(
        SecretStr(""),
        description="Secret from which signing keys of webhooks are derived, or the new and the "
        "old one, separated by a space or comma. Without it one is created and kept in the store.",
    )

    @field_validator("webhook_allow", mode="before")
    @classmethod
    def _networks(cls, value: object) -> object:
        return tuple(filter(None, re.split(r"[\s,]+", value))) if isinstance(value, str) else value

    @field_validator("tenant_weights", mode="before")
    @classmethod
    def _weights(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        pairs = [pair.rpartition(":") for pair in re.split(r"[\s,]+", value) if pair]
        return {tenant: weight for tenant, _, weight in pairs}

    @field_validator("tenant_weights")
    @classmethod
    def _positive(cls, value: dict[str, int]) -> dict[str, int]:
        if not all(tenant and weight > 0 for tenant, weight in value.items()):
            raise ValueError("write each as `tenant:weight`, the weight a whole number above 0")
        return value

    @property
    def webhook_secrets(self) -> tuple[bytes, ...]:
        """The parts of `webhook_secret`. Raises ValueError, which does not show them, if one is too
        short or they are too many."""
        parts = tuple(filter(None, re.split(r"[\s,]+", self.webhook_secret.get_secret_value())))
        if len(parts) > 2 or any(len(part) < SHORTEST_SECRET for part in parts):
            raise ValueError(
                "UMBEL_WEBHOOK_SECRET has one secret, or the new and the old one, of at least "
                f"{SHORTEST_SECRET} characters each; `openssl rand -hex 32` makes one."
            )
        return tuple(part.encode() for part in parts)

    @property
    def threads_per_job(self) -> int:
        return max(1, self.threads // self.slots)
