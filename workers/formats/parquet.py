"""Parquet: columns in row groups, checked by their metadata before any page is unpacked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from json import JSONDecodeError
from pathlib import Path
from typing import Any

from models.errors import UsageError
from models.roles import Want
from workers.formats import arrow_types, batches
from workers.formats.batches import Batches
from workers.formats.facts import DEFAULT, Bounds, Facts
from workers.formats.parquet_footer import values_claimed
from workers.formats.refusals import broken, unsupported
from workers.formats.tables import Table, require_distinct

MAGIC = b"PAR1"
_BATCH_CELLS = 1 << 20
_BATCH_ROWS = 1 << 16
_BUFFER = 1 << 16
"""Bytes of each column that are read at a time, so that no row group is held whole."""


def inspect(path: Path, member: str | None, bounds: Bounds = DEFAULT) -> Facts:
    """Facts of the table; every row group is read once."""
    with opened_file(path, bounds) as opened:
        return batches.facts(opened, member, bounds)


def read(path: Path, member: str | None, want: Want, bounds: Bounds = DEFAULT) -> Table:
    """The chosen columns, read batch by batch into one array."""
    with opened_file(path, bounds) as opened:
        return batches.read(opened, member, want, bounds)


@contextmanager
def opened_file(path: Path, bounds: Bounds) -> Iterator[Batches]:
    """A Parquet file, to be read by batches."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    size = path.stat().st_size
    if size == 0:
        raise UsageError("The Parquet file is empty.", code="empty")
    with path.open("rb") as file:
        if file.read(4) != MAGIC:
            raise broken("The file does not begin as a Parquet file.")
        file.seek(max(0, size - 4))
        if size < 12 or file.read(4) != MAGIC:
            raise UsageError(
                f"The Parquet file is truncated: it holds {size} bytes and does not end with its "
                "footer.",
                code="truncated",
                actual=size,
            )
    try:
        with pq.ParquetFile(path) as plain:
            text = _texts(plain.schema_arrow)
            _check_sizes(path, plain, bounds)
        with pq.ParquetFile(
            path, read_dictionary=text, buffer_size=_BUFFER, pre_buffer=False
        ) as opened:
            yield Batches(
                opened.schema_arrow,
                opened.metadata.num_rows,
                lambda columns: _batches(opened, columns),
            )
    except pa.ArrowMemoryError:
        raise
    except pa.ArrowNotImplementedError:
        raise unsupported(
            "The Parquet file uses an encoding, compression or encryption that is not accepted."
        ) from None
    # A type of pandas, where it is loaded, reads what its column says of it as JSON.
    except (pa.ArrowException, OSError, UnicodeDecodeError, JSONDecodeError):
        raise broken("The Parquet file is damaged.") from None


def _texts(schema: Any) -> list[str]:
    """Columns of text, to be read as dictionaries: a million equal words then take little room."""
    import pyarrow as pa

    require_distinct(schema.names)
    return [
        field.name
        for field in schema
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type)
    ]


def _check_sizes(path: Path, opened: Any, bounds: Bounds) -> None:
    """Check the number of values, not bytes, since run-length encoding stores many values in few
    bytes.

    A column of plain values has one value per row, and rows are read in batches; a column of lists
    has as many values as its chunks claim.
    """
    n_rows, n_columns = opened.metadata.num_rows, opened.metadata.num_columns
    if n_rows < 0:
        raise broken("The Parquet file claims a negative number of rows.")
    bounds.require(n_rows * max(8, n_columns))
    if any(arrow_types.is_list(field.type) for field in opened.schema_arrow):
        bounds.require(4 * values_claimed(_footer(path)))


def _footer(path: Path) -> bytes:
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(size - 8)
        length = int.from_bytes(file.read(4), "little")
        if length > size - 12:
            raise broken("The Parquet file's footer is longer than the file.")
        file.seek(size - 8 - length)
        return file.read(length)


def _batches(opened: Any, columns: list[int]) -> Iterator[Any]:
    # The property builds a new schema each time.
    schema_names = opened.schema_arrow.names
    names = [schema_names[column] for column in columns]
    rows = min(_BATCH_ROWS, max(256, _BATCH_CELLS // max(1, opened.metadata.num_columns)))
    for batch in opened.iter_batches(batch_size=rows, columns=names, use_threads=False):
        batch.validate(full=True)
        yield batch
