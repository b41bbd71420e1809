"""Text files: of one value a line, what encodes them, and what those without an ending are. Which
file was meant."""

from __future__ import annotations

import bz2
import codecs
import difflib
import itertools
import lzma
import os
import re
import warnings
import zlib
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

from umbel_client.errors import InputError, UmbelWarning
from umbel_client.quoting import path_shown

_WIDE = {
    # Before UTF-16, with whose mark that of UTF-32 begins.
    "utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
    "utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
}


_SNIFFED = 1 << 16
"""Bytes of a file by which its form is found."""

_LIBSVM = re.compile(r"\S*(\s+\d+:\S+)+\s*")
_COLUMNS = re.compile(r'\{\s*"(?:[^"\\]|\\.)*"\s*:\s*[\[{]')
"""An object whose first member is a list or an object: columns, as pandas writes them."""
_LZMA_MEMORY = 100 << 20
_UNPACKERS: dict[bytes, Callable[[], Any]] = {
    b"\x1f\x8b": lambda: zlib.decompressobj(31),
    b"BZh": bz2.BZ2Decompressor,
    b"\xfd7zXZ\0": lambda: lzma.LZMADecompressor(memlimit=_LZMA_MEMORY),
}
_CODE = re.compile(r"\s*0\d+\s*", re.ASCII)
"""A number with zeros before it, as codes have."""


def lines(role: str, path: Path, texts: Collection[str]) -> list[Any]:
    """One value for each line; whole numbers where every line is one and `role` is not of `texts`.
    Labels such as 007 are texts.

    UTF-8, UTF-16 or UTF-32 with its mark, or else Windows-1252, with an UmbelWarning, as the
    service reads CSV. Raises InputError where the file is no text or holds no line.
    """
    try:
        values = decoded(path.read_bytes(), path_shown(path)).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(role, f"{path_shown(path)} cannot be read as text: {error}.") from None
    if not values:
        raise InputError(role, f"the file {path_shown(path)} is empty.")
    if role not in texts and not (role == "labels" and any(map(_CODE.fullmatch, values))):
        try:
            return [int(value) for value in values]
        except ValueError:
            pass
    return list(values)


def decoded(content: bytes, shown: str) -> str:
    """The text of a file, encoded as of `lines`. shown : the file in a warning.

    Raises UnicodeDecodeError.
    """
    for encoding, marks in _WIDE.items():
        if content.startswith(marks):
            return content.decode(encoding)
    if (at := content.find(0)) >= 0:
        why = "zeros, as in UTF-16 without its mark"
        raise UnicodeDecodeError("utf-8", content, at, at + 1, why)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as wrong:
        try:
            text = content.decode("cp1252")
        except UnicodeDecodeError:
            raise wrong from None
    warnings.warn(f"{shown} is not UTF-8; it was read as Windows-1252.", UmbelWarning, stacklevel=4)
    return text


def beginning(path: Path) -> str:
    """The first lines of a file of text, also of one packed by gzip, bzip2 or xz; empty for another
    one."""
    with path.open("rb") as file:
        begin = _unpacked(file.read(_SNIFFED))
    for encoding, marks in _WIDE.items():
        if begin.startswith(marks):
            # The last character may be cut.
            return begin[: len(begin) // 4 * 4].decode(encoding, "ignore").lstrip()
    try:
        # The last line may be cut within a character.
        text = begin[: begin.rfind(b"\n") + 1 or None].decode("utf-8-sig").lstrip()
    except UnicodeDecodeError:
        return ""
    return "" if "\0" in text else text


def is_packed(path: Path) -> bool:
    """Whether a file is packed by gzip, bzip2 or xz."""
    with path.open("rb") as file:
        return file.read(8).startswith(tuple(_UNPACKERS))


def _unpacked(begin: bytes) -> bytes:
    """The beginning of what a file packs, the bytes themselves of one that does not; empty where
    they are damaged."""
    made = next((make for magic, make in _UNPACKERS.items() if begin.startswith(magic)), None)
    try:
        return begin if made is None else bytes(made().decompress(begin, _SNIFFED))
    except (zlib.error, lzma.LZMAError, OSError, EOFError):
        return b""


def media_type_of(text: str) -> str | None:
    """The media type of text whose first lines say it; None where the service finds out."""
    first = text.partition("\n")[0]
    if not text or text[0] in "@%<" or _LIBSVM.fullmatch(first):
        return None
    if text[0] in "[{":
        return "application/x-ndjson" if _are_json_lines(text) else "application/json"
    if "\t" in first:
        return "text/tab-separated-values"
    return "text/csv" if any(mark in first for mark in ",;|") or " " in first.strip() else None


_MOST_BESIDE = 2000
"""Files among which one with a name like another's is sought."""


def meant(path: Path) -> str:
    """The file with a name like that of one that there is not, as a sentence; else ""."""
    names: list[str] = []
    with suppress(OSError), os.scandir(path.parent) as entries:
        names += (entry.name for entry in itertools.islice(entries, _MOST_BESIDE))
    near = difflib.get_close_matches(path.name[:80], names, 1, cutoff=0.7)
    return f" Is {path_shown(near[0])} meant?" if near else ""


def _are_json_lines(text: str) -> bool:
    """Whether text that begins as JSON has an object in each line; one alone may be a document."""
    below = text.partition("\n")[2].lstrip()
    return text[0] == "{" and (below.startswith("{") or not (below or _COLUMNS.match(text)))
