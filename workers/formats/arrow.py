"""Arrow IPC, as a stream and as a file (Feather V2).

A file holds the messages of a stream between its magic bytes; both are read in order from a memory
map, so that uncompressed buffers are not copied. Before anything is unpacked, the metadata of the
messages are added up: rows, and the sizes claimed by compressed buffers. Format:
https://arrow.apache.org/docs/format/Columnar.html, Message.fbs.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from models.errors import UsageError
from models.roles import Want
from workers.formats import batches
from workers.formats.batches import Batches
from workers.formats.facts import DEFAULT, Bounds, Facts
from workers.formats.refusals import broken
from workers.formats.tables import Table

MAGIC = b"ARROW1"
_DICTIONARY, _BATCH = 2, 3
_MAX_BUFFERS = 1 << 20


def inspect_stream(path: Path, member: str | None, bounds: Bounds = DEFAULT) -> Facts:
    """Facts of an IPC stream; every batch is read once."""
    with _open(path, bounds, file=False) as opened:
        return batches.facts(opened, member, bounds)


def inspect_file(path: Path, member: str | None, bounds: Bounds = DEFAULT) -> Facts:
    """Facts of an IPC file; every batch is read once."""
    with _open(path, bounds, file=True) as opened:
        return batches.facts(opened, member, bounds)


def read_stream(path: Path, member: str | None, want: Want, bounds: Bounds = DEFAULT) -> Table:
    """The chosen columns of an IPC stream."""
    with _open(path, bounds, file=False) as opened:
        return batches.read(opened, member, want, bounds)


def read_file(path: Path, member: str | None, want: Want, bounds: Bounds = DEFAULT) -> Table:
    """The chosen columns of an IPC file."""
    with _open(path, bounds, file=True) as opened:
        return batches.read(opened, member, want, bounds)


def open_stream(path: Path, bounds: Bounds) -> AbstractContextManager[Batches]:
    """An IPC stream, to be read by batches."""
    return _open(path, bounds, file=False)


def open_file(path: Path, bounds: Bounds) -> AbstractContextManager[Batches]:
    """An IPC file, to be read by batches."""
    return _open(path, bounds, file=True)


@contextmanager
def _open(path: Path, bounds: Bounds, *, file: bool) -> Iterator[Batches]:
    import pyarrow as pa

    if path.stat().st_size == 0:
        raise UsageError("The Arrow data are empty.", code="empty")
    with pa.memory_map(str(path)) as mapped:
        data = mapped.read_buffer()
    try:
        if file:
            data = _inside(data)
        n_rows = _measure(data, bounds)
        schema = pa.ipc.open_stream(data).schema
        yield Batches(schema, n_rows, lambda columns: _batches(data, columns))
    except pa.ArrowMemoryError:
        raise
    except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError, struct.error):
        raise broken("The Arrow data are damaged or cut short.") from None


def _inside(data: Any) -> Any:
    """The messages of a file, between the magic bytes and the footer."""
    import pyarrow as pa

    if not (data[:6].to_pybytes() + MAGIC[data.size :]).startswith(MAGIC):
        raise broken("The file does not begin as an Arrow file.")
    if data.size < 20 or data[data.size - 6 :].to_pybytes() != MAGIC:
        raise UsageError(
            f"The Arrow file is truncated: it holds {data.size} bytes and does not end with its "
            "footer.",
            code="truncated",
            actual=data.size,
        )
    with pa.ipc.open_file(data) as opened:
        expected = opened.num_record_batches
    footer = int.from_bytes(data[data.size - 10 : data.size - 6].to_pybytes(), "little")
    inside = data[8 : data.size - 10 - footer]
    n_batches = sum(message.type == "record batch" for message in _messages(inside))
    if n_batches != expected:
        raise broken(f"The Arrow file's footer lists {expected} batches, it holds {n_batches}.")
    return inside


def _messages(data: Any) -> Iterator[Any]:
    import pyarrow as pa

    reader = pa.ipc.MessageReader.open_stream(data)
    while True:
        try:
            yield reader.read_next_message()
        except StopIteration:
            return


def _batches(data: Any, columns: list[int]) -> Iterator[Any]:
    """Record batches with the columns at these positions, each fully checked."""
    import pyarrow as pa

    with pa.ipc.open_stream(data, options=pa.ipc.IpcReadOptions(included_fields=columns)) as reader:
        for batch in reader:
            batch.validate(full=True)
            yield batch


def _measure(data: Any, bounds: Bounds) -> int:
    """The claimed number of rows.

    Raises UsageError if rows or unpacked buffers would be too large.
    """
    n_rows = 0
    unpacked = 0
    for message in _messages(data):
        kind, root, at = _header(message.metadata)
        if kind == _DICTIONARY:
            at = root.table(at, 1)
        elif kind != _BATCH:
            continue
        if at == 0:
            continue
        length = root.scalar(at, 0, "<q")
        if length < 0:
            raise broken("The Arrow data claim a negative number of rows.")
        if kind == _BATCH:
            n_rows += length
        if root.table(at, 3):
            unpacked += _unpacked(root, at, message.body)
    bounds.require(n_rows)
    bounds.require(unpacked)
    return n_rows


def _unpacked(root: _Flat, at: int, body: Any) -> int:
    """The claimed unpacked size of a batch's compressed buffers, from the int64 before each."""
    total = 0
    for offset, size in root.pairs(at, 2):
        if size >= 8 and 0 <= offset <= body.size - 8:
            claimed = int.from_bytes(body[offset : offset + 8].to_pybytes(), "little", signed=True)
            if claimed < -1:
                raise broken("The Arrow data have a buffer of negative size.")
            total += size if claimed == -1 else claimed
    return total


def _header(metadata: Any) -> tuple[int, _Flat, int]:
    root = _Flat(metadata.to_pybytes())
    top = root.uint(0)
    return root.scalar(top, 1, "<B"), root, root.table(top, 2)


class _Flat:
    """The part of a flatbuffer reader that message headers need.

    Raises struct.error past the end.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data

    def uint(self, at: int) -> int:
        return int(struct.unpack_from("<I", self._data, at)[0])

    def scalar(self, table: int, field: int, form: str) -> int:
        at = self._field(table, field)
        return int(struct.unpack_from(form, self._data, at)[0]) if at else 0

    def table(self, table: int, field: int) -> int:
        """The position of a table field, 0 if absent."""
        at = self._field(table, field)
        return at + self.uint(at) if at else 0

    def pairs(self, table: int, field: int) -> list[tuple[int, int]]:
        """A vector of structs of two int64."""
        start = self.table(table, field)
        if not start:
            return []
        count = self.uint(start)
        if count > _MAX_BUFFERS:
            raise broken("The Arrow data have too many buffers in one batch.")
        flat = struct.unpack_from(f"<{2 * count}q", self._data, start + 4)
        return list(zip(flat[::2], flat[1::2], strict=True))

    def _field(self, table: int, field: int) -> int:
        vtable = table - struct.unpack_from("<i", self._data, table)[0]
        if vtable < 0:
            raise struct.error
        if 4 + 2 * field >= struct.unpack_from("<H", self._data, vtable)[0]:
            return 0
        offset = struct.unpack_from("<H", self._data, vtable + 4 + 2 * field)[0]
        return table + offset if offset else 0
