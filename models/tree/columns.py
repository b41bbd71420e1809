"""A tree as an Arrow table, one row per node: the form in which trees are stored and served as
`.arrow`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from models.errors import InvalidTree, shown
from models.tree.json_fields import json_text
from models.tree.tree import Tree

if TYPE_CHECKING:
    import pyarrow as pa

OWN = ("parent", "height", "size", "name")
_SLICE = 1 << 15
"""The number of texts converted at a time, while the interpreter lock is held."""


def to_table(tree: Tree) -> pa.Table:
    """Table of the columns parent (int32, -1 at the root), height, size, name and the extra ones.

    The metadata of the schema hold `kind` and `monotone` ("true" or "false"). Extra columns of
    numbers, booleans or texts keep their type, (n_nodes, d) ones become lists of fixed length; any
    other becomes JSON text, marked in its field's metadata (`form` = `json`). `leaf_of_point` is
    not in the table.
    """
    import pyarrow as pa

    arrays = {
        "parent": pa.array(tree.parent, pa.int32()),
        "height": pa.array(tree.height, pa.float64()),
        "size": pa.array(tree.size, pa.int64()),
        "name": texts(tree.name),
    }
    fields = [pa.field(key, array.type) for key, array in arrays.items()]
    columns = list(arrays.values())
    for key, column in tree.extra.items():
        if key in OWN:
            raise InvalidTree(
                f"A tree cannot have an extra column {shown(key)}: every node has one."
            )
        array, form = _to_arrow(np.asarray(column))
        columns.append(array)
        fields.append(pa.field(key, array.type, metadata={"form": form} if form else None))
    metadata = {"kind": tree.kind, "monotone": json.dumps(tree.monotone)}
    return pa.table(columns, schema=pa.schema(fields, metadata=metadata))


def from_table(table: pa.Table, leaf_of_point: npt.NDArray[np.int32]) -> Tree:
    """The validated tree of a table from `to_table`.

    Columns without nulls are not copied. Raises InvalidTree for a column that is missing or has
    nulls, for unknown metadata, and as `Tree.validate`.
    """
    missing = [column for column in OWN if column not in table.column_names]
    if missing:
        raise InvalidTree(f"The table has no column {missing[0]!r}.")
    metadata = {
        key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()
    }
    kind = metadata.get("kind", "hierarchy")
    monotone = metadata.get("monotone", "true")
    if kind not in ("hierarchy", "partition") or monotone not in ("true", "false"):
        raise InvalidTree(f"The table says kind {kind!r} and monotone {monotone!r}.")
    return Tree(
        parent=_numbers(table, "parent", np.int32),
        height=_numbers(table, "height", np.float64),
        size=_numbers(table, "size", np.int64),
        name=_texts_back(table.column("name")),
        leaf_of_point=np.asarray(leaf_of_point, dtype=np.int32),
        kind="partition" if kind == "partition" else "hierarchy",
        monotone=monotone == "true",
        extra={
            field.name: _from_arrow(table.column(field.name), field)
            for field in table.schema
            if field.name not in OWN
        },
    ).validate()


def texts(values: npt.NDArray[np.object_]) -> pa.StringArray:
    """The Arrow array of a column of `str` or None."""
    import pyarrow as pa

    parts = [
        pa.array(values[start : start + _SLICE], pa.string(), from_pandas=False)
        for start in range(0, len(values), _SLICE)
    ]
    return pa.chunked_array(parts, pa.string()).combine_chunks()


def _texts_back(column: pa.ChunkedArray) -> npt.NDArray[np.object_]:
    values = np.empty(len(column), dtype=object)
    for start in range(0, len(column), _SLICE):
        values[start : start + _SLICE] = column.slice(start, _SLICE).to_numpy()
    return values


def _to_arrow(column: npt.NDArray[Any]) -> tuple[pa.Array, str | None]:
    import pyarrow as pa

    if column.dtype.kind in "iufbU" and column.ndim == 1:
        return pa.array(column), None
    if column.dtype.kind in "iuf" and column.ndim == 2 and column.shape[1]:
        flat = pa.array(np.ascontiguousarray(column).reshape(-1))
        return pa.FixedSizeListArray.from_arrays(flat, column.shape[1]), None
    values = list(column)
    if all(value is None or isinstance(value, str) for value in values):
        return pa.array(values, pa.string()), None
    texts = [None if value is None else json_text(value) for value in values]
    return pa.array(texts, pa.string()), "json"


def _from_arrow(column: pa.ChunkedArray, field: pa.Field) -> npt.NDArray[Any]:
    import pyarrow as pa

    if (field.metadata or {}).get(b"form") == b"json":
        return _objects([None if text is None else json.loads(text) for text in column.to_pylist()])
    if pa.types.is_fixed_size_list(field.type) and not column.null_count:
        flat = column.combine_chunks().flatten().to_numpy(zero_copy_only=False)
        rows: npt.NDArray[Any] = flat.reshape(len(column), field.type.list_size)
        return rows
    numeric = pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
    if (numeric or pa.types.is_boolean(field.type)) and not column.null_count:
        values: npt.NDArray[Any] = column.to_numpy()
        return values
    return _objects(column.to_pylist())


def _numbers(table: pa.Table, name: str, dtype: type[np.generic]) -> npt.NDArray[Any]:
    column = table.column(name)
    if column.null_count:
        raise InvalidTree(f"The column {shown(name)} has nulls.")
    values: npt.NDArray[Any] = column.to_numpy().astype(dtype, copy=False)
    return values


def _objects(values: list[Any]) -> npt.NDArray[np.object_]:
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column
