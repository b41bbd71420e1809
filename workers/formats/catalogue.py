"""Which formats there are, how one is told from another, and how each is read.

The type that is declared decides; where none or an unknown one is declared, the first bytes do.
A declared type that the bytes contradict is refused. Pickles are refused whatever they are called.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from models.data import Value
from models.errors import UsageError
from workers.formats import (
    arrow,
    csv,
    json,
    jsonl,
    libsvm,
    npy,
    npz,
    parquet,
    raw,
    roles,
    safetensors,
)
from workers.formats import csv as csv_layout
from workers.formats.facts import CONVERT, DEFAULT, Bounds, Facts, Member, shown, unsupported
from workers.formats.raw import Content, Layout

__all__ = [
    "ACCEPTED",
    "FORMATS",
    "RAW",
    "Bounds",
    "Facts",
    "Format",
    "Member",
    "format_of",
    "inspect",
    "load",
    "locate",
    "peek",
    "rows",
]


@dataclass(frozen=True, slots=True)
class Format:
    """One format: its media type first, then others it goes by."""

    id: str
    media_types: tuple[str, ...]
    binary: bool
    inspect: Callable[[Path, str | None, Bounds], Facts]
    load: Callable[[Path, str | None, str, Bounds], Value]
    locate: Callable[[Content, str | None, Bounds], Layout] | None = None
    """Where an array lies, for formats in which it lies as it is."""


_ALL = (
    Format("npy", ("application/x-npy",), True, npy.inspect, npy.load, npy.locate),
    Format("npz", ("application/x-npz",), True, npz.inspect, npz.load),
    Format(
        "safetensors",
        ("application/safetensors", "application/vnd.safetensors"),
        True,
        safetensors.inspect,
        safetensors.load,
        safetensors.locate,
    ),
    Format(
        "arrow-stream",
        ("application/vnd.apache.arrow.stream",),
        True,
        arrow.inspect_stream,
        arrow.load_stream,
    ),
    Format(
        "arrow-file",
        ("application/vnd.apache.arrow.file",),
        True,
        arrow.inspect_file,
        arrow.load_file,
    ),
    Format(
        "parquet",
        ("application/vnd.apache.parquet", "application/x-parquet"),
        True,
        parquet.inspect,
        parquet.load,
    ),
    Format(
        "csv",
        ("text/csv", "text/tab-separated-values"),
        False,
        csv.inspect,
        csv.load,
    ),
    Format("libsvm", ("text/x-libsvm",), False, libsvm.inspect, libsvm.load),
    Format("json", ("application/json",), False, json.inspect, json.load),
    Format(
        "jsonl",
        ("application/x-ndjson", "application/jsonl", "application/x-jsonlines"),
        False,
        jsonl.inspect,
        jsonl.load,
    ),
)

FORMATS = {one.id: one for one in _ALL}
RAW = frozenset(one.id for one in _ALL if one.locate is not None)
"""Formats whose arrays lie in the file as they are, so that parts can be read."""

ACCEPTED = tuple(one.media_types[0] for one in _ALL)
_BY_TYPE = {name: one for one in _ALL for name in one.media_types}

_LISTED = f"Accepted are {', '.join(ACCEPTED)}."
_FOREIGN = (
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
    (b"MATLAB 5.0 MAT-file", "a MATLAB file"),
    (b"\x1f\x8b", "gzip; unpack it first"),
    (b"\x28\xb5\x2f\xfd", "zstd; unpack it first"),
    (b"BZh", "bzip2; unpack it first"),
    (b"\xfd7zXZ\0", "xz; unpack it first"),
    (b"PARE", "an encrypted Parquet file"),
    (b"FEA1", "Feather version 1; write version 2"),
    (b"ORC", "an ORC file"),
    (b"%PDF", "a PDF file"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
)
_TORCH = re.compile(
    rb"PK\x03\x04.{26}[^/]{0,255}/(data\.pkl|byteorder|\.format_version)", re.DOTALL
)


def format_of(media_type: str | None, head: bytes) -> str:
    """The id of the format that a file has, by its declared type and its first bytes.

    Parameters
    ----------
    media_type : the Content-Type as sent, with parameters or without; None where none was sent.
    head : the first bytes, 64 KiB or the whole file.

    Raises UsageError `unsupported-format`, naming what is accepted, for pickles, for unknown
    content and where type and content disagree; `empty` for no bytes at all.
    """
    if not head:
        raise UsageError("The file is empty.", code="empty")
    stated = (media_type or "").partition(";")[0].strip().lower()
    if stated.startswith("multipart/"):
        raise unsupported(
            "The body is to be the file itself, not a form with the file in it: with curl "
            f"`--data-binary @FILE` and not `-F`. {_LISTED}"
        )
    declared = _BY_TYPE.get(stated)
    _refuse_foreign(head)
    found = _magic(head)
    if declared is not None:
        _require_agreement(declared, found, head)
        return declared.id
    if found is not None:
        return found
    guess = _guess(head)
    if guess is None:
        named = f" {shown(media_type)}" if media_type else ""
        raise unsupported(
            f"The content is of no format known here, or cannot be told from others, and its media "
            f"type{named} does not say. {_LISTED} Text must be declared by its type."
        )
    return guess


def peek(format: str, head: bytes, length: int) -> Facts | None:
    """Facts of an npy file from its first 64 KiB and its length, None for every other format.

    Raises UsageError: `truncated`, `invalid-file`, `unsupported-format`, `wrong-shape` (neither one
    nor two dimensions), `empty` (no rows or no columns); `too-large` for JSON past what is read.
    Allocates nothing for the array. O(1).
    """
    if format == "json":
        json.require_length(length)
    return npy.peek(head, length) if format == "npy" else None


def inspect(format: str, path: Path, member: str | None = None, bounds: Bounds = DEFAULT) -> Facts:
    """Open a file whole and say what it holds. For a worker's child, never for the API process.

    Headers are read of npy, npz and safetensors; every value of the others. Raises UsageError:
    `member-needed` where several arrays are there and `member` names none, `archive-bomb`,
    `too-large`, `truncated`, `invalid-file`, `empty`, `ragged`, `missing-value`, `not-finite`,
    `wrong-input`.
    """
    return _format(format).inspect(path, member, bounds)


def load(format: str, path: Path, member: str | None, role: str, bounds: Bounds = DEFAULT) -> Value:
    """The input of `role` that a file holds. For a worker's child.

    Matrix roles get (n_rows, n_columns) numbers, mapped read-only where the file allows (npy,
    safetensors, an uncompressed Arrow list column), or `csr_array`. Column roles get (n_rows,)
    int64 or `str` objects, float64 for timestamps and targets that need it, a list of `str` for
    names. Errors as of `inspect`, and `wrong-shape` where the array does not fit the role.
    """
    roles.is_column(role)
    return _format(format).load(path, member, role, bounds)


def rows(format: str, path: Path, member: str | None, role: str) -> Value:
    """As `load` for a matrix that is read by rows: `Rows` where the format is of `RAW`.

    Nothing is copied, whatever the dtype and the order of bytes.
    """
    found = _format(format)
    if found.locate is None:
        return found.load(path, member, role, DEFAULT)
    return raw.rows(path, found.locate(raw.LocalContent(path), member, DEFAULT), role)


def locate(format: str, content: Content, member: str | None = None) -> Layout:
    """Where the array lies in a file of a format of `RAW`, here or far away. Errors as `inspect`.

    Reads the header only.
    """
    found = _format(format).locate
    if found is None:
        raise unsupported(f"A file of format {shown(format)} cannot be read in parts.")
    return found(content, member, DEFAULT)


def _format(format: str) -> Format:
    found = FORMATS.get(format)
    if found is None:
        raise unsupported(f"There is no format {shown(format)}; there are {', '.join(FORMATS)}.")
    return found


def _refuse_foreign(head: bytes) -> None:
    pickled = (len(head) > 1 and head[0] == 0x80 and 2 <= head[1] <= 5) or _TORCH.match(head)
    if pickled:
        raise unsupported(f"The content is a pickle (.pkl, .pt, .pth). {CONVERT}")
    for magic, what in _FOREIGN:
        if head.startswith(magic):
            raise unsupported(f"The content is {what}. {_LISTED}")


def _magic(head: bytes) -> str | None:
    """The binary format that the first bytes are of."""
    if head.startswith(npy.MAGIC):
        return "npy"
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "npz"
    if head.startswith(arrow.MAGIC):
        return "arrow-file"
    if head.startswith(parquet.MAGIC):
        return "parquet"
    size = int.from_bytes(head[:8], "little")
    if len(head) > 8 and 2 <= size <= safetensors.MAX_HEADER and head[8:9] == b"{":
        return "safetensors"
    if head.startswith(b"\xff\xff\xff\xff") and len(head) >= 8:
        metadata = int.from_bytes(head[4:8], "little")
        if 0 < metadata < 1 << 28 and metadata % 8 == 0:
            return "arrow-stream"
    return None


def _require_agreement(declared: Format, found: str | None, head: bytes) -> None:
    if found == declared.id or (found is None and not declared.binary):
        return
    if found is None and len(head) < 10:
        raise UsageError(
            f"The file of {len(head)} bytes is too short to be {declared.id}.",
            code="truncated",
            actual=len(head),
        )
    if found is None and declared.id in ("safetensors", "arrow-stream"):
        # These have no magic bytes to speak of: the reader says better what is wrong.
        return
    what = f"it begins as {found}" if found else "its first bytes are of no such file"
    raise unsupported(
        f"The content was declared as {declared.media_types[0]}, but {what}. {_LISTED}"
    )


def _guess(head: bytes) -> str | None:
    """The text format where only one fits: JSON in a list or lines, libsvm, a table of numbers."""
    try:
        text = head.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if error.reason != "unexpected end of data" or error.start < len(head) - 3:
            return None
        text = head[: error.start].decode("utf-8-sig")
    if text.lstrip().startswith("["):
        return "json"
    first, ended, _ = text.partition("\n")
    if ended and jsonl.begins(first):
        return "jsonl"
    lines = [line.rstrip("\r") for line in text.split("\n")[:-1][:20]] or [text.rstrip("\r")]
    if all(libsvm.LINE.fullmatch(line) for line in lines):
        return "libsvm"
    for mark in "\t,;":
        rows = [line.split(mark) for line in lines if line]
        if len(rows) > 1 and len(rows[0]) > 1 and {len(row) for row in rows} == {len(rows[0])}:
            numbers = [all(map(csv_layout.is_number, row)) for row in rows]
            if all(numbers[1:]):
                return "csv"
    return None
