"""The items of a tree as responses: examples of a node, one item, values and matches of nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from app.http.forms import Chunks, Form, npy_chunks
from app.http.json_parts import shortened
from app.http.problems import Refused, not_found, refused_at
from app.http.tables import TABLE
from models.arrays import Array
from models.errors import shown
from models.inputs.items import ItemColumn, ItemTable
from models.items import placement as aggregates
from models.items import rankings
from models.items.conditions import Condition, meeting_all
from models.items.facts import HEAD, media_type
from models.items.placement import Placement, per_of, placement
from models.items.rankings import By, Order
from models.tree.tree import Tree
from workers.artifacts import items as files

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class NumberedCondition:
    """A condition on the column of this number. pointer : to the number in the request."""

    column: int
    condition: Condition
    pointer: tuple[str | int, ...]


@dataclass(frozen=True, eq=False)
class Attached:
    """The items of an attachment that has succeeded, mapped, with their tree. All of it blocks.

    id : of the attachment. basis : what its items are ranked by; None where they are not. file :
    gives the path of one of its files, None for one that it has not. read_ids : reads the ids of
    the tree's points; None where they have none.
    """

    id: str
    tree: Tree
    basis: str | None
    file: Callable[[str], Path | None]
    read_ids: Callable[[], pa.Array | None]

    @cached_property
    def items(self) -> ItemTable:
        return files.map_items(self._file(files.ITEMS))

    @cached_property
    def placed(self) -> Placement:
        """O(n_items log n_items)."""
        return placement(self.tree, self.items.n_items)

    @cached_property
    def per_row(self) -> bool:
        """Whether an item is a row of the tree, not a leaf."""
        return per_of(self.tree, self.items.n_items) == "row"

    @cached_property
    def ids(self) -> pa.Array | None:
        """(n_items,) the ids of the items, where they are rows that have ids."""
        return self.read_ids() if self.per_row else None

    def column(self, number: int) -> ItemColumn:
        """Raises Refused `not-found`."""
        if number >= len(self.items.columns):
            raise not_found("column", str(number))
        return self.items.columns[number]

    def facts(self) -> list[dict[str, Any]]:
        """The facts of the columns, with their numbers."""
        columns = files.load_columns(self._file(files.COLUMNS))
        return [{"column": number, **facts} for number, facts in enumerate(columns)]

    def examples(self, node: int, by: By, n: int, seed: int) -> dict[str, Any]:
        """Examples of a node. Raises Refused `not-found` for a node that is not there, and
        `conflict` for an order that is not known."""
        if node >= self.tree.n_nodes:
            raise not_found("node", str(node))
        known = None if by == "random" else self._ranks("Examples at random there are: by=random.")
        placed = self.placed
        found = rankings.ranked(placed, node, by, n, known=known, seed=seed)
        items = self._bodies(found.item.tolist(), placed)
        scores: Sequence[Any] = [None] * len(items) if found.score is None else found.score.tolist()
        return {
            "node": node,
            "by": by,
            "basis": None if by == "random" else self.basis,
            "n_items": int(placed.count[node]),
            "n_compared": found.n_compared,
            "items": [{**item, "score": score} for item, score in zip(items, scores, strict=True)],
        }

    def _ranks(self, instead: str) -> Array:
        """What items are ranked by. Raises Refused `conflict` where that is not known."""
        if self.basis is None:
            raise Refused(
                "conflict",
                "Nothing is known by which these items are central or unsure: the tree has no "
                "features or logits, or they were gone when the items were attached. " + instead,
            )
        return files.map_ranks(self._file(files.RANKS))

    def outliers(self, node: int, by: Order, n: int) -> pa.Table:
        """How the items under a node stand in it. Raises Refused as `examples`, UsageError as
        `rankings.standings`."""
        import pyarrow as pa

        if node >= self.tree.n_nodes:
            raise not_found("node", str(node))
        known = self._ranks("So there are no distances and no doubts.")
        placed = self.placed
        found = rankings.standings(self.tree, placed, node, by, n, known)
        leaf = placed.leaf[found.item]
        own = {} if self.ids is None else {"id": self.ids.take(pa.array(found.item))}
        nothing = pa.nulls(len(found.item))
        columns = {
            "item": pa.array(found.item),
            **own,
            "leaf": pa.array(leaf),
            "name": pa.array(self.tree.name[leaf].tolist(), pa.string()),
            **{
                name: nothing if values is None else pa.array(values, from_pandas=True)
                for name, values in (
                    ("distance", found.distance),
                    ("doubt", found.doubt),
                    ("nearest", found.nearest),
                )
            },
        }
        numbers = found.item.tolist()
        for at, column in enumerate(self.items.columns):
            if column.kind != "image":
                name = column.name if column.name not in columns else f"items: {column.name}"
                kind = pa.float64() if column.kind == "number" else pa.string()
                values = [self._value(column, at, number) for number in numbers]
                columns[name] = pa.array(values, kind)
        return pa.table(columns)

    def item(self, number: int) -> dict[str, Any]:
        """One item. Raises Refused `not-found`."""
        if number >= self.items.n_items:
            raise not_found("item", str(number))
        leaf = self.tree.leaf_of_point[number] if self.per_row else self.tree.leaves[number]
        return self._body(number, int(leaf))

    def image(self, number: int, column: int) -> tuple[bytes, str]:
        """The bytes of an image, and its media type. Raises Refused `not-found`."""
        own = self.column(column)
        if number >= self.items.n_items or own.kind != "image" or not own.values[number].is_valid:
            raise not_found("image", f"{number}/{column}")
        content: bytes = own.values[number].as_py()
        media = media_type(content[:HEAD])
        assert media is not None, "an image that was accepted"
        return content, media

    def node_values(self, column: int) -> pa.Table:
        """A column at every node. Raises Refused `not-found` for a column without such values."""
        import pyarrow as pa

        own = self.column(column)
        path = self.file(files.ITEM_NODES)
        values = {} if path is None else files.map_item_nodes(path, column)
        if not values:
            raise Refused(
                "not-found",
                f"Column {shown(own.name)} is a column of {own.kind}s without values of nodes; "
                "`of_nodes` of a column says whether it has.",
            )
        return pa.table({"node": np.arange(self.tree.n_nodes), **values})

    def matches(self, conditions: Sequence[NumberedCondition]) -> pa.Table:
        """The items under every node that meet all conditions. Raises Refused `unknown-input` for a
        column that is not there, UsageError as `meeting_all`."""
        import pyarrow as pa

        columns = self.items.columns
        for each in conditions:
            if each.column >= len(columns):
                raise refused_at(
                    "unknown-input",
                    f"There is no column {each.column}; the items have {len(columns)} columns, "
                    "from 0.",
                    *each.pointer,
                )
        met = meeting_all([(columns[each.column], each.condition) for each in conditions])
        placed = self.placed
        n_matches = aggregates.matches(self.tree, placed, met)
        return pa.table(
            {
                "node": np.arange(self.tree.n_nodes),
                "n": np.ascontiguousarray(placed.count),
                "n_matches": n_matches,
            }
        )

    def _file(self, name: str) -> Path:
        """Raises Refused `not-found` for a file that is gone."""
        path = self.file(name)
        if path is None:
            raise not_found("attachment", self.id)
        return path

    def _bodies(self, numbers: list[int], placed: Placement) -> list[dict[str, Any]]:
        return [self._body(number, int(placed.leaf[number])) for number in numbers]

    def _body(self, number: int, leaf: int) -> dict[str, Any]:
        values = {
            column.name: self._value(column, at, number)
            for at, column in enumerate(self.items.columns)
        }
        own = {} if self.ids is None else {"id": self.ids[number].as_py()}
        return {"item": number, **own, "leaf": leaf, "values": values}

    def _value(self, column: ItemColumn, at: int, number: int) -> Any:
        value = column.values[number]
        if not value.is_valid:
            return None
        if column.kind == "image":
            return {"image": f"/v1/attachments/{self.id}/items/{number}/images/{at}"}
        plain = value.as_py()
        if column.kind == "date":
            return plain.isoformat().replace("+00:00", "Z")
        return shortened(plain) if isinstance(plain, str) else plain


def _npy(table: pa.Table) -> Chunks:
    """All columns but the first, side by side: int32, or float32 where they are no integers."""
    columns = [column.to_numpy() for column in table.columns[1:]]
    whole = all(column.dtype.kind == "i" for column in columns)
    return npy_chunks(np.stack(columns, axis=1).astype(np.int32 if whole else np.float32))


OF_NODES: tuple[Form[pa.Table], ...] = (*TABLE, Form("npy", "application/x-npy", _npy))
