"""The names of clusters: a node's own name, the names of its largest leaves, or terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from models.arrays import Int, Int32
from models.tree.distinctive_features import FEATURE_KEYS
from models.tree.leaf_ranges import spans
from models.tree.noise import noise_leaves
from models.tree.tree import Tree

N_LEAVES = 3
"""The most names of leaves, or terms, in the name of a cluster."""


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
    """Whether any leaf has a name other than the number that stands for none; noise has one."""
    return bool(_leaf_names(tree).text) or bool(noise_leaves(tree).size)


def cluster_names(tree: Tree, nodes: Int | Sequence[int]) -> list[str | None]:
    """The name of each of `nodes`, taken as a cluster.

    A node with a name has that name. Another is named by the `N_LEAVES` names with most points
    among the leaves under it (of equals that of the leaf furthest left), and by an ellipsis if
    there are more names. Leaves called by numbers have no name in this sense, since leaves without
    a name are called by the number of their row or class; neither have leaves without points
    beside leaves with some, nor leaves of noise. Where no leaf under the node has a name, the first
    `N_LEAVES` terms or named features that its method gives for the node itself; None without any.

    nodes : (n,) rows of the tree. Disjoint nodes cost O(n_leaves log n_leaves) together, after
    O(n_leaves) once per tree; a node above others counts its leaves again.
    """
    at = np.asarray(nodes, dtype=np.int64)
    names: list[str | None] = tree.name[at].tolist()
    unnamed = np.array([place for place, name in enumerate(names) if name is None], dtype=np.int64)
    leaves = _leaf_names(tree)
    if not unnamed.size:
        return names
    for place, text in zip(unnamed.tolist(), _largest(tree, leaves, at[unnamed]), strict=True):
        names[place] = text
    columns = [column for column in tree.extra.values() if column.dtype.kind == "O"]
    for place in unnamed.tolist() if columns else ():
        if names[place] is None:
            names[place] = _by_terms(columns, int(at[place]))
    return names


def _largest(tree: Tree, leaves: _LeafNames, nodes: Int) -> list[str | None]:
    """The names with most points among the leaves under each of `nodes`. O(n log n) of the leaves
    under all of them."""
    if not leaves.text:
        return [None] * nodes.size
    n_below = spans(tree).count[nodes]
    cluster = np.repeat(np.arange(nodes.size), n_below)
    offset = spans(tree).start[nodes] - np.cumsum(n_below) + n_below
    leaf = np.arange(cluster.size) + np.repeat(offset, n_below)
    code, size = leaves.code[leaf], leaves.size[leaf]
    has_points = np.bincount(cluster, size, nodes.size) > 0
    is_named = (code >= 0) & ((size > 0) | ~has_points[cluster])
    cluster, code, size = cluster[is_named], code[is_named], size[is_named]
    n_texts = len(leaves.text)
    pair, first, of = np.unique(cluster * n_texts + code, return_index=True, return_inverse=True)
    cluster, code = np.divmod(pair, n_texts)
    n_points = np.bincount(of, size, pair.size)
    best = code[np.lexsort((first, -n_points, cluster))].tolist()
    ends = np.searchsorted(cluster, np.arange(nodes.size + 1)).tolist()
    names: list[str | None] = []
    for begin, end in pairwise(ends):
        texts = [leaves.text[number] for number in best[begin : min(end, begin + N_LEAVES)]]
        names.append(", ".join([*texts, "…"] if end - begin > N_LEAVES else texts) or None)
    return names


def _by_terms(columns: list[npt.NDArray[Any]], node: int) -> str | None:
    """The first terms in a list that the method gives for a node itself, not for its children."""
    for column in columns:
        if isinstance(column[node], list | tuple | np.ndarray):
            terms = [term for item in column[node] if (term := _term(item)) is not None]
            if terms:
                return ", ".join(terms[:N_LEAVES])
    return None


def _term(item: Any) -> str | None:
    if not isinstance(item, dict) or any(isinstance(part, list | tuple) for part in item.values()):
        return None
    return next((item[key] for key in FEATURE_KEYS if isinstance(item.get(key), str)), None)


def _leaf_names(tree: Tree) -> _LeafNames:
    leaves = _names_of.get(tree)
    if leaves is None:
        in_order = np.empty(tree.n_leaves, dtype=np.int64)
        in_order[spans(tree).start[tree.leaves]] = tree.leaves
        number: dict[str, int] = {}
        leaf_names = tree.name.copy()
        leaf_names[noise_leaves(tree)] = None
        code = np.fromiter(
            (
                number.setdefault(name, len(number)) if name and not is_number(name) else -1
                for name in leaf_names[in_order].tolist()
            ),
            dtype=np.int32,
            count=tree.n_leaves,
        )
        leaves = _names_of[tree] = _LeafNames(list(number), code, tree.size[in_order])
    return leaves


def is_number(name: str | None) -> bool:
    """Whether a leaf has no name but the number that stands for none."""
    return name is None or (name.isascii() and name.isdigit())
