"""Objects read at a bounded rate and compared with their digests; what is found wrong."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from pydantic import BaseModel, TypeAdapter

from workers.errors import Damaged, Missing
from workers.stores.objects.blobs import Blobs
from workers.stores.objects.seals import parsed, require_json, unsealed

What = Literal["damaged", "lost", "foreign"]
M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong with one object.

    what : `damaged`: it is not what was stored; `lost`: something that is there needs it;
    `foreign`: nothing has put it there. why : to follow its name. owner : what it belongs to, "of
    tenant" included. sha256 : of what it should be, "" where that is not known.
    """

    key: str
    what: What
    why: str
    owner: str
    sha256: str = ""


class Pace:
    """Keeps what is read below a rate. rate : bytes a second; 0: as fast as it goes."""

    def __init__(self, rate: float, sleep: Callable[[float], None] = time.sleep) -> None:
        self._rate = rate
        self._sleep = sleep
        self._due = time.monotonic()
        self.n_bytes = 0

    def passed(self, n_bytes: int) -> None:
        """Wait as long as these bytes may take."""
        self.n_bytes += n_bytes
        if self._rate > 0:
            now = time.monotonic()
            self._due = max(self._due, now - 1) + n_bytes / self._rate
            if self._due > now:
                self._sleep(self._due - now)


@dataclass
class Reader:
    """Reads the objects of one folder of the store, and collects what is wrong with them.

    strays : links and the like, which are not followed: there is no object.
    """

    blobs: Blobs
    pace: Pace
    strays: frozenset[str] = frozenset()
    findings: list[Finding] = field(default_factory=list)

    def sealed(self, key: str, owner: str, form: TypeAdapter[T]) -> tuple[T, bool] | None:
        """A JSON object and whether it has a seal; None where it is not there or damaged."""
        content = self.json(key, owner)
        if content is None:
            return None
        try:
            return parsed(key, content[0], form), content[1]
        except Damaged as error:
            self.damaged(error, owner)
            return None

    def json(self, key: str, owner: str) -> tuple[bytes, bool] | None:
        """As `sealed`, in any form."""
        stored = self.bytes(key)
        if stored is None:
            return None
        try:
            content, has_seal = unsealed(key, stored)
            require_json(key, content)
        except Damaged as error:
            self.damaged(error, owner)
            return None
        return content, has_seal

    def bytes(self, key: str) -> bytes | None:
        """A small object; None where it is not there."""
        try:
            if key in self.strays:
                raise Missing(key)
            content = self.blobs.get(key)
        except Missing:
            return None
        self.pace.passed(len(content))
        return content

    def digest(self, key: str, sha256: str, owner: str) -> None:
        """Compare an object, which may be large, with its digest; one that is not there is lost."""
        digest = hashlib.sha256()
        try:
            if key in self.strays:
                raise Missing(key)
            for piece in self.blobs.read(key):
                digest.update(piece)
                self.pace.passed(len(piece))
        except Missing:
            self.lost(key, owner, sha256)
            return
        if digest.hexdigest() != sha256:
            why = f"its sha256 is {digest.hexdigest()}, not {sha256}"
            self.findings.append(Finding(key, "damaged", why, owner, sha256))

    def empty(self, key: str, owner: str) -> None:
        """Compare a marker, which has no content."""
        if self.bytes(key):
            self.findings.append(Finding(key, "damaged", "it is a marker, and not empty", owner))

    def damaged(self, error: Damaged, owner: str) -> None:
        self.findings.append(Finding(error.key, "damaged", error.why, owner))

    def wrong(self, key: str, why: str, owner: str) -> None:
        self.findings.append(Finding(key, "damaged", why, owner))

    def lost(self, key: str, owner: str, sha256: str = "", why: str = "it is not there") -> None:
        self.findings.append(Finding(key, "lost", why, owner, sha256))

    def foreign(self, key: str, owner: str) -> None:
        self.findings.append(Finding(key, "foreign", "nothing of the service put it there", owner))
