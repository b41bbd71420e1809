"""Noise, the rows of a tree that are in no cluster; and crumbs, clusters of almost none.

A leaf is noise where the tree's column `noise` is true. An inner node is noise where all leaves
under it are. So a cut has its noise apart from its clusters wherever it comes between the two; in a
cluster that lies above, the noise is a part like any other.

Trees of hdbscan that were stored before they had this column are recognised by their other columns:
the leaf that has no number among the chosen clusters is their noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from models.arrays import Int, Mask
from models.errors import UsageError
from models.tree.parents import under
from models.tree.tree import Tree, sizes

COLUMN = "noise"
"""The column of a tree that marks its leaves of noise."""

NAME = "noise"
"""What noise is called where clusters have names."""

LABEL = -1
"""The cluster of a row that is noise."""

_OF_HDBSCAN = {"cluster", "birth", "stability", "outlier_score"}


def noise_of(tree: Tree) -> Mask:
    """(n_nodes,) whether each node is noise. O(n_nodes log depth) where any is, else O(n_nodes)."""
    leaf = np.zeros(tree.n_nodes, dtype=bool)
    leaf[tree.leaves] = _marked(tree)[tree.leaves]
    if not leaf.any():
        return leaf
    is_leaf = tree.n_children == 0
    return np.asarray(
        under(tree.parent, leaf.astype(np.int64)) == under(tree.parent, is_leaf.astype(np.int64))
    )


def noise_leaves(tree: Tree) -> Int:
    """The rows of the leaves that are noise, ascending. O(n_nodes)."""
    return tree.leaves[_marked(tree)[tree.leaves]]


def with_noise(tree: Tree, rows: Int, n_points: int, names: Sequence[str] | None) -> Tree:
    """The tree with further points, which are noise; its nodes keep their numbers.

    A tree with a leaf for each point gets one for each of them below the root, any other one leaf
    for all, or puts them into its own leaf of noise. New leaves have no values in further columns:
    NaN, -1, False or None. The columns of nodes above are of the other points.

    rows : (n,) the numbers of these points among all n_points, ascending. names : of all points, if
        they have any. Without, leaves that are named by the numbers of their points are again.

    Raises UsageError for a tree of a single node with points that are not noise. O(n_nodes +
    n_points).
    """
    kept = np.delete(np.arange(n_points), rows)
    own, name = noise_leaves(tree), tree.name.copy()
    single = tree.kind == "hierarchy" and tree.n_points == tree.n_leaves
    single = single and bool((tree.size[tree.leaves] == 1).all())
    by_number = single and names is None
    if by_number:
        place = np.arange(tree.n_points)
        by_number = bool((name[tree.leaf_of_point] == place.astype(str).astype(object)).all())
    if by_number:
        name[tree.leaf_of_point] = kept.astype(str).astype(object)
    if tree.n_nodes == 1 and not own.size:
        raise UsageError(
            "The rows with a value are all in one node, and the others have no place beside it: at "
            "least two rows with a value are needed.",
            code="not-finite",
            role="features",
            row=int(rows[0]),
        )
    shared = not single and own.size > 0
    n_new = 0 if shared else rows.size if single else 1
    leaf = np.empty(n_points, dtype=np.int32)
    leaf[kept] = tree.leaf_of_point
    leaf[rows] = own[0] if shared else tree.n_nodes + np.arange(rows.size) % n_new
    if names is not None and single:
        called = [names[row] for row in rows.tolist()]
    else:
        called = [str(row) for row in rows.tolist()] if by_number else [NAME] * n_new
    parent = np.append(tree.parent, np.zeros(n_new, dtype=np.int32))
    extra = {key: _lengthened(np.asarray(column), n_new) for key, column in tree.extra.items()}
    marked = _marked(tree)
    return replace(
        tree,
        parent=parent,
        height=np.append(tree.height, np.full(n_new, tree.height[tree.leaves].min())),
        size=sizes(parent, leaf),
        name=np.append(name, np.array(called[:n_new], dtype=object)),
        leaf_of_point=leaf,
        extra={**extra, COLUMN: np.append(marked, np.ones(n_new, dtype=bool))},
    ).validate()


def _lengthened(column: npt.NDArray[Any], n_new: int) -> npt.NDArray[Any]:
    """The column with no value for new nodes."""
    none: Any = {"f": np.nan, "i": -1, "b": False}.get(column.dtype.kind)
    if column.dtype.kind not in "fib":
        column = column.astype(object)
    missing = np.full((n_new, *column.shape[1:]), none, dtype=column.dtype)
    return np.concatenate([column, missing])


def counted_as_cluster(tree: Tree) -> bool:
    """Whether the tree has noise and was stored before it was marked: what was measured then of
    cuts by their number of clusters counts the noise as one."""
    return COLUMN not in tree.extra and bool(noise_leaves(tree).size)


def _marked(tree: Tree) -> Mask:
    own = np.asarray(tree.extra.get(COLUMN, False))
    if COLUMN not in tree.extra and tree.extra.keys() >= _OF_HDBSCAN:
        own = np.asarray(tree.extra["cluster"]) == LABEL
    if own.dtype.kind == "O" and own.ndim == 1:
        # Nodes that an edition added, and fields of JSON that are missing somewhere, have None.
        own = np.array([value is True for value in own.tolist()], dtype=bool)
    marked = own.shape == (tree.n_nodes,) and own.dtype.kind == "b"
    return own if marked else np.zeros(tree.n_nodes, dtype=bool)


FEWEST_CLUSTERS = 4
ROWS_EACH = 10
MOST_ROWS = 0.5
CRUMB = 0.1
"""The share of an even share below which a cluster is a crumb."""


LUMP = 0.9
"""The share of the rows in clusters from which on one cluster is a lump."""

OUTLIER = 0.01
"""The largest share of the rows of what is an outlier beside a lump."""


def lump_and_crumbs(size: Int) -> bool:
    """Whether one of two clusters or more has `LUMP` of the rows or more, and all others are
    crumbs.

    size : (n_clusters,) rows of each. O(n_clusters).
    """
    if size.size < 2:
        return False
    others = np.sort(size)[:-1]
    rows = int(size.sum())
    return bool(size.max() >= LUMP * rows and (others < CRUMB * rows / size.size).all())


def crumbs_of(tree: Tree) -> tuple[str, ...]:
    """The warning for the clusters of a partition, noise apart, if any; none for other trees."""
    if tree.kind != "partition":
        return ()
    clusters = tree.leaves[~noise_of(tree)[tree.leaves]]
    warning = crumbs_warning(tree.size[clusters])
    return () if warning is None else (warning,)


def crumbs_warning(size: Int) -> str | None:
    """A warning with the better way, where one cluster has `MOST_ROWS` of the rows or more and
    half of all clusters or more are crumbs; of fewer than `FEWEST_CLUSTERS` clusters where one has
    `LUMP` of the rows or more and each other at most `OUTLIER` and fewer than `ROWS_EACH` rows.
    None otherwise, and for fewer than `ROWS_EACH` rows a cluster. Empty clusters do not count.

    size : (n_clusters,) rows of each. O(n_clusters).
    """
    size = size[size > 0]
    n_rows, n_clusters = int(size.sum()), int(size.size)
    if n_clusters < 2 or n_rows < ROWS_EACH * n_clusters:
        return None
    largest = float(size.max()) / n_rows
    if n_clusters < FEWEST_CLUSTERS:
        small, n_crumbs = f"{100 * OUTLIER:.0f}% of the rows", n_clusters - 1
        if largest < LUMP or np.sort(size)[-2] > min(OUTLIER * n_rows, ROWS_EACH - 1):
            return None
    else:
        small = "a tenth of an even share"
        n_crumbs = int(np.count_nonzero(size < CRUMB * n_rows / n_clusters))
        if largest < MOST_ROWS or 2 * n_crumbs < n_clusters:
            return None
    have = "has" if n_crumbs == 1 else "have"
    return (
        f"One of {n_clusters:,} clusters has {min(99.0, 100 * largest):.0f}% of the rows, and "
        f"{n_crumbs:,} {have} at most {small}: these are outliers split off, not "
        "clusters. More clusters, or `hac` with `linkage` 'ward' or `kmeans`, divide the large "
        "one; where these have split them off, leave these rows out, or take logarithms of columns "
        "with long tails. The levels of a tree (`GET /v1/trees/{id}/levels`) say which cuts stand "
        "out."
    )
