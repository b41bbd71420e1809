"""The keys that one process admits, and who is behind each.

Keys of the environment are read once. Keys of the store are read again every two seconds, so that
a new, revoked or rotated key is known in every process within five. While the store is away, the
keys that were known last stay valid, up to their expiry; a process that has never read them admits
only the environment's keys.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from app.http import threads
from app.http.problems import Refused
from workers.artifacts.keys import Key, Keys, KnownKey, Role, digest_of, id_in
from workers.artifacts.shares import Share
from workers.errors import TransientError
from workers.stores.reach import Reach

EVERY_S = 2.0
"""How often the store is checked for changes."""

USES_S = 60.0
"""How often the uses of keys are written."""

_NOBODY = "0" * 64
_log = logging.getLogger("umbel")


@dataclass(frozen=True, slots=True)
class Access:
    """Who sent a request, and what that caller may do. key : None for one that is not of the store.
    share : that of a link, which opens only what `app.http.sharing.opens` says. local : whether the
    service has no keys. issued : for a person or program of an issuer, whose `key` is made up of
    the group; `session` is the SHA-256 of the cookie, "" for a token.

    Keys of the environment, and the caller of a service without keys, may do everything.
    """

    tenant: str
    role: Role
    key: Key | None = None
    share: Share | None = None
    local: bool = False
    issued: bool = False
    session: str = ""

    @property
    def key_id(self) -> str | None:
        return None if self.key is None else self.key.id

    @property
    def reach(self) -> Reach | None:
        """To what it is limited; None: to nothing but its tenant."""
        return None if self.key is None else self.key.reach

    def tagged(self, tags: Sequence[str]) -> tuple[str, ...]:
        """The tags of something that this caller makes with these: under a limited key, one of the
        key's is among them. Raises Refused `forbidden` for a key that has none to give."""
        reach = self.reach
        if reach is None or any(tag in reach.tags for tag in tags):
            return tuple(tags)
        if not reach.tags:
            raise Refused(
                "forbidden",
                "This key is limited to objects that exist: it has no tag by which it would reach "
                "what it makes. Use a key with a tag (`umbel keys new --tag`).",
            )
        return (*tags, reach.tags[0])

    @property
    def called(self) -> str | None:
        """What the key is called, else its id; None for one that is not of the store."""
        return None if self.key is None else self.key.name or self.key.id


class Keyring:
    """The keys of one process. Use it on one event loop.

    environment : the tenant of each key of the settings, by the key's digest.
    on_ended : called when keys have become invalid, so that their open streams end.
    """

    def __init__(self, environment: Mapping[str, str], *, issuer: bool = False) -> None:
        """issuer : whether people sign in: then the service is not keyless."""
        self._environment = dict(environment)
        self._issuer = issuer
        self._stored: Mapping[str, KnownKey] = {}
        self._loaded = False
        self._uses: dict[str, datetime] = {}
        self._valid: frozenset[str] = frozenset()
        self.on_ended: Callable[[], None] = lambda: None

    @property
    def keyless(self) -> bool:
        """Whether no key was ever made and nobody can sign in: then only this machine is served,
        without keys.

        A key that was revoked or has expired still counts: its end opens nothing.
        """
        return self._loaded and not (self._issuer or self._environment or self._stored)

    def admit(self, secret: str) -> Access:
        """Who this key belongs to. Raises Refused `unauthenticated`, with the reason, for a key
        that is not valid, `unavailable` if the keys could not be read yet."""
        digest = digest_of(secret)
        key_id = id_in(secret)
        known = None if key_id is None else self._stored.get(key_id)
        # The id is no secret; what is secret is compared in constant time, also for unknown ids.
        if hmac.compare_digest(_NOBODY if known is None else known.key.digest, digest) and known:
            now = datetime.now(UTC)
            why = known.refusal(now)
            if why is not None:
                raise unauthenticated(
                    f"{why}; send `Authorization: Bearer <key>` with a valid one."
                )
            self._uses[known.key.id] = now
            return Access(known.key.tenant, known.key.role, known.key)
        tenant = None
        # Every key is compared, so that timing does not reveal near matches.
        for kept, owner in self._environment.items():
            if hmac.compare_digest(kept, digest):
                tenant = owner
        if tenant is not None:
            return Access(tenant, "admin")
        if not self._loaded:
            raise Refused(
                "unavailable",
                "The keys of this service cannot be read at present; try again.",
                headers={"Retry-After": "2"},
            )
        raise unauthenticated(
            "The key is not known; send `Authorization: Bearer <key>` with a key of this service."
        )

    def ended(self, access: Access) -> bool:
        """Whether the key is not valid any more by which this caller was admitted."""
        if access.key is None:
            return False
        if access.issued:
            expires_at = access.key.expires_at
            return expires_at is not None and expires_at <= datetime.now(UTC)
        known = self._stored.get(access.key.id)
        return known is None or known.refusal(datetime.now(UTC)) is not None

    async def load(self, keys: Keys) -> None:
        """Read the keys of the store. Raises what the store does."""
        self._stored = await threads.run_sync(keys.all)
        self._loaded = True
        now = datetime.now(UTC)
        valid = frozenset(i for i, known in self._stored.items() if known.refusal(now) is None)
        if self._valid - valid:
            self.on_ended()
        self._valid = valid

    async def watch(self, keys: Keys) -> None:
        """Keep up with the store, and write down uses, until cancelled."""
        written = time.monotonic()
        while True:
            await asyncio.sleep(EVERY_S)
            try:
                await self.load(keys)
                if time.monotonic() - written >= USES_S:
                    written = time.monotonic()
                    await self.write_uses(keys)
            except TransientError as error:
                _log.warning("the keys are read again later: %s", error)
                if any(known.refusal(datetime.now(UTC)) for known in self._stored.values()):
                    self.on_ended()
            except Exception:
                _log.exception("the keys are read again later")

    async def write_uses(self, keys: Keys) -> None:
        """Write down which keys were used since the last time."""
        uses, self._uses = self._uses, {}
        for key_id, at in uses.items():
            with suppress(TransientError):
                await threads.run_sync(keys.note_use, key_id, at)


def unauthenticated(detail: str) -> Refused:
    return Refused("unauthenticated", detail, headers={"WWW-Authenticate": 'Bearer realm="umbel"'})
