"""Copies of a whole store: backup while the service runs, and restore.

A copy has the same layout as a store, so that a service can also be started on it. What refers to
other objects is copied before them (an end before the files that it names), because everything is
written in the opposite order: what a copied object refers to is there by then, unless it was
deleted meanwhile, and then the last step removes the referring object too. A job that runs is
copied without its end and with its open marker: where the copy is restored, it runs again.

Left out: shares of running fits and checkpoints, which save time and no more.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from itertools import islice
from typing import Any

from workers.errors import FatalError, Missing
from workers.model import now
from workers.stores.objects import layout
from workers.stores.objects.blobs import Blobs
from workers.stores.objects.format import FORMAT, open_store, require_readable
from workers.stores.objects.job_files import REQUEST
from workers.stores.objects.layout import BACKUP_MARK

_CONTENT, _META = "/content", "/meta.json"

KeyGroup = tuple[str, Callable[[str], bool]]
"""A folder, and which of its keys."""

_GROUPS: tuple[KeyGroup, ...] = (
    ("open/", lambda _: True),
    ("service/", lambda key: key != BACKUP_MARK),
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
_FOLDERS = tuple(dict.fromkeys(folder for folder, _ in _GROUPS))
_CHANGING = "service/"
"""Objects here may be written again under the same key; all others are written once."""

_SMALL = 1 << 20
_THREADS = 8
_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class Copied:
    """What the copy has, and how many objects were written and removed for it now."""

    n_objects: int
    n_bytes: int
    n_written: int
    n_removed: int = 0


def back_up(source: Blobs, target: Blobs) -> Copied:
    """Make `target` a copy of `source`, which may be at work.

    What an earlier copy there has is not written again; what the source no longer has is removed.
    O(objects), in time and for their keys in memory.

    Raises ------
    FatalError : the source is empty or of a newer version, or the target is a store and no copy.
    TransientError : one of them does not answer; call again to go on.
    """
    require_readable(source)
    if not _has_data(source):
        raise FatalError("The store is empty: nothing was copied, and nothing removed.")
    if target.size(BACKUP_MARK) is None and _has_data(target):
        raise FatalError("The target has data and is no backup; choose an empty place.")
    target.put(BACKUP_MARK, b"{}")  # A backup, but not a whole one.
    n_written = sum(_copy(source, target, group) for group in _GROUPS)
    gone = [key for folder in _FOLDERS for key in _gone(source, target, folder)]
    # A job or an upload that is gone by now may have become a dataset since they were copied, and a
    # change by a user may have replaced another one.
    n_written += sum(_copy(source, target, group) for group in _AGAIN)
    for key in gone:
        target.delete(key)
    _remove_incomplete(target)
    sizes = [size for folder in _FOLDERS for key, size in target.sizes(folder) if _kept(key)]
    copied = Copied(len(sizes), sum(sizes), n_written, len(gone))
    target.put(
        BACKUP_MARK,
        json.dumps(
            {
                "at": now(),
                "version": version("umbel"),
                "format": FORMAT,
                "objects": copied.n_objects,
                "bytes": copied.n_bytes,
            }
        ).encode(),
    )
    return copied


def restore(source: Blobs, target: Blobs) -> Copied:
    """Copy the backup `source` into the empty store `target`; nothing may work on either.

    In the opposite order, so that nothing refers to what is not there yet.

    Raises ------
    FatalError : the source is no whole backup, lacks objects or is of a newer version, or the
        target is not empty.
    TransientError : one of them does not answer; call again to go on.
    """
    require_readable(source)
    whole = _mark(source)
    if not whole.get("objects"):
        raise FatalError("This is no backup, or one that was not completed; make it again.")
    sizes = [size for folder in _FOLDERS for key, size in source.sizes(folder) if _kept(key)]
    if (len(sizes), sum(sizes)) != (whole["objects"], whole["bytes"]):
        raise FatalError(
            f"The backup was made with {whole['objects']} objects of {whole['bytes']} bytes and "
            f"has {len(sizes)} of {sum(sizes)}: it is damaged."
        )
    if target.size(BACKUP_MARK) is None and _has_data(target):
        raise FatalError("The store to restore into is not empty; choose an empty one.")
    target.put(BACKUP_MARK, b"{}")  # So that it can be continued.
    n_written = sum(_copy(source, target, group) for group in reversed(_GROUPS))
    target.delete(BACKUP_MARK)
    open_store(target)
    return Copied(len(sizes), sum(sizes), n_written)


def _has_data(blobs: Blobs) -> bool:
    return any(True for folder in _FOLDERS if folder != _CHANGING for _ in blobs.keys(folder))


def _kept(key: str) -> bool:
    return key != BACKUP_MARK


def _mark(blobs: Blobs) -> dict[str, Any]:
    try:
        mark = json.loads(blobs.get(BACKUP_MARK))
    except (Missing, ValueError):
        return {}
    return mark if isinstance(mark, dict) else {}


def _copy(source: Blobs, target: Blobs, group: KeyGroup) -> int:
    """Copy what the target lacks of a group; returns the number of objects written."""
    folder, belongs = group
    there = {} if folder == _CHANGING else dict(target.sizes(folder))
    missing = (
        (key, size) for key, size in source.sizes(folder) if belongs(key) and there.get(key) != size
    )
    n_written = 0
    with ThreadPoolExecutor(_THREADS, "copy") as pool:
        while batch := list(islice(missing, _AT_ONCE)):
            n_written += sum(pool.map(lambda item: _copy_one(source, target, *item), batch))
    return n_written


def _copy_one(source: Blobs, target: Blobs, key: str, size: int) -> bool:
    """False if it was deleted meanwhile."""
    try:
        if size <= _SMALL:
            target.put(key, source.get(key))
        else:
            target.put_file(key, source.local_path(key))
    except Missing:
        return False
    return True


def _gone(source: Blobs, target: Blobs, folder: str) -> Iterator[str]:
    """What the target has and the source has not: it was deleted, or has become something else.

    An open marker stays while its job exists: the job may have ended after it was copied, and would
    be lost without both. Where it did end, the rebuild removes the marker.
    """
    there = set(source.keys(folder))
    for key in target.keys(folder):
        if key in there or not _kept(key):
            continue
        if folder == "open/":
            _, tenant, job_id = key.split("/")
            if source.size(layout.job(tenant, job_id, REQUEST)) is not None:
                continue
        yield key


def _remove_incomplete(target: Blobs) -> None:
    """Remove datasets that were deleted between their facts and their content."""
    keys = set(target.keys("datasets/"))
    for key in keys:
        if key.endswith(_META) and key.removesuffix(_META) + _CONTENT not in keys:
            target.delete_under(key.removesuffix(_META))
