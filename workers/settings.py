"""Settings of everything below the API, read from the environment (`UMBEL_*`), and the limits of
tenants that they state."""

from __future__ import annotations

import ipaddress
import json
import math
import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_core import Url
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

EVERYONE = ""
"""The name under which a setting holds the limit of tenants that it does not name."""

MOST = 2**53 - 1
"""The largest limit: Lua scripts compute with doubles, which hold whole numbers up to this."""

TENANT = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
N = TypeVar("N", int, float)


class Limits(BaseModel):
    """The most that may be used; None: as much as there is.

    bytes : of datasets, of parts of uploads, of inline inputs, and of the results of jobs.
    datasets : how many. queued, running : jobs that are listed to clients, in these states.
    requests_per_s : requests a second, on average over ten seconds.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    bytes: int | None = Field(None, ge=0, le=MOST)
    datasets: int | None = Field(None, ge=0, le=MOST)
    queued: int | None = Field(None, ge=0, le=MOST)
    running: int | None = Field(None, ge=0, le=MOST)
    requests_per_s: float | None = Field(None, gt=0, le=1e6, allow_inf_nan=False)

    @property
    def any(self) -> bool:
        return any(getattr(self, name) is not None for name in type(self).model_fields)

    def stated(self) -> dict[str, int | float]:
        """The limits that there are."""
        return self.model_dump(exclude_none=True)


def by_tenant(text: str) -> dict[str, str]:
    """The numbers in `100,acme:200`, as texts: for everyone else, and for each named tenant.

    Raises ValueError for a tenant that cannot be one, and for one that is named twice.
    """
    numbers: dict[str, str] = {}
    for part in re.split(r"[\s,]+", text.strip()):
        tenant, _, number = part.rpartition(":")
        if not part:
            continue
        if tenant and not TENANT.fullmatch(tenant):
            raise ValueError(f"{tenant!r} cannot be a tenant; write `number` or `tenant:number`")
        if tenant in numbers:
            raise ValueError(f"{tenant or 'everyone'!r} has two numbers")
        numbers[tenant] = number
    return numbers


def in_range(numbers: Mapping[str, N], *, positive: bool) -> None:
    """Raise ValueError for a number below 0 (or, with `positive`, not above 0) or too large."""
    for tenant, number in numbers.items():
        least = number > 0 if positive else number >= 0
        if not (math.isfinite(number) and least and number <= MOST):
            raise ValueError(
                f"{number} of {tenant or 'everyone'!r}: write a number "
                f"{'above' if positive else 'of at least'} 0 and at most {MOST}"
            )


def of_tenant(numbers: Mapping[str, N], tenant: str) -> N | None:
    """The number of a tenant; None if it has none."""
    return numbers.get(tenant, numbers.get(EVERYONE))


def admission(tenant: Limits, key: Limits) -> str:
    """The limits of a request as the scripts take them, "" where nothing is limited."""
    scopes = {"tenant": tenant, "key": key}
    stated = {whose: limits.stated() for whose, limits in scopes.items() if limits.any}
    return json.dumps(stated) if stated else ""


_BY_TENANT = (
    *(f"quota_{what}" for what in Limits.model_fields),
    "keep_datasets_days",
    "keep_jobs_days",
    "keep_bytes",
)
_TENANT_FORM = "It is a number for every tenant, and others by name: 1000,acme:5000."
SHORTEST_SECRET = 24


def wrong_settings(error: ValidationError) -> str:
    """The errors in the environment, one line for each."""
    lines = []
    for wrong in error.errors():
        name, *within = map(str, wrong["loc"])
        where = "".join(f", {part!r}" for part in within if part)
        form = f". {_TENANT_FORM}" if name in _BY_TENANT else ""
        lines.append(f"UMBEL_{name.upper()}{where}: {wrong['msg']}{form}")
    return "\n".join(lines)


class WorkerSettings(BaseSettings):
    """The settings of workers and stores. `umbel serve` sets the first ones for its children."""

    model_config = SettingsConfigDict(env_prefix="UMBEL_", extra="ignore")

    redis_url: str = Field(
        "", description="redis://, rediss:// (TLS), unix:// or sentinel:// address of Redis."
    )
    store_url: str = Field(
        "",
        description="file:///folder, s3://bucket/prefix, gs://bucket/prefix or "
        "az://container/prefix.",
    )
    s3_endpoint: str | None = Field(None, description="Address of an S3 store that is not AWS.")
    gs_endpoint: str | None = Field(
        None, description="Address of a store for gs:// that is not Google's."
    )
    az_endpoint: str | None = Field(
        None, description="Address of a store for az:// that is not the account's on Azure."
    )
    scratch_dir: Path = Field(
        Path(tempfile.gettempdir()) / "umbel", description="Where attempts are written first."
    )
    cache_bytes: int = Field(20 << 30, ge=0, description="Bound on downloads kept from a bucket.")
    stream_bytes: int = Field(
        1 << 30,
        ge=0,
        description="A larger object in a bucket is not downloaded if it is only read by rows.",
    )
    key_prefix: str = Field("umbel:", description="Prefix of every key in Redis.")

    lease_s: float = Field(
        12.0, gt=0, description="A worker that is silent for longer has lost its job."
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
    jobs_per_process: int = Field(
        100,
        ge=1,
        description="Short jobs of one tenant that one process does; 1: a new process for each.",
    )
    quick_slots: int = Field(
        1,
        ge=0,
        description="Inspections, imports, evaluations, predictions, transformations and fits that "
        "are expected to be short, of which one worker process runs so many beside its other jobs, "
        "and one more for a tenant of whom it runs none; 0: they wait for a free slot.",
    )
    room_s: float = Field(
        10.0,
        gt=0,
        description="A job that has run for this long makes room while shorter ones wait: a long "
        "one once it has saved a checkpoint, one that was expected to be short or quick at once.",
    )
    tenant_weights: Annotated[dict[str, int], NoDecode] = Field(
        {},
        description="Jobs that a tenant may take in its turn while others wait, as "
        "`acme:3,other:2`; one where it is not named.",
    )
    quota_bytes: Annotated[dict[str, int], NoDecode] = Field(
        {},
        description="Bytes that a tenant may keep: datasets, parts of uploads, inline inputs, "
        "results. Each quota is a number for every tenant, and others by name: `1000,acme:5000`; "
        "none: unlimited.",
    )
    quota_datasets: Annotated[dict[str, int], NoDecode] = Field(
        {}, description="Datasets that a tenant may keep."
    )
    quota_queued: Annotated[dict[str, int], NoDecode] = Field(
        {}, description="Jobs of a tenant that may be queued; further ones are refused."
    )
    quota_running: Annotated[dict[str, int], NoDecode] = Field(
        {}, description="Jobs of a tenant that may run at a time; further ones wait."
    )
    quota_requests_per_s: Annotated[dict[str, float], NoDecode] = Field(
        {}, description="Requests a second of a tenant, on average over ten seconds."
    )
    keep_datasets_days: Annotated[dict[str, float], NoDecode] = Field(
        {}, description="Days for which a dataset is kept; written as the quotas; none: for ever."
    )
    keep_jobs_days: Annotated[dict[str, float], NoDecode] = Field(
        {}, description="Days for which a job that has ended is kept, with its tree and model."
    )
    keep_bytes: Annotated[dict[str, int], NoDecode] = Field(
        {}, description="Bytes of a tenant that are kept; past it the oldest are removed."
    )
    keep_sweep_s: float = Field(
        60.0, gt=0, description="How often one of the processes removes what has expired."
    )
    split_bytes: int = Field(
        2 << 30, ge=0, description="A fit on more bytes than this is cut into pieces; 0: none."
    )
    piece_bytes: int = Field(512 << 20, ge=1, description="Bytes of the inputs for each piece.")
    engine: str = Field(
        "",
        description="Scheduler of a Dask cluster, as dask://host:8786 (dask+tls:// with the "
        "certificates of Dask's settings), whose members compute the pieces of fits instead of "
        "idle workers; each needs Umbel in the same version and a worker's settings.",
    )
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

    naming_url: str = Field(
        "",
        description="Address of a chat endpoint in OpenAI's form, as https://example.org/v1, that "
        "phrases names of nodes where a naming asks for `by` model; none: none does. It gets, of "
        "each node and its siblings, the terms, names of rows, features or labels that a naming "
        "without it would show, and nothing else. Addresses that are not public need "
        "UMBEL_WEBHOOK_ALLOW, and workers a way to it.",
    )
    naming_key: SecretStr = Field(
        SecretStr(""), description="Sent to it as `Authorization: Bearer <key>`."
    )
    naming_model: str = Field("", description="The model that requests name.")
    naming_timeout_s: float = Field(30.0, gt=0, description="How long one answer may take.")
    naming_nodes: int = Field(
        500, ge=1, le=10_000, description="Nodes of one naming that are sent to it, at most."
    )
    naming_tokens: int = Field(
        50_000,
        ge=1,
        description="Tokens of one naming, questions and answers, at most; estimated as a third of "
        "the characters.",
    )

    embedding_url: str = Field(
        "",
        description="Address of an endpoint of embeddings in OpenAI's form, as "
        "https://example.org/v1, that makes vectors of the texts and images of "
        "`POST /v1/embeddings`, and of searches by meaning; none: models in folders, or these are "
        "refused. It gets the texts or the images, without ids, names or other columns; of a "
        "search the question and what it is compared with. Addresses that are not public need "
        "UMBEL_WEBHOOK_ALLOW, and workers and the API a way to it.",
    )
    embedding_key: SecretStr = Field(
        SecretStr(""), description="Sent to it as `Authorization: Bearer <key>`."
    )
    embedding_model: str = Field(
        "",
        description="The model that texts are embedded by; without UMBEL_EMBEDDING_URL the path of "
        "a folder on the machines of workers and API with model.onnx and tokenizer.json, which a "
        "process there runs: nothing is sent.",
    )
    embedding_image_model: str = Field(
        "",
        description="The model that images are embedded by, each sent as a `data:` address in "
        "`input`; without UMBEL_EMBEDDING_URL the path of a folder on the machine of the workers "
        "with model.onnx and preprocessor_config.json. None: images are refused.",
    )
    embedding_timeout_s: float = Field(60.0, gt=0, description="How long one answer may take.")
    embedding_items: int = Field(
        100_000, ge=1, le=1_000_000, description="Texts or images of one job, at most."
    )
    embedding_letters: int = Field(
        8_000,
        ge=1,
        description="Letters of a text that are sent; a longer one is cut and warned of.",
    )
    embedding_batch: int = Field(64, ge=1, le=2_048, description="Items of one request, at most.")
    embedding_batch_bytes: int = Field(
        1 << 20,
        ge=1,
        description="Bytes of the items of one request, at most, but for a single one.",
    )
    embedding_kept_bytes: int = Field(
        64 << 20,
        ge=0,
        description="Bytes of vectors that Redis keeps for a week for each tenant, so that equal "
        "items are not sent again; 0: none.",
    )

    @property
    def embedding_folder(self) -> Path | None:
        """The folder of a model of texts that a process of this machine runs; None: an endpoint,
        or none."""
        return self._folder(self.embedding_model)

    @property
    def embedding_image_folder(self) -> Path | None:
        """As `embedding_folder`, of images."""
        return self._folder(self.embedding_image_model)

    def _folder(self, model: str) -> Path | None:
        return Path(model) if not self.embedding_url and model.startswith("/") else None

    @field_validator("naming_url", "embedding_url")
    @classmethod
    def _endpoint(cls, value: str) -> str:
        try:
            url = Url(value) if value else None
        except ValueError:
            url = None
        if value and (
            url is None
            or url.scheme not in ("http", "https")
            or url.username is not None
            or url.query is not None
            or url.fragment is not None
        ):
            raise ValueError(
                "write the address of an endpoint, as https://example.org/v1, without user "
                "name, query or fragment"
            )
        return value

    @field_validator("engine")
    @classmethod
    def _scheduler(cls, value: str) -> str:
        if value and not re.fullmatch(r"dask(\+tls)?://[^\s/:@]+:\d{1,5}", value):
            raise ValueError("write the address of a Dask scheduler, as dask://host:8786")
        return value

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

    @field_validator(*_BY_TENANT, mode="before")
    @classmethod
    def _by_tenant(cls, value: object) -> object:
        return by_tenant(value) if isinstance(value, str) else value

    @field_validator(*_BY_TENANT)
    @classmethod
    def _in_range(cls, value: dict[str, float], info: ValidationInfo) -> dict[str, float]:
        in_range(value, positive=info.field_name == "quota_requests_per_s")
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
