"""The digests that the store itself keeps of what is uploaded and computed, and their comparison.

The facts of a dataset have the SHA-256 of its content, the end of a job that of each result, the
name of a part that of its bytes.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from workers.errors import Damaged, Missing
from workers.stores.objects.blobs import Blobs
from workers.stores.objects.seals import parsed, read_sealed

_REMEMBERED = 10_000
_OBJECT = TypeAdapter(dict[str, Any])


def digest_of(blobs: Blobs, key: str) -> tuple[int, str]:
    """The length and SHA-256 of an object, read now. Missing where there is none."""
    digest, size = hashlib.sha256(), 0
    for piece in blobs.read(key):
        digest.update(piece)
        size += len(piece)
    return size, digest.hexdigest()


def require_whole(blobs: Blobs, key: str, sha256: str) -> None:
    """Raises Damaged where the object's SHA-256 is another one, Missing where there is none.

    sha256 : "" where it is not known. O(length).
    """
    if sha256 and (found := digest_of(blobs, key)[1]) != sha256:
        raise Damaged(key, f"its sha256 is {found}, not {sha256}")


class Checks:
    """Files compared with their digests, once for each state of a file. Threads may share it."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._lock = threading.Lock()
        self._whole: OrderedDict[tuple[str, str, int, int, int, int], None] = OrderedDict()

    def path(self, key: str, sha256: str) -> Path:
        """As `Blobs.local_path`, of a file whose SHA-256 is this one; "" where it is not known.

        Raises Missing, and Damaged. O(length), when the file is new or was changed.
        """
        path = self._blobs.local_path(key)
        facts = path.stat()
        state = (key, sha256, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)
        with self._lock:
            if not sha256 or state in self._whole:
                return path
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != sha256:
            raise Damaged(key, f"its sha256 is {found}, not {sha256}")
        with self._lock:
            self._whole[state] = None
            while len(self._whole) > _REMEMBERED:
                self._whole.popitem(last=False)
        return path


def damaged_content(blobs: Blobs) -> Iterator[str]:
    """The keys of datasets, results and parts of uploads whose bytes are not what was stored, of
    small objects whose seal is another one, and of facts that cannot be read. What was removed
    meanwhile is left out. Reads all of it."""
    yield from _badly_sealed(blobs)
    for key, recorded, sha256 in _recorded(blobs):
        if recorded is None:
            yield key
            continue
        try:
            require_whole(blobs, recorded, sha256)
        except Damaged as error:
            yield error.key
        except Missing:
            continue


def _recorded(blobs: Blobs) -> Iterator[tuple[str, str | None, str]]:
    """For each digest: the object that has it, the object that it is of, and the digest. None for
    an object whose facts cannot be read."""
    for key in blobs.keys("datasets/"):
        if key.endswith("/meta.json"):
            facts = _facts(blobs, key)
            yield key, _beside(key, facts, "content"), str((facts or {}).get("sha256", ""))
    for key in blobs.keys("jobs/"):
        if not key.endswith("/end.json") or key.count("/") != 3:
            continue
        end = _facts(blobs, key)
        if end is None or not isinstance(end.get("files", []), list):
            yield key, None, ""
            continue
        folder = f"attempts/{key.removeprefix('jobs/').rpartition('/')[0]}/{end.get('fence')}"
        for file in end.get("files", []):
            yield key, f"{folder}/{file['name']}", file["sha256"]
    for key in blobs.keys("uploads/"):
        folder, _, name = key.rpartition("/parts/")
        if folder:
            number, stamp, _, sha256 = name.split(".")
            yield key, f"{folder}/bytes/{number}.{stamp}", sha256


def _badly_sealed(blobs: Blobs) -> Iterator[str]:
    for folder in ("datasets/", "jobs/", "uploads/", "service/"):
        for key in blobs.keys(folder):
            name = key.split("/", 3)[-1]
            if name == "content" or name.startswith(("bytes/", "parts/", "input.")):
                continue
            try:
                read_sealed(blobs, key)
            except Damaged:
                yield key
            except Missing:
                continue


def _beside(key: str, facts: dict[str, Any] | None, name: str) -> str | None:
    return None if facts is None else f"{key.rpartition('/')[0]}/{name}"


def _facts(blobs: Blobs, key: str) -> dict[str, Any] | None:
    """The facts in an object; None where it holds none, {} where it was removed meanwhile."""
    try:
        return parsed(key, read_sealed(blobs, key), _OBJECT)
    except Missing:
        return {}
    except Damaged:
        return None
