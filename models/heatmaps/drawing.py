"""A heatmap of a tree, as `HeatmapTerms` say: its rows, its columns and what it shows of them.

`tips_of` gives the nodes of the tree that are its rows, from left to right, and the points under
each. `moments`, `means` and `medians` give sums, means and medians of the features of points by
group, read in blocks of rows. `most_distinctive` gives the columns that are shown, and
`column_tree` their order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering
from scipy.spatial.distance import squareform

from models.arrays import Array, Float, Int, Matrix
from models.errors import UsageError, shown
from models.graphs.measured import Measured
from models.heatmaps import gaps as gapped
from models.heatmaps.gaps import MISSING, GappedMoments, Gaps
from models.heatmaps.heatmap import MOST_ROWS, STEPS, HeatmapTerms, PooledRange, n_levels, tile
from models.heatmaps.measured import means_of_pairs
from models.inputs.checks import Points, blocks, require_columns, require_usable
from models.inputs.frames import Frame, require_room
from models.running import budget
from models.running.progress import Progress
from models.tree.cluster_names import cluster_names
from models.tree.cut import clusters
from models.tree.tree import Tree
from models.tree.walk import spans
from models.tree.window import fold

HELD = 1 << 25
"""Values of all rows that `medians` holds at a time."""


@dataclass(frozen=True, slots=True)
class Moments:
    """Statistics of each column. n : (n_groups,) points. mean : (n_groups, D) by group. whole,
    deviation : (D,) mean and standard deviation of all grouped points. between : (D,) the share of
    the variance that lies between groups; 0 for a constant column.
    """

    n: Int
    mean: Float
    whole: Float
    deviation: Float
    between: Float


def moments(rows: Points, group: Int, n_groups: int) -> Moments:
    """The moments of dense or sparse rows, (n_points, D), by the group of each; points of the group
    `n_groups` are left out.

    Raises UsageError for values that are not finite or too large. One pass, O(N D); memory
    O(n_groups D).
    """
    n_points, n_columns = rows.shape
    sums, squares = np.zeros((n_groups + 1, n_columns)), np.zeros(n_columns)
    origin = np.zeros(n_columns)
    for block, values in blocks(rows):
        require_usable(values, block.start, n_points)
        wide: Matrix = values.astype(np.float64)
        if not isinstance(wide, sp.csr_array):
            # About the first row, sums of squares lose few digits.
            if block.start == 0:
                origin = wide[0].copy()
            wide -= origin
        indicator = _indicator(group[block], n_groups + 1)
        kept = (group[block] < n_groups).astype(np.float64)
        squares += kept @ (wide * wide)
        sums += indicator @ wide
    n = np.bincount(group, minlength=n_groups + 1)[:n_groups]
    sums = sums[:n_groups]
    total = max(1, int(n.sum()))
    whole = sums.sum(axis=0) / total
    variance = np.maximum(squares / total - whole**2, 0.0)
    mean = sums / np.maximum(n, 1)[:, None]
    between = n @ (mean - whole) ** 2 / total
    # Rounding of a constant column is no variance.
    variance[variance <= 1e-14 * squares / total] = 0.0
    share = np.divide(between, variance, out=np.zeros(n_columns), where=variance > 0)
    return Moments(n, mean + origin, whole + origin, np.sqrt(variance), np.minimum(share, 1.0))


def means(rows: Points, columns: Int, group: Int, n_groups: int) -> Float:
    """(n_groups, len(columns)) means of these columns; groups have points. As `moments`."""
    sums = np.zeros((n_groups + 1, columns.size))
    for block, values in blocks(rows):
        sums += _indicator(group[block], n_groups + 1) @ _dense(values, columns)
    n = np.bincount(group, minlength=n_groups + 1)
    return (sums / np.maximum(n, 1)[:, None])[:n_groups]


def medians(rows: Points, columns: Int, group: Int, n_groups: int) -> Float:
    """(n_groups, len(columns)) medians of these columns; groups have points.

    A pass over the rows for every `HELD` values of them; O(N log N) for each column.
    """
    n_points = rows.shape[0]
    n = np.bincount(group, minlength=n_groups + 1)[:n_groups]
    first = np.cumsum(n) - n
    out = np.empty((n_groups, columns.size))
    step = max(1, HELD // n_points)
    for begin in range(0, columns.size, step):
        part = columns[begin : begin + step]
        held = np.empty((n_points, part.size))
        for block, values in blocks(rows):
            held[block] = _dense(values, part)
        for at in range(part.size):
            ordered = held[np.lexsort((held[:, at], group)), at]
            out[:, begin + at] = (ordered[first + (n - 1) // 2] + ordered[first + n // 2]) / 2
    return out


def _dense(values: Matrix, columns: Int) -> Float:
    part: Array = values[:, columns]
    wide: Float = (part.toarray() if isinstance(part, sp.csr_array) else part).astype(np.float64)
    return wide


def _indicator(group: Int, n_groups: int) -> sp.csr_array:
    """(n_groups, n_rows) 1 where a row is of a group."""
    n_rows = group.size
    return sp.csr_array((np.ones(n_rows), (group, np.arange(n_rows))), shape=(n_groups, n_rows))


@dataclass(frozen=True, slots=True)
class Tips:
    """node : (n,) disjoint nodes with points, from left to right. of_point : (n_points,) the tip
    over each point by its place in `node`; `n` for points under none.
    """

    node: Int
    of_point: Int


def tips_of(tree: Tree, cut: Mapping[str, Any] | None) -> tuple[Tips, tuple[str, ...]]:
    """(the clusters of a cut or, without one, the leaves; warnings). Where there are more leaves
    than fit, the largest subtrees are open and the others are folded.

    cut : one of `k`, `height`, `level`. Raises UsageError for a cut that the tree has not, and for
    one of more than `MOST_ROWS` clusters. O(n_nodes + n_points log n).
    """
    notes: list[str] = []
    if cut is None:
        shown = fold(tree, max_nodes=2 * tree.n_nodes, max_tips=MOST_ROWS)
        nodes = shown.node[shown.tip]
        if nodes.size < tree.n_leaves:
            notes.append(
                f"The tree has {tree.n_leaves:,} leaves; {nodes.size:,} rows are shown, the "
                "largest subtrees open and the others folded."
            )
    else:
        made = clusters(tree, **cut)
        nodes = made.cover
        notes += [] if made.warning is None else [made.warning]
        if nodes.size > MOST_ROWS:
            raise UsageError(
                f"The cut has {nodes.size:,} clusters; a heatmap has at most {MOST_ROWS:,} rows. "
                "Cut into fewer.",
                code="too-large",
                parameter="cut",
            )
    tips = _under(tree, nodes)
    n_left_out = int((tips.of_point == tips.node.size).sum())
    if n_left_out:
        notes.append(f"{n_left_out:,} points are under none of the rows.")
    return tips, tuple(notes)


def largest_groups(tree: Tree, tips: Tips, most: int) -> Tips:
    """At most `most` subtrees, the largest open; the tips themselves where they are no more."""
    if tips.node.size <= most:
        return tips
    shown = fold(tree, max_nodes=2 * tree.n_nodes, max_tips=most)
    return _under(tree, shown.node[shown.tip])


def _under(tree: Tree, nodes: Int) -> Tips:
    ranges = spans(tree)
    nodes = nodes[tree.size[nodes] > 0]
    nodes = nodes[np.argsort(ranges.start[nodes])]
    start = ranges.start[nodes]
    place = ranges.start[tree.leaf_of_point]
    at = np.searchsorted(start, place, side="right") - 1
    inside = (at >= 0) & (place < start[at] + ranges.count[nodes][at])
    return Tips(nodes, np.where(inside, at, nodes.size))


def meetings(tree: Tree, tips: Tips) -> Float:
    """(n - 1, 2) the node where each tip meets the next one, and its height. O(n_nodes log n).

    The node where two tips meet is, of those between them, the one with the lowest number: a parent
    comes before its children.
    """
    ranges = spans(tree)
    tip_start = ranges.start[tips.node]
    first = np.searchsorted(tip_start, ranges.start)
    behind = np.searchsorted(tip_start, ranges.start + ranges.count)
    (below,) = np.nonzero((first < behind) & (first > first[tree.parent]))
    node = np.zeros(max(0, tips.node.size - 1), dtype=np.int64)
    node[first[below] - 1] = tree.parent[below]
    return np.column_stack([node, tree.height[node]]).astype(np.float64)


OPTIMAL_COLUMNS = 200
"""Up to this many columns are turned so that neighbours are near each other."""


def most_distinctive(between: Float, n: int) -> Int:
    """The `n` columns with the largest share of variance between groups, ascending; of equals the
    first ones."""
    return np.sort(np.argsort(-between, kind="stable")[:n])


def column_tree(values: Float) -> tuple[Int, Float]:
    """(the columns from left to right, their merges), by average linkage of Euclidean distances.

    values : (n_rows, n_columns). Merges are (n_columns - 1, 3): what is joined, by its place from
    left to right or `n_columns` plus the number of an earlier merge, and at which distance.
    O(n_rows n_columns^2), and O(n_columns^4) at worst for the order (Bar-Joseph, Gifford and
    Jaakkola, "Fast optimal leaf ordering for hierarchical clustering", 2001).
    """
    n_columns = values.shape[1]
    if n_columns == 1:
        return np.zeros(1, dtype=np.int64), np.empty((0, 3))
    centred = values - values.mean(axis=0)
    products = centred.T @ centred
    norms = np.diag(products)
    # Distances of columns with another mean differ by it too.
    shift = np.subtract.outer(values.mean(axis=0), values.mean(axis=0))
    squared = norms[:, None] + norms - 2 * products + values.shape[0] * shift**2
    np.fill_diagonal(squared, 0.0)
    square = np.sqrt(np.maximum(squared, 0.0))
    distances = squareform(square, checks=False)
    merges = linkage(distances, "average")
    if n_columns <= OPTIMAL_COLUMNS:
        # SciPy's order can be farther from the optimum than the one it is given (its issue 11227).
        turned = optimal_leaf_ordering(merges, distances)
        merges = min(turned, merges, key=lambda either: _length(square, leaves_list(either)))
    order = leaves_list(merges).astype(np.int64)
    place = np.argsort(order)
    joined = merges[:, :2].astype(np.int64)
    leaf = joined < n_columns
    joined[leaf] = place[joined[leaf]]
    return order, np.column_stack([joined, merges[:, 2]])


def _length(square: Float, order: Int) -> float:
    """The sum of distances between neighbours."""
    return float(square[order[:-1], order[1:]].sum())


GROUPS = 20
"""The most subtrees that distinctive columns tell apart."""
SAMPLED = 512
"""Rows whose distances decide what is shown in which colour."""
EXTREME = 0.01
"""The share of values at either end that have the colour of the end."""


@dataclass(frozen=True, slots=True)
class Heatmap:
    """values : what its tiles are made of, see `models.heatmaps.heatmap.tile`. rows, columns :
    facts of each, from left to right. merges : of the columns, see `column_tree`. n_rows, n_columns
    : of the matrix. low, high : bounds of all values. shown : the values that have the first and
    the last colour. warnings : one sentence each.
    """

    values: Array
    rows: dict[str, list[Any]]
    columns: dict[str, list[Any]] | None
    merges: Float
    n_rows: int
    n_columns: int
    low: float
    high: float
    shown: tuple[float, float]
    warnings: tuple[str, ...] = ()

    @property
    def n_levels(self) -> int:
        return n_levels(self.n_rows, self.n_columns)

    @property
    def missing(self) -> int | None:
        """The step of cells without a value; None where each has one."""
        return MISSING if np.isnan(self.values).any() else None

    @property
    def top(self) -> float:
        """The value of the last step: `high`, or a step above it, which is that of no value."""
        if self.missing is None:
            return self.high
        room = (self.high - self.low) / (STEPS - 1) or 1.0
        return self.high + room


def heatmap(
    tree: Tree,
    cut: Mapping[str, Any] | None,
    rows: Points | None,
    names: Sequence[str] | None,
    terms: HeatmapTerms,
    progress: Progress,
) -> Heatmap:
    """A heatmap of the clusters of a cut, or of the leaves.

    rows : (n_points, D) dense, sparse or read by blocks; None for cophenetic distances. names : of
    the columns; None: their numbers.

    Raises UsageError for rows that do not fit the tree or have no column, are not finite or too
    large, and as `tips_of`.
    """
    if rows is not None:
        _require_points(tree, rows.shape[0])
    tips, notes = tips_of(tree, cut)
    of_rows = _rows_of(tree, tips)
    if terms.what == "features":
        assert rows is not None
        require_columns(rows)
        return _features(tree, tips, of_rows, rows, names, terms, notes, progress)
    return _distances(tree, tips, of_rows, rows, terms, notes, progress)


def _rows_of(tree: Tree, tips: Tips) -> dict[str, list[Any]]:
    """The nodes of the rows, with the names of clusters where nodes have none; of several that
    would be called the same each has its number of points beside it."""
    sizes = tree.size[tips.node].tolist()
    given, names = tree.name[tips.node].tolist(), cluster_names(tree, tips.node)
    times = Counter(names)
    called = [
        f"{name} ({size:,})" if own is None and name is not None and times[name] > 1 else name
        for own, name, size in zip(given, names, sizes, strict=True)
    ]
    return {"node": tips.node.tolist(), "size": sizes, "name": called}


def _require_points(tree: Tree, n_rows: int) -> None:
    if n_rows != tree.n_points:
        raise UsageError(
            f"There are {n_rows:,} rows; the tree has {tree.n_points:,} points. Give `inputs` with "
            "a row of features for each.",
            code="wrong-shape",
            role="features",
        )


def measured_heatmap(
    tree: Tree,
    cut: Mapping[str, Any] | None,
    points: Measured,
    notes: tuple[str, ...],
    progress: Progress,
    bare: Int | tuple[int, ...] = (),
) -> Heatmap:
    """A heatmap of the mean distances between the points of clusters.

    points : the points of the tree without the numbers `bare`. notes : warnings of these. A
    cluster without a measured point has no distance, NaN, with a warning.

    Raises UsageError for another number of points, and as `tips_of` and `means_of_pairs`.
    """
    place = np.delete(np.arange(tree.n_points), np.asarray(bare, dtype=np.int64))
    _require_points(tree, points.n_points + tree.n_points - len(place))
    tips, more = tips_of(tree, cut)
    n = tips.node.size
    means_of = means_of_pairs(points, place, tips.of_point, n, progress)
    bare = np.isnan(means_of.diagonal())
    high = float(np.nanmax(means_of, initial=0.0))
    if bare.any():
        more += (
            f"{int(bare.sum()):,} row(s) have no point with a value, so no distance; they are "
            "drawn as missing.",
        )
    off = means_of[~np.eye(n, dtype=bool)]
    shown = _ends(off if off.size else means_of)
    stored = means_of.astype(np.float32)
    of_rows = _rows_of(tree, tips)
    return Heatmap(stored, of_rows, None, np.empty((0, 3)), n, n, 0.0, high, shown, (*notes, *more))


def _features(
    tree: Tree,
    tips: Tips,
    of_rows: dict[str, list[Any]],
    rows: Points,
    names: Sequence[str] | None,
    terms: HeatmapTerms,
    notes: tuple[str, ...],
    progress: Progress,
) -> Heatmap:
    n_columns = rows.shape[1]
    if names is not None and len(names) != n_columns:
        raise UsageError(
            f"There are {len(names):,} names of {n_columns:,} columns; one is needed for each.",
            code="wrong-shape",
            role="feature_names",
        )
    groups = largest_groups(tree, tips, GROUPS)
    progress(0.05, "comparing columns")
    gaps = Gaps.of(rows)
    if gaps is not None:
        rows = gaps.filled
        notes += gaps.warnings([str(at) for at in range(n_columns)] if names is None else [*names])
    frame = Frame.of(rows)
    rows = frame.rows(rows)
    of_groups: Moments | GappedMoments = moments(rows, groups.of_point, groups.node.size)
    if gaps is not None:
        # The values are finite and fit, as `moments` has seen.
        framed = _dense(rows, np.arange(n_columns))
        of_groups = gapped.moments(framed, gaps.there, groups.of_point, groups.node.size)
    chosen = most_distinctive(of_groups.between, terms.n_columns)
    if chosen.size < n_columns:
        notes += (
            f"There are {n_columns:,} columns; the {chosen.size:,} that tell the largest subtrees "
            "apart best are shown.",
        )
    progress(0.4, "summing up")
    if gaps is None:
        summary = means if terms.statistic == "mean" else medians
        values = summary(rows, chosen, tips.of_point, tips.node.size)
    else:
        of_gaps = gapped.means if terms.statistic == "mean" else gapped.medians
        there = gaps.there[:, chosen]
        values = of_gaps(framed[:, chosen], there, tips.of_point, tips.node.size)
    deviation = of_groups.deviation[chosen]
    scaled = (values - of_groups.whole[chosen]) / np.where(deviation > 0, deviation, 1.0)
    progress(0.8, "ordering columns")
    # A column whose cells are missing lies where its mean does.
    order, merges = column_tree(np.where(np.isnan(scaled), 0.0, scaled))
    columns = chosen[order]
    if terms.scale == "standard":
        values = scaled[:, order].astype(np.float32)
    else:
        values = _stored(frame.columns(chosen).back(values)[:, order])
        notes += _hidden(values, columns, names)
    known = values[~np.isnan(values)]
    if not known.size:
        raise UsageError(
            "No value is in any of the columns that are shown.", code="not-finite", role="features"
        )
    low, high = float(known.min()), float(known.max())
    if terms.scale == "standard":
        most = float(np.quantile(np.abs(known), 1 - EXTREME)) or 1.0
        shown = (-most, most)
    else:
        shown = _ends(values)
    of_columns = {
        "column": columns.tolist(),
        "name": [str(column) if names is None else names[column] for column in columns.tolist()],
        "mean": frame.back(of_groups.whole)[columns].tolist(),
        "deviation": frame.scaled_back(of_groups.deviation)[columns].tolist(),
        "between": of_groups.between[columns].tolist(),
    }
    return Heatmap(
        values, of_rows, of_columns, merges, tips.node.size, columns.size, low, high, shown, notes
    )


def _stored(values: Float) -> Array:
    """The values in single precision where that rounds no column by more than a step of its
    range."""
    with np.errstate(over="ignore"):
        single = values.astype(np.float32)
    if np.isnan(values).any():
        return values
    lost = np.abs(single - values).max(axis=0)
    return single if (lost <= np.ptp(values, axis=0) / STEPS / 4).all() else values


def _hidden(values: Array, columns: Int, names: Sequence[str] | None) -> tuple[str, ...]:
    """A warning where the columns differ so much that all values of some are one step."""
    wide = values.astype(np.float64)
    spread = np.ptp(wide, axis=0)
    hidden = np.flatnonzero((spread > 0) & (spread < (wide.max() - wide.min()) / STEPS))
    if not hidden.size:
        return ()
    first = int(columns[hidden[0]])
    name = first if names is None else shown(names[first])
    return (
        f"{hidden.size} column(s), the first of them {name}, differ by less than one step of the "
        "whole range, so that they have one colour: 'scale' 'standard' shows each on its own.",
    )


def _distances(
    tree: Tree,
    tips: Tips,
    of_rows: dict[str, list[Any]],
    rows: Points | None,
    terms: HeatmapTerms,
    notes: tuple[str, ...],
    progress: Progress,
) -> Heatmap:
    n = tips.node.size
    if terms.metric == "cophenetic":
        values = meetings(tree, tips)
        low, high = min(0.0, *values[:, 1].tolist(), 0.0), max(0.0, *values[:, 1].tolist(), 0.0)
    else:
        assert rows is not None
        require_columns(rows)
        budget.require(
            "heatmap", 16 * n * rows.shape[1], "Give a `cut` into fewer clusters, or fewer columns."
        )
        progress(0.05, "summing up")
        require_room(rows)
        frame = Frame.of(rows, moves=terms.metric == "euclidean")
        of_tips = moments(frame.rows(rows), tips.of_point, n)
        centred = of_tips.mean - of_tips.whole
        if terms.metric == "cosine":
            length = np.linalg.norm(of_tips.mean, axis=1, keepdims=True)
            centred = of_tips.mean / np.where(length > 0, length, 1.0)
        values = centred.astype(np.float32)
        low, high = 0.0, 2.0
        if terms.metric == "euclidean":
            values = frame.scaled_back(values)
            # No two are farther apart than twice the farthest from the middle.
            high = 2.0 * float(np.linalg.norm(values.astype(np.float64), axis=1).max())
    progress(0.9, "measuring")
    shown = _ends(_sampled(values, terms, n))
    return Heatmap(values, of_rows, None, np.empty((0, 3)), n, n, low, high, shown, notes)


def _sampled(values: Array, terms: HeatmapTerms, n: int) -> Float:
    """Distances of some rows to each other, not to themselves where there are others."""
    step = -(-n // SAMPLED)
    if terms.metric == "cophenetic":
        # The rows of one tile as they are; in cells, with those beside them.
        pooled = PooledRange(0, n, step)
        distances = tile(values, "distances", terms.metric, pooled, pooled)
    else:
        chosen = values[::step]
        pooled = PooledRange(0, len(chosen), 1)
        distances = tile(chosen, "distances", terms.metric, pooled, pooled)
    others = distances[~np.eye(len(distances), dtype=bool)]
    return others if others.size else distances


def _ends(values: Array) -> tuple[float, float]:
    known = values[~np.isnan(values)]
    if not known.size:
        return 0.0, 1.0
    low, high = (float(end) for end in np.quantile(known, [EXTREME, 1 - EXTREME]))
    return (low, high) if high > low else (low, low + 1.0)
