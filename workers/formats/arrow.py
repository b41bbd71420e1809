"""Arrow IPC, as a stream and as a file (Feather V2).

A stream is read in order, a file by what its footer lists, both from a memory map, so that
uncompressed buffers are not copied. Before anything is unpacked, the metadata of the
messages are added up: rows, and the sizes claimed by compressed buffers. Format:
https://arrow.apache.org/docs/format/Columnar.html, Message.fbs.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from json import JSONDecodeError
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
_BLOCK = struct.Struct("<qi4xq")


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
        n_rows, packed = _measure(_listed(data) if file else _messages(data), bounds)
        with _reader(data, file=file) as reader:
            schema = reader.schema
        read = _batches if packed or not file else _mapped
        yield Batches(schema, n_rows, lambda columns: read(data, columns, file))
    except pa.ArrowMemoryError:
        raise
    # A type of pandas, where it is loaded, reads what its column says of it as JSON.
    except (
        pa.ArrowException,
        OSError,
        EOFError,
        UnicodeDecodeError,
        JSONDecodeError,
        struct.error,
    ):
        raise broken("The Arrow data are damaged or cut short.") from None


def _reader(data: Any, *, file: bool, columns: list[int] | None = None) -> Any:
    import pyarrow as pa

    options = pa.ipc.IpcReadOptions(included_fields=columns)
    return (pa.ipc.open_file if file else pa.ipc.open_stream)(data, options=options)


def _listed(data: Any) -> Iterator[Any]:
    """The messages of dictionaries and batches that a file's footer lists.

    The footer alone says where they are: between them may be anything, and polars writes the
    schema before them without the length that a stream's has.
    """
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
    last = (
        data.size - 10 - int.from_bytes(data[data.size - 10 : data.size - 6].to_pybytes(), "little")
    )
    if last < 8:
        raise broken("The Arrow file's footer is longer than the file.")
    footer = _Flat(data[last : data.size - 10].to_pybytes())
    top = footer.uint(0)
    end = 8
    for start, head, body in sorted([*footer.blocks(top, 2), *footer.blocks(top, 3)]):
        if start < end or head <= 0 or body < 0:
            raise broken("The Arrow file's footer lists batches that lie over each other.")
        end = start + head + body
        if end > last:
            raise broken("The Arrow file's footer lists batches beyond the end of the file.")
        yield pa.ipc.read_message(data[start:end])


def _messages(data: Any) -> Iterator[Any]:
    import pyarrow as pa

    reader = pa.ipc.MessageReader.open_stream(data)
    while True:
        try:
            yield reader.read_next_message()
        except StopIteration:
            return


def _mapped(data: Any, columns: list[int], file: bool) -> Iterator[Any]:
    """What `_batches` gives of a file that is not packed, without a copy: a file that is read by
    chosen columns is copied."""
    with _reader(data, file=file) as reader:
        for at in range(reader.num_record_batches):
            batch = reader.get_batch(at).select(columns)
            batch.validate(full=True)
            yield batch


def _batches(data: Any, columns: list[int], file: bool) -> Iterator[Any]:
    """Record batches with the columns at these positions, each fully checked."""
    with _reader(data, file=file, columns=columns) as reader:
        batches = map(reader.get_batch, range(reader.num_record_batches)) if file else reader
        for batch in batches:
            batch.validate(full=True)
            yield batch


def _measure(messages: Iterable[Any], bounds: Bounds) -> tuple[int, bool]:
    """The claimed number of rows, and whether some buffers are packed.

    Raises UsageError if rows or unpacked buffers would be too large.
    """
    n_rows = 0
    unpacked = 0
    for message in messages:
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
    return n_rows, unpacked > 0


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

    def blocks(self, table: int, field: int) -> list[tuple[int, int, int]]:
        """The blocks of a file: the place of each, the lengths of its head and body."""
        start = self.table(table, field)
        count = self.uint(start) if start else 0
        held = self._data[start + 4 : start + 4 + _BLOCK.size * count]
        if len(held) != _BLOCK.size * count:
            raise struct.error
        return list(_BLOCK.iter_unpack(held))

    def _field(self, table: int, field: int) -> int:
        vtable = table - struct.unpack_from("<i", self._data, table)[0]
        if vtable < 0:
            raise struct.error
        if 4 + 2 * field >= struct.unpack_from("<H", self._data, vtable)[0]:
            return 0
        offset = struct.unpack_from("<H", self._data, vtable + 4 + 2 * field)[0]
        return table + offset if offset else 0
