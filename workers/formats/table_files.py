"""Files of tables with named columns: what their columns hold, and those that are chosen.

`seen` looks at the first rows alone; what follows is checked where it is read. `matrix` reads the
chosen columns of numbers in constant memory beside the matrix itself, `texts` one column as text.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from models.errors import UsageError, shown
from models.inputs.reading import LARGEST, is_kept, rounded
from workers.formats import (
    arrow,
    arrow_types,
    batches,
    csv,
    excel,
    h5ad,
    hidden_cells,
    items,
    json,
    jsonl,
    parquet,
)
from workers.formats.batches import Batches
from workers.formats.column_roles import Kind, Seen, is_text_by_name
from workers.formats.csv_dialect import Dialect, dialect_of
from workers.formats.facts import Bounds
from workers.formats.refusals import missing
from workers.formats.tables import (
    PADDED,
    Lists,
    is_empty,
    is_written_number,
    require_distinct,
    require_filled,
)

if TYPE_CHECKING:
    import pyarrow as pa

MOST_SEEN = 2000
"""Rows that are looked at."""
_FEWEST_COUNTED = 5
_FEWEST_SHUFFLED = 8
_FIRST_DAY, _LAST_DAY = 19000101, 21001231
_DAY = re.compile(r"\d{4}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])", re.ASCII)

_BY_BATCHES = frozenset({*excel.MEDIA_TYPES, "arrow-stream", "arrow-file", "parquet"})
_UNNAMED = "columns of a file without names were chosen"
_CODE = re.compile(r"[\w-]+")
_INTEGER = re.compile(r"\s*[+-]?\d{1,40}\s*", re.ASCII)
_OPEN: dict[str, Callable[[Path, Bounds], AbstractContextManager[Batches]]] = {
    "arrow-stream": arrow.open_stream,
    "arrow-file": arrow.open_file,
    "parquet": parquet.opened_file,
}
TABULAR = frozenset({"csv", "json", "jsonl", "h5ad", *excel.MEDIA_TYPES, *_OPEN})
"""The formats whose files may be tables with named columns."""


@contextmanager
def _opened(format: str, path: Path, sheet: str | None, bounds: Bounds) -> Iterator[Batches | None]:
    """A table of Arrow or Parquet, or of a sheet; None for a sheet without names of columns."""
    if format in excel.MEDIA_TYPES:
        with excel.opened(path, bounds, sheet) as found:
            yield found.table if found.named else None
        return
    with _OPEN[format](path, bounds) as table:
        yield table


def seen(format: str, path: Path, bounds: Bounds, sheet: str | None = None) -> list[Seen]:
    """What the first rows show of each column; empty where the columns have no names.

    sheet : of a workbook, None: the first; or the matrix of a file of AnnData, None: X.

    Raises UsageError for two columns of one name, and as the reader.
    """
    if format not in TABULAR:
        return []
    if format == "csv":
        head = csv.head(path, MOST_SEEN, bounds)
        if head is None:
            return []
        require_distinct(head.names)
        return [
            _of_cells(name, [row[at] for row in head.rows], at, head.dialect)
            for at, name in enumerate(head.names)
        ]
    if format in _BY_BATCHES:
        with _opened(format, path, sheet, bounds) as opened:
            if opened is None:
                return []
            require_distinct(opened.schema.names)
            return _of_batches(opened)
    if format == "h5ad":
        with h5ad.opened(path, bounds, sheet) as found:
            beside = [replace(each, beside=True) for each in _of_batches(found.obs)]
            all_seen = [*beside, *found.seen()]
            require_distinct([each.name for each in all_seen])
            return all_seen
    rows = _objects(format, path, bounds)
    if rows is None:
        return []
    objects = items.of_objects(rows, as_items=False)
    require_distinct(objects.names)
    return [
        _of_values(name, column.type, column.slice(0, MOST_SEEN).combine_chunks())
        for name, column in zip(objects.names, objects.columns, strict=True)
    ]


def notes(
    format: str,
    path: Path,
    names: Sequence[str] | None,
    bounds: Bounds,
    sheet: str | None = None,
) -> tuple[str, ...]:
    """What was decided about a CSV file, a workbook, a file of AnnData or a JSON document and could
    be read otherwise.

    names : the columns that are read as numbers; None: all of them.
    """
    if format in excel.MEDIA_TYPES:
        with excel.opened(path, bounds, sheet) as found:
            return (*found.notes, *hidden_cells.notes(path, found.name, found.end))
    if format == "h5ad":
        with h5ad.opened(path, bounds, sheet) as annotated:
            return annotated.notes
    if format == "json":
        return json.table(path)[1]
    if format != "csv":
        return ()
    dialect = dialect_of(path, bounds.csv)
    own = range(dialect.n_columns) if names is None else dialect.positions(names)
    return (*dialect.notes, *dialect.of_styles(own))


def matrix(
    format: str, path: Path, names: Sequence[str], bounds: Bounds, sheet: str | None = None
) -> npt.NDArray[Any] | sp.csr_array:
    """(n_rows, len(names)) the columns of these names, or the vectors of the only one; sparse where
    the file has them so.

    A missing value is NaN where the bounds allow gaps.

    Raises UsageError `missing-value`, `wrong-input` and `not-finite`, naming column and row.
    """
    if format == "csv":
        return csv.columns(path, names, bounds)
    if format in _BY_BATCHES:
        with _opened(format, path, sheet, bounds) as opened:
            assert opened is not None, _UNNAMED
            return batches.columns(opened, names, bounds)
    if format == "h5ad":
        with h5ad.opened(path, bounds, sheet) as found:
            return found.values(names)
    rows = _objects(format, path, bounds)
    assert rows is not None, _UNNAMED
    objects = items.of_objects(rows, as_items=False)
    by_name = dict(zip(objects.names, objects.columns, strict=True))
    bounds.require(8 * len(names) * len(objects.columns[0]))
    if arrow_types.is_list(by_name[names[0]].type):
        vectors = batches.of_lists(by_name[names[0]].combine_chunks(), 0, None, gaps=bounds.gaps)
        _require_finite(names[0], np.where(np.isinf(vectors).any(axis=1), np.inf, 0.0), bounds.gaps)
        _require_kept(vectors, lambda row, at: rows[row][names[0]][at], None, format)
        return vectors
    columns = [_numbers(at, name, by_name[name], gaps=bounds.gaps) for at, name in enumerate(names)]
    numbers = np.stack(columns, axis=1)
    _require_kept(numbers, lambda row, at: rows[row][names[at]], names, format)
    return numbers


def blocks(
    format: str, path: Path, names: Sequence[str], bounds: Bounds, sheet: str | None = None
) -> Iterator[npt.NDArray[Any] | sp.csr_array]:
    """What `matrix` gives, as blocks of rows; a sparse matrix is one."""
    if format == "csv":
        yield from csv.blocks(path, names, bounds)
    elif format in _BY_BATCHES:
        with _opened(format, path, sheet, bounds) as opened:
            assert opened is not None, _UNNAMED
            yield from batches.column_blocks(opened, names, bounds)
    elif format == "h5ad":
        with h5ad.opened(path, bounds, sheet) as found:
            yield from found.blocks(names)
    else:
        yield matrix(format, path, names, bounds)


def mapped(
    format: str, path: Path, names: Sequence[str], bounds: Bounds
) -> npt.NDArray[Any] | None:
    """What `matrix` gives, mapped from a nameless temporary file, so that the memory that it takes
    is a block of rows; None for formats that are not read by blocks.

    Raises OSError where there is no room for the file.
    """
    if format != "csv" and format not in _BY_BATCHES:
        return None
    dtype: np.dtype[Any] | None = None
    while True:
        n_rows = width = 0
        with tempfile.TemporaryFile() as file:
            for block in blocks(format, path, names, bounds):
                assert not isinstance(block, sp.csr_array)
                wide = block.dtype if dtype is None else np.result_type(dtype, block.dtype)
                if dtype is not None and wide != dtype:
                    # The first missing value among integers: all is written anew.
                    dtype = wide
                    break
                dtype = wide
                file.write(np.ascontiguousarray(block, dtype).data)
                n_rows, width = n_rows + len(block), block.shape[1]
            else:
                require_filled((n_rows,))
                assert dtype is not None
                file.flush()
                return np.memmap(file, dtype, "r", shape=(n_rows, width))


def line_of(
    format: str, path: Path, row: int, bounds: Bounds, sheet: str | None = None
) -> int | None:
    """The line of a row in a file of text or a sheet, counted from 1; None in other formats."""
    if format == "csv":
        return csv.line_of(path, row, bounds)
    if format in excel.MEDIA_TYPES:
        with excel.opened(path, bounds, sheet) as found:
            return found.first_line + row
    return row + 1 if format == "jsonl" else None


def _of_batches(table: Batches) -> list[Seen]:
    first = next(table.read(list(range(len(table.schema.names)))), None)
    declared = batches.index_columns(table.schema)
    return [
        _of_values(
            field.name,
            field.type,
            None if first is None else first.column(at).slice(0, MOST_SEEN),
            index=field.name in declared,
        )
        if not arrow_types.is_period(field)
        else Seen(field.name, "other", index=field.name in declared)
        for at, field in enumerate(table.schema)
    ]


def _objects(format: str, path: Path, bounds: Bounds) -> list[dict[str, Any]] | None:
    """The rows of a JSON document or JSON lines of objects; None for other values."""
    reader = json.read if format == "json" else jsonl.read
    plain = reader(path, None, "table", bounds)
    rows = plain.value if isinstance(plain, Lists) else None
    if not isinstance(rows, list) or not rows or not isinstance(rows[0], dict):
        return None
    return rows


def _require_kept(
    found: npt.NDArray[Any],
    written: Callable[[int, int], object],
    names: Sequence[str] | None,
    format: str,
) -> None:
    """Raises UsageError naming the first integer of JSON that double precision has rounded.

    written : the value in the document of a row and column. names : of the columns.
    """
    with np.errstate(invalid="ignore"):
        large = (found >= LARGEST) | (found <= -LARGEST)
    for row, at in np.argwhere(large).tolist() if large.any() else ():
        value = written(row, at)
        if isinstance(value, int) and not is_kept(str(value)):
            name = None if names is None else shown(names[at])
            line = row + 1 if format == "jsonl" else None
            raise rounded(value, row, at, name=name, line=line)


def _numbers(at: int, name: str, column: pa.ChunkedArray, *, gaps: bool) -> npt.NDArray[Any]:
    """(n_rows,) float64; NaN for a missing value if there may be gaps."""
    import pyarrow as pa

    if column.null_count and not gaps:
        empty = column.combine_chunks().is_null().to_numpy(zero_copy_only=False)
        raise missing(int(np.flatnonzero(empty)[0]), at, name=name)
    try:
        values: npt.NDArray[Any] = column.cast(pa.float64(), safe=False).to_numpy()
    except pa.ArrowInvalid:
        raise UsageError(
            f"Column {shown(name)} holds text; a matrix holds numbers.", code="wrong-input"
        ) from None
    _require_finite(name, values, gaps)
    return values


def _require_finite(name: str, values: npt.NDArray[Any], gaps: bool) -> None:
    strange = np.flatnonzero(np.isinf(values) if gaps else ~np.isfinite(values))
    if strange.size:
        raise UsageError(
            f"Column {shown(name)} has a number that is not finite at row {int(strange[0])} "
            "(counted from 0).",
            code="not-finite",
            row=int(strange[0]),
        )


def _of_cells(name: str, cells: Sequence[str], at: int, dialect: Dialect) -> Seen:
    """What the cells of a column of text are. One that has as many numbers as words is of numbers,
    unless its name is that of texts: where it is read, its first word is refused."""
    present = [cell for cell in cells if not is_empty(cell)]
    length = sum(map(len, present)) / max(1, len(present))
    numbers = [dialect.number(cell, at) for cell in present]
    truth = dialect.styles[at] == "truth"
    kind: Kind = "boolean" if truth else _kind_of_cells(name, present, numbers)
    values = [float(number) for number in numbers if number is not None]
    whole = kind in ("number", "integer") and 0 < len(values) == len(numbers)
    whole = whole and all(map(float.is_integer, values))
    counts = whole and len(values) == len(cells) and _counts(values)
    # Among texts that differ, NA and null are texts too: codes of countries, names of people.
    filled = [cell for cell in cells if cell.strip()] if kind == "text" else present
    differ = len(set(filled)) == len(cells)
    twice = None if differ else _twice([None if is_empty(cell) else cell for cell in cells])
    padded = next(filter(PADDED.fullmatch, present), None) if whole and not counts else None
    return Seen(
        name,
        kind,
        differ,
        length,
        examples=tuple(present[:3]),
        whole=whole,
        counts=counts,
        twice=twice,
        padded=padded,
        shuffled=whole and len(values) == len(cells) and _are_shuffled(values),
        day=_day(values) if whole else None,
    )


def _twice(values: Sequence[object]) -> tuple[int, int] | None:
    """The first two rows of one value."""
    row_of: dict[object, int] = {}
    for row, value in enumerate(values):
        first = row_of.setdefault(value, row)
        if first != row and value is not None:
            return first, row
    return None


def _counts(values: Sequence[float]) -> bool:
    """Whether they are 0, 1, 2, ... or 1, 2, 3, ..., of at least `_FEWEST_COUNTED` rows."""
    first = values[0]
    return (
        len(values) >= _FEWEST_COUNTED
        and first in (0.0, 1.0)
        and all(value == first + row for row, value in enumerate(values))
    )


def _are_shuffled(values: Sequence[float]) -> bool:
    """Whether they are 0, 1, 2, ... or 1, 2, 3, ... in another order, of enough rows that it is no
    chance."""
    first = min(values)
    return (
        len(values) >= _FEWEST_SHUFFLED
        and first in (0.0, 1.0)
        and max(values) == first + len(values) - 1
        and len(set(values)) == len(values)
        and not _counts(values)
    )


def _day(values: Sequence[float]) -> str | None:
    """The first of some integers, if all are days such as 20200131 and some differ."""
    if min(values) < _FIRST_DAY or max(values) > _LAST_DAY or len(set(values)) < 2:
        return None
    return str(int(values[0])) if all(_DAY.fullmatch(str(int(each))) for each in values) else None


def _kind_of_cells(name: str, present: Sequence[str], numbers: Sequence[str | None]) -> Kind:
    found = [number for number in numbers if number is not None]
    whole = all(map(_INTEGER.fullmatch, found))
    texts = len(found) < len(present) and is_text_by_name(name, whole=whole)
    if not present or (2 * len(found) >= len(present) and not texts):
        return "integer" if whole and len(found) == len(present) > 0 else "number"
    return "date" if all(map(items.is_date, present)) else "text"


def _of_values(name: str, type: pa.DataType, values: pa.Array | None, index: bool = False) -> Seen:
    import pyarrow.compute as pc

    kind = kind_of(type)
    if values is None:
        return Seen(name, kind, index=index)
    plain = arrow_types.plain(values)
    try:
        examples = tuple(_written(value) for value in plain.drop_null()[:3].to_pylist())
    except (OverflowError, ValueError):
        # Dates that Python has not.
        examples = ()
    if kind in ("vector", "other"):
        return Seen(name, kind, index=index, examples=examples)
    differ = not plain.null_count and len(plain.unique()) == len(plain)
    length, spoilt = 0.0, None
    if kind == "text" and len(plain) > plain.null_count:
        length = float(pc.mean(pc.utf8_length(plain.cast("large_string"))).as_py())
        spoilt = None if is_text_by_name(name, whole=True) else _spoilt(plain.to_pylist())
    whole = counts = shuffled = False
    day = None
    if kind in ("number", "integer") and len(plain) > plain.null_count:
        values = plain.drop_null().cast("float64", safe=False).to_numpy()
        whole = bool((values == np.trunc(values)).all())
        numbers = values.tolist() if whole else []
        counts = whole and not plain.null_count and _counts(numbers)
        shuffled = whole and not plain.null_count and _are_shuffled(numbers)
        day = _day(numbers) if whole else None
    twice = None if differ or kind == "date" else _twice(plain.to_pylist())
    return Seen(
        name,
        kind,
        differ,
        length,
        index,
        examples,
        whole,
        counts,
        twice,
        shuffled=shuffled,
        day=day,
        spoilt=spoilt,
    )


def _spoilt(texts: Sequence[str | None]) -> tuple[int, str] | None:
    """The row and the text of the first word, where at least half of the texts are numbers, unless
    all are codes such as 12 and 12a."""
    filled = [(row, text) for row, text in enumerate(texts) if text is not None and text.strip()]
    words = [(row, text) for row, text in filled if not is_written_number(text)]
    if not words or 2 * len(words) > len(filled):
        return None
    codes = any(map(str.isdigit, words[0][1])) and all(_CODE.fullmatch(text) for _, text in filled)
    return None if codes else words[0]


def _written(value: object) -> str:
    """A value for people; bytes are not shown."""
    return f"{len(value)} bytes" if isinstance(value, bytes) else str(value)


def kind_of(type: pa.DataType) -> Kind:
    """The kind of an Arrow column."""
    import pyarrow as pa

    plain = arrow_types.plain_type(type)
    if pa.types.is_dictionary(plain):
        plain = plain.value_type
    if arrow_types.is_list(plain):
        inside = kind_of(plain.value_type)
        return "vector" if inside in ("number", "integer") else "other"
    if pa.types.is_boolean(plain):
        return "boolean"
    if pa.types.is_integer(plain) or (pa.types.is_decimal(type) and type.scale == 0):
        return "integer"
    if pa.types.is_floating(plain) or pa.types.is_decimal(plain) or pa.types.is_null(plain):
        return "number"
    if pa.types.is_temporal(plain):
        return "date"
    if arrow_types.is_text(plain):
        return "text"
    return "other"
