"""The files of an attachment: the items of a tree as kept, and what is known of its nodes by them.

items.arrow       the table of items, in its order; the entry `umbel` of its metadata is JSON:
                  {"kinds": [...]}
columns.json      [{"name", "kind", ...}, ...]: the facts of each column (`models.items.facts`),
                  with `of_nodes`, whether there are values of nodes
item_nodes.arrow  values of nodes, one row per node: of column 3 "3.value", the mean of a number, of
                  a date in seconds since 1970, the number of a category; of a category "3.share"
ranks.npy         float32, from left to right: (n_items, d) features or (n_items,) margins
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from models.arrays import Array
from models.inputs.items import ItemColumn, ItemTable
from workers.formats.table_writers import save_arrow

if TYPE_CHECKING:
    import pyarrow as pa

ITEMS = "items.arrow"
COLUMNS = "columns.json"
ITEM_NODES = "item_nodes.arrow"
RANKS = "ranks.npy"

_FACTS = b"umbel"


def save_items(items: ItemTable, folder: Path) -> None:
    """Write the table, in one piece, so that parts of it can be mapped back."""
    import pyarrow as pa

    arrays = [column.values for column in items.columns]
    table = pa.table(arrays, names=[column.name for column in items.columns])
    kinds = json.dumps({"kinds": [column.kind for column in items.columns]})
    save_arrow(
        table.replace_schema_metadata({_FACTS: kinds.encode()}), folder / ITEMS, batch_rows=None
    )


def map_items(path: Path) -> ItemTable:
    """The table that `save_items` wrote, mapped: only what is used is read."""
    import pyarrow as pa

    batch = pa.ipc.open_file(pa.memory_map(str(path))).get_batch(0)
    kinds = json.loads(batch.schema.metadata[_FACTS])["kinds"]
    return ItemTable(
        tuple(
            ItemColumn(name, kind, values)
            for name, kind, values in zip(batch.schema.names, kinds, batch.columns, strict=True)
        )
    )


def save_columns(columns: Sequence[Mapping[str, Any]], folder: Path) -> None:
    """Write the facts of the columns."""
    (folder / COLUMNS).write_text(json.dumps(columns, allow_nan=False))


def load_columns(path: Path) -> list[dict[str, Any]]:
    """The facts that `save_columns` wrote."""
    columns: list[dict[str, Any]] = json.loads(path.read_text())
    return columns


def save_item_nodes(values: Mapping[str, npt.NDArray[Any]], folder: Path) -> None:
    """Write the values of nodes by the names that the module tells, NaN for none."""
    import pyarrow as pa

    arrays = {name: pa.array(column, from_pandas=True) for name, column in values.items()}
    save_arrow(pa.table(arrays), folder / ITEM_NODES, batch_rows=None)


def map_item_nodes(path: Path, column: int) -> dict[str, pa.Array]:
    """The values of nodes of one column, "value" and maybe "share", mapped; {} if it has none."""
    import pyarrow as pa

    batch = pa.ipc.open_file(pa.memory_map(str(path))).get_batch(0)
    return {
        name: batch.column(f"{column}.{name}")
        for name in ("value", "share")
        if f"{column}.{name}" in batch.schema.names
    }


def save_ranks(known: Array, folder: Path) -> None:
    """Write what items are ranked by."""
    np.save(folder / RANKS, known)


def map_ranks(path: Path) -> Array:
    """What `save_ranks` wrote, mapped."""
    known: Array = np.load(path, mmap_mode="r", allow_pickle=False)
    return known
