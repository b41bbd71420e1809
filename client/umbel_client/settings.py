"""Which service a client calls: its arguments, else the environment, else the usual address."""

from __future__ import annotations

import os
from urllib.parse import urlsplit

from umbel_client.core.messages import Settings
from umbel_client.errors import InputError
from umbel_client.quoting import shown

DEFAULT_URL = "http://127.0.0.1:8000"
"""Where `umbel serve` listens by default."""


def settings_of(url: str | None, key: str | None, retries: int) -> Settings:
    """The settings of a client. Raises InputError for an address that is none, and for a key that
    no header can carry.
    """
    address = (url or os.environ.get("UMBEL_URL") or DEFAULT_URL).strip().rstrip("/")
    if not _is_address(address):
        raise InputError("url", f"{shown(address)} is no address; one looks like {DEFAULT_URL}.")
    secret = key or os.environ.get("UMBEL_KEY") or None
    if secret is not None and not (secret.isascii() and secret.isprintable() and " " not in secret):
        raise InputError("key", "a key has only visible ASCII characters.")
    return Settings(address, secret, retries=retries)


def _is_address(text: str) -> bool:
    parts = urlsplit(text)
    try:
        port = parts.port
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and port != 0
