"""A tree with the differences of an edition: as rows, and as comments in Newick and Nexus."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from models.arrays import Int
from models.editions.state import EditionState
from models.errors import UsageError
from models.tree.build import from_parents
from models.tree.cluster_names import DIFFERENCES, DISTINCTIVE
from models.tree.tree import Tree
from models.tree.walk import path, relabelled, require_node

NOTE, COLOUR, COLLAPSED = "note", "colour", "collapsed"
"""The columns that an edition adds, where it has such nodes."""


@dataclass(frozen=True, eq=False)
class EditedTree:
    """A tree as shown, whose nodes keep their ids. Without an edition it is the tree itself.

    ids : (n_nodes,) the id of each row; None: the row itself.
    rows : (n_ids,) the row of each id, -1 for nodes that were dissolved; None: the id itself.
    closed : rows of collapsed nodes, ascending.
    colours : by row, `#rrggbb`. noted : whether it has notes.
    """

    tree: Tree
    ids: Int | None = None
    rows: Int | None = None
    closed: Int = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    colours: Mapping[int, str] = field(default_factory=dict)
    noted: bool = False

    @property
    def annotated(self) -> bool:
        """Whether the edition has notes, colours or collapsed nodes."""
        return self.noted or bool(self.colours) or bool(self.closed.size)

    @cached_property
    def leaves(self) -> Int:
        """(n_leaves,) rows of the leaves in the order of their ids, which is that of labels."""
        leaves = self.tree.leaves
        return leaves if self.ids is None else leaves[np.argsort(self.ids[leaves])]

    def row(self, node: int) -> int:
        """The row of a node. Raises UsageError `unknown-node` if there is none."""
        if self.rows is None:
            require_node(self.tree, node)
            return node
        row = int(self.rows[node]) if 0 <= node < self.rows.size else -1
        if row < 0:
            raise UsageError(
                f"This edition of the tree has no node {node}.", code="unknown-node", node=node
            )
        return row

    def id(self, row: int) -> int:
        return row if self.ids is None else int(self.ids[row])

    def note(self, row: int) -> str | None:
        """What the edition says of a row."""
        return self.tree.extra[NOTE][row] if self.noted else None

    def collapsed(self, row: int) -> bool:
        place = int(np.searchsorted(self.closed, row))
        return place < self.closed.size and int(self.closed[place]) == row

    def colour_above(self, row: int) -> str | None:
        """The colour that the nearest coloured node at or above a row gives it."""
        if not self.colours:
            return None
        above = reversed(path(self.tree, row).tolist())
        return next((self.colours[each] for each in above if each in self.colours), None)

    def ids_of(self, rows: npt.ArrayLike) -> Int:
        """The ids of rows, of the same shape."""
        at = np.asarray(rows, dtype=np.int64)
        return at if self.ids is None else self.ids[at]


def edited(state: EditionState, shape: EditedTree | None = None) -> EditedTree:
    """The tree with all differences of the state.

    shape : from `reshaped` of a state whose nodes lie as in this one; None: it is made. With it,
        names and colours cost a copy of the column of names.

    Where names change, O(n_nodes) references are copied; where nodes lie otherwise, O(n_nodes log
    n_nodes + n_points).
    """
    shape = shape or reshaped(state)
    tree = shape.tree

    def by_row(values: Mapping[int, str]) -> dict[int, str]:
        return {shape.row(node): text for node, text in values.items() if node not in state.gone}

    names, notes, colours = map(by_row, (state.names, state.notes, state.colours))
    closed = np.array(sorted(map(shape.row, state.collapsed)), dtype=np.int64)
    if not names and not notes and not colours and not closed.size:
        return shape
    name = tree.name.copy()
    for row, text in names.items():
        name[row] = text
    extra = dict(tree.extra)
    for key, texts in ((NOTE, notes), (COLOUR, colours)):
        if texts:
            column = np.full(tree.n_nodes, None, dtype=object)
            for row, text in texts.items():
                column[row] = text
            extra[key] = column
    if closed.size:
        extra[COLLAPSED] = np.zeros(tree.n_nodes, dtype=bool)
        extra[COLLAPSED][closed] = True
    return replace(
        shape,
        tree=relabelled(tree, name, extra),
        closed=closed,
        colours=colours,
        noted=bool(notes),
    )


def reshaped(state: EditionState) -> EditedTree:
    """The tree with the nodes where the state has them, without its names, notes and colours."""
    tree = state.tree
    if not state.reshaped:
        return EditedTree(tree)
    n_ids, n_new = state.n_ids, len(state.heights)
    alive = np.ones(n_ids, dtype=bool)
    alive[list(state.gone)] = False
    parent = np.concatenate([tree.parent, np.zeros(n_new, dtype=np.int32)]).astype(np.int64)
    parent[list(state.parent)] = list(state.parent.values())
    # Siblings share their ids out anew, in their order: a row's number then orders siblings.
    rank = np.arange(n_ids, dtype=np.int64)
    for below in state.children.values():
        rank[below] = np.sort(below)
    given = np.argsort(rank, kind="stable")
    given = given[alive[given]]
    place = np.full(n_ids, -1, dtype=np.int64)
    place[given] = np.arange(given.size)
    over = parent[given]
    over[0] = 0
    over = place[over]
    over[0] = -1
    height = np.concatenate([tree.height, np.array(state.heights, dtype=np.float64)])
    name = np.concatenate([tree.name, np.full(n_new, None, dtype=object)])
    extra = {key: _lengthened(np.asarray(column), n_new) for key, column in tree.extra.items()}
    for key in {DIFFERENCES, DISTINCTIVE} & extra.keys():
        # Words that compare a node with siblings hold no longer beside others.
        words = extra[key].copy()
        words[_beside_others(state)] = None
        extra[key] = words
    shaped = from_parents(
        over,
        height[given],
        name[given],
        place[tree.leaf_of_point],
        kind=tree.kind if not alive[tree.n_nodes :].any() else "hierarchy",
        monotone=tree.monotone,
        extra={**{key: column[given] for key, column in extra.items()}, _IDS: given},
    )
    ids = shaped.extra[_IDS]
    rows = np.full(n_ids, -1, dtype=np.int64)
    rows[ids] = np.arange(ids.size)
    own = {key: column for key, column in shaped.extra.items() if key != _IDS}
    return EditedTree(replace(shaped, extra=own), ids, rows)


_IDS = "\0ids"
"""A column beside the tree's own, while rows are put in order."""


def _lengthened(column: npt.NDArray[Any], n_new: int) -> npt.NDArray[Any]:
    """A column with no value for new nodes: NaN among numbers with a fraction, else None."""
    if not n_new:
        return column
    if column.dtype.kind == "f":
        missing = np.full((n_new, *column.shape[1:]), np.nan, dtype=column.dtype)
        return np.concatenate([column, missing])
    longer = np.full(len(column) + n_new, None, dtype=object)
    longer[: len(column)] = column if column.ndim == 1 else list(column)
    return longer


def _beside_others(state: EditionState) -> list[int]:
    """The ids of all nodes that have other siblings than in the tree."""
    start, child = state.tree.children
    found: list[int] = []
    for node, below in state.children.items():
        before = child[start[node] : start[node + 1]] if node < state.tree.n_nodes else ()
        if sorted(before) != sorted(below):
            found += below
    return found


_RESERVED = re.compile(r'[\x00-\x1f%\[\]"]')


def comments(tree: Tree) -> npt.NDArray[np.object_] | None:
    """(n_nodes,) `&!color=#d55e00,!collapsed=true,note="..."` for nodes that have any of these, as
    FigTree writes its own; None where no node has.

    In notes, brackets, double quotes, `%`, and controls are percent-encoded, since comments have no
    other way to hold a bracket. O(n_nodes).
    """
    if not {COLLAPSED, COLOUR, NOTE} & tree.extra.keys():
        return None
    texts = np.full(tree.n_nodes, None, dtype=object)
    for key in (COLOUR, COLLAPSED, NOTE):
        for row, value in enumerate(tree.extra[key].tolist() if key in tree.extra else ()):
            if value:
                before = "&" if texts[row] is None else f"{texts[row]},"
                texts[row] = before + _written(key, str(value))
    return texts


def _written(key: str, value: str) -> str:
    if key == COLOUR:
        return f"!color={value}"
    return "!collapsed=true" if key == COLLAPSED else f'note="{_encoded(value)}"'


def _encoded(text: str) -> str:
    return _RESERVED.sub(lambda match: f"%{ord(match[0]):02X}", text)
