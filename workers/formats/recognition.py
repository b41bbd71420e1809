"""What a file is by its first bytes: files that are not read, and formats of text."""

from __future__ import annotations

import re

from workers.formats import arff, jsonl, libsvm
from workers.formats.refusals import CONVERT, unsupported
from workers.formats.tables import is_number

_EXPORT = "save the table from {tool} as CSV ({how}), or as Parquet"

_STATA = "a Stata file; " + _EXPORT.format(tool="Stata", how="export delimited")
_SPSS = "an SPSS file; " + _EXPORT.format(tool="SPSS", how="File > Export > CSV")
_SAS = "a SAS file; " + _EXPORT.format(tool="SAS", how="proc export")
_R = "an R file (.rds or .RData); " + _EXPORT.format(tool="R", how="write.csv")

_FOREIGN = (
    (b"MATLAB 5.0 MAT-file", "a MATLAB file"),
    (b"\x1f\x8b", "gzip within another packed file; unpack it first"),
    (b"\x28\xb5\x2f\xfd", "zstd within another packed file; unpack it first"),
    (b"BZh", "bzip2 within another packed file; unpack it first"),
    (b"\xfd7zXZ\0", "xz within another packed file; unpack it first"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive; upload the file inside"),
    (b"Rar!", "a RAR archive; upload the file inside"),
    (b"<stata_dta>", _STATA),
    (b"$FL2", _SPSS),
    (b"$FL3", _SPSS),
    (b"RDX2", _R),
    (b"RDX3", _R),
    (b"X\n\0\0\0", _R),
    (b"A\n2\n", _R),
    (b"A\n3\n", _R),
    (b"\0" * 12 + b"\xc2\xea\x81\x60", _SAS),
    (b"HEADER RECORD*******", _SAS),
    (b"%%MatrixMarket", "a Matrix Market file; save it as npz (scipy.io.mmread, save_npz)"),
    (b"SQLite format 3\0", "an SQLite database; save the table as CSV or Parquet"),
    (b"Obj\1", "an Avro file; save the table as Parquet"),
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
    if len(head) > 3 and head[0] in (113, 114, 115) and head[1] in (1, 2) and head[2:4] == b"\1\0":
        raise unsupported(f"The content is {_STATA}. {accepted}")
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
    for delimiter in ("\t", ",", ";", "|", None):
        table = [line.split(delimiter) for line in lines if line]
        if len(table) > 1 and len(table[0]) > 1 and len({len(cells) for cells in table}) == 1:
            _, *below = table
            if all(all(map(is_number, cells)) for cells in below):
                return "csv"
    return None
