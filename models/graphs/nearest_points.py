"""The points of a fit that are nearest to new rows, by any of the metrics.

scikit-learn finds a few more candidates than are requested, by a search tree in few dimensions and
else by comparing all pairs; SciPy compares them for metrics that count columns. Their distances are
then measured from differences, in float64: the nearest to a row that is a point of the fit is this
point itself, or one that coincides with it.

Cost: O(M N D) time for M new rows, less in few dimensions. Memory: two copies of the points in
float32 or float64, and blocks of rows; a model compares new rows with `lloyd.WHOLE` values of its
points at a time.

Where the products of all pairs are many, `PIECE_VALUES`, blocks of new rows are pieces, which a
crew computes. Their number follows from the shapes alone, and an answer is the number of a point:
one process and several give the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from models.arrays import Array, Arrays, Float, Int, row_blocks
from models.clusters import lloyd
from models.clusters.placing import at_leaves
from models.errors import UsageError
from models.graphs.lengths import lengths, nearest_of_all
from models.inputs.checks import as_floats, require_role, require_squares, require_width
from models.inputs.data import Data, require_finite
from models.inputs.oddities import far_warnings
from models.inputs.rows import ArrayRows, Rows
from models.method import Method, Model, P, Predictions
from models.numerics.distances import (
    BY_PAIRS,
    COUNTED,
    FLAT,
    DistanceMetric,
    flat,
    refuse_distance,
)
from models.running.progress import Alone, Crew, Piece, Progress, silent
from models.tree.tree import Tree

PIECES, PIECE_VALUES = 32, 1 << 37
"""The most pieces of new rows, and the products of values in one at least: some seconds."""

SPARE = 7
"""Candidates beyond the requested ones, in case rounding changes which are nearest."""


class PointSearch:
    """A search for the nearest of a fit's points.

    points : (N, D), such as a fit by `metric` accepts. n_neighbors : at most N.

    Raises UsageError for points whose squares overflow.
    """

    def __init__(self, points: Array, n_neighbors: int, metric: DistanceMetric) -> None:
        from sklearn.neighbors import NearestNeighbors

        self.n_neighbors = n_neighbors
        self._metric = metric
        self._points = self._flat(points)
        require_squares(self._points)
        self._origin = self._points.mean(axis=0, dtype=np.float64)
        self._width = min(n_neighbors + SPARE, len(points))
        # Products lose the distances between other points beside far ones.
        self._by_differences = metric == "euclidean" and bool(far_warnings(self._points))
        if metric in COUNTED or self._by_differences:
            return
        # These depend on the origin.
        if metric in ("braycurtis", "canberra"):
            self._origin[:] = 0.0
        self._search = NearestNeighbors(
            n_neighbors=self._width,
            metric="euclidean" if metric in FLAT else metric,
            algorithm="brute" if metric in BY_PAIRS else "auto",
        ).fit(self._centred(self._points))

    def nearest(self, rows: Array, first_row: int = 0) -> tuple[Int, Float]:
        """(M, n_neighbors) numbers of the points nearest to each row, and their distances.

        first_row : the number of the first of these rows, for messages.

        The nearest come first; among equally near ones, the lower number.

        Raises UsageError for a row, or a pair of a row and a point, without a distance.
        """
        number = np.empty((len(rows), self.n_neighbors), dtype=np.int64)
        distance = np.empty(number.shape)
        if not len(rows):
            return number, distance
        rows = self._flat(rows, first_row)
        require_squares(rows, first_row=first_row)
        width = self._width
        for block in row_blocks(len(rows), width * rows.shape[1], 1 << 20):
            part = rows[block]
            near: Int = np.sort(self._candidates(part), axis=1).ravel()
            own = np.repeat(np.arange(len(part)), width)
            far = lengths(
                part[own].astype(np.float64), self._points[near].astype(np.float64), self._metric
            )
            self._require_distances(far, first_row + block.start + own, near)
            far, near = far.reshape(len(part), width), near.reshape(len(part), width)
            order = np.argsort(far, axis=1, kind="stable")[:, : self.n_neighbors]
            number[block] = np.take_along_axis(near, order, axis=1)
            distance[block] = np.take_along_axis(far, order, axis=1)
        return number, distance

    def _candidates(self, rows: Array) -> Int:
        """(M, width) points among which the nearest are."""
        if self._metric in COUNTED or self._by_differences:
            return nearest_of_all(rows, self._points, self._width, self._metric)
        return np.asarray(self._search.kneighbors(self._centred(rows), return_distance=False))

    def _flat(self, rows: Array, first_row: int = 0) -> Array:
        if self._metric in FLAT:
            return flat(rows, self._metric, range(first_row, first_row + len(rows)))
        floats = as_floats(rows)
        assert isinstance(floats, np.ndarray)
        return floats

    def _centred(self, rows: Array) -> Array:
        centred: Array = (rows - self._origin).astype(rows.dtype, copy=False)
        return centred

    def _require_distances(self, distance: Float, row: Int, point: Int) -> None:
        for odd in np.flatnonzero(~np.isfinite(distance))[:1].tolist():
            refuse_distance(
                self._metric,
                int(row[odd]),
                int(point[odd]),
                float(distance[odd]),
                "a new row and one of the fit, numbers",
            )


def nearest_in_blocks(
    points: Rows, n_neighbors: int, metric: DistanceMetric, rows: Array
) -> tuple[Int, Float]:
    """As `PointSearch.nearest`, of `lloyd.WHOLE` values of the points at a time."""
    number = np.empty((len(rows), 0), dtype=np.int64)
    distance = np.empty((len(rows), 0))
    for some in row_blocks(*points.shape, lloyd.WHOLE):
        held = points.values(some.start, some.stop)
        near, far = PointSearch(held, min(n_neighbors, len(held)), metric).nearest(rows)
        number = np.concatenate([number, near + some.start], axis=1)
        distance = np.concatenate([distance, far], axis=1)
        order = np.argsort(distance, axis=1, kind="stable")[:, :n_neighbors]
        number = np.take_along_axis(number, order, axis=1)
        distance = np.take_along_axis(distance, order, axis=1)
    return number, distance


def model_of(values: Array | Rows, role: str, metric: DistanceMetric) -> Model:
    """A model that places new rows by the nearest points of a fit.

    values : the input `role`. The model keeps features as they are, a mapped file mapped, remote
        rows in a file; of given distances or similarities only the number of points.
    """
    n_points = values.shape[0]
    facts = {"role": role, "metric": metric, "n_points": n_points}
    if role != "features":
        return Model({}, facts)
    if isinstance(values, Rows):
        facts["bfloat16"] = values.bfloat16
        values = values.as_array()
    return Model({"points": values}, facts)


def nearest_point(model: Model, data: Data) -> Int:
    """(M,) the point nearest to each new row by a model of `model_of`, ties to the lowest number.

    Raises UsageError as `PointSearch.nearest`, `new_features` and `new_pairs`.
    """
    role, n_points = model.facts["role"], model.facts["n_points"]
    if role == "features":
        return _nearest_of(model, data)
    pairs = new_pairs(data, role, n_points)
    best: Int = pairs.argmin(axis=1) if role == "distances" else pairs.argmax(axis=1)
    return best


def _points_of(model: Model) -> Rows:
    return ArrayRows(model.arrays["points"], bfloat16=model.facts.get("bfloat16", False))


def _nearest_of(model: Model, data: Data) -> Int:
    """As `nearest_point` of features, in as many pieces as the shapes call for."""
    points, rows = _points_of(model), require_role(data, "features").rows("features")
    require_width(rows, points.shape[1])
    n_rows = rows.shape[0]
    n_pieces = max(
        1, min(PIECES, n_rows, n_rows * points.shape[0] * points.shape[1] // PIECE_VALUES)
    )
    edges = [n_rows * number // n_pieces for number in range(n_pieces + 1)]
    pieces: list[Piece] = [{"first": a, "last": b} for a, b in pairwise(edges)]
    crew_of = Alone if n_pieces == 1 else _CREW_OF.get()
    crew = crew_of(partial(nearest_piece, model, data))
    best = np.zeros(n_rows, dtype=np.int64)
    for number, found in crew.compute(pieces):
        best[edges[number] : edges[number + 1]] = found["nearest"]
    return best


def nearest_piece(model: Model, data: Data, piece: Piece, progress: Progress) -> Arrays:
    """What a crew's piece answers to `nearest_point`: `nearest`, by blocks of `WHOLE` values of the
    points and of the new rows."""
    points, metric = _points_of(model), model.facts["metric"]
    rows = require_role(data, "features").rows("features")
    first, last = int(piece["first"]), int(piece["last"])
    best = np.zeros(last - first, dtype=np.int64)
    least = np.full(best.size, np.inf)
    for some in row_blocks(*points.shape, lloyd.WHOLE):
        search = PointSearch(points.values(some.start, some.stop), 1, metric)
        for block in row_blocks(best.size, rows.shape[1], lloyd.WHOLE):
            done = some.start / points.shape[0]
            progress(done, "placing", f"rows {first + block.start:,} to {first + block.stop:,}")
            part = rows.values(first + block.start, first + block.stop)
            require_finite(part, "features", first_row=first + block.start)
            number, distance = search.nearest(part, first + block.start)
            # The first block of points gives every row its first one.
            nearer = (distance[:, 0] < least[block]) | (some.start == 0)
            best[block][nearer] = some.start + number[nearer, 0]
            least[block][nearer] = distance[nearer, 0]
    return {"nearest": best}


CrewOf: TypeAlias = Callable[[Callable[[Piece, Progress], Arrays]], Crew]
"""Makes the crew whose pieces a function computes."""

_CREW_OF: ContextVar[CrewOf] = ContextVar("crew_of", default=Alone)


@contextmanager
def placing_by(crew_of: CrewOf) -> Iterator[None]:
    """New rows are placed by this crew from now on, until the context ends; its pieces are answered
    by `PlacesNearest.placed_piece`."""
    token = _CREW_OF.set(crew_of)
    try:
        yield
    finally:
        _CREW_OF.reset(token)


class PlacesNearest(Method[P]):
    """A method that puts a new row at the leaf of the nearest point of the fit, by `model_of`."""

    placing = "the leaf of the nearest point of the fit"

    def _predict(self, model: Model, tree: Tree, data: Data) -> Predictions:
        """Leaf of the nearest point; every probability is 1."""
        return place_nearest(self.id, model, tree, data)

    def placed_piece(
        self, model: Model, data: Data, piece: Piece, progress: Progress = silent
    ) -> Arrays:
        """One piece of the predictions of these rows, where `placing_by` divides them."""
        return nearest_piece(model, self._with_room(data), piece, progress)


def place_nearest(method: str, model: Model, tree: Tree, data: Data) -> Predictions:
    """New rows at the leaves of their nearest points, with the warning that the method itself says
    nothing of new rows; every probability is 1.

    method : its id. Raises UsageError as `nearest_point` and `at_leaves`.
    """
    note = (
        f"Method {method!r} has no rule for new rows: each is at the leaf of the nearest point of "
        "the fit."
    )
    leaf = tree.leaf_of_point[nearest_point(model, data)].astype(np.int64)
    return replace(at_leaves(method, tree, leaf), warnings=(note,))


def new_features(data: Data, n_features: int) -> Array:
    """The new rows of the input 'features'.

    Raises UsageError where there are none, for another width and for values that are not finite.
    """
    features = require_role(data, "features").dense("features")
    require_width(features, n_features)
    require_finite(features, "features")
    return features


def new_pairs(data: Data, role: str, n_points: int) -> Array:
    """(M, n_points) of new rows the distances from the fit's points, or similarities to them.

    Raises UsageError where there are none, for another number of points, for values that are not
    finite and for negative distances.
    """
    values = require_role(data, role).dense(role)
    require_width(values, n_points, role)
    require_finite(values, role)
    for block in row_blocks(len(values), n_points, 1 << 20) if role == "distances" else ():
        negative = np.argwhere(values[block] < 0)
        if negative.size:
            row, column = block.start + int(negative[0, 0]), int(negative[0, 1])
            raise UsageError(
                f"Input 'distances' has the value {values[row, column]:g} at row {row}, column "
                f"{column} (counted from 0): distances must not be negative.",
                code="not-distances",
                role=role,
                row=row,
                column=column,
            )
    return values
