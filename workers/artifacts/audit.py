"""The audit log: who changed what, when and from where; who was refused, and who used a link.

Each process writes lines into a file of its scratch folder, which a kill leaves whole, and every
few seconds puts them into the store as one object that is never written again,
`audit/<day>/<ms>.<process>.<number>`: the time of its first line, the process that wrote them, and
how many it had written that day before. Files of processes that have died are put there by any
other that has the same scratch folder. A line has no body, no query and no secret.

A power cut may cost the lines of the last seconds. Where neither the folder nor the store can be
written for long, lines are left out, and a line says how many.
"""

from __future__ import annotations

import fcntl
import logging
import os
import re
import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from workers.errors import AlreadyThere, Damaged, Missing, TransientError
from workers.model import new_id, now
from workers.stores.objects.blobs import Blobs
from workers.stores.objects.layout import AUDIT
from workers.stores.objects.seals import sealed, unsealed

POSITION = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}/[0-9]{15}\.[0-9a-z]{26}\.[0-9]{8} [0-9]{1,7}")
"""The form of a position within the log."""

MOST_BYTES = 1 << 20
"""The most of one object."""
MOST_WAITING = 64 << 20
"""Bytes of lines that wait for a store that is away."""
_log = logging.getLogger("umbel")


class Event(BaseModel):
    """One line of the log.

    at : RFC 3339. actor : the id of a key or link, `environment` for a key of the settings, `local`
    without keys, `unknown` for whoever was refused. name : of the key. action : the method and the
    route's template, as `POST /v1/jobs`; `sign-in` for who was refused before a route was found.
    path : as requested, without its query. status : of the response. made : the address of what
    the request made. origin : the peer's address. forwarded : what its proxies say of the client,
    which anybody may claim. request : the id of the request. skipped : lines left out before this.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    at: str
    tenant: str | None
    actor: str
    name: str | None = None
    role: str | None = None
    action: str
    path: str
    status: int
    made: str | None = None
    origin: str | None
    forwarded: str | None = None
    request: str
    skipped: int = 0


class AuditWriter:
    """Writes the lines of one process. Threads may share it.

    folder : of the scratch folder, shared by processes.
    """

    def __init__(self, blobs: Blobs, folder: Path) -> None:
        self._blobs = blobs
        self._folder = folder
        self._process = new_id("api").partition("_")[2]
        self._lock = threading.Lock()
        self._shipping = threading.Lock()
        self._number = 0
        self._current: _Spool | None = None
        self._full: list[_Spool] = []
        self._skipped = 0

    def write(self, event: Event) -> None:
        """Write a line; a process that is killed a moment later has written it. Never raises: what
        cannot be written is counted. Some 20 us."""
        with self._lock:
            waiting = sum(len(spool.content) for spool in self._full)
            if waiting >= MOST_WAITING:
                self._skipped += 1
                return
            if self._skipped:
                event = event.model_copy(update={"skipped": self._skipped})
                self._skipped = 0
            line = event.model_dump_json(exclude_defaults=True).encode() + b"\n"
            spool = self._current
            if spool is not None and not spool.takes(event.at, len(line)):
                self._full.append(spool)
                spool = None
            if spool is None:
                self._number += 1
                spool = _Spool(self._folder, event.at, self._process, self._number)
                self._current = spool
            spool.add(line)

    def ship(self) -> None:
        """Put all that was written into the store. Raises TransientError; nothing is lost then."""
        with self._shipping:
            with self._lock:
                if self._current is not None:
                    self._full.append(self._current)
                    self._current = None
                waiting = list(self._full)
            for spool in waiting:
                _store(self._blobs, spool.name, bytes(spool.content))
                with self._lock:
                    self._full.remove(spool)
                spool.remove()

    def adopt(self) -> int:
        """Put there what dead processes have left; returns the number of their files."""
        n_adopted = 0
        with suppress(FileNotFoundError):
            for path in sorted(self._folder.iterdir()):
                n_adopted += self._adopt(path)
        return n_adopted

    def _adopt(self, path: Path) -> bool:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            content = b""
            while piece := os.read(descriptor, MOST_BYTES):
                content += piece
            # A line that a kill cut short was never answered.
            whole = content[: content.rfind(b"\n") + 1]
            if whole:
                _store(self._blobs, path.name, whole)
            path.unlink(missing_ok=True)
        except BlockingIOError:
            return False
        finally:
            os.close(descriptor)
        return True


class _Spool:
    """The lines of one future object: in memory, and in a locked file while it can be written."""

    def __init__(self, folder: Path, at: str, process: str, number: int) -> None:
        self._day = at[:10]
        ms = int(datetime.fromisoformat(at).timestamp() * 1000)
        self.name = f"{self._day}.{ms:015d}.{process}.{number:08d}"
        self.content = bytearray()
        self._path = folder / self.name
        self._descriptor: int | None = None
        try:
            folder.mkdir(0o700, parents=True, exist_ok=True)
            flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND
            self._descriptor = os.open(self._path, flags, 0o600)
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        except OSError as error:
            _log.warning("the audit log is in memory until it is in the store: %s", error)

    def takes(self, at: str, n_bytes: int) -> bool:
        return at[:10] == self._day and len(self.content) + n_bytes <= MOST_BYTES

    def add(self, line: bytes) -> None:
        self.content += line
        if self._descriptor is not None:
            with suppress(OSError):
                os.write(self._descriptor, line)

    def remove(self) -> None:
        if self._descriptor is not None:
            self._path.unlink(missing_ok=True)
            os.close(self._descriptor)
            self._descriptor = None


def _store(blobs: Blobs, name: str, lines: bytes) -> None:
    day, _, rest = name.partition(".")
    key = f"{AUDIT}{day}/{rest}"
    with suppress(AlreadyThere):  # By an earlier try whose answer was lost.
        blobs.put(key, sealed(key, lines + b"{}"), create=True)


def lines_in(key: str, stored: bytes) -> list[Event]:
    """The lines of an object. Raises Damaged."""
    content, has_seal = unsealed(key, stored)
    if not has_seal:
        raise Damaged(key, "it has no seal")
    try:
        return [Event.model_validate_json(line) for line in content.splitlines()[:-1]]
    except ValidationError as error:
        raise Damaged(key, "it cannot be read") from error


class Filter(BaseModel):
    """Which lines are wanted; None: all. action : how it begins."""

    model_config = ConfigDict(frozen=True)

    since: datetime | None = None
    until: datetime | None = None
    tenant: str | None = None
    actor: str | None = None
    action: str | None = None

    def takes(self, event: Event) -> bool:
        at = datetime.fromisoformat(event.at)
        return (
            (self.since is None or at >= self.since)
            and (self.until is None or at < self.until)
            and self.tenant in (None, event.tenant)
            and self.actor in (None, event.actor)
            and (self.action is None or event.action.startswith(self.action))
        )

    def days(self, there: list[str]) -> list[str]:
        """The days, among these, that may have some."""
        first = "" if self.since is None else f"{self.since.astimezone(UTC):%Y-%m-%d}"
        last = "9" if self.until is None else f"{self.until.astimezone(UTC):%Y-%m-%d}"
        return [day for day in there if first <= day <= last]


def found(blobs: Blobs, wanted: Filter, after: str = "") -> Iterator[tuple[str, Event | None]]:
    """The lines that are wanted, the newest object first and in it the newest line first: so in the
    order of time but for a few seconds. With each the position that follows it; (position, None)
    after each object.

    after : a position: only what follows. Raises Damaged. One listing of the days, and of each day;
    a read of each object.
    """
    start_key, _, start_line = after.partition(" ")
    keys = sorted(blobs.keys(AUDIT), reverse=True)
    days = set(wanted.days(sorted({key.split("/")[1] for key in keys})))
    for key in keys:
        name = key.removeprefix(AUDIT)
        if name.partition("/")[0] not in days or (start_key and name > start_key):
            continue
        try:
            events = lines_in(key, blobs.get(key))
        except Missing:
            continue
        left = len(events) if name != start_key else int(start_line)
        for number in range(min(left, len(events)) - 1, -1, -1):
            if wanted.takes(events[number]):
                yield f"{name} {number}", events[number]
        yield f"{name} 0", None


def expire(blobs: Blobs, days: int) -> int:
    """Remove the days that ended longer ago than this; returns the number of objects."""
    last = f"{datetime.now(UTC) - timedelta(days=days + 1):%Y-%m-%d}"
    old = [key for key in blobs.keys(AUDIT) if key.split("/")[1] < last]
    for key in old:
        blobs.delete(key)
    return len(old)


def event_of_command(action: str, tenant: str, what: str, actor: str = "operator") -> Event:
    """A line about what no request did: an operator's command on this machine, or what the service
    removes by itself."""
    return Event(
        at=now(),
        tenant=tenant,
        actor=actor,
        action=action,
        path=what,
        status=0,
        origin=None,
        request=new_id("cmd"),
    )


def note_command(blobs: Blobs, *events: Event) -> None:
    """Put lines about commands into the store at once, one object for each day. Raises
    TransientError."""
    for day in dict.fromkeys(event.at[:10] for event in events):
        some = [event for event in events if event.at.startswith(day)]
        name = f"{day}.{_ms(some[0].at):015d}.{some[0].request.partition('_')[2]}.00000001"
        lines = [event.model_dump_json(exclude_defaults=True).encode() + b"\n" for event in some]
        _store(blobs, name, b"".join(lines))


def _ms(at: str) -> int:
    return int(datetime.fromisoformat(at).timestamp() * 1000)


def try_to_ship(writer: AuditWriter) -> None:
    """Ship and adopt; where the store is away, later."""
    try:
        writer.ship()
        writer.adopt()
    except TransientError as error:
        _log.warning("the audit log is put into the store later: %s", error)
