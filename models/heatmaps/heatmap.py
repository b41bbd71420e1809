"""What a heatmap shows: its terms, its cells at levels of detail, and the trees on its sides.

A tile has at most `TILE` x `TILE` cells. At level 0 one tile shows the whole; each level below has
half as many rows and columns in a cell, down to one. What lies in a cell is averaged, and never
more than the rows of a tile are read. The trees on the sides say which rows, or columns, are joined
at which height.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from models.arrays import Array, Float, Int
from models.parameters import Exact
from models.tree.tree import Tree

What = Literal["features", "distances"]
Metric = Literal["euclidean", "cosine", "cophenetic", "hamming", "jaccard", "gower", "pairwise"]

MEASURED: frozenset[Metric] = frozenset({"hamming", "jaccard", "gower", "pairwise"})
"""Metrics of pairs of points: what lies between two rows is the mean over their pairs."""

OF_TREE: frozenset[Metric] = frozenset({"cophenetic", "gower", "pairwise"})
"""Metrics that need no features beside the tree and its model."""

TERMS_OF: dict[What, frozenset[str]] = {
    "features": frozenset({"statistic", "scale", "n_columns"}),
    "distances": frozenset({"metric"}),
}
"""The terms that each heatmap takes."""

MOST_ROWS = 10_000
MOST_COLUMNS = 1_000


class HeatmapTerms(Exact):
    """The heatmap, and what it shows."""

    what: What = Field(
        "features",
        description="`features`: a row for each cluster, a column for each feature. `distances`: "
        "how far clusters are from each other.",
    )
    statistic: Literal["mean", "median"] = Field(
        "mean", description="For `features`: what a value says of the points of its cluster."
    )
    scale: Literal["standard", "none"] = Field(
        "standard",
        description="For `features`: `standard` subtracts the mean of the column over all points "
        "and divides by its standard deviation.",
    )
    n_columns: int = Field(
        100,
        ge=1,
        le=MOST_COLUMNS,
        description="For `features`: the most columns; of more, the ones that best separate the "
        "largest subtrees.",
    )
    metric: Metric = Field(
        "euclidean",
        description="For `distances`: between the means of clusters, or `cophenetic`, the height "
        "of the node where two clusters meet. `hamming` and `jaccard` are the means over the pairs "
        "of points, as the method `hac` measures them, and so are distances as the fit measured "
        "them and its model keeps them: `gower` of items, `pairwise` of features with empty "
        "values.",
    )

    @model_validator(mode="after")
    def _own_terms(self) -> HeatmapTerms:
        given = self.model_fields_set & set(HeatmapTerms.model_fields) - {"what"}
        foreign = sorted(given - TERMS_OF[self.what])
        if foreign:
            raise ValueError(
                f"{', '.join(foreign)} is no term of a heatmap of {self.what}, which takes "
                f"{', '.join(sorted(TERMS_OF[self.what]))}"
            )
        return self

    def own(self) -> dict[str, object]:
        """`what` and the terms that it takes, with defaults."""
        return {"what": self.what, **self.model_dump(include=set(TERMS_OF[self.what]))}


TILE = 256
STEPS = 65_535
"""A value is sent as one of 0 to this, from the lowest to the highest."""


@dataclass(frozen=True, slots=True)
class PooledRange:
    """Rows or columns `start` to `stop` - 1, `pooled` in a cell."""

    start: int
    stop: int
    pooled: int

    @property
    def slice(self) -> slice:
        return slice(self.start, self.stop)

    @property
    def cells(self) -> npt.NDArray[np.int64]:
        """Where each cell begins, counted from `start`."""
        return np.arange(0, self.stop - self.start, self.pooled)

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """Rows or columns in each cell."""
        return np.diff(np.append(self.cells, self.stop - self.start))


def n_levels(n_rows: int, n_columns: int) -> int:
    """The levels of detail of a heatmap."""
    return 1 + max(_doublings(n_rows), _doublings(n_columns))


def pooled_range(n: int, level: int, number: int) -> PooledRange | None:
    """The rows, or columns, of a tile by its number at a level; None beyond the last of `n`."""
    pooled = 1 << max(0, _doublings(n) - level)
    start = number * TILE * pooled
    return PooledRange(start, min(n, start + TILE * pooled), pooled) if start < n else None


def _doublings(n: int) -> int:
    return max(0, (ceil(n / TILE) - 1).bit_length())


def tile(
    values: Array, what: What, metric: str | None, rows: PooledRange, columns: PooledRange
) -> Float:
    """(cells of rows, cells of columns) averages.

    values : of `features`, and of distances of pairs of points, the heatmap itself; of other
    `distances` the points between which they are, or for "cophenetic" the
    `models.heatmaps.drawing.meetings` of the rows. Euclidean distances are averaged as squares
    (root mean square), cosine distances as they are; both need only the means of the points in a
    cell, O((rows + columns) D) and one product of matrices. NaN is left out of averages. Cophenetic
    ones cost O(rows (columns + gap)).
    """
    if what == "features" or metric in MEASURED:
        whole = values[rows.slice, columns.slice]
        if np.isnan(whole).any():
            return gapped_averages(whole, rows.cells, columns.cells)
        part = np.add.reduceat(values[rows.slice], rows.cells, axis=0, dtype=np.float64)
        part = np.add.reduceat(part[:, columns.slice], columns.cells, axis=1)
        averages: Float = part / (rows.counts[:, None] * columns.counts)
        return averages
    if metric == "cophenetic":
        return _cophenetic(values, rows, columns)
    left, of_left = _pooled(values, rows)
    right, of_right = _pooled(values, columns)
    products = left @ right.T
    if metric == "cosine":
        return np.clip(1.0 - products, 0.0, 2.0)
    return np.sqrt(np.maximum(of_left[:, None] + of_right - 2 * products, 0.0))


def _pooled(points: Array, pooled: PooledRange) -> tuple[Float, Float]:
    """(means of the points of each cell, means of their squared lengths)."""
    part = points[pooled.slice].astype(np.float64)
    lengths = np.einsum("nd,nd->n", part, part)
    sums = np.add.reduceat(part, pooled.cells, axis=0)
    return sums / pooled.counts[:, None], np.add.reduceat(lengths, pooled.cells) / pooled.counts


def _cophenetic(meets: Array, rows: PooledRange, columns: PooledRange) -> Float:
    node, n = meets[:, 0].astype(np.int64), len(meets) + 1
    height_of = dict(zip(node.tolist(), meets[:, 1].tolist(), strict=True))
    known = np.array(sorted(height_of), dtype=np.int64)
    rank = np.searchsorted(known, node)
    # The last height is that of a row with itself.
    heights = np.array([*(height_of[each] for each in known.tolist()), 0.0])
    out = np.zeros((rows.cells.size, columns.cells.size))
    first, last = columns.start, columns.stop
    for row in range(rows.start, rows.stop):
        met = np.full(n, known.size)
        if row + 1 < last:
            met[row + 1 : last] = np.minimum.accumulate(rank[row : last - 1])
        if first < row:
            met[first:row] = np.minimum.accumulate(rank[first:row][::-1])[::-1]
        sums = np.add.reduceat(heights[met[columns.slice]], columns.cells)
        out[(row - rows.start) // rows.pooled] += sums
    return out / (rows.counts[:, None] * columns.counts)


def quantised(values: Float, low: float, high: float) -> npt.NDArray[np.uint16]:
    """The values as steps from `low` to `high`, in little-endian 16 bits; NaN as `STEPS`."""
    share = (values - low) / (high - low) if high > low else np.zeros_like(values)
    share = np.where(np.isnan(values), 1.0, share)
    return np.rint(np.clip(share, 0.0, 1.0) * STEPS).astype("<u2")


def gapped_averages(part: Array, rows: Int, columns: Int) -> Float:
    """(cells of rows, cells of columns) means of the values of each cell that are there; NaN for
    none. rows, columns : where the cells begin."""
    there = ~np.isnan(part)
    sums = np.where(there, part, 0.0).astype(np.float64)
    counts = there.astype(np.float64)
    for axis, begins in ((0, rows), (1, columns)):
        sums = np.add.reduceat(sums, begins, axis=axis)
        counts = np.add.reduceat(counts, begins, axis=axis)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(counts > 0, sums / counts, np.nan)


@dataclass(frozen=True, slots=True)
class Join:
    """An inner node. feet : of each child the place of its middle along the side, counted in rows
    or columns from the first edge, and its height.
    """

    height: float
    feet: tuple[tuple[float, float], ...]

    @property
    def middle(self) -> float:
        places = [at for at, _ in self.feet]
        return (min(places) + max(places)) / 2


def joins_of_tree(tree: Tree, nodes: Int) -> list[Join]:
    """The nodes above the rows `nodes`, which are disjoint and from left to right; children before
    parents. O(n log n) for n rows and nodes above."""
    rows: list[int] = nodes.tolist()
    place = {node: row + 0.5 for row, node in enumerate(rows)}
    above: set[int] = set()
    for row in rows:
        node = int(tree.parent[row])
        while node >= 0 and node not in above:
            above.add(node)
            node = int(tree.parent[node])
    feet: dict[int, list[tuple[float, float]]] = {node: [] for node in above}
    joins = []
    # A parent has a lower number than its children.
    for node in sorted(above.union(rows), reverse=True):
        if node in above:
            join = Join(float(tree.height[node]), tuple(sorted(feet[node])))
            joins.append(join)
            place[node] = join.middle
        if node:
            feet[int(tree.parent[node])].append((place[node], float(tree.height[node])))
    return joins


def joins_of_merges(n: int, merges: Sequence[Sequence[float]] | Float) -> list[Join]:
    """The same of `n` columns and their `models.heatmaps.drawing.column_tree`."""
    ends = [(column + 0.5, 0.0) for column in range(n)]
    joins = []
    for one, other, height in merges:
        join = Join(float(height), tuple(sorted((ends[int(one)], ends[int(other)]))))
        joins.append(join)
        ends.append((join.middle, join.height))
    return joins
