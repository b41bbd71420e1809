"""Text in UTF-16 or UTF-32, as Excel and Windows write it, turned into UTF-8 while it arrives."""

from __future__ import annotations

import codecs
from collections.abc import Iterator

from models.errors import UsageError

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SEEN = 512
"""Bytes that are looked at where no mark is."""
_LEAST = 0.6
"""Share of characters of one byte from which on text without a mark is UTF-16."""


def encoding_of(head: bytes) -> str | None:
    """UTF-16 or UTF-32, by its mark, or where the first bytes are a NUL and a printable character
    in turns; None for other content."""
    for mark, encoding in _MARKS:
        if head.startswith(mark) and len(head) > len(mark):
            return encoding
    sample = head[: min(_SEEN, len(head) & ~1)]
    if len(sample) < 4:
        return None
    for at, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        plain = [
            chr(byte).isprintable() or byte in b"\t\r\n"
            for byte, high in zip(sample[1 - at :: 2], sample[at::2], strict=True)
            if high == 0 and 0 < byte < 128
        ]
        if plain[:1] and all(plain) and len(plain) >= _LEAST * (len(sample) // 2):
            return encoding
    return None


class Recoder:
    """Turns text into UTF-8 piece by piece, without its mark."""

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._n_bytes = self._n_lines = 0
        self._begun = False

    def feed(self, data: bytes, *, last: bool = False) -> Iterator[bytes]:
        """The next text in UTF-8. Raises UsageError `invalid-file` naming the byte and the line."""
        kept = len(self._decoder.getstate()[0])
        try:
            text = self._decoder.decode(data, last)
        except UnicodeDecodeError as error:
            before = error.object[: error.start].decode(self._encoding, "ignore")
            line = self._n_lines + 1 + before.count("\n")
            name = self._encoding[:6].upper()
            raise UsageError(
                f"The file is {name} text up to line {line}, and not from byte "
                f"{self._n_bytes - kept + error.start} on: it is damaged or cut short.",
                code="invalid-file",
                line=line,
            ) from None
        self._n_bytes += len(data)
        self._n_lines += text.count("\n")
        if text and not self._begun:
            self._begun, text = True, text.removeprefix("\ufeff")
        if text:
            yield text.encode()
