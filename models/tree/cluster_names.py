"""The names of clusters: a node's own name, or the names of the largest leaves under it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from models.arrays import Int, Int32
from models.tree.leaf_ranges import spans
from models.tree.tree import Tree

N_LEAVES = 3
"""The most names of leaves in the name of a cluster."""


@dataclass(frozen=True, slots=True, eq=False)
class _LeafNames:
    """The names of leaves by number; 12 bytes a leaf.

    text : the different names, in the order of the first leaf of each.
    code : (n_leaves,) the number of each leaf's name, from left to right; -1: none.
    size : (n_leaves,) its points.
    """

    text: list[str]
    code: Int32
    size: Int


_names_of: WeakKeyDictionary[Tree, _LeafNames] = WeakKeyDictionary()


def has_names(tree: Tree) -> bool:
    """Whether any leaf has a name other than the number that stands for none."""
    return bool(_leaf_names(tree).text)


def cluster_names(tree: Tree, nodes: Int | Sequence[int]) -> list[str | None]:
    """The name of each of `nodes`, taken as a cluster.

    A node with a name has that name. Another is named by the `N_LEAVES` names with most points
    among the leaves under it (of equals that of the leaf furthest left), and by an ellipsis if
    there are more names. Leaves called by numbers have no name in this sense, since leaves without
    a name are called by the number of their row or class; neither have leaves without points
    beside leaves with some. None where no leaf under the node has a name.

    nodes : (n,) rows of the tree. Disjoint nodes cost O(n_leaves log n_leaves) together, after
    O(n_leaves) once per tree; a node above others counts its leaves again.
    """
    at = np.asarray(nodes, dtype=np.int64)
    names: list[str | None] = tree.name[at].tolist()
    unnamed = np.array([place for place, name in enumerate(names) if name is None], dtype=np.int64)
    leaves = _leaf_names(tree)
    if not unnamed.size or not leaves.text:
        return names
    start = spans(tree).start[at[unnamed]].astype(np.int64)
    count = spans(tree).count[at[unnamed]]
    for place, first, n in zip(unnamed.tolist(), start.tolist(), count.tolist(), strict=True):
        names[place] = _largest(leaves, slice(first, first + n))
    return names


def _largest(leaves: _LeafNames, under: slice) -> str | None:
    """The names with most points among these leaves. O(n log n)."""
    code, size = leaves.code[under], leaves.size[under]
    is_named = code >= 0
    if size.any():
        is_named &= size > 0
    code, size = code[is_named], size[is_named]
    if not code.size:
        return None
    different, first, of = np.unique(code, return_index=True, return_inverse=True)
    n_points = np.bincount(of, weights=size)
    best = np.lexsort((first, -n_points))[:N_LEAVES]
    texts = [leaves.text[number] for number in different[best].tolist()]
    return ", ".join([*texts, "…"] if different.size > N_LEAVES else texts)


def _leaf_names(tree: Tree) -> _LeafNames:
    leaves = _names_of.get(tree)
    if leaves is None:
        in_order = np.empty(tree.n_leaves, dtype=np.int64)
        in_order[spans(tree).start[tree.leaves]] = tree.leaves
        number: dict[str, int] = {}
        code = np.fromiter(
            (
                number.setdefault(name, len(number)) if name and not _is_number(name) else -1
                for name in tree.name[in_order].tolist()
            ),
            dtype=np.int32,
            count=tree.n_leaves,
        )
        leaves = _names_of[tree] = _LeafNames(list(number), code, tree.size[in_order])
    return leaves


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdigit()
