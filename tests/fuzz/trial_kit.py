"""Damaged files are read in processes with bounded memory and time, as by a job.

A reader may return a value or raise UsageError. Anything else is a finding: another exception, a
signal, more than `MEMORY_BYTES`, or `LONGEST_S` of processor time, for a file of at most 256 KiB.
"""

from __future__ import annotations

import contextlib
import os
import random
import resource
import signal
import struct
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from models.errors import UsageError
from tests.fuzz.corpus_kit import ROLES, TREE
from tests.fuzz.mutation_kit import damaged
from workers.formats import catalogue
from workers.formats.trees import read_tree

MEMORY_BYTES = 1 << 30
LONGEST_S = 20
_INDEX = struct.Struct("=I")


@dataclass(frozen=True)
class Finding:
    """A file that broke its reader."""

    format: str
    content: bytes
    what: str


def read(format: str, path: Path) -> None:
    """Read the file in every way; UsageError is as good as a value."""
    if format.startswith(TREE):
        with contextlib.suppress(UsageError):
            read_tree(format.removeprefix(TREE), path)
        return
    with contextlib.suppress(UsageError):
        catalogue.format_of(None, path.read_bytes()[: 1 << 16])
    with contextlib.suppress(UsageError):
        catalogue.inspect(format, path)
    for role in ROLES:
        with contextlib.suppress(UsageError):
            catalogue.load(format, path, None, role)
    with contextlib.suppress(UsageError):
        catalogue.rows(format, path, None, "features")


def trials(
    format: str, valid: list[bytes], seed: int, n_files: int, folder: Path
) -> Iterator[Finding]:
    """Read files made from these valid ones in one process, and in another after each that ends
    its process."""
    dice = random.Random(f"{format} {seed}")
    files = [damaged(dice.choice(valid), valid, dice) for _ in range(n_files)]
    start = 0
    while start < n_files:
        last, what, findings = _batch(format, files[start:], folder)
        for index, text in findings:
            yield Finding(format, files[start + index], text)
        if what:
            yield Finding(format, files[start + last], what)
        start += last + 1


def _batch(format: str, files: list[bytes], folder: Path) -> tuple[int, str, list[tuple[int, str]]]:
    """The index of the last file that was begun, how the process ended ("": well), and what was
    raised for which file."""
    receiving, sending = os.pipe()
    report = folder / "report"
    report.unlink(missing_ok=True)
    pid = os.fork()
    if pid == 0:
        os.close(receiving)
        _read_all(format, files, folder / "file", report, sending)
        os._exit(0)
    os.close(sending)
    last = -1
    with os.fdopen(receiving, "rb") as pipe:
        while len(packed := pipe.read(_INDEX.size)) == _INDEX.size:
            (last,) = _INDEX.unpack(packed)
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    what = "" if code == 0 else f"ended by {signal.Signals(-code).name if code < 0 else code}"
    texts = report.read_text().split("\0") if report.exists() else []
    findings = [(int(n), text) for n, _, text in (t.partition(" ") for t in texts if t)]
    return last, what, findings


def _read_all(format: str, files: list[bytes], path: Path, report: Path, sending: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    bound = _data_bytes() + MEMORY_BYTES
    resource.setrlimit(resource.RLIMIT_DATA, (bound, bound))
    for index, content in enumerate(files):
        path.write_bytes(content)
        os.write(sending, _INDEX.pack(index))
        signal.setitimer(signal.ITIMER_PROF, LONGEST_S)
        try:
            read(format, path)
        except BaseException:
            with report.open("a") as out:
                out.write(f"{index} {traceback.format_exc()}\0")
        signal.setitimer(signal.ITIMER_PROF, 0)


def _data_bytes() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmData:"))
