"""The keys of the API, kept in the store: their SHA-256, never the keys themselves.

A key has an object that never changes, `service/keys/<id>/key.json`, and for each revocation one
whose name holds the time, `service/keys/<id>/revoked.<ms>`; the earliest counts. All are
create-only, so operators need no lock, and a reader learns every change from one listing: it reads
only the objects that it has not seen.

The last use of a key is another object, written by the processes that saw the key, at most once a
minute each; it says when the key was used last to within two minutes.
"""

from __future__ import annotations

import hashlib
import logging
import re
import secrets
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

from workers.errors import AlreadyThere, Damaged, Missing
from workers.model import new_id
from workers.settings import TENANT, Limits
from workers.stores.objects import layout
from workers.stores.objects.blobs import Blobs
from workers.stores.objects.seals import read_model, sealed, unsealed
from workers.stores.reach import Reach

Role = Literal["read", "write", "admin"]
"""`read` may look at everything of its tenant, `write` also change it; `admin` also sees what is
the whole service's, its metrics."""

ROLES: tuple[Role, ...] = ("read", "write", "admin")
LONGEST_NAME = 200
MOST_OBJECTS = 1000
MOST_TAGS = 50
LONGEST_TAG = 100

_FORM = re.compile(r"umbel_([0-9a-hjkmnp-tv-z]{26})_[A-Za-z0-9_-]{43}")
_OBJECT = re.compile(r"[a-z]{2,4}_[0-9a-hjkmnp-tv-z]{26}")
_KEY, _REVOKED = "key.json", "revoked."
_log = logging.getLogger(__name__)


class Key(BaseModel):
    """What is kept of a key.

    digest : the SHA-256 of the key, in hexadecimal. A key has 256 random bits, so that a plain
        digest of it is safe to keep. replaces : the key after which it was made. objects,
        tags : what it reaches, by ids or tags; none of both: everything of its tenant.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str
    tenant: str
    role: Role
    name: str | None
    digest: str
    created_at: datetime
    expires_at: datetime | None
    limits: Limits = Limits()
    replaces: str | None = None
    objects: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()

    @property
    def reach(self) -> Reach | None:
        """To what it is limited; None where it reaches everything of its tenant."""
        return Reach.of(self.objects, self.tags)


class _Use(BaseModel):
    """When a key was used last."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    at: str


@dataclass(frozen=True, slots=True)
class KnownKey:
    """A key as the store has it now. revoked_at : from when it is not valid any more."""

    key: Key
    revoked_at: datetime | None

    def refusal(self, now: datetime) -> str | None:
        """Why the key is not valid at this time; None if it is."""
        if self.revoked_at is not None and self.revoked_at <= now:
            return "The key was revoked"
        if self.key.expires_at is not None and self.key.expires_at <= now:
            return f"The key expired at {rfc3339(self.key.expires_at)}"
        return None


class Keys:
    """The keys of one store. Threads may share it."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._lock = threading.Lock()
        self._read: dict[str, Key | None] = {}

    def add(
        self,
        tenant: str,
        role: Role,
        *,
        name: str | None = None,
        expires_at: datetime | None = None,
        limits: Limits | None = None,
        replaces: str | None = None,
        objects: Sequence[str] = (),
        tags: Sequence[str] = (),
    ) -> tuple[Key, str]:
        """A new key: what is kept of it, and the key itself, which is nowhere else.

        Raises ValueError for what cannot be a tenant, an expiry that has passed, a long name,
        objects that are no ids, tags that nothing can have, and for a limited administrator.
        """
        require_tenant(tenant)
        if name is not None and len(name) > LONGEST_NAME:
            raise ValueError(f"A key's name has at most {LONGEST_NAME} characters.")
        now = datetime.now(UTC)
        if expires_at is not None and expires_at <= now:
            raise ValueError(f"{rfc3339(expires_at)} has passed; a key expires in the future.")
        require_limits(role, objects, tags)
        key_id = new_id("key")
        secret = f"umbel_{key_id.partition('_')[2]}_{secrets.token_urlsafe(32)}"
        key = Key(
            id=key_id,
            tenant=tenant,
            role=role,
            name=name,
            digest=digest_of(secret),
            created_at=now,
            expires_at=expires_at,
            limits=limits or Limits(),
            replaces=replaces,
            objects=tuple(dict.fromkeys(objects)),
            tags=tuple(dict.fromkeys(tags)),
        )
        place = layout.key(key_id, _KEY)
        self._blobs.put(place, sealed(place, key.model_dump_json().encode()), create=True)
        return key, secret

    def revoke(self, key_id: str, at: datetime) -> None:
        """Make a key invalid from `at` on, or from an earlier revocation."""
        name = f"{_REVOKED}{max(0, int(at.timestamp() * 1000)):015d}"
        try:
            place = layout.key(key_id, name)
            self._blobs.put(place, sealed(place, b"{}"), create=True)
        except AlreadyThere:
            return

    def all(self) -> dict[str, KnownKey]:
        """Every key by its id: one listing, and a read of each key not seen before.

        An object that is not of a key is left out, with a warning in the log.
        """
        revoked: dict[str, int] = {}
        ids: set[str] = set()
        for path in self._blobs.keys(layout.KEYS):
            key_id, _, name = path.removeprefix(layout.KEYS).partition("/")
            if name == _KEY:
                ids.add(key_id)
            elif name.startswith(_REVOKED) and name[len(_REVOKED) :].isdecimal():
                at = int(name[len(_REVOKED) :])
                revoked[key_id] = min(at, revoked.get(key_id, at))
        with self._lock:
            unseen = ids - self._read.keys()
        read = {key_id: self._stored(key_id) for key_id in sorted(unseen)}
        with self._lock:
            self._read |= read
            kept = {key_id: key for key_id in ids if (key := self._read.get(key_id)) is not None}
        return {
            key_id: KnownKey(key, _moment(revoked[key_id]) if key_id in revoked else None)
            for key_id, key in kept.items()
        }

    def note_use(self, key_id: str, at: datetime) -> None:
        """Keep that a key was used at this time, to the minute."""
        place = layout.key_use(key_id)
        use = _Use(at=rfc3339(at.replace(second=0, microsecond=0)))
        self._blobs.put(place, sealed(place, use.model_dump_json().encode()))

    def last_use(self, key_id: str) -> datetime | None:
        """When a key was used last, to the minute; None if it never was."""
        try:
            return use_in(layout.key_use(key_id), self._blobs.get(layout.key_use(key_id)))
        except (Missing, Damaged):
            return None

    def _stored(self, key_id: str) -> Key | None:
        try:
            key = read_model(self._blobs, layout.key(key_id, _KEY), Key)
        except (Missing, Damaged):
            key = None
        if key is None or key.id != key_id or not TENANT.fullmatch(key.tenant):
            _log.warning("the object of key %r cannot be used; nobody is admitted by it", key_id)
            return None
        return key


def require_tenant(tenant: str) -> None:
    """Raise ValueError unless the name has only lower-case letters, digits, `-` and `_`."""
    if not TENANT.fullmatch(tenant):
        raise ValueError(
            f"A tenant is up to 63 lower-case letters, digits, '-' and '_', not {tenant!r}."
        )


def require_limits(role: Role, objects: Sequence[str], tags: Sequence[str]) -> None:
    """Raise ValueError for what a key cannot be limited to."""
    if (objects or tags) and role == "admin":
        raise ValueError(
            "A key of the role admin sees the whole service: it cannot be limited to objects or "
            "tags; use the role read or write."
        )
    if len(objects) > MOST_OBJECTS or len(tags) > MOST_TAGS:
        raise ValueError(
            f"A key is limited to at most {MOST_OBJECTS} objects and {MOST_TAGS} tags; give the "
            "objects a tag."
        )
    for own_id in objects:
        if not _OBJECT.fullmatch(own_id):
            raise ValueError(
                f"{own_id!r} is not the id of a dataset, job, tree, model or of what is made of "
                "one, as tr_01kamjx5w0n5zr4v8cqe2t7h3f."
            )
    for tag in tags:
        if not tag or len(tag) > LONGEST_TAG or not tag.isprintable() or tag != tag.strip():
            raise ValueError(
                f"{tag[:LONGEST_TAG]!r} cannot be a tag: printable text of 1 to {LONGEST_TAG} "
                "characters without spaces at its ends."
            )


def id_in(secret: str) -> str | None:
    """The id that a key of the store says it has; None for a key of another form."""
    match = _FORM.fullmatch(secret)
    return None if match is None else f"key_{match[1]}"


def digest_of(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


def use_in(key: str, stored: bytes) -> datetime:
    """The time that an object of a key's use holds; Damaged where it holds none. Earlier versions
    stored the time alone."""
    try:
        content, _ = unsealed(key, stored)
        if content.startswith(b"{"):
            return datetime.fromisoformat(_Use.model_validate_json(content).at)
        return datetime.fromisoformat(content.decode())
    except ValueError as error:
        raise Damaged(key, "it cannot be read") from error


def rfc3339(moment: datetime) -> str:
    """A time in UTC, to the second."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _moment(ms: int) -> datetime:
    try:
        return datetime.fromtimestamp(ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return datetime.max.replace(tzinfo=UTC)
