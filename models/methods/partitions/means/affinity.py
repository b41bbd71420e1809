"""The affinity graph of spectral clustering, and coordinates of points through it.

`of_features`, `of_similarity` and `of_distances` make the graph. A point's coordinates are the mean
of the vectors' rows over the fitted points, weighted by its affinity to them: one step of the
diffusion map (Coifman and Lafon, "Diffusion maps", 2006), which is Nyström's extension with each
column times its eigenvalue. The same rule serves fitted and new points, so prediction agrees with
the fit.

A model keeps `vectors` (n_points, K); the features as `fitted`, if the graph was made from
features; and the facts `affinity`, `n_neighbors` or `gamma`. A graph of distances keeps no
features: new rows come with their distances.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from models.arrays import Arrays, Float, Matrix, row_blocks
from models.clusters.kmeans import squared_distances
from models.errors import UsageError
from models.inputs.checks import (
    as_floats,
    require_role,
    require_square,
    require_symmetric,
    require_usable,
    require_width,
)
from models.inputs.data import Data, require_finite
from models.numerics.rows import log_softmax
from models.running import budget

TILE = 1 << 21
"""Values of a block of affinities."""

PLANAR = 2
"""Up to this many features a graph of neighbours is cheap to factor."""


class NeighbourSearch:
    """Finds the nearest fitted points of any row.

    features : (n_points, n_features) dense, the fitted points. O(N^2 D), less in few dimensions.
    """

    def __init__(self, features: npt.NDArray[Any], n_neighbors: int) -> None:
        from sklearn.neighbors import NearestNeighbors

        self._search = NearestNeighbors(n_neighbors=n_neighbors).fit(features)

    def graph(self, features: npt.NDArray[Any]) -> sp.csr_array:
        """(n_rows, n_points), 1 where a fitted point is among the nearest of a row."""
        return sp.csr_array(self._search.kneighbors_graph(features, mode="connectivity"))

    def scale(self, features: npt.NDArray[Any]) -> float:
        """The mean distance of fitted points to the nearest others; 0 if there are none."""
        distances, _ = self._search.kneighbors(features)
        others: Float = distances[:, 1:]
        return float(others.sum()) / max(1, others.size)


def symmetric(graph: sp.csr_array) -> sp.csr_array:
    """The undirected graph: half an edge for each direction."""
    return sp.csr_array(0.5 * (graph + graph.T))


def gaussian(features: npt.NDArray[Any], gamma: float) -> Float:
    """(n_points, n_points) exp(-gamma d^2), by blocks of rows. O(N^2 D)."""
    fitted = features.astype(np.float64)
    n_points = len(fitted)
    out = np.empty((n_points, n_points))
    for block in row_blocks(n_points, n_points, TILE):
        exponent = squared_distances(features[block], fitted)
        exponent *= -gamma
        np.exp(exponent, out=out[block])
    # Both halves become equal to the lower one, since they are rounded differently.
    for start in range(0, n_points, 1024):
        rows = slice(start, start + 1024)
        lower = np.tril(out[rows, rows], -1)
        out[rows, rows] = lower + lower.T
        np.fill_diagonal(out[rows, rows], 1.0)
        out[rows, start + 1024 :] = out[start + 1024 :, rows].T
    return out


def through_gaussian(
    features: npt.NDArray[Any], fitted: npt.NDArray[Any], vectors: Float, gamma: float
) -> Float:
    """(n_rows, K) coordinates by Gaussian affinity.

    Far from all points, the coordinates of the nearest one.
    """
    out = np.empty((len(features), vectors.shape[1]))
    centers = fitted.astype(np.float64)
    for block in row_blocks(len(features), len(fitted), TILE):
        weight = log_softmax(squared_distances(features[block], centers) * -gamma)
        np.matmul(np.exp(weight, out=weight), vectors, out=out[block])
    return out


def through(affinity: Matrix, vectors: Float) -> Float:
    """(n_rows, K) coordinates by affinities to the fitted points, none of them negative.

    Raises UsageError naming a row without any affinity.
    """
    out = np.empty((affinity.shape[0], vectors.shape[1]))
    length = affinity.shape[1]
    if isinstance(affinity, sp.csr_array):
        length = affinity.nnz // affinity.shape[0] + 1
    for block in row_blocks(affinity.shape[0], length, TILE):
        rows = affinity[block].astype(np.float64)
        total = np.asarray(rows.sum(axis=1)).ravel()
        empty = np.flatnonzero(total <= 0)
        if empty.size:
            row = block.start + int(empty[0])
            raise UsageError(
                f"Row {row} of input 'similarity' (counted from 0) is similar to no point; each "
                "row must be similar to one, if only to itself.",
                code="no-similarity",
                role="similarity",
                row=row,
            )
        out[block] = (rows @ vectors) / total[:, None]
    return out


@dataclass(frozen=True, slots=True)
class AffinityGraph:
    """Fitted points joined by their affinities.

    affinity : (n_points, n_points) symmetric; a dense one may be overwritten.
    rows : the fitted points as `coordinates` takes them.
    kept, facts : what a model keeps besides the vectors.
    role : the input that the graph was made from.
    planar : whether it lies in a plane or on a line.
    """

    affinity: Float | sp.csr_array
    rows: Matrix
    kept: Arrays
    facts: Mapping[str, Any]
    role: str
    planar: bool = False
    warnings: tuple[str, ...] = ()

    def coordinates(self, vectors: Float) -> Float:
        """(n_points, K) coordinates of the fitted points."""
        if self.facts["affinity"] == "rbf" and not self.kept:
            return through_widths(np.asarray(self.rows), vectors, self.facts["gamma"])
        if self.facts["affinity"] == "rbf":
            fitted = self.kept["fitted"]
            return through_gaussian(fitted, fitted, vectors, self.facts["gamma"])
        return through(self.rows, vectors)


def of_similarity(values: Matrix) -> AffinityGraph:
    """The graph given as a matrix that `check_similarity` passed."""
    facts = {"affinity": "similarity"}
    return AffinityGraph(values.astype(np.float64), values, {}, facts, "similarity")


def of_features(
    features: npt.NDArray[Any],
    affinity: Literal["knn", "rbf"],
    n_neighbors: int,
    gamma: float | None,
) -> AffinityGraph:
    """The graph of the points' neighbours, or of their Gaussian affinities.

    Raises UsageError if the points do not determine a width of the Gaussian.
    """
    n_neighbors, notes = _neighbours(len(features), affinity, n_neighbors, gamma)
    kept = {"fitted": features}
    if affinity == "knn":
        rows = NeighbourSearch(features, n_neighbors).graph(features)
        facts = {"affinity": "knn", "n_neighbors": n_neighbors}
        planar = features.shape[1] <= PLANAR
        return AffinityGraph(symmetric(rows), rows, kept, facts, "features", planar, notes)
    if gamma is None:
        gamma = _gamma(NeighbourSearch(features, n_neighbors).scale(features))
    facts = {"affinity": "rbf", "gamma": gamma}
    graph = gaussian(features, gamma)
    return AffinityGraph(graph, features, kept, facts, "features", warnings=notes)


def of_distances(
    distances: Float,
    role: str,
    affinity: Literal["knn", "rbf"],
    n_neighbors: int,
    gamma: float | None,
) -> AffinityGraph:
    """As `of_features`, by the distances of all pairs, (n_points, n_points).

    role : the input that is compared. Among equally near points the first are the neighbours, with
    a warning. O(N^2 log N).
    """
    n_neighbors, notes = _neighbours(len(distances), affinity, n_neighbors, gamma)
    if affinity == "knn":
        rows, _, n_tied = _nearest(distances, n_neighbors, fitted=True)
        if n_tied:
            notes += (
                f"{n_tied} of {len(distances)} points have more points at the distance of their "
                "last neighbour than 'n_neighbors' admits: the first rows were taken.",
            )
        facts = {"affinity": "knn", "n_neighbors": n_neighbors}
        return AffinityGraph(symmetric(rows), rows, {}, facts, role, warnings=notes)
    if gamma is None:
        gamma = _gamma(_nearest(distances, n_neighbors, fitted=True)[1])
    graph = np.exp(-gamma * distances**2)
    # Both halves become equal, since they may be rounded differently.
    graph = 0.5 * (graph + graph.T)
    facts = {"affinity": "rbf", "gamma": gamma}
    return AffinityGraph(graph, distances, {}, facts, role, warnings=notes)


def coordinates_at(distances: Float, arrays: Arrays, facts: Mapping[str, Any]) -> Float:
    """(n_rows, K) coordinates of new rows by their distances to all fitted points."""
    vectors = arrays["vectors"]
    if facts["affinity"] == "rbf":
        return through_widths(distances, vectors, facts["gamma"])
    return through(_nearest(distances, facts["n_neighbors"], fitted=False)[0], vectors)


def through_widths(distances: Float, vectors: Float, gamma: float) -> Float:
    """(n_rows, K) coordinates by exp(-gamma d^2); far from all points, of the nearest one."""
    out = np.empty((len(distances), vectors.shape[1]))
    for block in row_blocks(len(distances), distances.shape[1], TILE):
        weight = log_softmax(-gamma * distances[block] ** 2)
        np.matmul(np.exp(weight, out=weight), vectors, out=out[block])
    return out


def _nearest(
    distances: Float, n_neighbors: int, *, fitted: bool
) -> tuple[sp.csr_array, float, int]:
    """((n_rows, n_points) 1 where a point is among the nearest of a row, the mean distance to them
    without the first, the number of rows whose last one is as near as one left out).

    fitted : whether rows are the points, each of which is its own first neighbour.
    """
    n_rows, n_points = distances.shape
    near = np.empty((n_rows, n_neighbors), dtype=np.int64)
    total, n_tied = 0.0, 0
    for block in row_blocks(n_rows, n_points, TILE):
        rows = distances[block].copy()
        at = np.arange(len(rows))
        if fitted:
            rows[at, at + block.start] = -1.0
        order = np.argsort(rows, axis=1, kind="stable")
        near[block] = order[:, :n_neighbors]
        total += float(np.take_along_axis(rows, near[block][:, 1:], axis=1).sum())
        if n_neighbors < n_points:
            last, beyond = (order[:, n_neighbors - 1 + step] for step in (0, 1))
            n_tied += int((rows[at, last] == rows[at, beyond]).sum())
    start = np.arange(n_rows + 1) * n_neighbors
    graph = sp.csr_array((np.ones(near.size), near.ravel(), start), shape=(n_rows, n_points))
    graph.sort_indices()
    return graph, total / max(1, n_rows * (n_neighbors - 1)), n_tied


def _neighbours(
    n_points: int, affinity: str, n_neighbors: int, gamma: float | None
) -> tuple[int, tuple[str, ...]]:
    """(the number of neighbours, a warning where there are too few points for it)."""
    if n_neighbors <= n_points or (affinity == "rbf" and gamma is not None):
        return n_neighbors, ()
    note = (
        f"Parameter 'n_neighbors' is {n_neighbors}, but there are {n_points} points; all "
        "points are neighbours of each other."
    )
    return n_points, (note,)


def _gamma(scale: float) -> float:
    """Gamma by the mean distance to nearest neighbours. Raises UsageError where that is 0."""
    if scale == 0.0:
        raise UsageError(
            "No width of the affinity can be taken from the distances to nearest neighbours, "
            "which are all 0; give 'gamma'.",
            code="no-distance",
            parameter="gamma",
        )
    return 0.5 / scale**2


def coordinates(arrays: Arrays, facts: Mapping[str, Any], data: Data) -> Float:
    """(n_rows, K) coordinates of new rows by a model.

    Raises UsageError for rows that do not fit it.
    """
    vectors = arrays["vectors"]
    if facts["affinity"] == "similarity":
        values = require_role(data, "similarity").matrix("similarity")
        require_width(values, len(vectors), "similarity")
        require_similarity(values)
        return through(values, vectors)
    fitted = arrays["fitted"]
    features = as_floats(require_role(data, "features").dense("features"))
    require_width(features, fitted.shape[1])
    require_usable(features, 0, features.shape[0])
    if facts["affinity"] == "rbf":
        return through_gaussian(features, fitted, vectors, facts["gamma"])
    return through(NeighbourSearch(fitted, facts["n_neighbors"]).graph(features), vectors)


def check_similarity(values: Matrix, advice: str) -> None:
    """Raises UsageError unless square, symmetric, finite and not negative, and small enough if
    dense."""
    require_square(values)
    require_similarity(values)
    require_symmetric(values)
    needed = 0 if isinstance(values, sp.csr_array) else 2 * 8 * values.shape[0] ** 2
    room = budget.available()
    if needed > budget.USABLE * room:
        raise UsageError(
            f"A dense similarity of {values.shape[0]:,} points needs about {needed / 2**30:.1f} "
            f"GiB; a job has {room / 2**30:.1f} GiB. {advice}",
            code="too-large",
            role="similarity",
        )


def require_similarity(values: Matrix) -> None:
    """Raises UsageError unless finite and without a negative value.

    O(N^2), sparse O(stored values).
    """
    require_finite(values, "similarity")
    if isinstance(values, sp.csr_array):
        negative = np.flatnonzero(values.data < 0)
        if negative.size:
            at = int(negative[0])
            row = int(np.searchsorted(values.indptr, at, side="right")) - 1
            _refuse_pair(values, row, int(values.indices[at]), "similarities must not be negative")
        return
    for block in row_blocks(values.shape[0], values.shape[1], TILE):
        if values[block].min() < 0:
            row, column = np.argwhere(values[block] < 0)[0]
            _refuse_pair(
                values, block.start + int(row), int(column), "similarities must not be negative"
            )


def _refuse_pair(values: Matrix, row: int, column: int, why: str) -> NoReturn:
    raise UsageError(
        f"Input 'similarity' has the value {values[row, column]:g} at row {row}, column {column} "
        f"(counted from 0): {why}.",
        code="not-similarities",
        role="similarity",
        row=row,
        column=column,
    )
