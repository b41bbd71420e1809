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

from workers.errors import AlreadyThere, Damaged, Missing, StoreFull
from workers.settings import WorkerSettings
from workers.stores.objects import layout
from workers.stores.objects.blobs import Blobs
from workers.stores.objects.witnesses import note_made, witness_of

_CONTEXT = b"umbel webhook signing key 1\n"
_MARK = b"umbel webhook secret, which one 1\n"
_DIGITS = 64
"""Random ones of the stored secret, in hexadecimal."""


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

    def marks(self) -> set[str]:
        """What tells the secrets that sign here from others, without telling them."""
        roots = self._roots()
        return {hmac.digest(root, _MARK, hashlib.sha256).hex()[:16] for root in roots}

    def _roots(self) -> tuple[bytes, ...]:
        with self._lock:
            if not self._secrets:
                self._secrets = (self._stored_secret(),)
            return self._secrets

    def _stored_secret(self) -> bytes:
        """The secret of the service, created now if there is none yet."""
        key = layout.WEBHOOK_ROOT
        # Before the secret: another process may make both meanwhile.
        was_made = self._blobs.size(witness_of(key)) is not None
        try:
            stored = self._blobs.get(key)
        except Missing:
            if was_made:
                # Another one would sign what receivers then refuse.
                raise Damaged(key, "it is not there") from None
            secret = secrets.token_hex(32)
            with contextlib.suppress(AlreadyThere):
                self._blobs.put(key, (secret + _check(secret)).encode(), create=True)
            # The stored one, whichever process was first.
            stored = self._blobs.get(key)
        require_secret(stored)
        with contextlib.suppress(StoreFull):
            note_made(self._blobs, key, stored)
        return stored


def require_secret(stored: bytes) -> bytes:
    """The secret as stored; Damaged where it is not what was stored. It ends with digits that check
    the others; earlier versions stored 64 digits and no more."""
    text = stored.decode("ascii", "replace")
    wrong = text[_DIGITS:] != _check(text[:_DIGITS]) if len(text) != _DIGITS else False
    if wrong or not set(text) <= set("0123456789abcdef"):
        raise Damaged(layout.WEBHOOK_ROOT, "it is not the secret that was stored")
    return stored


def _check(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()[:16]


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
