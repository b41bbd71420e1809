"""What a file is by its first bytes: files that are not read, and formats of text."""

from __future__ import annotations

import re

from workers.formats import arff, jsonl, libsvm
from workers.formats.refusals import CONVERT, unsupported
from workers.formats.tables import is_number

_FOREIGN = (
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
    (b"MATLAB 5.0 MAT-file", "a MATLAB file"),
    (b"\x1f\x8b", "gzip; unpack it first"),
    (b"\x28\xb5\x2f\xfd", "zstd; unpack it first"),
    (b"BZh", "bzip2; unpack it first"),
    (b"\xfd7zXZ\0", "xz; unpack it first"),
    (
        b"\xd0\xcf\x11\xe0",
        "an Excel workbook of before 2007 (.xls); save it as .xlsx, or as CSV UTF-8",
    ),
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


def refuse_foreign(head: bytes, accepted: str) -> None:
    """Raise UsageError `unsupported-format` for pickles, and for files of other programs by name.

    accepted : a sentence that lists the accepted formats.
    """
    pickled = (len(head) > 1 and head[0] == 0x80 and 2 <= head[1] <= 5) or _TORCH.match(head)
    if pickled:
        raise unsupported(f"The content is a pickle (.pkl, .pt, .pth). {CONVERT}")
    for magic, what in _FOREIGN:
        if head.startswith(magic):
            raise unsupported(f"The content is {what}. {accepted}")


def text_format(head: bytes) -> str | None:
    """The text format, if exactly one fits: ARFF, a JSON list, JSON lines, libsvm, a table of
    numbers."""
    try:
        text = head.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if error.reason != "unexpected end of data" or error.start < len(head) - 3:
            return None
        text = head[: error.start].decode("utf-8-sig")
    if arff.BEGINS.match(text):
        return "arff"
    if text.lstrip().startswith("["):
        return "jsonl" if jsonl.are_lists(text.lstrip()) else "json"
    first, newline, _ = text.partition("\n")
    if newline and jsonl.begins(first):
        return "jsonl"
    lines = [line.rstrip("\r") for line in text.split("\n")[:-1][:20]] or [text.rstrip("\r")]
    if all(libsvm.LINE.fullmatch(line) for line in lines):
        return "libsvm"
    for delimiter in "\t,;":
        table = [line.split(delimiter) for line in lines if line]
        if len(table) > 1 and len(table[0]) > 1 and len({len(cells) for cells in table}) == 1:
            _, *below = table
            if all(all(map(is_number, cells)) for cells in below):
                return "csv"
    return None
