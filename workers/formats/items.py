"""A plain table as items: what kind each column is of.

A binary column is of images. A column of text is of numbers where a file of text cells has numbers
alone, of dates where every text is one in ISO 8601, of categories where few texts occur and each
often, and else of texts. Nothing is guessed of a column that declares its type.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from models.errors import UsageError, shown
from models.inputs.items import MOST_COLUMNS, ItemColumn, ItemTable, ranked
from models.items.facts import require_image
from workers.formats import arrow_types
from workers.formats.refusals import described, refused, unsupported
from workers.formats.tables import NOTHING, Lists, NamedColumns, Table, require_names

if TYPE_CHECKING:
    import pyarrow as pa

MOST_CATEGORIES = 1000
"""A column of more different texts is one of texts."""
LONGEST_CATEGORY = 200
LONGEST_TEXT = 100_000
_ROLE = "items"
_FEW_CELLS = 1_000_000
_DATE = re.compile(
    r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:?\d{2})?)?", re.ASCII
)
_PER_SECOND = {"s": 1, "ms": 1000, "us": 10**6, "ns": 10**9}
_BOUND_S = (-62_135_596_800, 253_402_300_799)
"""The first and the last second of the years 1 to 9999, from 1970 on."""


def table(plain: Table) -> ItemTable:
    """The items in a plain table.

    Raises UsageError `wrong-input`, `unsupported-format`, `too-large`, `invalid-file`, `ragged` and
    `empty`, naming the column and, where there is one, the row.
    """
    if isinstance(plain, Lists):
        plain = of_objects(plain.value)
    if not isinstance(plain, NamedColumns):
        raise refused(
            "must be a table with named columns: CSV with a header, JSON or JSON lines of objects, "
            "Arrow, Parquet, or a zip archive of images",
            _ROLE,
        )
    require_names(plain.names)
    if not plain.columns or not len(plain.columns[0]):
        raise refused("has no rows", _ROLE, "empty")
    return ItemTable(
        tuple(
            _column(name.strip() or f"column {number}", column, written=plain.written)
            for number, (name, column) in enumerate(zip(plain.names, plain.columns, strict=True))
        )
    )


def of_objects(rows: object, *, as_items: bool = True) -> NamedColumns:
    """A list of objects; a member that a row does not have is missing there. as_items : lists and
    objects within them are refused, and so are many columns."""
    import pyarrow as pa

    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise refused("must be a list of objects, one for each row, with a value by column", _ROLE)
    names: dict[str, None] = {}
    for row in rows:
        names.update(dict.fromkeys(row))
        if as_items and len(names) > MOST_COLUMNS:
            break
    if as_items:
        require_names(list(names))
    elif len(names) * len(rows) > 2 * sum(map(len, rows)) + _FEW_CELLS:
        raise UsageError(
            f"The {len(rows):,} objects have {len(names):,} different names in all and few of them "
            "each; a table has the same columns in every row.",
            code="wrong-input",
        )
    columns = []
    for name in names:
        values = [row.get(name) for row in rows]
        if not as_items and any(isinstance(value, (list, dict)) for value in values):
            columns.append(pa.chunked_array([_of_structures(values)]))
            continue
        _require_unicode([name], name)
        columns.append(pa.chunked_array([_of_json(values, name, whole=not as_items)]))
    return NamedColumns(list(names), columns)


def _of_structures(values: list[Any]) -> pa.Array:
    """Vectors where all are lists of numbers; else each as JSON in a list."""
    import pyarrow as pa

    present = [value for value in values if value is not None]
    if all(isinstance(value, list) and set(map(type, value)) <= {int, float} for value in present):
        numbers = [None if value is None else [*map(_float, value)] for value in values]
        return pa.array(numbers, pa.list_(pa.float64()))
    texts = [None if value is None else [json.dumps(value)] for value in values]
    return pa.array(texts, pa.list_(pa.large_string()))


def _of_json(values: list[Any], name: str, *, whole: bool) -> pa.Array:
    """Numbers as float64, truths as bool, and else texts. whole : integers alone as int64."""
    import pyarrow as pa

    kinds = set(map(type, values)) - {type(None)}
    for row, value in enumerate(values):
        if isinstance(value, (list, dict)):
            raise refused(
                f"has {described(value)} in column {shown(name)} at row {row} (counted from 0); "
                "accepted are texts, numbers, true, false and null",
                _ROLE,
                row=row,
            )
    if whole and kinds == {int}:
        kind = pa.int64() if all(v is None or v < 1 << 63 for v in values) else pa.uint64()
        with suppress(OverflowError, pa.ArrowInvalid):
            return pa.array(values, kind)
    if kinds <= {int, float} and kinds:
        # An integer beyond float64 is infinite, and so a missing value, which is reported.
        numbers = [None if value is None else _float(value) for value in values]
        return pa.array(numbers, pa.float64())
    if kinds == {bool}:
        return pa.array(values, pa.bool_())
    texts = [value if value is None or isinstance(value, str) else _json(value) for value in values]
    _require_unicode([text for text in texts if text is not None], name)
    return pa.array(texts, pa.large_string())


def _float(value: int | float) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def _json(value: bool | int | float) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _require_unicode(texts: Sequence[str], name: str) -> None:
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        raise refused(
            f"has text that is not valid Unicode (a lone surrogate) in column {shown(name)}", _ROLE
        ) from None


def _column(name: str, values: pa.ChunkedArray, *, written: bool) -> ItemColumn:
    """A column of the kind that its type or its texts tell."""
    import pyarrow as pa

    kind = values.type
    if isinstance(kind, pa.BaseExtensionType):
        values, kind = values.cast(kind.storage_type), kind.storage_type
    if pa.types.is_struct(kind) and {"bytes", "path"} >= {field.name for field in kind}:
        # As the library `datasets` of Hugging Face writes images.
        values = _member(values, "bytes", name)
        kind = values.type
    one = values.combine_chunks() if not _is_binary(kind) else values
    if isinstance(one, pa.ChunkedArray):
        return _images(name, one)
    if pa.types.is_boolean(kind):
        return ItemColumn(name, "category", ranked(one.cast(pa.string())))
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return _numbers(name, one)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return _dates(name, one)
    if pa.types.is_dictionary(kind) and _is_text(kind.value_type):
        return _of_texts(name, arrow_types.plain(one).cast(pa.large_string()), written=False)
    if pa.types.is_null(kind):
        return ItemColumn(name, "text", one.cast(pa.large_string()))
    if not _is_text(kind):
        raise unsupported(
            f"Column {shown(name)} has type {shown(str(kind))}; accepted are numbers, booleans, "
            "text, dates, and images as binary columns."
        )
    return _of_texts(name, one.cast(pa.large_string()), written=written)


def _is_text(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def _is_binary(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
        or pa.types.is_binary_view(kind)
    )


def _member(values: pa.ChunkedArray, member: str, name: str) -> pa.ChunkedArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    if member not in {field.name for field in values.type}:
        raise unsupported(f"Column {shown(name)} is a struct without the bytes of images.")
    inside = pc.struct_field(values, member)
    if not _is_binary(inside.type):
        raise unsupported(f"Column {shown(name)} is a struct whose {member} are not binary.")
    return inside if isinstance(inside, pa.ChunkedArray) else pa.chunked_array([inside])


def _images(name: str, values: pa.ChunkedArray) -> ItemColumn:
    import pyarrow as pa

    row = 0
    for chunk in values.chunks:
        for content in chunk:
            if content.is_valid:
                place = f"column {shown(name)}, row {row} (counted from 0)"
                require_image(content.as_py(), place)
            row += 1
    whole = values.cast(pa.large_binary()).combine_chunks()
    return ItemColumn(name, "image", whole)


def _numbers(name: str, values: pa.Array) -> ItemColumn:
    import pyarrow as pa

    numbers = values.cast(pa.float64(), safe=False)
    missing = numbers.is_null().to_numpy(zero_copy_only=False)
    plain = numbers.fill_null(0.0).to_numpy(zero_copy_only=False)
    strange = ~np.isfinite(plain)
    return ItemColumn(
        name, "number", pa.array(plain, mask=missing | strange), int((strange & ~missing).sum())
    )


def _dates(name: str, values: pa.Array) -> ItemColumn:
    """Raises UsageError for years outside 1 to 9999."""
    import pyarrow as pa

    # A day of a date64 is in ms, one of a date32 has no smaller unit.
    plain = pa.timestamp(getattr(values.type, "unit", "s"))
    if not pa.types.is_timestamp(values.type):
        plain = pa.timestamp("ms" if values.type == pa.date64() else "s")
    zoneless = values.cast(plain, safe=False)
    whole = zoneless.cast(pa.int64())
    missing = whole.is_null().to_numpy(zero_copy_only=False)
    seconds = whole.fill_null(0).to_numpy(zero_copy_only=False) // _PER_SECOND[plain.unit]
    strange = np.flatnonzero(~missing & ((seconds < _BOUND_S[0]) | (seconds > _BOUND_S[1])))
    if strange.size:
        row = int(strange[0])
        raise refused(
            f"has a date outside the years 1 to 9999 in column {shown(name)} at row {row} "
            "(counted from 0)",
            _ROLE,
            row=row,
        )
    return ItemColumn(name, "date", zoneless.cast(pa.timestamp("us"), safe=False).cast(_moment()))


def _moment() -> pa.DataType:
    import pyarrow as pa

    return pa.timestamp("us", "UTC")


def _of_texts(name: str, values: pa.Array, *, written: bool) -> ItemColumn:
    """Texts as the numbers, dates or categories that they stand for, or as texts."""
    import pyarrow as pa
    import pyarrow.compute as pc

    longest = pc.max(pc.utf8_length(values)).as_py() or 0
    if longest > LONGEST_TEXT:
        row = int(np.argmax(pc.fill_null(pc.utf8_length(values), 0).to_numpy() > LONGEST_TEXT))
        raise UsageError(
            f"The text in column {shown(name)} at row {row} (counted from 0) is longer than "
            f"{LONGEST_TEXT:,} characters.",
            code="too-large",
            limit=LONGEST_TEXT,
        )
    if written:
        # A cell of text is missing where it is blank or says so.
        bare = pc.utf8_lower(pc.utf8_trim_whitespace(values))
        nothing = pc.is_in(bare, pa.array(["", *sorted(NOTHING)], bare.type))
        values = pc.if_else(nothing, pa.scalar(None, values.type), values)
        numbers = _written_numbers(values)
        if numbers is not None:
            return _numbers(name, numbers)
    coded = values.dictionary_encode()
    texts = coded.dictionary
    n_present = len(values) - values.null_count
    if n_present and (dates := _written_dates(texts)) is not None:
        return ItemColumn(name, "date", dates.take(coded.indices).cast(_moment()))
    few = len(texts) <= MOST_CATEGORIES and 2 * len(texts) <= n_present
    if few and longest <= LONGEST_CATEGORY:
        return ItemColumn(name, "category", ranked(values))
    return ItemColumn(name, "text", values)


_NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
_NOT_FINITE = r"^\s*[+-]?(nan|inf(inity)?)\s*$"


def _written_numbers(values: pa.Array) -> pa.Array | None:
    """float64, if every text is a number, finite or not, and one is finite; else None."""
    import pyarrow as pa
    import pyarrow.compute as pc

    finite = pc.match_substring_regex(values, _NUMBER)
    if not pc.any(finite).as_py():
        return None
    either = pc.or_(finite, pc.match_substring_regex(values, _NOT_FINITE, ignore_case=True))
    if not pc.all(either).as_py():
        return None
    texts = pc.utf8_trim_whitespace(values)
    # What Python reads too: Arrow takes no plus sign.
    return pa.array(
        [None if text is None else float(text) for text in texts.to_pylist()], pa.float64()
    )


def _written_dates(texts: pa.Array) -> pa.Array | None:
    """timestamp("us") in UTC, if every text is a date; else None."""
    import pyarrow as pa

    moments = []
    for text in texts.to_pylist():
        moment = _date(text)
        if moment is None:
            return None
        moments.append(moment)
    return pa.array(moments, pa.timestamp("us"))


def is_date(text: str) -> bool:
    """Whether a text is a date in ISO 8601."""
    return _date(text) is not None


def _date(text: str) -> Any:
    from datetime import UTC, datetime

    bare = text.strip()
    if not _DATE.fullmatch(bare):
        return None
    try:
        moment = datetime.fromisoformat(bare)
        return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment
    except (ValueError, OverflowError):
        return None
