"""Features in which a node differs most from its siblings, and clusters described by them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from models.arrays import Float, Matrix
from models.inputs.rows import Rows
from models.node_names.terms import MOST_CLUSTERS, above
from models.tree.cluster_names import DIFFERENCES, DISTINCTIVE, MOST_BY_LEAVES, is_number
from models.tree.cut import finest_cut, rows_at
from models.tree.noise import noise_leaves
from models.tree.tree import Tree

N_FEATURES = 3
LEAST_EFFECT = 0.5
"""Standard deviations by which a feature must differ to be named."""
_BLOCK = 1 << 21
"""Values that are read at a time."""
_MOST_SUMS = 1 << 23
"""Features times clusters that are summed unasked, after a fit: of wide rows fewer clusters."""


def distinctive_features(
    tree: Tree, features: Matrix | Rows, n_clusters: int = MOST_CLUSTERS
) -> dict[int, list[tuple[int, float]]]:
    """The columns, at most `N_FEATURES`, in which each node differs most from its siblings, and by
    how much: the difference of the means, in standard deviations within both.

    To their variance a quarter of that of all rows is added: a feature that hardly varies near a
    node would otherwise be named for a difference of no size (Tusher, Tibshirani and Chu,
    "Significance analysis of microarrays", 2001).

    features : (n_points, D), a row for each point. The nodes of the cut into `n_clusters` clusters
    and all above them; those that differ in nothing are left out. O(n_points D + clusters D), read
    by blocks of rows.
    """
    sums, squares = _moments(tree, features, n_clusters)
    return _apart(tree, sums, squares, lambda node: int(tree.parent[node]))


def identifying_features(
    tree: Tree, features: Matrix | Rows, n_clusters: int = MOST_CLUSTERS
) -> dict[int, list[tuple[int, float]]]:
    """The columns in which each node differs most from all other rows, but the last one from its
    siblings, where it is not among these: deep in a tree siblings differ in little that says what
    a node is. Otherwise as `distinctive_features`."""
    sums, squares = _moments(tree, features, n_clusters)
    found = _apart(tree, sums, squares, lambda _: 0)
    for node, beside in _apart(tree, sums, squares, lambda node: int(tree.parent[node])).items():
        own = found.get(node, [])[: N_FEATURES - 1]
        known = {column for column, _ in own}
        found[node] = [*own, *(each for each in beside if each[0] not in known)][:N_FEATURES]
    return found


def _apart(
    tree: Tree, sums: dict[int, Float], squares: dict[int, Float], whole_of: Callable[[int], int]
) -> dict[int, list[tuple[int, float]]]:
    """For each node the columns in which it differs most from the rest of the node `whole_of`."""
    whole = np.maximum(squares[0] / tree.n_points - (sums[0] / tree.n_points) ** 2, 0.0)
    found: dict[int, list[tuple[int, float]]] = {}
    for node in sums:
        if not node:
            continue
        outer = whole_of(node)
        n_own = int(tree.size[node])
        n_rest = int(tree.size[outer]) - n_own
        if not n_own or not n_rest:
            continue
        rest = sums[outer] - sums[node]
        apart = sums[node] / n_own - rest / n_rest
        within = (squares[outer] - sums[node] ** 2 / n_own - rest**2 / n_rest) / tree.size[outer]
        deviation = np.sqrt(np.maximum(within, 0.0) + whole / 4)
        effect = np.divide(apart, deviation, out=np.zeros(apart.size), where=deviation > 0)
        best = np.argsort(-np.abs(effect), kind="stable")[:N_FEATURES].tolist()
        if best := [column for column in best if abs(effect[column]) >= LEAST_EFFECT]:
            found[node] = [(column, float(effect[column])) for column in best]
    return found


def side_of(effect: float) -> str:
    """In words, how a node differs from its siblings in a feature."""
    return "high" if effect > 0 else "low"


def described(tree: Tree, features: Matrix | Rows | None, names: Sequence[str] | None) -> Tree:
    """The tree with the column `distinctive`, which says that its leaves are clusters without names
    of rows, and what its nodes are called by; of a tree of rows with the column `differences`, if
    there is something to say. Unchanged if leaves of several rows have a name, or the method
    describes the nodes itself.

    features, names : of the rows of the tree and of their columns; None: nodes have no features.
    Only the cut into so many clusters has some that `_MOST_SUMS` numbers suffice. O(n_points D).
    """
    of_rows = tree.n_leaves == tree.n_points
    if tree.n_leaves > tree.n_points or (
        of_rows and any(column.dtype.kind == "O" for column in tree.extra.values())
    ):
        return tree
    leaves = np.setdiff1d(tree.leaves, noise_leaves(tree))
    if not of_rows and not all(map(is_number, tree.name[leaves].tolist())):
        return tree
    column = np.full(tree.n_nodes, None, dtype=object)
    if features is not None and names is not None and len(names) == features.shape[1]:
        n_clusters = max(1, min(MOST_CLUSTERS, _MOST_SUMS // max(len(names), 1)))
        found_in = identifying_features if of_rows else distinctive_features
        for node, found in found_in(tree, features, n_clusters).items():
            if of_rows and tree.size[node] <= MOST_BY_LEAVES:
                continue
            column[node] = [
                {"feature": names[at], "side": side_of(effect), "difference": effect}
                for at, effect in found
            ]
    if of_rows and all(words is None for words in column):
        return tree
    return replace(tree, extra={**tree.extra, DIFFERENCES if of_rows else DISTINCTIVE: column})


def _moments(
    tree: Tree, features: Matrix | Rows, n_clusters: int
) -> tuple[dict[int, Float], dict[int, Float]]:
    """The sums of the features and of their squares by node, about the mean of the first rows, so
    that squares lose no digits."""
    parts = finest_cut(tree, n_clusters).cover
    n_features = features.shape[1]
    part, size = rows_at(tree, parts), (parts.size, n_features)
    sums, squares = np.zeros(size), np.zeros(size)
    centre: Float | float | None = None
    for start, block in _blocks(features, max(1, _BLOCK // max(n_features, 1))):
        rows = block.shape[0]
        own = (part[start : start + rows], np.arange(rows))
        member = sp.csr_array((np.ones(rows), own), shape=(parts.size, rows))
        if isinstance(block, np.ndarray):
            centre = block.mean(axis=0) if centre is None else centre
            block = block - centre
        for total, values in ((sums, block), (squares, block * block)):
            added = member @ values
            total += added.toarray() if sp.issparse(added) else added
    return above(tree, parts, sums), above(tree, parts, squares)


def _blocks(features: Matrix | Rows, step: int) -> Iterator[tuple[int, Matrix]]:
    for start in range(0, features.shape[0], step):
        if isinstance(features, Rows):
            yield start, features.values(start, start + step).astype(np.float64)
        elif isinstance(features, np.ndarray):
            yield start, features[start : start + step].astype(np.float64)
        else:
            yield start, features[start : start + step]
