"""The names of clusters: a node's own name, the names of its largest leaves, or terms.

Terms come from the features that distinguish nodes. A method may give each node a list of objects
with the key `feature` or `term` and numbers beside it: a weight, a probability, or a list of
weights, one for each child.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from models.arrays import Int, Int32
from models.tree.noise import noise_leaves
from models.tree.tree import Tree
from models.tree.walk import spans

FEATURE_KEYS = ("feature", "term")
DISTINCTIVE = "distinctive"
"""The column of a tree whose leaves are clusters of rows that nobody has named: for each node, the
features in which it differs from its siblings."""

DIFFERENCES = "differences"
"""The column of a tree of rows that holds, for its large nodes, the features that set each
apart from all other rows, and one that does from its siblings."""
MOST_BY_LEAVES = 20
"""Leaves of a node that are named after three of them although there are such features."""


class DistinctiveFeature(NamedTuple):
    """One number of one feature of one node.

    column : the tree's column that holds it. rank : position in the node's list, from 1.
    quantity : what `value` is, for instance `weight`. child : the child it refers to; None if it
        refers to the node.
    """

    node: int
    name: str | None
    column: str
    rank: int
    feature: str | int
    quantity: str
    child: int | None
    value: float


def distinctive_features(tree: Tree) -> Iterator[DistinctiveFeature]:
    """All these numbers, by node; none if the method gives none. O(n_nodes + numbers)."""
    columns = {key: column for key, column in tree.extra.items() if column.dtype.kind == "O"}
    start, child = tree.children
    for node in range(tree.n_nodes):
        for key, column in columns.items():
            features = column[node]
            if features is None or isinstance(features, str) or not hasattr(features, "__iter__"):
                continue
            below = child[start[node] : start[node + 1]].tolist()
            for rank, item in enumerate(features, 1):
                feature = _feature(item)
                if feature is None:
                    continue
                for quantity, of, value in _numbers(item, below):
                    yield DistinctiveFeature(
                        node, tree.name[node], key, rank, feature, quantity, of, value
                    )


def _feature(item: Any) -> str | int | None:
    if not isinstance(item, dict):
        return None
    return next((item[key] for key in FEATURE_KEYS if key in item), None)


def _numbers(item: dict[str, Any], below: list[int]) -> Iterator[tuple[str, int | None, float]]:
    for key, value in item.items():
        if key in FEATURE_KEYS:
            continue
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            yield key, None, float(value)
        elif isinstance(value, (list, tuple)) and len(value) == len(below):
            for child, of_child in zip(below, value, strict=True):
                yield key.removesuffix("s"), child, float(of_child)


N_LEAVES = 3
"""The most names of leaves, or terms, in the name of a cluster."""
MOST_COUNTED = 1_000_000
"""Leaves under nodes above each other that are counted to name them."""


@dataclass(frozen=True, slots=True, eq=False)
class _LeafNames:
    """The names of leaves by number; 12 bytes a leaf.

    text : the different names, in the order of the first leaf of each.
    code : (n_leaves,) the number of each leaf's name, from left to right; -1: none.
    size : (n_leaves,) its points.
    at : (n_named,) the leaves that have a name, from left to right, where all names differ and all
        leaves have as many points; None where not.
    """

    text: list[str]
    code: Int32
    size: Int
    at: Int | None


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

    In a tree with the column `DIFFERENCES`, a node of more than `MOST_BY_LEAVES` leaves is named by
    its features there. In a tree with the column `DISTINCTIVE`, any node is, else by the numbers of
    its largest clusters. Both have the node's points beside them where a sibling in `nodes` would
    have the same name.

    nodes : (n,) rows of the tree. Disjoint nodes cost O(n_leaves log n_leaves) together, after
    O(n_leaves) once per tree; a node above others counts its leaves again.
    """
    at = np.asarray(nodes, dtype=np.int64)
    names: list[str | None] = tree.name[at].tolist()
    if DISTINCTIVE in tree.extra:
        return _of_clusters(tree, at, names)
    unnamed = np.array([place for place, name in enumerate(names) if name is None], dtype=np.int64)
    leaves = _leaf_names(tree)
    if not unnamed.size:
        return names
    if DIFFERENCES in tree.extra:
        unnamed = _by_differences(tree, at, unnamed, names)
    for place, text in zip(unnamed.tolist(), _largest(tree, leaves, at[unnamed]), strict=True):
        names[place] = text
    columns = [column for column in tree.extra.values() if column.dtype.kind == "O"]
    for place in unnamed.tolist() if columns else ():
        if names[place] is None:
            names[place] = _by_terms(columns, int(at[place]))
    return names


def _by_differences(tree: Tree, nodes: Int, unnamed: Int, names: list[str | None]) -> Int:
    """Name large nodes by their features, with their points where siblings would be called the
    same; (n,) the places that are left."""
    large = unnamed[tree.size[nodes[unnamed]] > MOST_BY_LEAVES]
    parent = tree.parent[nodes].tolist()
    for place in large.tolist():
        names[place] = _by_terms([tree.extra[DIFFERENCES]], int(nodes[place]))
    found = [place for place in large.tolist() if names[place] is not None]
    times = Counter((parent[place], names[place]) for place in found)
    for place in found:
        if times[parent[place], names[place]] > 1:
            names[place] = f"{names[place]} ({int(tree.size[nodes[place]]):,})"
    return np.setdiff1d(unnamed, found)


def telling_names(tree: Tree, nodes: Int) -> list[str | None]:
    """The names that nodes have; their `cluster_names` where leaves are clusters without names, or
    rows, and features tell nodes apart; the points stand beside two that are the same."""
    if DISTINCTIVE not in tree.extra and DIFFERENCES not in tree.extra:
        given: list[str | None] = tree.name[nodes].tolist()
        return given
    names = cluster_names(tree, nodes)
    times = Counter(names)
    telling = list[str | None]()
    for name, own, size in zip(
        names, tree.name[nodes].tolist(), tree.size[nodes].tolist(), strict=True
    ):
        points = f" ({size:,})"
        is_alike = name is not None and times[name] > 1 and name != own
        telling.append(name + points if name and is_alike and not name.endswith(points) else name)
    return telling


def _of_clusters(tree: Tree, nodes: Int, names: list[str | None]) -> list[str | None]:
    """The names of `nodes` where leaves are clusters that are called by their number."""
    noise = set(noise_leaves(tree).tolist())
    bare = [
        place
        for place, (node, name) in enumerate(zip(nodes.tolist(), names, strict=True))
        if node not in noise and is_number(name)
    ]
    below = _largest(tree, _leaf_names(tree), nodes[bare])
    for place, numbers in zip(bare, below, strict=True):
        by = _by_terms([tree.extra[DISTINCTIVE]], int(nodes[place]))
        many = "s" if numbers and "," in numbers else ""
        names[place] = by or (numbers and f"Cluster{many} {numbers}")
    parent = tree.parent[nodes].tolist()
    times = Counter((parent[place], names[place]) for place in bare)
    for place in bare:
        if times[parent[place], names[place]] > 1:
            names[place] = f"{names[place]} ({int(tree.size[nodes[place]]):,})"
    return names


def _largest(tree: Tree, leaves: _LeafNames, nodes: Int) -> list[str | None]:
    """The names with most points among the leaves under each of `nodes`. O(n log n) of the leaves
    under all of them."""
    if not leaves.text:
        return [None] * nodes.size
    if leaves.at is not None:
        return _leftmost(tree, leaves, leaves.at, nodes)
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


def _leftmost(tree: Tree, leaves: _LeafNames, at: Int, nodes: Int) -> list[str | None]:
    """As `_largest`, where no name has more points than another: O(log n_leaves) a node."""
    start = spans(tree).start[nodes]
    first = np.searchsorted(at, start).tolist()
    last = np.searchsorted(at, start + spans(tree).count[nodes]).tolist()
    names: list[str | None] = []
    for begin, end in zip(first, last, strict=True):
        texts = leaves.text[begin : min(end, begin + N_LEAVES)]
        names.append(", ".join([*texts, "…"] if end - begin > N_LEAVES else texts) or None)
    return names


def called(tree: Tree, nodes: Int, counts: Int) -> list[str | None]:
    """What nodes without a name are called in a picture: their `cluster_names`, the largest nodes
    first while they have few leaves together, and the number of leaves where siblings would be
    called the same; None for others, for nodes with a name, and for leaves that are not clusters
    without names (`DISTINCTIVE`).

    nodes : (n,) rows of the tree. counts : (n,) the leaves under each.
    """
    found: list[str | None] = [None] * len(nodes)
    given = tree.name[nodes].tolist()
    unnamed = np.array([name is None for name in given], dtype=bool) & (counts > 1)
    if DISTINCTIVE in tree.extra:
        unnamed |= np.array([bool(name) and is_number(name) for name in given], dtype=bool)
    (wanted,) = np.nonzero(unnamed)
    order = wanted[np.argsort(-counts[wanted], kind="stable")]
    if _leaf_names(tree).at is None:
        within = np.cumsum(counts[order]) <= MOST_COUNTED
        # Small nodes cost little, and none is in the place of a large one.
        order = order[within | (np.cumsum(counts[order][::-1])[::-1] <= MOST_COUNTED)]
    names = cluster_names(tree, nodes[order])
    parent = tree.parent[nodes[order]].tolist()
    times = Counter(zip(parent, names, strict=True))
    for place, up, name in zip(order.tolist(), parent, names, strict=True):
        if name is not None:
            same = times[up, name] > 1
            found[place] = f"{name} ({counts[place]:,})" if same else name
    return found


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
    own = next((item[key] for key in FEATURE_KEYS if isinstance(item.get(key), str)), None)
    return own if own is None or "side" not in item else f"{item['side']} {own}"


def _leaf_names(tree: Tree) -> _LeafNames:
    leaves = _names_of.get(tree)
    if leaves is None:
        in_order = np.empty(tree.n_leaves, dtype=np.int64)
        in_order[spans(tree).start[tree.leaves]] = tree.leaves
        number: dict[str, int] = {}
        leaf_names, of_clusters = tree.name.copy(), DISTINCTIVE in tree.extra
        leaf_names[noise_leaves(tree)] = None
        code = np.fromiter(
            (
                number.setdefault(name, len(number))
                if name and (of_clusters or not is_number(name))
                else -1
                for name in leaf_names[in_order].tolist()
            ),
            dtype=np.int32,
            count=tree.n_leaves,
        )
        size, at = tree.size[in_order], np.flatnonzero(code >= 0)
        is_plain = at.size == len(number) and bool(size[0] > 0) and bool((size == size[0]).all())
        leaves = _LeafNames(list(number), code, size, at if is_plain else None)
        _names_of[tree] = leaves
    return leaves


def is_number(name: str | None) -> bool:
    """Whether a leaf has no name but the number that stands for none."""
    return name is None or (name.isascii() and name.isdigit())
