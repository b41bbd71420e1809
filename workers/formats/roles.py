"""What each role accepts: the one place where a plain table becomes an input, or is refused.

Use `value` for a table whose role is known, `facts` if it is not. Every error names the role, the
place (rows and columns counted from 0) and what is accepted.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from models.errors import UsageError, listed, shown
from models.inputs.data import Value
from models.inputs.items import ItemTable
from models.inputs.label_sets import LabelSets
from models.inputs.reading import LARGEST, is_kept, note, rounded
from models.roles import ROLES, Want, role_of
from models.tree.tree import Tree
from workers.formats import columns, distances, edges, items, labels, tree_documents
from workers.formats.columns import NUMBERS, as_float
from workers.formats.facts import Facts
from workers.formats.gaps import gaps_of
from workers.formats.refusals import described, missing, refused
from workers.formats.tables import (
    PADDED,
    Columns,
    Indicator,
    LabelRows,
    Lists,
    Table,
    WrittenColumn,
    WrittenPairs,
    dtype_name,
    is_empty,
    is_number,
    require_filled,
    text_array,
)

_GAPPED = NUMBERS | {type(None)}
_OTHER_ROLES = "; several labels a row need ?role=labels, edges ?role=graph"


def wanted(role: str) -> Want:
    """What `role` takes. Raises UsageError `wrong-input` for a role that takes no file."""
    want = role_of(role).wants
    if want is None:
        raise UsageError(
            f"Role {shown(role)} takes no array; roles that do are {', '.join(sorted(ROLES))}.",
            code="wrong-input",
            role=role[:60],
        )
    return want


def value(table: Table, role: str) -> Value:
    """The input of `role` in a table.

    A matrix is (n_rows, n_columns) numbers in native byte order, or `csr_array`; it is copied only
    if its bytes are in the other order or unaligned, or to be integers for a `whole` role. NaN
    and infinity in a binary file are left for the method to refuse. Images stay an array of three
    or four dimensions. Distances may be condensed, and are not negative (`distances`).

    A column is (n_rows,) int64 or `str` objects, float64 for a `real` role, a list of `str` for a
    `text` role. A matrix of one column is taken as that column, whole floats as integers.

    Labels are such a column, or `LabelSets` if a row has several labels or none. A hierarchy is the
    tree of the distinct class paths, or one given as text or JSON. A graph is a matrix, or
    (n_edges, 2) `str` objects. Items are an `ItemTable`.

    Raises UsageError `wrong-shape`, `wrong-input`, `missing-value`, `not-finite`, `ragged`,
    `member-needed` or `empty`; InvalidTree for a path with an empty part.
    """
    match wanted(role):
        case "matrix" if role_of(role).whole:
            return _whole(_matrix(table, role), role)
        case "matrix" if role in distances.ROLES:
            return distances.matrix(table, role, _matrix)
        case "matrix":
            return _matrix(table, role)
        case "edges":
            return _graph(table, role)
        case "labels":
            rows = _label_rows(table, role)
            found = labels.value(rows, role) if isinstance(rows, LabelRows) else rows
            if isinstance(found, LabelSets):
                _note_doubtful(found.names)
            return found
        case "table":
            return items.table(table)
        case "paths":
            return _hierarchy(table, role)
    return _column(table, role)


def facts(table: Table, role: str | None = None, *, gaps: bool = False) -> Facts:
    """Shape and dtype of a table, after checking every value.

    role : the role if it is known. Without it the table is `WrittenColumn` or `Lists`, a plain
        matrix or column. gaps : without it, whether cells of a matrix may be empty.
    """
    if role is not None:
        if role == "hierarchy":
            if (document := tree_documents.document_of(table)) is not None:
                tree = tree_documents.read_document(document)
                return Facts((tree.n_leaves,), "str", warnings=tree.warnings)
            require_paths(table, role)
        # The number of rows is that of the file, not of the distinct paths.
        checked = value(table, "labels" if role == "hierarchy" else role)
        if isinstance(checked, ItemTable):
            return Facts(checked.shape, "table")
        if isinstance(checked, LabelSets):
            return Facts(checked.shape, "str")
        if isinstance(checked, list):
            return Facts((len(checked),), "str")
        assert isinstance(checked, np.ndarray | sp.csr_array)
        dtype = "str" if checked.dtype.kind == "O" else str(checked.dtype)
        if isinstance(checked, sp.csr_array):
            return Facts(checked.shape, dtype, sparse=True)
        notes = gaps_of(checked).warnings() if role_of(role).gaps else ()
        return Facts(checked.shape, dtype, warnings=notes)
    if isinstance(table, WrittenColumn):
        if not gaps:
            _require_written(table, None)
        typed = table.typed(gaps=gaps)
        n_rows = len(typed)
        if typed.dtype.kind == "O":
            return Facts((n_rows,), "str")
        found = gaps_of(typed.reshape(-1, 1))
        line = None if found.first is None else table.lines[found.first[0]]
        return Facts((n_rows, 1), str(typed.dtype), warnings=found.warnings(line=line))
    assert isinstance(table, Lists)
    rows = table.value
    if isinstance(rows, list) and rows and isinstance(rows[0], list):
        matrix = _matrix_of_lists(rows, None, gaps=gaps)
        return Facts(matrix.shape, "float64", warnings=gaps_of(matrix).warnings())
    column = columns.of_list(rows, None)
    return Facts(column.shape, "str" if column.dtype.kind == "O" else str(column.dtype))


def require_paths(table: Table, role: str) -> None:
    """Raise what `value` raises for a table that is neither class paths nor a tree. The tree, which
    may take a hundred times the memory of a long path, is not made."""
    from models.tree import class_paths

    if tree_documents.document_of(table) is not None:
        return
    paths, rows, _ = _class_paths(table, role)
    class_paths.distinct(paths, rows)


def require_matrix(
    shape: tuple[int, ...], dtype: np.dtype[Any], role: str, *, images: bool = False
) -> None:
    """Raise UsageError unless an array of this shape and dtype is a matrix of numbers, or images
    where these are accepted."""
    if len(shape) == 1:
        raise UsageError(
            f"Input {role!r} must be a matrix (n_rows, n_columns); the array has one dimension, "
            f"shape {shape}. For one column reshape it: array.reshape(-1, 1); for one row: "
            "array.reshape(1, -1).",
            code="wrong-shape",
            role=role,
            shape=list(shape),
        )
    require_filled(shape)
    if len(shape) > 2 and not images:
        raise UsageError(
            f"Input {role!r} must be a matrix (n_rows, n_columns); the array has {len(shape)} "
            f"dimensions, shape {shape}. For one row per image reshape it: "
            f"array.reshape({shape[0]}, -1).",
            code="wrong-shape",
            role=role,
            shape=list(shape),
        )
    if dtype.kind not in "biuf":
        raise UsageError(
            f"Input {role!r} must be a matrix of numbers; the array holds {dtype_name(dtype)}.",
            code="wrong-input",
            role=role,
        )


def _matrix(table: Table, role: str) -> npt.NDArray[Any] | sp.csr_array:
    if isinstance(table, Lists):
        return _matrix_of_lists(table.value, role, gaps=role_of(role).gaps)
    if isinstance(table, list):
        raise UsageError(
            f"Input {role!r} must be a matrix of numbers; the file holds texts.",
            code="wrong-shape",
            role=role,
        )
    assert isinstance(table, np.ndarray | sp.csr_array), "a reader gave a column for a matrix"
    require_matrix(table.shape, table.dtype, role, images=role_of(role).images)
    if isinstance(table, np.ndarray) and not (table.dtype.isnative and table.flags.aligned):
        table = table.astype(table.dtype.newbyteorder("="))
    return table


def _whole(matrix: npt.NDArray[Any] | sp.csr_array, role: str) -> npt.NDArray[Any] | sp.csr_array:
    """The matrix as integers. Raises UsageError naming the first value that is none."""
    if matrix.dtype.kind != "f" or isinstance(matrix, sp.csr_array):
        return matrix
    # Not for NaN and infinity either.
    strange = np.argwhere(~((matrix == np.trunc(matrix)) & (np.abs(matrix) <= 2.0**53)))
    if strange.size:
        row, column = (int(place) for place in strange[0])
        raise refused(
            f"has {matrix[row, column]:g} at row {row}, column {column} (counted from 0), which is "
            "not an integer; accepted are integers, also written as 3.0",
            role,
            row=row,
            column=column,
        )
    return matrix.astype(np.int64)


def _graph(table: Table, role: str) -> npt.NDArray[Any] | sp.csr_array:
    match table:
        case WrittenPairs():
            return edges.of_cells(table, role)
        case Lists() if isinstance(table.value, list) and edges.are_text(table.value):
            return edges.of_list(table.value, role)
    return _matrix(table, role)


def _label_rows(table: Table, role: str) -> LabelRows | npt.NDArray[Any] | LabelSets:
    """The rows with their labels; the column of labels if each row has one for certain."""
    match table:
        case LabelRows():
            return table
        case Lists() if isinstance(table.value, list) and labels.has_sets(table.value):
            return labels.rows_of_list(table.value, role)
        case sp.csr_array() if role == "labels":
            require_filled(table.shape)
            return labels.of_indicator(table, role)
        case Indicator():
            return labels.of_dense(table.matrix, role, table.names)
        case np.ndarray() if role == "labels" and labels.is_indicator(table):
            return labels.of_dense(table, role)
    column = _column(table, role)
    assert isinstance(column, np.ndarray)
    return column


def _hierarchy(table: Table, role: str) -> Tree:
    from models.tree import class_paths

    document = tree_documents.document_of(table)
    if document is not None:
        return tree_documents.read_document(document)
    return class_paths.of_rows(*_class_paths(table, role))


def _class_paths(table: Table, role: str) -> tuple[list[str], Sequence[int], tuple[str, ...]]:
    """Class paths, the row of each, and warnings of how they were read."""
    from models.tree import class_paths

    if isinstance(table, Lists) and class_paths.are_lists_of_names(table.value):
        assert isinstance(table.value, list)
        lists: list[list[str]] = table.value
        row_of_name = np.repeat(np.arange(len(lists)), [len(names) for names in lists])
        columns.require_texts(list(chain.from_iterable(lists)), role, row_of_name)
        return [*map(class_paths.joined, lists)], range(len(lists)), (class_paths.AS_NAMES,)
    rows = _label_rows(table, role)
    assert not isinstance(rows, LabelSets)
    texts, row = (rows.value, rows.row) if isinstance(rows, LabelRows) else (rows, None)
    if texts.dtype.kind != "O":
        raise refused(
            "must be class paths such as 'animal/dog', one for each row or several; the rows are "
            "numbers",
            role,
        )
    if not texts.size:
        raise refused("has no path", role, "empty")
    columns.require_texts(texts.tolist(), role, row)
    paths, warnings = class_paths.with_slashes(texts.tolist())
    if row is None:
        return paths, range(len(texts)), warnings
    if warnings == () and len(row) > len(np.unique(row)) and not any("/" in path for path in paths):
        warnings = (class_paths.AS_PATHS,)
    return paths, row.tolist(), warnings


def _column(table: Table, role: str) -> npt.NDArray[Any] | list[str]:
    match table:
        case Columns():
            raise _several_columns(table, role)
        case sp.csr_array():
            raise UsageError(
                f"Input {role!r} must be one column of integers or text, not a sparse matrix.",
                code="wrong-shape",
                role=role,
            )
        case WrittenColumn():
            _require_written(table, role)
            codes = role == "labels" and _are_codes(table.texts)
            if codes or role_of(role).text:
                return _texts(table.texts, role)
            return _values(table.typed(), role)
        case Lists():
            return _values(columns.of_list(table.value, role, real=role_of(role).real), role)
        case list():
            return _texts(table, role)
    assert isinstance(table, np.ndarray), "a reader gave rows of labels for a column"
    return _values(table, role)


def _are_codes(texts: Sequence[str]) -> bool:
    """Whether numbers are written with zeros before them, which a note says of labels: as numbers,
    007 and 7 would be one class, and its name lost."""
    first = next(filter(PADDED.fullmatch, texts), None)
    if first is None or not all(text.strip().isdecimal() for text in texts):
        return False
    note(f"Labels such as {shown(first, 40)} are texts, not numbers: the zeros belong to the name.")
    return True


def _values(array: npt.NDArray[Any], role: str) -> npt.NDArray[Any] | list[str]:
    """The values of an array of one column."""
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        indicator = (
            " A matrix of rows x classes is taken as labels if it holds 0 and 1 alone (one-hot or "
            "indicator), or is sparse (scipy.sparse.save_npz)."
            if role == "labels"
            else ""
        )
        raise UsageError(
            f"Input {role!r} must be one column, one value per row; the array has shape "
            f"{array.shape}.{indicator}",
            code="wrong-shape",
            role=role,
            shape=list(array.shape),
        )
    require_filled(array.shape)
    kind = array.dtype.kind
    if kind in "USO":
        return _texts(columns.decoded(array), role)
    if kind == "f" and role_of(role).real:
        not_finite = np.flatnonzero(~np.isfinite(array))
        if not_finite.size:
            raise missing(int(not_finite[0]), role=role)
        return np.asarray(array, dtype=np.float64)
    whole = columns.integers(array, role)
    return [str(number) for number in whole.tolist()] if role_of(role).text else whole


def _texts(texts: Sequence[str], role: str) -> npt.NDArray[Any] | list[str]:
    columns.require_texts(texts, role, blank=role_of(role).blank)
    if role == "labels":
        _note_doubtful(texts)
    if role_of(role).blank:
        _note_blank(texts, role)
    return list(texts) if role_of(role).text else text_array(texts)


def _note_doubtful(texts: Sequence[str]) -> None:
    """Note labels that differ by case, blanks or their Unicode form alone, and those written as a
    missing value."""
    known: dict[str, str] = {}
    names = dict.fromkeys(texts)
    alike = [
        (first, name) for name in names if (first := known.setdefault(_seen_as(name), name)) != name
    ]
    if alike:
        some = "; ".join(_beside(one, other) for one, other in alike[:5])
        more = f"; and {len(alike) - 5} more" if len(alike) > 5 else ""
        note(
            "Labels that differ by case, blanks or Unicode form alone are different classes: "
            f"{some}{more}."
        )
    empty = {name for name in names if is_empty(name)}
    rows = [row for row, text in enumerate(texts) if text in empty] if empty else []
    if rows:
        note(
            f"{len(rows)} of {len(texts)} labels are written as a missing value, "
            f"{shown(texts[rows[0]], 40)} at row {rows[0]} (counted from 0) first, and are a class "
            "of this name; rows whose labels are unknown are null in JSON, Arrow and Parquet."
        )


def _seen_as(name: str) -> str:
    """What a reader takes for the same name: without case, signs that are not seen, and the ways in
    which Unicode writes one letter."""
    if not name.isascii():
        name = unicodedata.normalize("NFKC", name)
        name = "".join(letter for letter in name if unicodedata.category(letter) != "Cf")
        name = unicodedata.normalize("NFKC", name.casefold())
    return " ".join(name.casefold().split())


def _beside(one: str, other: str) -> str:
    """Two names for a message; by their code points where they look the same."""
    same = unicodedata.normalize("NFC", one) == unicodedata.normalize("NFC", other)
    show = ascii if same else partial(shown, limit=40)
    return f"{show(one)} and {show(other)}"


def _note_blank(texts: Sequence[str], role: str) -> None:
    rows = [row for row, text in enumerate(texts) if not text.strip()]
    if rows:
        some = ", ".join(map(str, rows[:5])) + (", ..." if len(rows) > 5 else "")
        note(
            f"{len(rows)} of {len(texts)} {role} are empty or blank (rows {some}, counted from 0): "
            "they are kept as texts without words."
        )


def _require_written(cells: WrittenColumn, role: str | None) -> None:
    """Raise UsageError naming the first cell that is blank. A column of text whose role is not
    known may be documents, which have empty ones."""
    if role is not None and role_of(role).blank:
        return
    if role is None and not all(is_number(text) for text in cells.texts if text.strip()):
        return
    for row, text in enumerate(cells.texts):
        if not text.strip():
            raise missing(row, 0, line=cells.lines[row], role=role)


def _several_columns(columns: Columns, role: str) -> UsageError:
    return UsageError(
        f"Input {role!r} must be one column; the table has {len(columns.names)}: choose one with "
        f"?member=. It has {listed(columns.names, 20)}.",
        code="member-needed",
        role=role,
    )


def _matrix_of_lists(rows: object, role: str | None, *, gaps: bool) -> npt.NDArray[np.float64]:
    """float64 (n_rows, n_columns) of a list of rows, each a list of as many finite numbers, or
    with null as NaN where there may be gaps."""
    if not isinstance(rows, list):
        raise refused(f"must be a list of rows, not {described(rows)}", role)
    if not rows:
        raise refused("has no rows", role, "empty")
    _require_rows(rows, role, _GAPPED if gaps else NUMBERS)
    try:
        matrix = np.array(rows, dtype=np.float64)
    except OverflowError:
        matrix = np.array(
            [[math.nan if cell is None else as_float(cell) for cell in cells] for cells in rows]
        )
    for row, at in np.argwhere(np.abs(matrix) >= LARGEST).tolist():
        if isinstance(rows[row][at], int) and not is_kept(str(rows[row][at])):
            raise rounded(rows[row][at], row, at, role=role)
    strange = np.argwhere(~np.isfinite(matrix)).tolist()
    place = next(((row, at) for row, at in strange if rows[row][at] is not None), None)
    if place is not None:
        row, column = place
        raise refused(
            f"has a number too large for float64 at row {row}, column {column} (counted from 0); "
            "every value must be finite",
            role,
            "not-finite",
            row=row,
            column=column,
        )
    return matrix


def _require_rows(rows: list[Any], role: str | None, types: frozenset[type]) -> None:
    width = len(rows[0]) if isinstance(rows[0], list) else None
    if width == 0:
        raise refused("has no columns", role, "empty")
    if (
        set(map(type, rows)) == {list}
        and set(map(len, rows)) == {width}
        and set(map(type, chain.from_iterable(rows))) <= types
    ):
        return
    for row, cells in enumerate(rows):
        if not isinstance(cells, list):
            raise refused(
                f"must be a list of rows, each a list of numbers; row {row} is {described(cells)}",
                role,
                row=row,
            )
        if len(cells) != width:
            raise refused(
                f"is ragged: row {row} (counted from 0) has {len(cells)} values, row 0 has "
                f"{width}; all rows must be of one length",
                role,
                "ragged",
                row=row,
            )
        if not set(map(type, cells)) <= types:
            column = next(at for at, cell in enumerate(cells) if type(cell) not in types)
            if cells[column] is None:
                raise missing(row, column, role=role)
            other = "" if role else _OTHER_ROLES
            raise refused(
                f"must hold numbers only; row {row}, column {column} (counted from 0) is "
                f"{described(cells[column])}{other}",
                role,
                row=row,
                column=column,
            )
