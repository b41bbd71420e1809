"""The number of values that a Parquet file claims to hold, from its footer.

The footer is Thrift in the compact protocol. It is parsed here because pyarrow's own view of a
column chunk aborts the process if a damaged footer breaks certain invariants. Formats:
https://parquet.apache.org/docs/file-format/metadata/ (parquet.thrift),
https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from workers.formats.refusals import broken

_ROW_GROUPS, _COLUMNS, _META_DATA, _NUM_VALUES = 4, 1, 3, 5
_TRUE, _FALSE, _BYTE, _I64, _DOUBLE, _BINARY = 1, 2, 3, 6, 7, 8
_LIST, _SET, _MAP, _STRUCT = 9, 10, 11, 12
_MAX_DEPTH = 16


def values_claimed(footer: bytes) -> int:
    """Sum of `num_values` over all column chunks.

    Raises UsageError `invalid-file` for other content.
    """
    walk = _Walk(footer)
    total = 0
    try:
        for _ in walk.structs_of(_ROW_GROUPS):
            for _ in walk.structs_of(_COLUMNS):
                for field, kind in walk.fields():
                    if field == _META_DATA and kind == _STRUCT:
                        total += _num_values(walk)
                    else:
                        walk.skip(kind)
    except IndexError:
        raise broken("The Parquet file's footer ends too early.") from None
    return total


def _num_values(walk: _Walk) -> int:
    n_values = 0
    for field, kind in walk.fields():
        if field == _NUM_VALUES and kind == _I64:
            n_values = walk.integer()
            if n_values < 0:
                raise broken("The Parquet file claims a negative number of values.")
        else:
            walk.skip(kind)
    return n_values


class _Walk:
    """A position in Thrift's compact protocol. IndexError past the end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def fields(self) -> Iterator[tuple[int, int]]:
        """(id, type) of each field of a struct; the caller reads or skips its value."""
        field = 0
        while head := self._byte():
            delta, kind = head >> 4, head & 15
            field = field + delta if delta else self.integer()
            yield field, kind

    def structs_of(self, wanted: int) -> Iterator[None]:
        """Yields once for each struct in the list in field `wanted` of the current struct."""
        for field, kind in self.fields():
            if field == wanted and kind == _LIST:
                size, inner = self._list()
                if inner != _STRUCT:
                    raise broken("The Parquet file's footer cannot be read.")
                for _ in range(size):
                    yield
            else:
                self.skip(kind)

    def integer(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def skip(self, kind: int, depth: int = 0) -> None:
        if depth > _MAX_DEPTH:
            raise broken("The Parquet file's footer is nested too deeply.")
        if kind in (_TRUE, _FALSE):
            return
        if kind == _BYTE:
            self._move(1)
        elif kind <= _I64:
            self._varint()
        elif kind == _DOUBLE:
            self._move(8)
        elif kind == _BINARY:
            self._move(self._varint())
        elif kind in (_LIST, _SET):
            size, inner = self._list()
            self._skip_items(size, (inner,), depth)
        elif kind == _MAP:
            size = self._varint()
            kinds = self._byte() if size else 0
            self._skip_items(size, (kinds >> 4, kinds & 15), depth)
        elif kind == _STRUCT:
            for _, inner in self.fields():
                self.skip(inner, depth + 1)
        else:
            raise broken("The Parquet file's footer cannot be read.")

    def _skip_items(self, size: int, kinds: tuple[int, ...], depth: int) -> None:
        """The number of items in a collection. Each takes a byte or more, even a boolean."""
        if size > len(self._data) - self._at:
            raise IndexError
        for _ in range(size):
            for kind in kinds:
                self.skip(_BYTE if kind in (_TRUE, _FALSE) else kind, depth + 1)

    def _list(self) -> tuple[int, int]:
        head = self._byte()
        size = head >> 4
        return self._varint() if size == 15 else size, head & 15

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise broken("The Parquet file's footer cannot be read.")

    def _byte(self) -> int:
        byte = self._data[self._at]
        self._at += 1
        return byte

    def _move(self, size: int) -> None:
        self._at += size
        if self._at > len(self._data):
            raise IndexError
