"""NumPy's `.npy`: one array behind a short header.

The header is read by NumPy's own literal reader, after bounds on its length; what it claims is
checked with Python integers against the length of the file before anything is mapped. Nothing is
ever unpickled.
"""

from __future__ import annotations

import io
import math
import struct
import tokenize
from pathlib import Path
from typing import Any

import numpy as np

from models.errors import UsageError
from models.inputs.rows import widened
from models.roles import Want
from workers.formats.columns import require_unicode
from workers.formats.facts import DEFAULT, Bounds, Facts
from workers.formats.raw import Content, HeldContent, Layout, LocalContent, mapped
from workers.formats.refusals import CONVERT, broken, unsupported
from workers.formats.tables import Table, require_dtype, require_filled

MAGIC = b"\x93NUMPY"
HEAD = 1 << 16
"""The number of bytes at the start of a file that contain every accepted header."""

_MAX_PADDED = 10_000
_MAX_WRITTEN = 1024
_TEXT = frozenset("US")
_BLOCK = 4 << 20


def header(
    head: bytes, length: int, what: str = "The .npy file", *, bfloat16: bool = False
) -> Layout:
    """The position of the array, from the header at the start of `head`.

    head : the first bytes of a file of `length` bytes. what : the name of the file in error
        messages. bfloat16 : whether numbers that ml_dtypes (JAX, PyTorch by way of it) saved are
        accepted; NumPy has no such dtype.

    Raises UsageError: `truncated` where the file holds fewer bytes than claimed, `invalid-file` for
    a header that is broken or claims fewer, `unsupported-format` for object and structured arrays
    and other dtypes. The array may have any number of dimensions.
    """
    if length == 0:
        raise UsageError(f"{what} is empty.", code="empty")
    if not head.startswith(MAGIC):
        if MAGIC.startswith(head[:6]):
            raise _truncated(what, 10, length)
        raise broken(f"{what} does not begin with NumPy's magic bytes.")
    major, minor = (head + b"\0\0")[6:8]
    if length < 12:
        raise _truncated(what, 12, length)
    if (major, minor) not in ((1, 0), (2, 0), (3, 0)):
        raise broken(f"{what} has format version {major}.{minor}; 1.0, 2.0 and 3.0 are known.")
    size, start = (
        (struct.unpack_from("<H", head, 8)[0], 10)
        if major == 1
        else (struct.unpack_from("<I", head, 8)[0], 12)
    )
    written = head[start : start + size].strip()
    if size > _MAX_PADDED or len(written) > _MAX_WRITTEN:
        raise broken(
            f"{what} has a header of {size} bytes; that of a plain array of numbers or text is at "
            f"most {_MAX_PADDED} long with {_MAX_WRITTEN} characters written."
        )
    if start + size > length:
        raise _truncated(what, start + size, length)
    shape, fortran, dtype = _parsed(head[8 : start + size], major, what)
    if dtype.hasobject:
        raise unsupported(f"{what} holds an object array, which is a pickle. {CONVERT}")
    bfloat16 = bfloat16 and b"'<V2'" in written and dtype.itemsize == 2
    dtype = np.dtype("<u2") if bfloat16 else dtype
    require_dtype(dtype)
    if any(n < 0 for n in shape):
        raise broken(f"{what} claims the shape {shape}; no dimension can be negative.")
    claimed = math.prod(shape) * dtype.itemsize
    actual = length - start - size
    if claimed > actual:
        raise UsageError(
            f"{what} is truncated: shape {shape} of {dtype} needs {claimed} bytes after the "
            f"header, the file holds {actual}.",
            code="truncated",
            claimed=str(claimed),
            actual=actual,
        )
    if claimed < actual:
        raise broken(
            f"{what} holds {actual} bytes after the header, but shape {shape} of {dtype} needs "
            f"{claimed}."
        )
    return Layout(shape, dtype, start + size, fortran, bfloat16=bfloat16)


def peek(head: bytes, length: int) -> Facts | None:
    """Facts of a file of `length` bytes that begins with `head` (64 KiB or the whole file); None
    for text that goes on after it, which has to be read."""
    layout = _filled(header(head, length, bfloat16=True))
    if layout.dtype.kind in _TEXT:
        if len(head) < length:
            return None
        require_text(HeldContent(head), layout)
    return layout.facts()


def locate(content: Content, member: str | None, bounds: Bounds = DEFAULT) -> Layout:
    """The position of the array, from the header. O(1)."""
    return _filled(header(content.read(0, HEAD), content.length, bfloat16=True))


def inspect(path: Path, member: str | None, bounds: Bounds = DEFAULT) -> Facts:
    """Facts of the file: from its header, O(1), but that text is read."""
    content = LocalContent(path)
    layout = locate(content, member, bounds)
    require_text(content, layout)
    return layout.facts()


def require_text(content: Content, layout: Layout) -> None:
    """Raise UsageError `invalid-file` for an array of text that is not valid Unicode; others are
    not read."""
    if layout.dtype.kind not in _TEXT:
        return
    step = max(1, _BLOCK // layout.dtype.itemsize)
    for start in range(0, layout.size, step):
        stop = min(start + step, layout.size)
        begin, end = (layout.offset + at * layout.dtype.itemsize for at in (start, stop))
        texts = np.frombuffer(content.read(begin, end), dtype=layout.dtype)
        at = np.arange(start, stop)
        n_rows = layout.shape[0]
        require_unicode(texts, at % n_rows if layout.fortran else at // (layout.size // n_rows))


def read(path: Path, member: str | None, want: Want, bounds: Bounds = DEFAULT) -> Table:
    """The array mapped read-only, as stored. O(1); bfloat16 becomes float32 in memory."""
    layout = locate(LocalContent(path), member, bounds)
    array = mapped(path, layout)
    if layout.bfloat16:
        bounds.require(4 * array.size)
        return widened(array)
    return array


def _filled(layout: Layout) -> Layout:
    require_filled(layout.shape)
    return layout


def _parsed(data: bytes, major: int, what: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    # Version 3.0 has the layout of 2.0 and differs only in field names outside Latin-1, which plain
    # arrays do not have.
    reader = (
        np.lib.format.read_array_header_1_0 if major == 1 else np.lib.format.read_array_header_2_0
    )
    try:
        shape, fortran, dtype = reader(io.BytesIO(data), max_header_size=_MAX_PADDED)
    except (
        ValueError,
        TypeError,
        SyntaxError,
        LookupError,
        AttributeError,
        OverflowError,
        RecursionError,
        MemoryError,
        tokenize.TokenError,
    ):
        raise broken(
            f"{what} has a header that cannot be read; it must give descr, fortran_order and shape."
        ) from None
    return tuple(int(n) for n in shape), bool(fortran), dtype


def _truncated(what: str, claimed: int, actual: int) -> UsageError:
    return UsageError(
        f"{what} is truncated: its header needs {claimed} bytes, the file holds {actual}.",
        code="truncated",
        claimed=str(claimed),
        actual=actual,
    )
