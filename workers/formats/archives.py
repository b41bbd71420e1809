"""Zip archives, checked by their directory before anything is unpacked.

Number and sizes of the members, the ratio of packing, encryption and doubled names are checked;
each member is then read only as far as the directory says. Nothing is ever written to disk, so a
member's name is a name alone, whatever path it spells.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from models.errors import UsageError, shown
from workers.formats.facts import Bounds
from workers.formats.refusals import broken, unsupported


@dataclass(frozen=True, slots=True)
class ArchiveKind:
    """What an archive is.

    noun : of the file, for errors: ".npz". packed_by : what makes one, for errors. advice : how to
        upload what is too large for one.
    most_directory : the most bytes that its directory may take.
    require : raises UsageError for a member that such an archive does not have.
    """

    noun: str
    packed_by: str
    advice: str
    most_directory: int
    require: Callable[[str], None]


@contextmanager
def opened(
    path: Path, kind: ArchiveKind, bounds: Bounds, most_members: int
) -> Iterator[zipfile.ZipFile]:
    """The archive. Raises UsageError `archive-bomb`, `unsupported-format`, `invalid-file`,
    `empty`; the last two also for what goes wrong while it is open."""
    _check_directory(path, kind)
    with path.open("rb") as file:
        try:
            archive = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, NotImplementedError, ValueError, OverflowError, OSError):
            raise _damaged(kind) from None
        with archive:
            _check_members(archive.infolist(), kind, bounds, most_members)
            try:
                yield archive
            except (zipfile.BadZipFile, zlib.error, EOFError):
                raise _damaged(kind) from None


@contextmanager
def member(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, kind: ArchiveKind
) -> Iterator[IO[bytes]]:
    """One member, to be read."""
    try:
        file = archive.open(info)
    except (zipfile.BadZipFile, RuntimeError, ValueError, OSError, struct.error):
        raise _damaged(kind) from None
    with file:
        yield file


def _damaged(kind: ArchiveKind) -> UsageError:
    return broken(f"The {kind.noun} file is damaged or cut short: it is not a whole zip archive.")


def _check_directory(path: Path, kind: ArchiveKind) -> None:
    """Check the directory's size before `zipfile` reads all of it."""
    size = path.stat().st_size
    if size == 0:
        raise UsageError(f"The {kind.noun} file is empty.", code="empty")
    with path.open("rb") as file:
        file.seek(max(0, size - (1 << 16) - 22 - 20))
        tail = file.read()
        at = tail.rfind(b"PK\x05\x06")
        if at < 0 or at + 22 > len(tail):
            raise _damaged(kind)
        directory = struct.unpack_from("<I", tail, at + 12)[0]
        wide = tail[at - 20 : at] if at >= 20 else b""
        if wide.startswith(b"PK\x06\x07"):
            file.seek(max(0, size - len(tail) + at - 20 - 56))
            record = file.read(56)
            if len(record) < 56:
                raise _damaged(kind)
            directory = struct.unpack_from("<Q", record, 40)[0]
    if directory > kind.most_directory:
        raise UsageError(
            f"The archive's directory takes {directory} bytes; at most {kind.most_directory} are "
            "accepted.",
            code="archive-bomb",
        )


def _check_members(
    infos: list[zipfile.ZipInfo], kind: ArchiveKind, bounds: Bounds, most_members: int
) -> None:
    if len(infos) > most_members:
        raise UsageError(
            f"The archive has {len(infos)} members; at most {most_members} are accepted.",
            code="archive-bomb",
        )
    for info in infos:
        name = info.filename
        if info.flag_bits & 0x41:
            raise unsupported(f"Member {shown(name)} of the archive is encrypted.")
        kind.require(name)
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise unsupported(
                f"Member {shown(name)} is packed by method {info.compress_type}; accepted are "
                f"{kind.packed_by}."
            )
    if len({info.filename for info in infos}) < len(infos):
        raise broken("The archive has two members of the same name.")
    total = sum(info.file_size for info in infos)
    packed = sum(info.compress_size for info in infos)
    if total > bounds.max_bytes or (
        total > bounds.ratio_floor and total > bounds.max_ratio * max(1, packed)
    ):
        raise UsageError(
            f"The archive's {packed} bytes would unpack to {total}; accepted are at most "
            f"{bounds.max_bytes}, and past {bounds.ratio_floor} at most {bounds.max_ratio} times "
            f"the packed size. {kind.advice}",
            code="archive-bomb",
            packed=packed,
            unpacked=str(total),
        )
