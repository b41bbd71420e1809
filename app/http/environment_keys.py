"""Keys that the settings hold: of each its tenant and its SHA-256."""

from __future__ import annotations

import re
import secrets

from app.settings import Settings
from workers.artifacts.keys import digest_of, require_tenant
from workers.settings import TENANT

_DIGEST = re.compile(r"[0-9a-f]{64}")


def new_key(tenant: str) -> tuple[str, str]:
    """A new key of `tenant` for the settings: (the key, shown once; the line that they keep of it).

    The key has 256 random bits, so a plain sha256 of it is safe to keep. Raises ValueError unless
    the tenant has only lower-case letters, digits, `-` and `_`.
    """
    require_tenant(tenant)
    key = f"umbel_{secrets.token_urlsafe(32)}"
    return key, f"{tenant}:{digest_of(key)}"


def keys(settings: Settings) -> dict[str, str]:
    """The tenant of each key of the settings, by the key's digest.

    Raises ValueError for a line that is not `tenant:sha256hex` and for a file that cannot be read.
    """
    lines = list(settings.api_keys)
    if settings.api_keys_file is not None:
        try:
            content = settings.api_keys_file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"UMBEL_API_KEYS_FILE cannot be read: {error}.") from None
        for line in content.splitlines():
            text = line.partition("#")[0].strip()
            if text:
                lines.append(text)
    tenants = {}
    for line in lines:
        tenant, _, digest = line.partition(":")
        if not TENANT.fullmatch(tenant) or not _DIGEST.fullmatch(digest):
            raise ValueError("A key is given as tenant:sha256hex; `umbel keys new` makes one.")
        tenants[digest] = tenant
    return tenants
