"""Signing keys of webhooks, one per tenant, all derived from one secret of the service.

The secret is a setting or, without one, random: made once and kept in the store. Keys themselves
are not kept. With two secrets in the setting, both sign, so that receivers can switch keys.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import secrets
import threading

from workers.errors import AlreadyThere, Missing
from workers.settings import WorkerSettings
from workers.stores.objects import layout
from workers.stores.objects.blobs import Blobs

_CONTEXT = b"umbel webhook signing key 1\n"


class WebhookKeys:
    """The keys of all tenants. Threads may share it."""

    def __init__(self, blobs: Blobs, settings: WorkerSettings) -> None:
        self._blobs = blobs
        self._secrets = settings.webhook_secrets
        self._lock = threading.Lock()

    def of(self, tenant: str) -> tuple[bytes, ...]:
        """A tenant's keys of 32 bytes, the current one first. Raises TransientError."""
        return tuple(
            hmac.digest(secret, _CONTEXT + tenant.encode(), hashlib.sha256)
            for secret in self._roots()
        )

    def _roots(self) -> tuple[bytes, ...]:
        with self._lock:
            if not self._secrets:
                self._secrets = (self._stored_secret(),)
            return self._secrets

    def _stored_secret(self) -> bytes:
        """The secret of the service, created now if there is none yet."""
        key = layout.WEBHOOK_ROOT
        try:
            return self._blobs.get(key)
        except Missing:
            pass
        with contextlib.suppress(AlreadyThere):
            self._blobs.put(key, secrets.token_hex(32).encode(), create=True)
        # The stored one, whichever process was first.
        return self._blobs.get(key)


def encoded(key: bytes) -> str:
    """A key in the form given to receivers."""
    return "whsec_" + base64.b64encode(key).decode()


def sign(keys: tuple[bytes, ...], message_id: str, timestamp: int, body: bytes) -> str:
    """The header `webhook-signature`: one signature per key.

    Standard Webhooks 1.0.0, "Signature scheme": HMAC-SHA256 over `id.timestamp.body`.
    """
    signed = f"{message_id}.{timestamp}.".encode() + body
    digests = (hmac.digest(key, signed, hashlib.sha256) for key in keys)
    return " ".join("v1," + base64.b64encode(digest).decode() for digest in digests)
