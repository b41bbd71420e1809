"""HDF5 as far as AnnData uses it, from files that nobody trusts.

Nothing outside the file is read: only hard links are followed, no references, and an array whose
values lie in other files (external storage, virtual datasets) is refused, as is one packed by a
filter that a plugin would have to bring. What an array takes is checked before its values are read.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from models.errors import UsageError, shown
from models.running import packages
from workers.formats.facts import Bounds
from workers.formats.refusals import broken, unsupported
from workers.formats.tables import require_dtype

MAGIC = b"\x89HDF\r\n\x1a\n"
MOST_MEMBERS = 10_000
"""Members of a group."""
BLOCK = 64 << 20
"""Bytes of values that are read at once, but for larger chunks."""

_COMPRESSORS = {1: "gzip", 32000: "lzf"}
_FILTERS = frozenset({*_COMPRESSORS, 2, 3})
"""Those that are in every build: also shuffle and Fletcher's checksum."""
_MOST_RATIO = 1100
"""Deflate packs to a 1032nd at most: an array that is larger is mostly not in the file."""
_TEXT_BYTES = 256
"""Memory of a short text as a Python object, and on the way to it."""
_TEXTS_AT_ONCE = 256 << 20
"""Bytes that texts of a block may have: each may be the same one, as long as the file."""
_SHORTEST_BLOCK, _LONGEST_BLOCK = 64, 4096
_ERRORS = (
    OSError,
    RuntimeError,
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    ArithmeticError,
    NotImplementedError,
    SystemError,
)
"""What h5py raises for files that are damaged."""


@contextmanager
def _guarded() -> Iterator[None]:
    """Errors of h5py as the user's."""
    try:
        yield
    except UsageError:
        raise
    except _ERRORS:
        raise broken("The HDF5 file is damaged or cut short.") from None


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """The root of the file, `h5py.File`. Raises UsageError `invalid-file`, and
    `method-unavailable` where h5py is not installed."""
    with packages.refusing("A file of AnnData", parameter="format"):
        import h5py

    if not path.stat().st_size:
        raise UsageError("The file is empty.", code="empty")
    with _guarded():
        root = h5py.File(path, "r", locking=False)
    try:
        yield root
    finally:
        with _guarded():
            root.close()


def names(group: Any) -> list[str]:
    """The names of the members of a group, in the order of the alphabet.

    Raises UsageError `too-large` for too many, `invalid-file` for a name that is not UTF-8.
    """
    with _guarded():
        if len(group) > MOST_MEMBERS:
            raise UsageError(
                f"Group {shown(group.name)} of the HDF5 file has {len(group):,} members; at most "
                f"{MOST_MEMBERS:,} are accepted.",
                code="too-large",
                limit=MOST_MEMBERS,
            )
        found = sorted(group)
    for name in found:
        try:
            name.encode()
        except UnicodeEncodeError:
            raise broken(
                f"The name {shown(name)} in group {shown(group.name)} of the HDF5 file is not "
                "UTF-8."
            ) from None
    return found


def member(group: Any, name: str) -> Any:
    """A group or an array in a group; None where there is none of this name.

    Raises UsageError `unsupported-format` for a link that is not a hard one.
    """
    import h5py

    with _guarded():
        link = group.get(name, getlink=True)
        if link is None:
            return None
        if not isinstance(link, h5py.HardLink):
            kind = "an external link" if isinstance(link, h5py.ExternalLink) else "a soft link"
            raise unsupported(
                f"{_called(group, name)} of the HDF5 file is {kind}; links are not followed. Write "
                "the values into the file itself."
            )
        found = group.get(name)
        if not isinstance(found, h5py.Group | h5py.Dataset):
            raise unsupported(
                f"{_called(group, name)} of the HDF5 file is neither a group nor an array."
            )
        return found


def is_array(found: Any) -> bool:
    """Whether a member is an array, not a group."""
    import h5py

    return isinstance(found, h5py.Dataset)


def attribute(found: Any, name: str) -> str | tuple[int, ...] | None:
    """An attribute that is a text, or one or two integers; None if there is no such one."""
    import h5py

    with _guarded():
        if name not in found.attrs:
            return None
        own = found.attrs.get_id(name)
        is_text = h5py.check_string_dtype(own.dtype) is not None
        if own.shape is None or math.prod(own.shape) not in (1, 2):
            return None
        if is_text and math.prod(own.shape) == 1:
            text = np.asarray(found.attrs[name]).reshape(-1)[0]
            return text.decode("utf-8") if isinstance(text, bytes) else str(text)
        if own.dtype.kind in "iu":
            return tuple(int(each) for each in np.asarray(found.attrs[name]).reshape(-1))
        return None


def type_of(array: Any) -> np.dtype[Any] | None:
    """The dtype of an array in native byte order, kind "U" for texts of any kind; None for one
    that is not accepted (compound, references, enumerations, lists) and for one without a
    shape."""
    import h5py

    with _guarded():
        try:
            dtype = array.dtype
        except TypeError:
            return None
        if array.shape is None:
            return None
        if h5py.check_string_dtype(dtype) is not None:
            return np.dtype("U1")
        if dtype.kind not in "biuf" or h5py.check_enum_dtype(dtype) is not None:
            return None
        try:
            require_dtype(dtype)
        except UsageError:
            return None
        native: np.dtype[Any] = dtype.newbyteorder("=")
        return native


def require_readable(array: Any, bounds: Bounds) -> np.dtype[Any]:
    """The dtype of an array whose values may be read, as `type_of`.

    Raises UsageError `unsupported-format` for other values, values in other files and unknown
    filters, `too-large`, `archive-bomb`.
    """
    dtype = type_of(array)
    with _guarded():
        name = shown(array.name or "")
        if dtype is None:
            raise unsupported(
                f"Array {name} of the HDF5 file holds values of a kind that is not accepted; "
                "accepted are booleans, integers, floats of up to 64 bits and text."
            )
        layout = array.id.get_create_plist()
        if array.is_virtual or layout.get_external_count():
            raise unsupported(
                f"The values of array {name} lie in another file; write them into the HDF5 file "
                "itself."
            )
        filters = [int(layout.get_filter(at)[0]) for at in range(layout.get_nfilters())]
        foreign = [code for code in filters if code not in _FILTERS]
        if foreign or sum(code in _COMPRESSORS for code in filters) > 1:
            what = f"filter {foreign[0]} of HDF5" if foreign else "several filters"
            raise unsupported(
                f"Array {name} of the HDF5 file is packed by {what}; accepted are "
                f"{' or '.join(_COMPRESSORS.values())}, or none."
            )
        width = _TEXT_BYTES if dtype.kind == "U" else dtype.itemsize
        stored = max(array.dtype.itemsize, 1)
        bounds.require(math.prod(array.shape) * max(width, stored))
        bounds.require(math.prod(array.chunks or (1,)) * stored)
        n_bytes = math.prod(array.shape) * stored
        if n_bytes > bounds.ratio_floor and n_bytes > _MOST_RATIO * array.id.get_storage_size():
            raise UsageError(
                f"Array {name} of the HDF5 file has {n_bytes} bytes, of which the file holds "
                f"{array.id.get_storage_size()}.",
                code="archive-bomb",
            )
        return dtype


def vector(array: Any, bounds: Bounds, n_values: int | None = None) -> npt.NDArray[Any]:
    """(n_values,) numbers of an array of one dimension. Raises UsageError as `require_readable`,
    `invalid-file` for another length."""
    dtype = require_readable(array, bounds)
    require_length(array, n_values)
    if dtype.kind == "U":
        raise broken(f"Array {shown(array.name or '')} of the HDF5 file holds text, not numbers.")
    return rows(array, dtype, 0, array.shape[0])


def require_length(array: Any, n_values: int | None) -> None:
    """Raise UsageError `invalid-file` unless an array has one dimension, of this length."""
    shape = array.shape
    if len(shape) != 1 or (n_values is not None and shape[0] != n_values):
        wanted = "one dimension" if n_values is None else f"{n_values} values"
        raise broken(
            f"Array {shown(array.name or '')} of the HDF5 file has the shape {shape}; it must have "
            f"{wanted}."
        )


def rows(array: Any, dtype: np.dtype[Any], start: int, stop: int) -> npt.NDArray[Any]:
    """The values of rows from `start` to before `stop`, of a checked array of numbers."""
    block = np.empty((stop - start, *array.shape[1:]), dtype=dtype)
    into(array, block, start)
    return block


def into(array: Any, block: npt.NDArray[Any], start: int) -> None:
    """Write the rows from `start` into a block, as many as it has."""
    if block.size:
        with _guarded():
            array.read_direct(block, np.s_[start : start + len(block)])


def steps(array: Any) -> Iterator[tuple[int, int]]:
    """Bounds of blocks of rows, of about `BLOCK` bytes and of whole chunks."""
    n_rows = array.shape[0]
    step = max(1, BLOCK // max(1, math.prod(array.shape[1:]) * array.dtype.itemsize))
    if array.chunks:
        step = max(1, step // array.chunks[0]) * array.chunks[0]
    for start in range(0, n_rows, step):
        yield start, min(n_rows, start + step)


def texts(array: Any, start: int, stop: int) -> list[str]:
    """The texts from `start` to before `stop`, of a checked array of one dimension.

    Raises UsageError `archive-bomb` for more than the file can hold, where many places have one
    text; `invalid-file` naming the first that is not UTF-8.
    """
    with _guarded():
        fixed, most = array.dtype.kind == "S", array.file.id.get_filesize()
        longest = array.dtype.itemsize if fixed else most
        step = min(_LONGEST_BLOCK, max(_SHORTEST_BLOCK, _TEXTS_AT_ONCE // max(1, longest)))
        found: list[str] = []
        n_bytes = 0
        for first in range(start, stop, step):
            for raw in array[first : min(stop, first + step)].tolist():
                n_bytes += len(raw)
                found.append(_decoded(raw, array, start + len(found)))
            if n_bytes > most and not fixed:
                raise UsageError(
                    f"The texts of array {shown(array.name or '')} of the HDF5 file are longer "
                    f"than the file, which has {most} bytes.",
                    code="archive-bomb",
                )
        return found


def _decoded(raw: bytes, array: Any, row: int) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise broken(
            f"The text at place {row} (counted from 0) of array {shown(array.name or '')} of the "
            "HDF5 file is not UTF-8."
        ) from None


def _called(group: Any, name: str) -> str:
    return shown(f"{(group.name or '').rstrip('/')}/{name}")
