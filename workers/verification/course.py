"""A verification of the whole store: folder by folder, in the order of their names.

How far it has come is kept in the store every few seconds, so that one that was killed goes on
there. The service may be at work: what looks wrong is looked at again at the end, after a moment in
which uploads, ends and removals are done, and counts where it is wrong both times. It reads all of
the store, and holds its keys in memory.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from workers.errors import Damaged, Missing, StoreUnavailable
from workers.model import now
from workers.stores.objects.blobs import Blobs
from workers.stores.objects.digests import digest_of
from workers.stores.objects.format import UnreadableMark, require_readable
from workers.stores.objects.layout import FORMAT_MARK, QUARANTINE, VERIFICATION, WITNESSES
from workers.stores.objects.quarantine import mark, marks, unmark
from workers.stores.objects.seals import read_model, sealed, unsealed
from workers.stores.objects.witnesses import WITNESSED
from workers.verification import folders
from workers.verification.reading import Finding, Pace, Reader

SETTLE_S = 30.0
"""What looked wrong is looked at again no earlier: removals that were broken off and submissions
that were refused are done by then."""
SAVE_S = 2.0
_SKIPPED = ("pieces/", "checkpoints/")

Check = Callable[[Reader, str, Iterable[str]], None]

_CHECKS: dict[str, Check] = {
    "datasets": folders.check_dataset,
    "jobs": folders.check_job,
    "uploads": folders.check_upload,
    "service": folders.check_service,
    "audit": folders.check_audit,
    "quarantine": folders.check_mark,
    "foreign": folders.check_foreign,
}


class Progress(BaseModel):
    """How far a verification has come. doubtful : folders to look at again. n_folders : in all."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    began_at: str
    last: str = ""
    doubtful: tuple[str, ...] = ()
    n_done: int = 0
    n_folders: int = 0
    n_objects: int = 0
    n_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Verdict:
    """findings : what is wrong. n_objects, n_bytes : that were read. resumed : from where an
    earlier verification had come, "" for one from the start. restored : keys brought back from a
    backup. freed : keys that were in quarantine and are whole or gone."""

    findings: tuple[Finding, ...]
    n_objects: int
    n_bytes: int
    resumed: str = ""
    restored: tuple[str, ...] = ()
    freed: tuple[str, ...] = ()


def verify(
    blobs: Blobs,
    *,
    rate: float = 0,
    quarantine: bool = True,
    anew: bool = False,
    backup: Blobs | None = None,
    shown: Callable[[Progress], None] = lambda _: None,
    settle_s: float | None = None,
    save_s: float = SAVE_S,
) -> Verdict:
    """Compare all of a store with what it says of itself.

    blobs : without the guard of the quarantine (`bare_blobs_at`). rate : bytes a second; 0: as fast
    as it goes. quarantine : mark what is damaged or lost. anew : from the start, also where an
    earlier one was broken off. backup : from which what is damaged or lost is brought back.

    Raises FatalError for a store of a newer version, TransientError where it does not answer; call
    again to go on.
    """
    with suppress(UnreadableMark, StoreUnavailable, Damaged):  # That is a finding, or shows itself.
        require_readable(blobs)
    pace = Pace(rate)
    all_folders = _folders(blobs)
    progress = (None if anew else _saved(blobs)) or Progress(began_at=now())
    resumed = progress.last
    doubtful = set(progress.doubtful)
    progress = progress.model_copy(update={"n_folders": len(all_folders)})
    saved_at = time.monotonic()
    start_bytes = progress.n_bytes
    for folder in sorted(all_folders):
        if folder <= progress.last:
            continue
        if _check(blobs, pace, folder, all_folders[folder]):
            doubtful.add(folder)
        progress = progress.model_copy(
            update={
                "last": folder,
                "doubtful": tuple(sorted(doubtful)),
                "n_done": progress.n_done + 1,
                "n_objects": progress.n_objects + len(all_folders[folder]),
                "n_bytes": start_bytes + pace.n_bytes,
            }
        )
        shown(progress)
        if time.monotonic() >= saved_at + save_s:
            _save(blobs, progress)
            saved_at = time.monotonic()
    marked = marks(blobs)
    doubtful |= {folder_of(key) for key in marked}
    if progress.doubtful:
        _save(blobs, progress)
        time.sleep(SETTLE_S if settle_s is None else settle_s)
    findings = _settled(blobs, pace, doubtful)
    restored: list[str] = []
    while backup is not None:
        # Whose facts are brought back may have other objects that are damaged.
        wanted = [each for each in findings if each.key not in restored]
        brought = [each.key for each in wanted if _bring_back(blobs, backup, pace, each)]
        if not brought:
            break
        restored += brought
        findings = _settled(blobs, pace, doubtful)
    kept = {each.key for each in findings if each.what != "foreign"}
    if quarantine:
        for each in findings:
            if (each.key, each.what) == (FORMAT_MARK, "lost"):
                continue  # The next start writes it again.
            if each.key in kept and each.key not in marked and not each.key.startswith(QUARANTINE):
                mark(blobs, each.key, each.why, each.owner)
    freed = sorted(marked.keys() - kept)
    for key in freed:
        unmark(blobs, key)
    blobs.delete(VERIFICATION)
    return Verdict(
        findings=tuple(findings),
        n_objects=progress.n_objects,
        n_bytes=progress.n_bytes,
        resumed=resumed,
        restored=tuple(restored),
        freed=tuple(freed),
    )


def folder_of(key: str) -> str:
    """The folder with which an object is checked, as `<root>/<tenant>/<id>` or `service/<kind>`;
    `foreign/` and the first part of the key for what belongs to nothing."""
    parts = key.split("/")
    root = parts[0]
    if root in ("attempts", "open"):
        root = "jobs"
    if root in ("datasets", "jobs", "uploads"):
        whole = len(parts) > 3 or (parts[0] == "open" and len(parts) == 3)
        return "/".join([root, *parts[1:3]]) if whole else f"foreign/{parts[0]}"
    if root == "audit" and len(parts) == 3:
        return f"audit/{parts[1]}"
    if key in WITNESSED:
        return WITNESSES.removesuffix("/")
    if root in ("service", "quarantine") and len(parts) > 1:
        return f"{root}/{parts[1]}" if root == "service" else root
    if root in ("uninspected", "removals") and len(parts) == 3:
        return ""
    return f"foreign/{parts[0]}"


def _folders(blobs: Blobs) -> dict[str, list[str]]:
    """All keys by their folder."""
    found: dict[str, list[str]] = {}
    for key in (*blobs.keys(""), *blobs.strays("")):
        if not key.startswith(_SKIPPED) and key != VERIFICATION and (folder := folder_of(key)):
            found.setdefault(folder, []).append(key)
    return found


def _check(blobs: Blobs, pace: Pace, folder: str, keys: Iterable[str]) -> list[Finding]:
    """What is wrong with a folder whose keys are these."""
    strays = frozenset(_strays(blobs, folder))
    reader = Reader(blobs, pace, strays)
    keys = [key for key in keys if key not in strays]
    root = folder.partition("/")[0]
    _CHECKS[root](reader, folder, keys)
    owner = folder
    reader.findings += [
        Finding(key, "foreign", "it is a link or no plain file, and not followed", owner)
        for key in sorted(strays)
    ]
    return reader.findings


def _prefixes(folder: str) -> list[str]:
    root, _, rest = folder.partition("/")
    if root == "jobs":
        return [folder, f"attempts/{rest}", f"open/{rest}"]
    if f"{folder}/" == WITNESSES:
        return [folder, *WITNESSED]
    return [rest] if root == "foreign" else [folder]


def _strays(blobs: Blobs, folder: str) -> list[str]:
    return [key for prefix in _prefixes(folder) for key in blobs.strays(prefix)]


def _settled(blobs: Blobs, pace: Pace, doubtful: Iterable[str]) -> list[Finding]:
    """What is wrong with these folders now. What vanishes meanwhile was removed."""
    findings = []
    for folder in sorted(doubtful):
        if not folder:
            continue
        strays = _strays(blobs, folder)
        there = {key for prefix in _prefixes(folder) for key in _keys(blobs, prefix, strays)}
        keys = [key for key in there if folder_of(key) == folder]
        if keys or strays:
            findings += _check(blobs, pace, folder, keys)
    return findings


def _keys(blobs: Blobs, prefix: str, strays: Iterable[str]) -> list[str]:
    """The keys below a prefix, or the prefix where it is a key."""
    if prefix in strays:
        return []
    keys = [*blobs.keys(prefix)]
    if not keys:
        with suppress(Missing, StoreUnavailable, Damaged):
            blobs.local_path(prefix)
            return [prefix]
    return keys


def _bring_back(blobs: Blobs, backup: Blobs, pace: Pace, finding: Finding) -> bool:
    """Put an object back as the backup has it, if that has it whole."""
    key = finding.key
    if finding.what == "foreign":
        return False
    try:
        _, sha256 = digest_of(backup, key)
        if finding.sha256:
            if sha256 != finding.sha256:
                return False
        else:
            unsealed(key, backup.get(key))
    except (Missing, Damaged):
        return False
    blobs.put_file(key, backup.local_path(key))
    with suppress(Missing):
        pace.passed(blobs.size(key) or 0)
    return True


def _saved(blobs: Blobs) -> Progress | None:
    try:
        return read_model(blobs, VERIFICATION, Progress)
    except (Missing, Damaged):
        return None


def _save(blobs: Blobs, progress: Progress) -> None:
    content = progress.model_dump_json().encode()
    blobs.put(VERIFICATION, sealed(VERIFICATION, content))
