"""What may be an input, and how each kind of value becomes one.

`converted` is the only entrance: arrays, data frames, lists, paths, what the service has already.
Everything that cannot be an input is refused here with `InputError`, before anything is sent.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
import warnings
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypedDict, runtime_checkable

import numpy as np
import numpy.typing as npt

from umbel_client import columns, encodings, frames, items, line_files, tables
from umbel_client.encodings import FileContent, Payload, media_type_of
from umbel_client.errors import InputError, UmbelWarning
from umbel_client.quoting import VALUES, path_shown, written


@runtime_checkable
class Stored(Protocol):
    """Something that the service has: a dataset, a tree, a job, a model."""

    @property
    def id(self) -> str: ...


class HasShape(Protocol):
    """An array of NumPy, SciPy or torch, a data frame or a column of pandas or polars."""

    @property
    def shape(self) -> Any: ...


class TableOptions(TypedDict, total=False):
    """What the service should know of a table; what is left out it finds by itself.

    columns : those that are the features or logits, by name. id_column, label_column, text_column,
    weight_column : the columns of the ids, labels, texts and weights of the rows. delimiter,
    decimal, thousands : marks of a CSV file. header : whether its first line is one.
    """

    columns: Sequence[str] | None
    id_column: str | None
    label_column: str | None
    text_column: str | None
    weight_column: str | None
    delimiter: str | None
    decimal: str | None
    thousands: str | None
    header: bool | None


@dataclass(frozen=True, slots=True)
class File:
    """A file with what the service should know of it.

    member : the array of a file with several, or the column. n_features : the width of a libsvm
    file. media_type : by default by the ending of the name, or the content. columns, id_column,
    label_column, text_column, weight_column, delimiter, decimal, thousands, header : of a table, as
    of `TableOptions`.
    """

    path: str | os.PathLike[str]
    member: str | None = None
    n_features: int | None = None
    media_type: str | None = None
    columns: Sequence[str] | None = None
    id_column: str | None = None
    label_column: str | None = None
    text_column: str | None = None
    weight_column: str | None = None
    delimiter: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    header: bool | None = None


Input: TypeAlias = Sequence[Any] | HasShape | Stored | File | os.PathLike[str] | str
"""An array, a data frame, a list, a path, an id such as `ds_...`, or an object for one."""
Items: TypeAlias = Input | Mapping[str, Sequence[Any]]
"""The items of points: an input, or columns by their names."""


@dataclass(frozen=True, slots=True)
class Inline:
    """A list that goes into the request itself."""

    values: list[Any]


@dataclass(frozen=True, slots=True)
class Reference:
    """Something that the service has, by its id."""

    id: str


Converted: TypeAlias = Inline | Reference | Payload
Inputs: TypeAlias = Mapping[str, Converted | list[Converted]]
"""Inputs by role in the form in which they travel."""

COLUMNS = frozenset(
    {"labels", "names", "feature_names", "documents", "tasks", "targets", "timestamps", "hierarchy"}
    | {"sample_weight"}
)
"""Roles that take one value a row; labels and hierarchies also several."""
TEXTS = frozenset({"names", "feature_names", "documents"})
"""Roles whose values are text."""
NAMING = TEXTS | {"labels", "tasks", "hierarchy"}
"""Roles whose values may be text; dates, periods and intervals are written as such."""
PAIRS = frozenset({"graph", "must_link", "cannot_link"})
"""Roles that take a matrix, or pairs of text."""

HINTS: Mapping[str, str] = {
    **{role: role for role in COLUMNS - {"feature_names"}},
    **{role: role for role in ("logits", "features", "graph", "must_link", "cannot_link", "items")},
    "feature_names": "names",
}
"""What an upload says of its use, by role: some content is read as such only with it."""

INLINE_VALUES = 4_096
"""Numbers up to which a matrix of float64 or integers goes into the request itself."""
INLINE_BYTES = 1 << 20
"""Bytes of JSON up to which a column goes into the request itself."""

TABLE_OPTIONS = tuple(TableOptions.__annotations__)

TREE = "hierarchy"
"""The role that may be a tree: as text or JSON, or a file of it."""
TREE_TEXT = re.compile(r"\s*(?:\(|\[|#NEXUS)", re.IGNORECASE)
_ID = re.compile(r"(ds|tr|job|md|up)_[0-9a-z]{26}")
_FRAMED = "give a table as a data frame, as of pandas.DataFrame(...)"
_ACCEPTED = f"accepted are {VALUES}, lists, paths of files, ids such as 'ds_...', and datasets"
_NUMBERS = "fiub"


def converted(role: str, value: object, *, many: bool = False) -> Converted | list[Converted]:
    """The input of a role in the form in which it travels; a list for several inputs.

    many : whether the role may have several inputs, as a list of matrices.

    Raises InputError with what is wrong, where, and what is accepted.
    """
    if many and isinstance(value, (list, tuple)) and value and all(map(_is_whole, value)):
        return [_one(role, item) for item in value]
    if role == items.ROLE:
        return _table(value)
    return _one(role, value)


def converted_inputs(
    values: Mapping[str, object],
    within: str = "",
    several: Collection[str] = (),
    rows: Mapping[str, object] | None = None,
) -> dict[str, Converted | list[Converted]]:
    """Inputs by role in the form in which they travel; those that are None are left out.

    within : the field of the request that has them, put before each role. several : the roles that
    may have several inputs. rows : the inputs to whose rows these belong; None: `values` has them.

    Raises InputError.
    """
    others = values if rows is None else rows
    beside = next((own for own in others.values() if frames.is_frame(own)), None)
    indexed = [own for own in others.values() if columns.is_of(own, "pandas", "DataFrame")]
    for role in COLUMNS & values.keys():
        if all(own is values[role] for own in indexed):
            frames.warn_shuffled(role, values[role])
    return {
        f"{within}{role}": converted(
            role, frames.in_order_of(role, value, beside), many=role in several
        )
        for role, value in values.items()
        if value is not None
    }


def _table(value: object) -> Converted:
    found = items.table(value) or _one(items.ROLE, value)
    if isinstance(found, Inline) or (
        isinstance(found, Payload) and found.query.get("role") != items.ROLE
    ):
        raise InputError(items.ROLE, "a table with named columns is needed.")
    return found


def is_id(text: str) -> bool:
    """Whether text is the id of something that the service has."""
    return _ID.fullmatch(text) is not None


def _is_whole(value: object) -> bool:
    """Whether a member of a list is an input by itself, not a row."""
    if isinstance(value, (File, os.PathLike, Stored)):
        return True
    if isinstance(value, str):
        return is_id(value)
    shape = getattr(value, "shape", None)
    return isinstance(shape, tuple) and len(shape) == 2


def _one(role: str, value: object) -> Converted:
    if role == TREE and isinstance(value, Mapping):
        return Inline([dict(value)])
    if isinstance(value, str):
        if is_id(value):
            return Reference(value)
        if role == TREE and TREE_TEXT.match(value) and not os.path.isfile(value):
            return Inline([value])
        return _of_path(role, Path(value))
    if isinstance(value, os.PathLike):
        return _of_path(role, Path(value))
    if isinstance(value, File):
        return _file(role, value)
    if isinstance(value, Stored) and isinstance(value.id, str):
        return Reference(_reference(role, value))
    if isinstance(value, (bytes, bytearray, memoryview)):
        raise InputError(role, f"bytes are no input; write a file and give its path; {_ACCEPTED}.")
    column = role in COLUMNS
    if role == "labels" and (labelled := tables.labels_of(value)) is not None:
        return _hinted(role, labelled)
    if role in tables.ROLES and columns.is_of(value, "pandas", "Series"):
        value = tables.named_rows(value)
    if frames.is_frame(value) and role in tables.ROLES:
        table = tables.table_of(role, value, stacked)
        if isinstance(table, Payload):
            return _hinted(role, table)
        value = table
    elif frames.is_frame(value):
        indicated = frames.indicated(value) if role == "labels" else None
        if indicated is not None:
            _warn_indicated(frames.labels_of(value))
            return _column(role, indicated)
        value = frames.column_of(role, value) if column else frames.matrix_of(role, value)
    elif columns.is_column(value):
        value = columns.values_of(value) if column else frames.rows_of(role, value)
    elif frames.is_sparse(value):
        return _hinted(role, frames.sparse_payload(role, value))
    elif frames.is_tensor(value):
        tensor = (frames.dense_of if column else frames.array_or_payload)(role, value)
        if isinstance(tensor, Payload):
            return _hinted(role, tensor)
        value = tensor
    if isinstance(value, np.ma.MaskedArray):
        value = unmasked(role, value)
    if isinstance(value, (list, tuple, range)):
        return _column(role, list(value)) if column else _rows(role, list(value))
    if hasattr(value, "__array__") and not isinstance(value, type):
        return _array(role, np.asarray(value))
    held = _held(value)
    raise InputError(
        role, f"a value of type {type(value).__name__} is no input{held}; {_ACCEPTED}."
    )


def _held(value: object) -> str:
    """Which arrays a value holds, as what `numpy.load` and `torch.load` give of several."""
    names = getattr(value, "files", value)
    if not isinstance(names, (list, Mapping)) or not names:
        return ""
    some = ", ".join(f"[{written(str(name))}]" for name in list(names)[:10])
    columns = isinstance(value, Mapping) and all(isinstance(each, list) for each in value.values())
    return f": choose one of what it holds, {some}{f', or {_FRAMED}' if columns else ''}"


def unmasked(role: str, array: np.ma.MaskedArray[Any, Any]) -> npt.NDArray[Any] | list[Any]:
    """A masked array without its mask: masked labels are None, not known.

    Raises InputError for another masked value, by its place: what lies below a mask is no data.
    """
    mask = np.ma.getmaskarray(array)
    if array.dtype.names is not None or not mask.any():
        return np.asarray(array.data)
    if role == "labels" and array.ndim == 1:
        return list(array.tolist())
    places = np.argwhere(mask)
    n_masked = f"{len(places)} masked values are" if len(places) > 1 else "the masked value is"
    raise InputError(
        role,
        f"{_place(places[0].tolist())} is masked: {n_masked} missing, and numbers are needed "
        "everywhere. Fill them (array.filled(...)) or leave such rows out.",
    )


def _warn_indicated(names: list[Any]) -> None:
    warnings.warn(
        f"The labels are a one-hot or indicator data frame: its {len(names)} columns are read as "
        "the classes, named by their labels.",
        UmbelWarning,
        stacklevel=4,
    )


def _place(place: Sequence[int]) -> str:
    """Where a value of an array is: its row, its column and, in images, what follows."""
    names = ("row", "column", "channel") if len(place) == 3 else ("row", "column")
    named = list(zip(names, place, strict=False))
    return ", ".join(f"{name} {number}" for name, number in named) or "the only value"


def _reference(role: str, value: Stored) -> str:
    """The id of an object; of a tree as `base` that of its job."""
    if role == "base" and value.id.startswith("tr_"):
        job = getattr(value, "job", None)
        if not isinstance(job, str):
            raise InputError(role, f"the tree {value.id} was imported; give a job's tree.")
        return job
    return value.id


def _of_path(role: str, path: Path) -> Converted:
    """A path without options; a file `.txt` of one value a line is read here."""
    if role not in COLUMNS or path.suffix.lower() != ".txt" or not path.is_file():
        return _file(role, File(path))
    values = line_files.lines(role, path, TEXTS)
    if role == TREE and TREE_TEXT.match(str(values[0])):
        return _file(role, File(path))
    return _column(role, values)


def _file(role: str, file: File) -> Payload:
    path = Path(file.path)
    if not path.is_file():
        is_there = (
            f"{path_shown(path)} is a folder"
            if path.is_dir()
            else f"there is no file {path_shown(path)}"
        )
        where = "" if path.is_absolute() else f" in {Path.cwd()}"
        raise InputError(role, f"{is_there}{where}; {_ACCEPTED}.{line_files.meant(path)}")
    try:
        length = path.stat().st_size
        with path.open("rb"):
            pass
    except OSError as error:
        raise InputError(role, f"{path_shown(path)} cannot be read: {error.strerror}.") from None
    if not length:
        raise InputError(role, f"the file {path_shown(path)} is empty.")
    media_type = file.media_type or media_type_of(path.name)
    if media_type is None and role not in COLUMNS:
        media_type = line_files.media_type_of(line_files.beginning(path))
    query: dict[str, Any] = {"name": path.name[:1000]}
    if file.member is not None:
        query["member"] = file.member
    if file.n_features is not None:
        query["n_features"] = file.n_features
    query |= table_query({name: getattr(file, name) for name in TABLE_OPTIONS})
    return _hinted(role, Payload(FileContent(path, length), media_type, query))


def table_query(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a table as the query of an upload has them; None: left out.

    Raises InputError for an option that is none, and for columns that are no list of texts.
    """
    unknown = sorted(options.keys() - set(TABLE_OPTIONS))
    if unknown:
        raise InputError(unknown[0], f"there is no such option; {', '.join(TABLE_OPTIONS)}.")
    query = {name: value for name, value in options.items() if value is not None}
    if isinstance(query.get("columns"), str):
        raise InputError("columns", "a list of names is needed.")
    if "columns" in query:
        query["columns"] = [str(name) for name in query["columns"]]
    if "header" in query:
        query["header"] = "true" if query["header"] else "false"
    return query


def _hinted(role: str, payload: Payload) -> Payload:
    hint = HINTS.get(role)
    return payload if hint is None else replace(payload, query={"role": hint, **payload.query})


def _array(role: str, array: npt.NDArray[Any]) -> Converted:
    kind = array.dtype.kind
    if array.dtype.name == "bfloat16" and role in COLUMNS:
        return _array(role, array.astype(np.float32))
    if array.dtype.name == "bfloat16":
        return _hinted(role, encodings.bfloat16(array.view(np.uint16)))
    if kind == "M" and role in NAMING:
        gone = np.isnat(array).tolist()
        texts = np.datetime_as_string(array).tolist()
        return _column(role, [None if g else text for g, text in zip(gone, texts, strict=True)])
    if kind in "OUSTM" and role in COLUMNS:
        return _column(role, array.tolist())
    if kind in "OUST":
        return _rows(role, array.tolist())
    if kind == "f" and array.dtype.itemsize > 8:
        raise InputError(role, f"{array.dtype} is not accepted; use .astype('float64').")
    if kind not in _NUMBERS:
        raise InputError(
            role, f"an array of {array.dtype} is no input; accepted are float16, float32, float64, "
            "bfloat16, integers and bool."
        )  # fmt: skip
    if array.ndim == 0:
        raise InputError(role, f"a single number is no input; {_ACCEPTED}.")
    if kind == "b":
        array = array.astype(np.uint8)
    if role in TEXTS:
        return _column(role, [str(item) for item in array.tolist()])
    if role in COLUMNS and array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if role in COLUMNS and kind == "f":
        column = _whole_or_missing(role, array)
        if column is not None:
            return _column(role, column)
    plain = array.dtype in (np.float64, np.int64) and array.ndim in (1, 2)
    if plain and 0 < array.size <= INLINE_VALUES and (kind == "i" or np.isfinite(array).all()):
        return Inline(array.tolist())
    return _hinted(role, encodings.npy(array))


def _whole_or_missing(role: str, array: npt.NDArray[Any]) -> list[Any] | None:
    """Labels in which NaN stands for 'not known', as pandas has them: integers, and None."""
    if role != "labels" or array.ndim != 1 or not np.isnan(array).any():
        return None
    values = array.tolist()
    wrong = next((i for i, v in enumerate(values) if not math.isnan(v) and v != int(v)), None)
    if wrong is not None:
        raise InputError(
            role,
            f"row {wrong} is {written(values[wrong])}; labels are integers or "
            "text (NaN: not known).",
        )
    return [None if math.isnan(v) else int(v) for v in values]


def _column(role: str, values: list[Any]) -> Converted:
    """A list of one value a row."""
    if not values:
        raise InputError(role, "it is empty; one value a row is needed.")
    plain = [_plain(role, i, value) for i, value in enumerate(values)]
    if role in TEXTS:
        wrong = next(
            (i for i, value in enumerate(plain) if not isinstance(value, (str, int))), None
        )
        if wrong is not None:
            kind = type(values[wrong]).__name__
            raise InputError(role, f"row {wrong} is of type {kind}; text is needed.")
        plain = [str(value) for value in plain]
    try:
        size = len(json.dumps(plain, allow_nan=False))
    except (TypeError, ValueError):
        wrong = next(i for i, value in enumerate(plain) if not _is_json(value))
        raise InputError(
            role,
            f"row {wrong} is {written(plain[wrong])}; accepted are text, "
            "integers, finite numbers, lists "
            "of them, and None where a label is not known.",
        ) from None
    if size <= INLINE_BYTES:
        return Inline(plain)
    if role not in TEXTS and all(type(value) is int for value in plain):
        return _hinted(role, encodings.npy(np.array(plain)))
    return _hinted(role, encodings.json_list(plain))


def _plain(role: str, row: int, value: Any) -> Any:
    """A value as JSON has it: numbers of NumPy as Python's, tuples and sets as lists."""
    if columns.is_missing(value):
        return None
    if isinstance(value, bool) and role not in TEXTS:
        return int(value)
    if isinstance(value, (str, int, float, type(None))) and not isinstance(value, np.generic):
        return None if role == "labels" and value != value else value
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_plain(role, row, item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted((_plain(role, row, item) for item in value), key=str)
    if isinstance(value, Decimal) and role in TEXTS:
        return str(value)
    found = columns.plain(value)
    if isinstance(found, (int, float)) or (isinstance(found, str) and role in NAMING):
        return _plain(role, row, found)
    if found is not value and isinstance(found, (list, type(None))):
        return _plain(role, row, found)
    more = "; give dates as numbers" if isinstance(found, str) else ""
    raise InputError(
        role,
        f"row {row} is of type {type(value).__name__}; accepted are text, numbers and lists{more}.",
    )


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True


def _rows(role: str, rows: list[Any]) -> Converted:
    """A list of rows."""
    if role in PAIRS and _are_pairs(rows):
        return _column(role, rows)
    return _array(role, stacked(role, rows))


def stacked(role: str, rows: list[Any]) -> npt.NDArray[Any]:
    """A list of rows as a matrix. Raises InputError where they are none."""
    if not rows:
        raise InputError(role, "it has no rows.")
    rows = [_row(role, number, row) for number, row in enumerate(rows)]
    lengths = [len(row) if isinstance(row, (list, tuple, np.ndarray)) else None for row in rows]
    if lengths[0] is None:
        if isinstance(rows[0], Mapping):
            raise InputError(role, f"its rows are mappings; {_FRAMED}.")
        if all(length is None for length in lengths):
            raise InputError(role, "it is a list of single values; a list of rows is needed.")
        what = "missing" if rows[0] is None else "a single value"
        raise InputError(role, f"row 0 is {what}; every row must be a list of numbers.")
    for number, length in enumerate(lengths):
        if length != lengths[0]:
            if rows[number] is None:
                raise InputError(role, f"row {number} is missing; every row must be a list.")
            found = "a single value" if length is None else f"{length} values"
            raise InputError(
                role, f"row {number} has {found}, row 0 has {lengths[0]}; all need as many."
            )
    try:
        array = np.array(rows)
    except ValueError:
        array = np.array(rows, dtype=object)
    if array.dtype.kind == "O":
        array = _decimals(array)
    if array.dtype.kind == "f":
        columns.require_kept(role, rows, array)
    if array.dtype.kind in _NUMBERS or array.dtype.name == "bfloat16":
        return array
    raise InputError(role, _odd_cell(rows, array.ndim))


def _decimals(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Python objects as float64 where all are numbers, decimals among them; else as they are."""
    cells = [columns.plain(cell) for cell in array.reshape(-1).tolist()]
    if all(isinstance(cell, (bool, int, float)) for cell in cells):
        with suppress(OverflowError):
            return np.array(cells, dtype=np.float64).reshape(array.shape)
    return array


def _row(role: str, number: int, row: Any) -> Any:
    """A row of a list of rows: tensors, columns and masked arrays as arrays, None if missing."""
    if columns.is_missing(row):
        return None
    if frames.is_tensor(row):
        row = frames.dense_of(role, row)
    elif columns.is_column(row):
        row = frames.rows_of(role, row)
    if isinstance(row, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(row)
        if mask.any():
            where = _place([number, *np.argwhere(mask)[0].tolist()])
            raise InputError(role, f"{where} is masked, so it is missing; numbers are needed.")
        return np.asarray(row.data)
    if isinstance(row, (list, tuple)) and any(cell is np.ma.masked for cell in row):
        return [None if cell is np.ma.masked else cell for cell in row]
    return row


def _are_pairs(rows: list[Any]) -> bool:
    return bool(rows) and all(
        isinstance(row, (list, tuple)) and len(row) == 2 and isinstance(row[0], str) for row in rows
    )


def _odd_cell(rows: list[Any], n_dimensions: int) -> str:
    """The sentence about the first cell that is no number."""
    for i, row in enumerate(rows):
        for j, cell in enumerate(row):
            if isinstance(cell, int) and abs(cell) > sys.float_info.max:
                return f"row {i}, column {j} is too large for a 64-bit float."
            if isinstance(cell, (bool, int, float, np.number, np.bool_)):
                continue
            if isinstance(cell, (list, tuple, np.ndarray)) and n_dimensions > 2:
                continue
            gone = cell is None or columns.is_missing(cell)
            what = "missing" if gone else written(cell)
            return f"row {i}, column {j} is {what}; numbers are needed, in rows of one length."
    return "numbers are needed, in rows of one length."
