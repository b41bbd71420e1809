"""Content that comes packed by gzip, zstd, bzip2, xz or as the only file of a zip archive, unpacked
in pieces while it arrives.

Everything that came packed is bounded: no piece is longer than `PIECE`, zstd may look back at most
`WINDOW_BITS`, xz may take `MOST_MEMORY`, and content that grows by more than `MOST_RATIO` is
refused, once it has more than `SLACK` bytes; so is content of very many members that hold almost
nothing. How long the whole may be is for the receiver to say, which counts the pieces.
"""

from __future__ import annotations

import bz2
import lzma
import struct
import sys
import zlib
from collections.abc import Iterator
from typing import Any, Literal, Protocol

from models.errors import UsageError
from workers.formats.endings import ENDINGS

Coding = Literal["gzip", "zstd", "bzip2", "xz", "zip"]

PIECE = 256 << 10
"""The most bytes that come out at a time."""

WINDOW_BITS = 23
"""8 MiB, as RFC 9659 bounds it for `Content-Encoding: zstd`; `zstd` writes so up to level 19."""

MOST_MEMORY = 80 << 20
"""For the dictionary of xz; its highest usual level, -9, takes 65 MiB."""

MOST_RATIO = 1000
"""gzip reaches 1032, by zeros alone."""

SLACK = 16 << 20

SPARE_MEMBERS = 1000
"""So many members or frames may hold next to nothing; more are refused with `archive-bomb`."""

MEMBER_IN, MEMBER_OUT = 256, 1024
"""Bytes that a further one has on average, packed or unpacked; `bgzip` begins one every 64 KiB."""

STEP = 64 << 10
"""What is fed to a decoder at a time: each member copies what is left of it."""

_MAGIC: dict[bytes, Coding] = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bzip2",
    b"\xfd7zXZ\0": "xz",
}

_FILE, _DIRECTORY = b"PK\x03\x04", b"PK\x01\x02"
_MOST_FOLDERS = 16
"""Entries of folders before the file of a zip archive."""
_TABLES = frozenset({"parquet", "pq", "arrow", "arrows", "feather", "ipc"})
_TYPES: dict[str, str | None] = {
    "txt": "text/csv",
    **dict.fromkeys(_TABLES, None),
    **{
        ending: each.media_type
        for ending, each in ENDINGS.items()
        if not (each.binary or each.tree)
    },
}
"""Endings of tables in zip archives; None: their first bytes tell their type."""

MEDIA_TYPES = frozenset(
    {"application/gzip", "application/x-gzip", "application/zstd", "application/x-zstd"}
    | {"application/x-bzip2", "application/bzip2", "application/x-xz"}
)
"""The media types of packed files, which do not say what is inside."""


class _Decoder(Protocol):
    """One member of a gzip file or frame of zstd, as `zstd.ZstdDecompressor`."""

    @property
    def eof(self) -> bool: ...

    @property
    def needs_input(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class Unpacker:
    """Unpacks what is fed to it, of one or several members or frames."""

    def __init__(self, coding: Coding) -> None:
        self.coding = coding
        self._decoder = _decoder(coding)
        self._n_in = self._n_out = self._n_members = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The pieces that `data` unpacks to, none of them empty; to be exhausted before more is
        fed.

        Raises UsageError `invalid-file` for what is not of this coding, `archive-bomb` for content
        that grows too much, or has too many members.
        """
        for start in range(0, len(data), STEP):
            yield from self._feed(data[start : start + STEP])

    def _feed(self, data: bytes) -> Iterator[bytes]:
        self._n_in += len(data)
        while data or not self._decoder.needs_input:
            if self._decoder.eof:
                data = data or self._decoder.unused_data
                # gzip and xz files may be padded with zeros.
                data = data.lstrip(b"\0") if self.coding in ("gzip", "xz") else data
                # What follows the file of an archive is its directory.
                data = b"" if self.coding == "zip" else data
                if not data:
                    return
                self._decoder = _decoder(self.coding)
                self._require_few_members()
            try:
                piece = self._decoder.decompress(data, PIECE)
            except _errors() as error:
                raise UsageError(
                    f"The content is not valid {self.coding}: {str(error)[:200].rstrip('.')}.",
                    code="invalid-file",
                ) from None
            data = self._decoder.unused_data if self._decoder.eof else b""
            self._n_out += len(piece)
            if self._n_out > SLACK + MOST_RATIO * self._n_in:
                raise UsageError(
                    f"The content grows to more than {MOST_RATIO} times its length when it is "
                    "unpacked; send it unpacked.",
                    code="archive-bomb",
                )
            if piece:
                yield piece
            if self._decoder.eof and not data:
                return

    def _require_few_members(self) -> None:
        self._n_members += 1
        most = SPARE_MEMBERS + self._n_in // MEMBER_IN + self._n_out // MEMBER_OUT
        if self._n_members > most:
            raise UsageError(
                f"The content has more than {most:,} members or frames that hold almost nothing; "
                "pack it as one.",
                code="archive-bomb",
            )

    def end(self) -> None:
        """Raise UsageError `truncated` where the content breaks off."""
        if not self._decoder.eof:
            raise UsageError(f"The {self.coding} content breaks off.", code="truncated")


def coding_of(head: bytes) -> Coding | None:
    """The coding of a file that begins with these bytes; None for one that is not packed."""
    found = next((coding for magic, coding in _MAGIC.items() if head.startswith(magic)), None)
    return "zip" if head.startswith(_FILE) and _ending(head) in _TYPES else found


def inner_type(head: bytes) -> str | None:
    """The media type of the table in a zip archive, by its name."""
    return _TYPES.get(_ending(head))


def _ending(head: bytes) -> str:
    """That of the name of the first file of a zip archive."""
    for _ in range(_MOST_FOLDERS):
        head = head[_folder(head) :]
    name = head[30 : 30 + int.from_bytes(head[26:28], "little")]
    return name.rpartition(b".")[2].decode("utf-8", "replace").lower()


def _folder(head: bytes) -> int:
    """The length of the entry of a folder that a zip archive begins with; 0 for a file."""
    n_packed, n_unpacked, n_name, n_more = struct.unpack("<IIHH", head[18:30].ljust(12, b"\0"))
    # Nothing, deflated, is two bytes.
    empty = head.startswith(_FILE) and not any(head[6:8]) and n_packed <= 2 and not n_unpacked
    folder = empty and head[30 : 30 + n_name].endswith(b"/")
    return int(30 + n_name + n_more + n_packed) if folder else 0


class _Zip:
    """The only file of a zip archive, in the manner of `ZstdDecompressor`.

    Folders before it and files that macOS adds (`__MACOSX/`) count as none. Raises zlib.error for a
    second file, and for one that is encrypted or packed by another method than deflate.
    """

    def __init__(self) -> None:
        self.eof = False
        self.unused_data = b""
        self._head = self._tail = b""
        self._n_folders = 0
        self._inflater: Any = None
        self._stored = 0
        self._held = b""

    @property
    def needs_input(self) -> bool:
        if self._stored:
            return not self._held
        inside = self._inflater is not None and not self._inflater.eof
        return self.eof or not (inside and self._inflater.unconsumed_tail)

    def decompress(self, data: bytes, max_length: int) -> bytes:
        if self._inflater is None and not self._stored:
            data = self._begun(data)
        if self._stored:
            self._held += data
            piece = self._held[: min(self._stored, max_length)]
            self._held = self._held[len(piece) :]
            self._stored -= len(piece)
            if not self._stored:
                self._end(self._held)
            return piece
        if self._inflater is None:
            return b""
        if self._inflater.eof:
            self._end(data)
            return b""
        piece = bytes(self._inflater.decompress(self._inflater.unconsumed_tail + data, max_length))
        if self._inflater.eof:
            self._end(self._inflater.unused_data)
        return piece

    def _begun(self, data: bytes) -> bytes:
        """Read the header of the file; what follows it."""
        self._head += data
        while n_folder := _folder(self._head):
            if len(self._head) < n_folder:
                return b""
            self._head = self._head[n_folder:]
            self._n_folders += 1
            if self._n_folders > _MOST_FOLDERS:
                raise zlib.error("many folders stand before the file inside")
        if len(self._head) < 30:
            return b""
        flags, method, size, n_name, n_more = (
            int.from_bytes(self._head[at : at + n], "little")
            for at, n in ((6, 2), (8, 2), (18, 4), (26, 2), (28, 2))
        )
        begin = 30 + n_name + n_more
        if len(self._head) < begin:
            return b""
        if flags & 1 or method not in (0, 8) or (method == 0 and (flags & 8 or not size)):
            raise zlib.error("the file inside is encrypted or packed in a way that is not accepted")
        if method == 8:
            self._inflater = zlib.decompressobj(-15)
        else:
            self._stored = size
        rest, self._head = self._head[begin:], b""
        return rest

    def _end(self, data: bytes) -> None:
        """What follows the file: its lengths, then the directory or another file."""
        self._tail += data
        begin = min((at for at in map(self._tail.find, (_FILE, _DIRECTORY)) if at >= 0), default=-1)
        if begin < 0 or begin > 24 or len(self._tail) < begin + 40:
            if len(self._tail) > 64:
                raise zlib.error("what follows the file inside is no directory")
            return
        another = self._tail.startswith(_FILE, begin)
        if another and not self._tail.startswith(b"__MACOSX", begin + 30):
            raise zlib.error("it holds several files; upload the one that is meant")
        self.eof, self._tail = True, b""


class _Gzip:
    """A member of a gzip file, in the manner of `ZstdDecompressor`."""

    def __init__(self) -> None:
        self._inflater = zlib.decompressobj(31)

    @property
    def eof(self) -> bool:
        return self._inflater.eof

    @property
    def needs_input(self) -> bool:
        return self.eof or not self._inflater.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._inflater.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._inflater.decompress(self._inflater.unconsumed_tail + data, max_length)


def _decoder(coding: Coding) -> _Decoder:
    if coding == "gzip":
        return _Gzip()
    if coding == "zip":
        return _Zip()
    if coding == "bzip2":
        return bz2.BZ2Decompressor()
    if coding == "xz":
        return lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=MOST_MEMORY)
    zstd = zstd_module()
    options = {zstd.DecompressionParameter.window_log_max: WINDOW_BITS}
    decoder: _Decoder = zstd.ZstdDecompressor(options=options)
    return decoder


def _errors() -> tuple[type[Exception], ...]:
    # bz2 raises OSError.
    return (zlib.error, zstd_module().ZstdError, lzma.LZMAError, OSError)


def zstd_module() -> Any:
    """The module of Python 3.14, or its backport."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd
