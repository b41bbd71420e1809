"""Text files: of one value a line, and what encodes them."""

from __future__ import annotations

import codecs
import warnings
from collections.abc import Collection
from pathlib import Path
from typing import Any

from umbel_client.errors import InputError, UmbelWarning
from umbel_client.quoting import path_shown

_WIDE = {
    # Before UTF-16, with whose mark that of UTF-32 begins.
    "utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
    "utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
}


def lines(role: str, path: Path, texts: Collection[str]) -> list[Any]:
    """One value for each line; whole numbers where every line is one and `role` is not of `texts`.

    UTF-8, UTF-16 or UTF-32 with its mark, or else Windows-1252, with an UmbelWarning, as the
    service reads CSV. Raises InputError where the file is no text or holds no line.
    """
    try:
        values = decoded(path.read_bytes(), path_shown(path)).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(role, f"{path_shown(path)} cannot be read as text: {error}.") from None
    if not values:
        raise InputError(role, f"the file {path_shown(path)} is empty.")
    if role not in texts:
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
