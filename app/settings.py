"""Settings of the whole service, read from the environment (`UMBEL_*`)."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import NoDecode

from workers.settings import SHORTEST_SECRET, WorkerSettings

_OWN_INSTANCE = secrets.token_hex(8)
_ELSEWHERE = ("UMBEL_URL", "UMBEL_KEY", "UMBEL_PLAIN_LOOPS")
"""Variables of the client and of `models.simd`."""
_CLUSTER = re.compile(r"_SERVICE_HOST|_SERVICE_PORT(_\w+)?|_PORT(_[0-9]+_(TCP|UDP|SCTP)(_\w+)?)?")
_ORIGIN = re.compile(r"https?://(\*\.)?[A-Za-z0-9.-]+(:[0-9]{1,5})?")


class Settings(WorkerSettings):
    """The settings of the API, in addition to the workers' and stores'.

    Lists are comma-separated in the environment: `UMBEL_CORS_ORIGINS=https://a.org,https://b.org`.
    """

    api_keys: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="Keys as `tenant:sha256hex`; `umbel keys new` makes them."
    )
    api_keys_file: Path | None = Field(
        None, description="A file with one `tenant:sha256hex` per line; `#` starts a comment."
    )
    cors_origins: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="Origins whose pages may call the service, `https://host[:port]` each."
    )
    allowed_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        ("127.0.0.1", "localhost", "[::1]"),
        description="Names by which the keyless service may be called (the Host header).",
    )
    fonts: Annotated[tuple[Path, ...], NoDecode] = Field(
        (),
        description="Folders of fonts for pictures, searched before the system's; they are for "
        "characters that the service's own font lacks.",
    )
    instance: str = Field(
        "",
        pattern=r"^[A-Za-z0-9._-]{0,64}$",
        description="Name by which `/readyz` and `/v1/version` say which service answers, not a "
        "secret; none: `umbel serve` and `umbel api` choose a random one at each start.",
    )
    root_path: str = Field(
        "", description="Path prefix that a proxy removes before it passes requests on."
    )

    oidc_issuer: str = Field(
        "",
        description="Issuer by which people sign in (OpenID Connect), exactly as it calls itself, "
        "`https://host[/path]`; none: by keys alone. The others of this name go with it.",
    )
    oidc_client_id: str = Field("", description="What this service is called at the issuer.")
    oidc_client_secret: SecretStr = Field(
        SecretStr(""), description="Its secret there; none for a public client, as PKCE is used."
    )
    oidc_client_secret_file: Path | None = Field(None, description="A file that has the secret.")
    oidc_url: str = Field(
        "",
        description="Where browsers find this service, `https://host[:port][/path]`. The issuer "
        "must know `/sign-in/callback` below it.",
    )
    oidc_groups: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="What groups of the issuer may do, `group=tenant:role` each, and with "
        "`:tag|tag` only what has one of the tags. The first that a person is in counts; who is "
        "in none is refused.",
    )
    oidc_groups_file: Path | None = Field(
        None, description="A file with more of them, one a line; `#` begins a comment's line."
    )
    oidc_groups_claim: str = Field("groups", description="Where tokens have a person's groups.")
    oidc_scopes: Annotated[tuple[str, ...], NoDecode] = Field(
        ("openid", "profile", "email"), description="What a sign-in requests."
    )
    oidc_audience: str = Field(
        "",
        description="Programs may send tokens of the issuer for this audience in the place of "
        "keys; none: they may not.",
    )
    oidc_session_s: int = Field(
        8 * 3600, ge=60, le=30 * 24 * 3600, description="How long one signs in for."
    )
    oidc_check_s: int = Field(
        900,
        ge=0,
        le=24 * 3600,
        description="How often the issuer says anew, by a refresh token, whether a session goes on "
        "and which groups its person is in; 0: never.",
    )

    frame_ancestors: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Origins whose pages may frame `/embed`, `https://host[:port]` each; none: no "
        "page may. Nothing else of the service is ever framed.",
    )
    share_requests_per_s: float = Field(
        20.0, gt=0, description="Requests a second of one link, on average over ten seconds."
    )

    max_connections: int = Field(
        4096,
        ge=1,
        description="Connections open at a time; past it new ones get 503. Fewer, where the "
        "process may not have two descriptors for each.",
    )
    max_header_bytes: int = Field(
        64 << 10,
        ge=1024,
        description="Bytes of a request's line and headers; past it the answer is 431.",
    )
    max_headers: int = Field(200, ge=1, description="Headers of one request.")
    header_timeout_s: float = Field(
        10.0, gt=0, description="A connection that has not sent a whole header by then is closed."
    )
    body_timeout_s: float = Field(
        30.0,
        gt=0,
        description="A connection on which nothing of a body has moved for this long is closed.",
    )
    keep_alive_s: float = Field(
        65.0,
        gt=0,
        description="How long a connection is kept for its next request. Longer than clients and "
        "load balancers keep theirs: a request then meets no connection that is just closed.",
    )
    shutdown_s: float = Field(
        5.0, ge=0, description="How long the API, when it is stopped, lets requests finish."
    )

    max_upload_bytes: int = Field(8 << 30, ge=1, description="Largest dataset in one request.")
    max_dataset_bytes: int = Field(
        256 << 30, ge=1, description="Largest dataset uploaded in parts, at most 10,000 of them."
    )
    upload_keep_s: float = Field(
        7 * 24 * 3600.0,
        gt=0,
        description="An upload that gets no part for this long is removed. A tenant has at most "
        "1,000 that are not complete.",
    )
    max_json_bytes: int = Field(16 << 20, ge=1, description="Largest body that is JSON.")
    max_parsed_json_bytes: int = Field(
        16 << 20,
        ge=1,
        description="A larger JSON dataset is opened by a worker rather than at once.",
    )
    max_tree_bytes: int = Field(256 << 20, ge=1, description="Largest uploaded tree.")
    min_free_bytes: int = Field(
        256 << 20, ge=0, description="Space that uploads leave free in the store."
    )
    max_wait_s: float = Field(60.0, ge=0, description="Longest wait for `Prefer: wait`.")
    default_wait_s: float = Field(
        2.0, ge=0, description="How long requests wait for quick work (evaluations, predictions)."
    )
    retry_after_s: int = Field(1, ge=1, description="`Retry-After` of a job that has not ended.")
    idempotency_s: int = Field(24 * 3600, ge=1, description="How long an Idempotency-Key is kept.")
    events_poll_s: float = Field(
        0.2, gt=0, description="How often an event stream checks for new events."
    )

    metrics_token: SecretStr = Field(
        SecretStr(""),
        description="What `/metrics` is read with, as `Authorization: Bearer <token>`. Where keys "
        "are set and no token is, nobody reads it: it names tenants.",
    )
    keep_audit_days: int = Field(
        0, ge=0, description="Days for which the audit log is kept; 0: for ever."
    )
    metrics_tenants: int = Field(
        20, ge=0, description="Tenants that metrics name; the others are counted together."
    )
    metrics_store_s: float = Field(
        300.0,
        ge=0,
        description="How often the bytes in the store are measured for the metrics; 0: never. "
        "A store of many objects is measured less often.",
    )

    @property
    def instance_id(self) -> str:
        """`instance`, else a random name of this process."""
        return self.instance or _OWN_INSTANCE

    @field_validator("metrics_token")
    @classmethod
    def _long(cls, value: SecretStr) -> SecretStr:
        if 0 < len(value.get_secret_value()) < SHORTEST_SECRET:
            raise ValueError(f"use at least {SHORTEST_SECRET} characters; `openssl rand -hex 32`")
        return value

    @field_validator("frame_ancestors")
    @classmethod
    def _origins(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for origin in value:
            if not _ORIGIN.fullmatch(origin):
                raise ValueError(f"{origin!r} is no origin, such as https://wiki.example.org")
        return value

    @field_validator(
        "api_keys",
        "cors_origins",
        "allowed_hosts",
        "frame_ancestors",
        "fonts",
        "oidc_groups",
        "oidc_scopes",
        mode="before",
    )
    @classmethod
    def _split(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value


def unknown(environ: Mapping[str, str]) -> list[str]:
    """A sentence for each variable `UMBEL_*` that sets nothing, as one that is mistyped.

    Without variables of the tests, and what Kubernetes makes of services whose names begin with
    `umbel`.
    """
    known = [f"UMBEL_{name.upper()}" for name in Settings.model_fields]
    sentences = []
    for name in sorted(environ):
        if not name.startswith("UMBEL_") or name in known or name in _ELSEWHERE:
            continue
        if name.startswith("UMBEL_TEST_") or _of_cluster(name, environ[name]):
            continue
        near = get_close_matches(name, known, 1, 0.8)
        meant = f" Is {near[0]} meant?" if near else ""
        sentences.append(f"There is no setting {name}; it is ignored.{meant}")
    return sentences


def _of_cluster(name: str, value: str) -> bool:
    found = _CLUSTER.search(name)
    if found is None or found.end() != len(name):
        return False
    return not name.endswith("_PORT") or "://" in value


def listed(settings: Settings) -> list[dict[str, str]]:
    """Every setting by the name of its variable: `name`, `value`, `default`, `description`.

    Secrets, also passwords within addresses, are shown as stars.
    """
    defaults = Settings.model_construct()
    return [
        {
            "name": f"UMBEL_{name.upper()}",
            "value": _shown(getattr(settings, name)),
            "default": _shown(getattr(defaults, name)),
            "description": field.description or "",
        }
        for name, field in Settings.model_fields.items()
    ]


def _shown(value: object) -> str:
    if isinstance(value, (tuple, list)):
        return ",".join(map(_shown, value))
    if value is None:
        return ""
    return re.sub(r"(://[^/@:]*:)[^@]+@", r"\1***@", str(value))
