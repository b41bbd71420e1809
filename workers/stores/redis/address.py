"""What `UMBEL_REDIS_URL` may be, for redis-py and for Celery's transport.

redis://[user:password@]host:port/db, unix://[:password@]path?db=0, and with TLS rediss://, where
`ssl_ca_certs`, `ssl_certfile`, `ssl_keyfile` and `ssl_cert_reqs` (required or none) may follow as
query. With Sentinel: sentinel://[user:password@]host:port,host:port/name/db, the hosts being
sentinels and `name` that of the monitored server; `sentinel_password` may follow as query.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from workers.errors import FatalError

SENTINEL_PORT = 26379
_TLS = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile", "ssl_cert_reqs")
_REQUIRED = {"required": ssl.CERT_REQUIRED, "none": ssl.CERT_NONE}


@dataclass(frozen=True, slots=True)
class Watched:
    """A server that sentinels watch: they know which one is the master at present."""

    sentinels: tuple[tuple[str, int], ...]
    name: str
    db: int
    username: str | None
    password: str | None
    sentinel_password: str | None


def watched(url: str) -> Watched | None:
    """The parts of a sentinel:// address; None for others. Raises FatalError, which does not show
    the address: it may hold a password."""
    if not url.startswith("sentinel://"):
        return None
    # By hand: newer releases of Python refuse an IPv6 address that is not the only host.
    before, _, options = url.removeprefix("sentinel://").partition("#")[0].partition("?")
    netloc, _, path = before.partition("/")
    user, _, hosts = netloc.rpartition("@")
    username, _, password = user.partition(":")
    name, _, db = path.strip("/").partition("/")
    query = dict(parse_qsl(options))
    try:
        sentinels = tuple(_host_and_port(host) for host in hosts.split(","))
        number = int(db or "0")
    except ValueError:
        sentinels, number = (), 0
    if not sentinels or not name or set(query) - {"sentinel_password"}:
        raise FatalError(
            "UMBEL_REDIS_URL cannot be used; write sentinel://host:port,host:port/name or "
            "sentinel://:password@host:port,host:port/name/db?sentinel_password=..."
        )
    return Watched(
        sentinels=sentinels,
        name=unquote(name),
        db=number,
        username=unquote(username) or None,
        password=unquote(password) or None,
        sentinel_password=query.get("sentinel_password"),
    )


def tls_options(url: str) -> dict[str, Any] | None:
    """The TLS options of a rediss:// address for Celery's transport; None for others."""
    if not url.startswith("rediss://"):
        return None
    query = dict(parse_qsl(urlsplit(url).query))
    options: dict[str, Any] = {name: query[name] for name in _TLS if name in query}
    required = str(options.get("ssl_cert_reqs", "required"))
    if required not in _REQUIRED:
        raise FatalError("ssl_cert_reqs of UMBEL_REDIS_URL is `required` or `none`.")
    options["ssl_cert_reqs"] = _REQUIRED[required]
    if required == "none":
        options["ssl_check_hostname"] = False
    return options


def require_usable(url: str) -> None:
    """Raises FatalError, which does not show the address, if it cannot be used."""
    if not url.startswith(("redis://", "rediss://", "unix://", "sentinel://")):
        raise FatalError("UMBEL_REDIS_URL begins with redis://, rediss://, unix:// or sentinel://.")
    watched(url)
    tls_options(url)


def without_query(url: str) -> str:
    return url.partition("?")[0]


def _host_and_port(text: str) -> tuple[str, int]:
    parts = urlsplit(f"//{text}")
    if not parts.hostname:
        raise ValueError(text)
    return parts.hostname, parts.port or SENTINEL_PORT
