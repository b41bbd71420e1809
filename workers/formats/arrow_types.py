"""Types of Arrow columns, and columns without what only their storage needs.

An extension type is read as what it stores, `arrow.bool8` as booleans and `arrow.uuid` as text; run
ends, views and dictionaries of anything but text are decoded; decimals become float64, which keeps
15 digits. The words of a dictionary, which polars keeps as views, become texts.
"""

from __future__ import annotations

import uuid
from typing import Any

EXACT_DIGITS = 15
"""The decimal digits that every float64 keeps."""

_PERIOD = "pandas.period"


def plain_type(kind: Any) -> Any:
    """The type of `plain` of a column of this type."""
    import pyarrow as pa

    if isinstance(kind, pa.BaseExtensionType):
        if kind.extension_name == "arrow.bool8":
            return pa.bool_()
        return pa.string() if kind.extension_name == "arrow.uuid" else plain_type(kind.storage_type)
    if pa.types.is_run_end_encoded(kind):
        return plain_type(kind.value_type)
    if pa.types.is_dictionary(kind) and not is_text(kind.value_type):
        return plain_type(kind.value_type)
    if pa.types.is_dictionary(kind) and pa.types.is_string_view(kind.value_type):
        return pa.dictionary(kind.index_type, pa.large_string(), kind.ordered)
    if pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind):
        return pa.large_list(kind.value_type)
    return pa.float64() if pa.types.is_decimal(kind) else kind


def plain(column: Any) -> Any:
    """The column of the type `plain_type`. Copied only where its type has to change."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        if kind.extension_name == "arrow.bool8":
            return pc.not_equal(column.storage, 0)
        if kind.extension_name == "arrow.uuid":
            stored = column.storage.to_pylist()
            texts = [None if each is None else str(uuid.UUID(bytes=each)) for each in stored]
            return pa.array(texts, pa.string())
        return plain(column.storage)
    if pa.types.is_run_end_encoded(kind):
        return plain(pc.run_end_decode(column))
    if pa.types.is_dictionary(kind) and not is_text(kind.value_type):
        return plain(column.dictionary_decode())
    target = plain_type(kind)
    if target == kind:
        return column
    if pa.types.is_dictionary(kind):
        words = column.dictionary.cast(target.value_type)
        return pa.DictionaryArray.from_arrays(column.indices, words, ordered=kind.ordered)
    return column.cast(target)


def is_list(kind: Any) -> bool:
    """Whether each value of an Arrow type is a list of values."""
    import pyarrow as pa

    kind = plain_type(kind)
    sized = pa.types.is_fixed_size_list(kind) or pa.types.is_list(kind)
    return bool(sized or pa.types.is_large_list(kind))


def is_number(kind: Any) -> bool:
    """Whether `plain` of a column of this type holds numbers or booleans."""
    import pyarrow as pa

    kind = plain_type(kind)
    numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    return bool(numeric or pa.types.is_boolean(kind))


def is_text(kind: Any) -> bool:
    """Whether a type is text, of a dictionary or not."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    string = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return bool(string or pa.types.is_string_view(kind))


def is_moment(kind: Any) -> bool:
    """Whether a type is of dates, times or durations."""
    import pyarrow as pa

    return bool(pa.types.is_temporal(plain_type(kind)))


def is_period(field: Any) -> bool:
    """Whether a column has the periods of pandas, which count months, days, ... as integers."""
    own = getattr(field.type, "extension_name", None)
    return own == _PERIOD or (field.metadata or {}).get(b"ARROW:extension:name") == _PERIOD.encode()
