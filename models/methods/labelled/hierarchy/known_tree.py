"""The part of a hierarchy that is known: its nodes with labelled rows, and where each row is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from models.arrays import Int, Mask
from models.errors import UsageError, listed
from models.inputs.data import Data
from models.inputs.label_sets import LabelSets, label_nodes, with_own_leaves
from models.methods.labelled.supervision.inputs import read_single
from models.tree import class_paths, parents
from models.tree.build import levels_below
from models.tree.named import NONE, NamedNodes
from models.tree.tree import Tree
from models.tree.walk import ranks


@dataclass(frozen=True, eq=False)
class KnownTree:
    """Nodes with rows, parents before children; node 0 is the root.

    parent : (n_nodes,) int32. name : of each node, None for a root without one.
    row_node : (n_rows,) the leaf that a row is known to be of, 0 for rows that are not labelled.
    """

    parent: Int
    name: list[str | None]
    row_node: Int

    @property
    def n_nodes(self) -> int:
        return int(self.parent.shape[0])

    @cached_property
    def _children(self) -> tuple[Int, Int]:
        return parents.children(self.parent.astype(np.int32))

    @cached_property
    def _ranks(self) -> tuple[Int, Int]:
        return ranks(self.parent.astype(np.int32))

    @cached_property
    def levels(self) -> Int:
        """(n_nodes,) the most edges from a node down to a leaf."""
        return levels_below(self.parent.astype(np.int32)).astype(np.int64)

    def children(self, node: int) -> Int:
        start, child = self._children
        return child[start[node] : start[node + 1]]

    def place(self, node: int, nodes: Int) -> Int:
        """(n,) which of a node's children is at or above each of some nodes, -1 for none.

        O(n log n_children).
        """
        rank, weight = self._ranks
        own = rank[nodes]
        place = np.searchsorted(rank[self.children(node)], own, side="right") - 1
        below = (own > rank[node]) & (own < rank[node] + weight[node])
        return np.where(below, place, -1)

    @cached_property
    def is_leaf(self) -> Mask:
        return np.asarray(np.bincount(self.parent[1:], minlength=self.n_nodes) == 0)

    def leaves(self, node: int) -> Int:
        """The leaves at or below a node, ascending."""
        rank, weight = self._ranks
        leaves = np.flatnonzero(self.is_leaf)
        own = rank[leaves]
        inside: Int = leaves[(own >= rank[node]) & (own < rank[node] + weight[node])]
        return inside

    def labelled(self, node: int) -> Int:
        """The rows that are known to be of a node, ascending. O(n_rows)."""
        rank, weight = self._ranks
        own = rank[self.row_node]
        inside = (own >= rank[node]) & (own < rank[node] + weight[node]) & (self.row_node > 0)
        return np.flatnonzero(inside)

    @property
    def supervised(self) -> Int:
        """Nodes with two or more children, parents first."""
        return np.flatnonzero(np.bincount(self.parent[1:], minlength=self.n_nodes) > 1)

    def supervised_above(self, some: Int) -> Int:
        """(n_nodes,) for each node the place in `some` of the nearest of these nodes at or above
        it, -1 for none."""
        marked = np.zeros(self.n_nodes, dtype=bool)
        marked[some] = True
        nearest = parents.nearest(self.parent.astype(np.int32), marked)
        place = np.full(self.n_nodes + 1, -1, dtype=np.int64)
        place[some] = np.arange(some.size)
        return place[nearest]

    def without(self, rows: Mask) -> tuple[KnownTree, Int]:
        """With these rows not labelled and without nodes that have no row then, and (n_nodes,) the
        new number of each node, -1 for none."""
        return _with_rows_alone(replace(self, row_node=np.where(rows, 0, self.row_node)))


def read_known_tree(
    data: Data, n_rows: int, *, place_new: bool = False
) -> tuple[KnownTree, dict[str, Int], tuple[str, ...]]:
    """The input `labels` on the input `hierarchy`, or on the tree of the labels' paths; the rows of
    each label that is no node, by its name; warnings.

    place_new : whether such labels are taken. Rows with the label of an inner node get a leaf of
    that name below it: they stop there.

    Raises UsageError for a row with several labels, a label that is no node, where no node has two
    known children or no leaf has two rows, and where every row is labelled.
    """
    sets = read_single(data, n_rows)
    hierarchy = data.values.get("hierarchy")
    classes: dict[str, Int] = {}
    if place_new and isinstance(hierarchy, Tree):
        sets, classes = _without_new(sets, hierarchy)
    tree, node_of_label, warnings = _nodes(sets, hierarchy)
    own = np.zeros(n_rows, dtype=np.int64)
    own[np.diff(sets.start) == 1] = node_of_label[sets.code]
    name = [None if some is None else str(some) for some in tree.name.tolist()]
    whole = KnownTree(tree.parent.astype(np.int64), name, own)
    known, number = _with_rows_alone(whole)
    dropped = [str(name[node]) for node in np.flatnonzero(number < 0).tolist()]
    if dropped:
        warnings = (
            *warnings,
            f"{len(dropped)} node(s) of the hierarchy have no labelled row, so that nothing shows "
            f"where they lie, and were left out: {listed(dropped)}.",
        )
    _require_supervision(known, has_new=bool(classes))
    return known, classes, warnings


def _without_new(sets: LabelSets, hierarchy: Tree) -> tuple[LabelSets, dict[str, Int]]:
    """The labels that are nodes, and the rows of each other label, the most frequent first."""
    nodes = NamedNodes(hierarchy)
    is_new = np.array([nodes.find(name) == NONE for name in sets.names], dtype=bool)
    has = np.diff(sets.start) == 1
    code = np.full(sets.n_rows, -1, dtype=np.int64)
    code[has] = sets.code
    new = has & is_new[code]
    kept = has & ~new
    start = np.concatenate([[0], np.cumsum(kept)])
    rest = LabelSets(start, code[kept], sets.names, sets.unlabelled | new)
    times = np.bincount(code[new], minlength=len(sets.names))
    order = np.argsort(-times, kind="stable")[: int((times > 0).sum())]
    return rest, {sets.names[some]: np.flatnonzero(new & (code == some)) for some in order.tolist()}


def _nodes(sets: LabelSets, hierarchy: object) -> tuple[Tree, Int, tuple[str, ...]]:
    """The tree, (n_labels,) the leaf of each label in it, -1 for labels without a row; warnings."""
    if not isinstance(hierarchy, Tree):
        occurring, place = np.unique(sets.code, return_index=True)
        if not occurring.size:
            raise _too_little("no row is labelled")
        row = np.repeat(np.arange(sets.n_rows), np.diff(sets.start))[place]
        tree = class_paths.of_rows(
            (sets.names[label] for label in occurring.tolist()), row.tolist()
        )
        node_of_label = np.full(len(sets.names), -1, dtype=np.int64)
        node_of_label[occurring] = tree.leaf_of_point
        return tree, node_of_label, tree.warnings
    node_of_label = label_nodes(sets, hierarchy)
    used = np.unique(node_of_label[node_of_label >= 0])
    inner = used[hierarchy.n_children[used] > 0]
    if not inner.size:
        return hierarchy, node_of_label, ()
    moved = np.arange(hierarchy.n_nodes)
    moved[inner] = hierarchy.n_nodes + np.arange(inner.size)
    names = listed([str(hierarchy.name[node]) for node in inner.tolist()])
    return (
        with_own_leaves(hierarchy, inner),
        np.where(node_of_label >= 0, moved[node_of_label], -1),
        (f"Rows with the label of an inner node got a leaf of that name below it: {names}.",),
    )


def _with_rows_alone(tree: KnownTree) -> tuple[KnownTree, Int]:
    """The tree of nodes that labelled rows are of, and the new number of each node, -1 for none."""
    times = np.bincount(tree.row_node, minlength=tree.n_nodes)
    kept = parents.under(tree.parent.astype(np.int32), times) > 0
    kept[0] = True
    number = np.where(kept, np.cumsum(kept) - 1, -1)
    nodes = np.flatnonzero(kept)
    above = tree.parent[nodes]
    parent = np.where(above < 0, -1, number[above])
    names = [tree.name[node] for node in nodes.tolist()]
    return KnownTree(parent, names, number[tree.row_node]), number


def _require_supervision(tree: KnownTree, *, has_new: bool) -> None:
    if not tree.supervised.size:
        raise _too_little("no node of the hierarchy has two children with labelled rows")
    if tree.row_node.all() and not has_new:
        raise UsageError(
            "Input 'labels' labels every row, so that none is left to place; leave "
            "some rows unlabelled (null or -1).",
            code="wrong-input",
            role="labels",
        )
    if np.bincount(tree.row_node)[1:].max() < 2:
        raise _too_little("each known leaf has a single row, which shows no spread")


def _too_little(why: str) -> UsageError:
    return UsageError(
        f"Input 'labels' shows too little: {why}; label rows of at least two children of one node, "
        "two of them in one leaf.",
        code="wrong-input",
        role="labels",
    )
