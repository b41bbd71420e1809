"""Content that comes packed by gzip or zstd, unpacked in pieces while it arrives.

Everything that came packed is bounded: no piece is longer than `PIECE`, zstd may look back at most
`WINDOW_BITS`, and content that grows by more than `MOST_RATIO` is refused, once it has more than
`SLACK` bytes. How long the whole may be is for the receiver to say, which counts the pieces.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator
from typing import Any, Literal, Protocol

from models.errors import UsageError

Coding = Literal["gzip", "zstd"]

PIECE = 256 << 10
"""The most bytes that come out at a time."""

WINDOW_BITS = 23
"""8 MiB, as RFC 9659 bounds it for `Content-Encoding: zstd`; `zstd` writes so up to level 19."""

MOST_RATIO = 1000
"""gzip reaches 1032, by zeros alone."""

SLACK = 16 << 20

_MAGIC: dict[bytes, Coding] = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}

MEDIA_TYPES = frozenset(
    {"application/gzip", "application/x-gzip", "application/zstd", "application/x-zstd"}
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
        self._n_in = self._n_out = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The pieces that `data` unpacks to, none of them empty; to be exhausted before more is
        fed.

        Raises UsageError `invalid-file` for what is not of this coding, `archive-bomb` for content
        that grows too much.
        """
        self._n_in += len(data)
        while data or not self._decoder.needs_input:
            if self._decoder.eof:
                data = data or self._decoder.unused_data
                # gzip files may be padded with zeros.
                data = data.lstrip(b"\0") if self.coding == "gzip" else data
                if not data:
                    return
                self._decoder = _decoder(self.coding)
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

    def end(self) -> None:
        """Raise UsageError `truncated` where the content breaks off."""
        if not self._decoder.eof:
            raise UsageError(f"The {self.coding} content breaks off.", code="truncated")


def coding_of(head: bytes) -> Coding | None:
    """The coding of a file that begins with these bytes; None for one that is not packed."""
    return next((coding for magic, coding in _MAGIC.items() if head.startswith(magic)), None)


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
    zstd = _zstd()
    options = {zstd.DecompressionParameter.window_log_max: WINDOW_BITS}
    decoder: _Decoder = zstd.ZstdDecompressor(options=options)
    return decoder


def _errors() -> tuple[type[Exception], ...]:
    return (zlib.error, _zstd().ZstdError)


def _zstd() -> Any:
    """The module of Python 3.14, or its backport."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd
