"""Copies of a whole store: backup while the service runs, and restore.

A copy has the same layout as a store, so that a service can also be started on it. What refers to
other objects is copied before them (an end before the files that it names), because everything is
written in the opposite order: what a copied object refers to is there by then, unless it was
deleted meanwhile, and then the last step removes the referring object too. A job that runs is
copied without its end and with its open marker: where the copy is restored, it runs again.

A backup says of each of its objects the length and the SHA-256. All are read and compared when it
is made again and when it is restored; a backup in which one differs or is missing, or which has
others beside, is not restored.

Left out: shares of running fits and checkpoints, which save time and no more. What is in quarantine
is not copied: an earlier copy of it stays, and without one its mark is copied, so that it is
damaged in the copy too.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from itertools import islice
from typing import Any

from workers.errors import Damaged, FatalError, Missing
from workers.model import now
from workers.stores.objects import layout
from workers.stores.objects.address import require_apart
from workers.stores.objects.blobs import Blobs
from workers.stores.objects.digests import damaged_content, digest_of
from workers.stores.objects.format import FORMAT, open_store, require_readable
from workers.stores.objects.job_files import REQUEST
from workers.stores.objects.layout import (
    AUDIT,
    BACKUP_MARK,
    BACKUP_OBJECTS,
    QUARANTINE,
    VERIFICATION,
)
from workers.stores.objects.quarantine import Mark, marks
from workers.stores.objects.seals import read_sealed, sealed

_CONTENT, _META = "/content", "/meta.json"

KeyGroup = tuple[str, Callable[[str], bool]]
"""A folder, and which of its keys."""

_GROUPS: tuple[KeyGroup, ...] = (
    ("open/", lambda _: True),
    ("service/", lambda key: _kept(key)),
    (AUDIT, lambda _: True),
    ("jobs/", lambda _: True),
    ("uploads/", lambda key: "/bytes/" not in key),
    # After uploads and jobs, of which datasets are made: what is gone there is here by now.
    ("attempts/", lambda _: True),
    ("datasets/", lambda key: not key.endswith(_CONTENT)),
    ("uploads/", lambda key: "/bytes/" in key),
    ("datasets/", lambda key: key.endswith(_CONTENT)),
)
_AGAIN: tuple[KeyGroup, ...] = (
    ("jobs/", lambda key: "/annotations/" in key or "/editions/" in key),
    *(group for group in _GROUPS if group[0] == "datasets/"),
)
"""What may have come in place of something else since the first look."""
_FOLDERS = (*dict.fromkeys(folder for folder, _ in _GROUPS), QUARANTINE)
_CHANGING = "service/"
"""Objects here may be written again under the same key; all others are written once."""

_SMALL = 1 << 20
_NAMED = 20
"""Damaged objects that a message names."""
_THREADS = 8
_AT_ONCE = 1000


Digest = tuple[int, str]
"""The length and the SHA-256 of an object."""


@dataclass(frozen=True, slots=True)
class Copied:
    """What the copy has, and how many objects were written and removed for it now.

    damaged : what is in quarantine in the source; an earlier copy of it was kept where there was
    one.
    """

    n_objects: int
    n_bytes: int
    n_written: int
    n_removed: int = 0
    damaged: tuple[str, ...] = ()


def back_up(source: Blobs, target: Blobs) -> Copied:
    """Make `target` a copy of `source`, which may be at work.

    What an earlier copy there has is not written again, but for what is damaged there; what the
    source no longer has is removed. Reads all of both, and O(objects) for their keys in memory.

    Raises ------
    FatalError : the source is empty, of a newer version, or has content that is not what was
        uploaded or computed; the target is a store and no copy, or one of them is in the other.
    TransientError : one of them does not answer; call again to go on.
    """
    require_apart(source.place, target.place)
    require_readable(source)
    if not _has_data(source):
        raise FatalError("The store is empty: nothing was copied, and nothing removed.")
    if target.size(BACKUP_MARK) is None and _has_data(target):
        raise FatalError("The target has data and is no backup; choose an empty place.")
    marked = marks(source)
    damaged = [*source.strays(""), *damaged_content(source)]
    if damaged := sorted({*damaged} - marked.keys()):
        raise FatalError(
            f"{_damage('The store', damaged)} `umbel verify` puts them into quarantine; a backup "
            "then leaves them out."
        )
    earlier = _listed_before(target)
    target.put(BACKUP_MARK, b"{}")  # A backup, but not a whole one.
    for key in [*target.strays("")]:
        target.delete(key)
    n_written = sum(_copy(source, target, group, marked) for group in _GROUPS)
    gone = [key for folder in _FOLDERS for key in _gone(source, target, folder, marked)]
    # A job or an upload that is gone by now may have become a dataset since they were copied, and a
    # change by a user may have replaced another one.
    n_written += sum(_copy(source, target, group, marked) for group in _AGAIN)
    for key in gone:
        target.delete(key)
    _copy_marks(source, target, marked, earlier)
    _remove_incomplete(target, marked)
    objects = _digests(target)
    n_bytes = sum(size for size, _ in objects.values())
    copied = Copied(len(objects), n_bytes, n_written, len(gone), tuple(sorted(marked)))
    listed = _listed(objects)
    target.put(BACKUP_OBJECTS, listed)
    whole = json.dumps(
        {
            "at": now(),
            "version": version("umbel"),
            "format": FORMAT,
            "objects": copied.n_objects,
            "bytes": copied.n_bytes,
            "listed": hashlib.sha256(listed).hexdigest(),
        }
    )
    target.put(BACKUP_MARK, sealed(BACKUP_MARK, whole.encode()))
    return copied


def restore(source: Blobs, target: Blobs) -> Copied:
    """Copy the backup `source` into the empty store `target`; nothing may work on either.

    In the opposite order, so that nothing refers to what is not there yet.

    Raises ------
    FatalError : the source is no whole backup, lacks objects or is of a newer version, or the
        target is not empty.
    TransientError : one of them does not answer; call again to go on.
    """
    require_apart(source.place, target.place)
    objects, damaged = _compared(source)
    if damaged:
        raise FatalError(_damage("The backup", damaged))
    if target.size(BACKUP_MARK) is None and _has_data(target):
        raise FatalError("The store to restore into is not empty; choose an empty one.")
    target.put(BACKUP_MARK, b"{}")  # So that it can be continued.
    n_written = _copy(source, target, (QUARANTINE, lambda _: True))
    n_written += sum(_copy(source, target, group) for group in reversed(_GROUPS))
    # What was read a moment ago may have changed since.
    there = _digests(target)
    if damaged := [key for key, digest in objects.items() if there.get(key) != digest]:
        raise FatalError(_damage("What was restored", damaged))
    target.delete(BACKUP_MARK)
    open_store(target)
    return Copied(len(objects), sum(size for size, _ in objects.values()), n_written)


def check_backup(backup: Blobs) -> tuple[int, int, list[str]]:
    """The objects of a backup and their bytes, and the names of what differs from its list, is
    missing or does not belong there. Reads all of it.

    Raises FatalError where it is no whole backup, or of a newer version.
    """
    objects, damaged = _compared(backup)
    return len(objects), sum(size for size, _ in objects.values()), damaged


def _compared(backup: Blobs) -> tuple[dict[str, Digest], list[str]]:
    strays = [*backup.strays("")]
    if {BACKUP_MARK, BACKUP_OBJECTS, layout.FORMAT_MARK} & {*strays}:
        # Without these nothing says what a backup has.
        raise FatalError(_damage("The backup", strays))
    require_readable(backup)
    whole = _mark(backup)
    if not whole.get("objects"):
        raise FatalError("This is no backup, or one that was not completed; make it again.")
    objects = _digests(backup)
    return objects, [*strays, *_differences(backup, whole, objects)]


def _has_data(blobs: Blobs) -> bool:
    return any(True for folder in _FOLDERS if folder != _CHANGING for _ in blobs.keys(folder))


def _kept(key: str) -> bool:
    return key not in (BACKUP_MARK, BACKUP_OBJECTS, VERIFICATION)


def _mark(blobs: Blobs) -> dict[str, Any]:
    try:
        mark = json.loads(read_sealed(blobs, BACKUP_MARK))
    except (Missing, ValueError, Damaged):
        return {}
    return mark if isinstance(mark, dict) else {}


def _digests(blobs: Blobs) -> dict[str, Digest]:
    """The length and digest of each object of a backup, read now."""
    keys = [key for folder in _FOLDERS for key in blobs.keys(folder) if _kept(key)]
    with ThreadPoolExecutor(_THREADS, "digest") as pool:
        return dict(zip(keys, pool.map(lambda key: digest_of(blobs, key), keys), strict=True))


def _listed(objects: Mapping[str, Digest]) -> bytes:
    lines = (f"{size} {sha256} {key}\n" for key, (size, sha256) in sorted(objects.items()))
    return "".join(lines).encode()


def _differences(
    backup: Blobs, whole: Mapping[str, Any], objects: Mapping[str, Digest]
) -> list[str]:
    """The objects of a backup that are not as its list has them.

    A backup of a version that kept no list is held to its numbers, and to the digests of what was
    uploaded and computed.
    """
    if "listed" not in whole:
        has = (len(objects), sum(size for size, _ in objects.values()))
        if has != (whole["objects"], whole["bytes"]):
            return [
                f"it was made with {whole['objects']} objects of {whole['bytes']} bytes and has "
                f"{has[0]} of {has[1]}"
            ]
        return [*damaged_content(backup)]
    try:
        listed = backup.get(BACKUP_OBJECTS)
    except Missing:
        listed = b""
    if hashlib.sha256(listed).hexdigest() != whole["listed"]:
        return [BACKUP_OBJECTS]
    expected = _parsed(listed)
    foreign = {
        key for key in backup.keys("") if _kept(key) and not layout.is_ping(key)
    } - expected.keys()
    return sorted(foreign | {key for key, digest in expected.items() if objects.get(key) != digest})


def _parsed(listed: bytes) -> dict[str, Digest]:
    expected = {}
    for line in listed.decode().splitlines():
        size, sha256, key = line.split(" ", 2)
        expected[key] = (int(size), sha256)
    return expected


def _listed_before(target: Blobs) -> dict[str, Digest]:
    """What an earlier copy has listed; nothing where its list is not the one that it was made
    with."""
    try:
        listed = target.get(BACKUP_OBJECTS)
    except Missing:
        return {}
    whole = hashlib.sha256(listed).hexdigest() == _mark(target).get("listed")
    return _parsed(listed) if whole else {}


def _copy_marks(
    source: Blobs, target: Blobs, marked: Mapping[str, Mark], earlier: Mapping[str, Digest]
) -> None:
    """Copy the marks of what the target does not have whole from earlier."""
    needed = set()
    for key in marked:
        try:
            has = digest_of(target, key)
        except Missing:
            has = None
        if has is None or has != earlier.get(key):
            target.delete(key)
            needed.add(QUARANTINE + key)
    for place in {*target.keys(QUARANTINE)} - needed:
        target.delete(place)
    for place in needed:
        with suppress(Missing):
            target.put(place, source.get(place))


def _damage(what: str, names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return (
        f"{what} is damaged, so nothing was kept of this copy: {', '.join(names[:_NAMED])}{more}. "
        "These differ from what was stored, are missing, or do not belong there."
    )


def _copy(source: Blobs, target: Blobs, group: KeyGroup, left_out: Collection[str] = ()) -> int:
    """Copy what the target lacks of a group; returns the number of objects written."""
    folder, belongs = group
    there = {} if folder == _CHANGING else dict(target.sizes(folder))
    missing = (
        (key, size) for key, size in source.sizes(folder) if belongs(key) and key not in left_out
    )
    n_written = 0
    with ThreadPoolExecutor(_THREADS, "copy") as pool:
        while batch := list(islice(missing, _AT_ONCE)):
            n_written += sum(pool.map(lambda item: _copy_one(source, target, there, *item), batch))
    return n_written


def _copy_one(source: Blobs, target: Blobs, there: Mapping[str, int], key: str, size: int) -> bool:
    """False if the target has it, or it was deleted meanwhile."""
    try:
        if there.get(key) == size and digest_of(source, key) == digest_of(target, key):
            return False
        if size <= _SMALL:
            target.put(key, source.get(key))
        else:
            target.put_file(key, source.local_path(key))
    except Missing:
        return False
    return True


def _gone(source: Blobs, target: Blobs, folder: str, marked: Collection[str]) -> Iterator[str]:
    """What the target has and the source has not: it was deleted, or has become something else.

    An open marker stays while its job exists: the job may have ended after it was copied, and would
    be lost without both. Where it did end, the rebuild removes the marker.
    """
    there = set(source.keys(folder))
    if folder == QUARANTINE:
        return
    for key in target.keys(folder):
        if key in there or key in marked or not _kept(key):
            continue
        if folder == "open/":
            tenant, _, job_id = key.removeprefix(folder).partition("/")
            if source.size(layout.job(tenant, job_id, REQUEST)) is not None:
                continue
        yield key


def _remove_incomplete(target: Blobs, marked: Collection[str]) -> None:
    """Remove datasets that were deleted between their facts and their content."""
    keys = set(target.keys("datasets/"))
    for key in keys:
        content = key.removesuffix(_META) + _CONTENT
        if key.endswith(_META) and content not in keys and content not in marked:
            target.delete_under(key.removesuffix(_META))
