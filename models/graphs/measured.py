"""Points that are compared by pairs: all their distances, and the distances of new rows to them.

These are items, rows of a table of columns of several kinds, by Gower's distance
(`models.numerics.gower`), and features by any metric, over the columns in which both rows have a
value (`models.numerics.distances`). A method that takes given distances takes these in their
place; its model keeps the points, and measures new rows before they are placed.

Cost: O(N^2 D) time and 8 N^2 bytes for the distances of N points; 8 M N bytes for M new rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from models.arrays import Array, Float, Int, Mask, row_blocks
from models.clusters.placing import at_leaves
from models.errors import UsageError, listed
from models.inputs.checks import require_columns, require_role, require_squares, require_width
from models.inputs.data import Data, require_filled
from models.inputs.items import ItemTable
from models.method import Input, Model, Predictions
from models.numerics import distances
from models.numerics.distances import AT_ONCE, DistanceMetric
from models.numerics.gower import ROLE as ITEMS
from models.numerics.gower import Gower
from models.running import budget
from models.running.progress import Progress, silent
from models.tree.tree import Tree

POINTS, MEASURED = "measured", "measured"
"""The array of a model that holds the points, and the fact that says how they are measured."""

ITEMS_INPUT = Input(
    required=False,
    description=(
        "A table with a row per point, which are compared by Gower's distance: numbers and dates "
        "by their range, categories and booleans as equal or not, over the columns in which both "
        "rows have a value; texts are left out."
    ),
)
"""The input `items` of methods that compare points by pairs."""


class Measured(ABC):
    """points : (N, D) the values that are compared. warnings : how they are taken."""

    points: Array
    warnings: tuple[str, ...] = ()

    @property
    def n_points(self) -> int:
        return len(self.points)

    @abstractmethod
    def new(self, data: Data) -> tuple[Array, tuple[str, ...]]:
        """(the values of new rows, warnings). Raises UsageError for rows that do not fit."""

    @abstractmethod
    def between(self, rows: Array, first_row: int, what: str) -> Float:
        """(M, N) distances of rows to the points. Raises UsageError naming two without one."""

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """What a model keeps besides the points."""

    def square(self, progress: Progress = silent) -> Float:
        """(N, N) distances of all points. Raises UsageError as `between`."""
        out = np.empty((self.n_points, self.n_points))
        for block in row_blocks(self.n_points, self.n_points, AT_ONCE):
            progress(block.start / self.n_points, "measuring distances")
            out[block] = self.between(self.points[block], block.start, "Rows")
        np.fill_diagonal(out, 0.0)
        return out

    def with_points(self, model: Model) -> Model:
        """The model of given distances, which measures them itself from now on."""
        arrays = {**model.arrays, POINTS: self.points}
        return Model(arrays, {**model.facts, MEASURED: self.facts()})


@dataclass(frozen=True, slots=True)
class MeasuredItems(Measured):
    """The rows of a table. points : as of `Gower.values`, a row for each."""

    gower: Gower
    points: Array
    warnings: tuple[str, ...] = ()

    def new(self, data: Data) -> tuple[Array, tuple[str, ...]]:
        table = table_of(require_role(data, ITEMS))
        values = self.gower.values(table)
        used = {column.name for column in self.gower.columns}
        others = [column.name for column in table.columns if column.name not in used]
        notes = (f"Columns left out of the distances: {listed(others)}.",) if others else ()
        return values.T, (*notes, *self.gower.beyond(values))

    def between(self, rows: Array, first_row: int, what: str) -> Float:
        return self.gower.between(rows.T, self.points.T, first_row, what)

    def facts(self) -> dict[str, Any]:
        return {"role": ITEMS, "columns": self.gower.facts()}


@dataclass(frozen=True, slots=True)
class MeasuredFeatures(Measured):
    """Rows of numbers, maybe with empty values, by a metric."""

    metric: DistanceMetric
    points: Array
    warnings: tuple[str, ...] = ()

    def new(self, data: Data) -> tuple[Array, tuple[str, ...]]:
        features = require_role(data, "features").dense("features")
        require_width(features, self.points.shape[1])
        require_filled(features, "features", pairwise=data.pairwise)
        return features, ()

    def between(self, rows: Array, first_row: int, what: str) -> Float:
        return distances.between(rows, self.points, self.metric, first_row, what)

    def facts(self) -> dict[str, Any]:
        return {"role": "features", "metric": self.metric}


def measured(
    data: Data, metric: DistanceMetric, weights: Mapping[str, float] | None
) -> Measured | None:
    """The points of a fit that are compared by pairs: items, and features whose empty values
    distances leave out; None for other inputs.

    metric : of features. weights : of columns of items.

    Raises UsageError for another input than a table or matrix, for one without rows or columns, and
    as `Gower.of`.
    """
    if ITEMS in data:
        table = table_of(data)
        n_rows, n_columns = table.shape
        if not n_rows or not n_columns:
            raise UsageError(
                f"Input {ITEMS!r} has {n_rows} rows and {n_columns} columns; at least one of each "
                "is needed.",
                code="wrong-shape",
                role=ITEMS,
            )
        gower = Gower.of(table, weights)
        values = gower.values(table).T
        _require_something(values, ITEMS)
        return MeasuredItems(gower, values, gower.warnings)
    return measured_features(data, metric) if data.pairwise and "features" in data else None


def measured_features(data: Data, metric: DistanceMetric) -> MeasuredFeatures:
    """The rows of the input 'features', compared by pairs.

    Raises UsageError for values that are infinite or, unless they are left out, empty, and for a
    row of nothing.
    """
    features = data.dense("features")
    require_columns(features)
    require_filled(features, "features", pairwise=data.pairwise)
    _require_something(features, "features")
    require_squares(np.nan_to_num(features) if features.dtype.kind == "f" else features)
    return MeasuredFeatures(metric, features)


def _require_something(values: Array, role: str) -> None:
    bare = np.flatnonzero(nothing(values))
    if bare.size:
        row = int(bare[0])
        raise UsageError(
            f"Row {row} of input {role!r} (counted from 0) has no value in any column that is "
            "compared, so nothing says where it belongs; leave the row out.",
            code="no-distance",
            role=role,
            row=row,
        )


def nothing(features: Array) -> Mask:
    """(n,) whether a row has no value."""
    if features.dtype.kind != "f" or not features.shape[1]:
        return np.zeros(len(features), dtype=bool)
    return np.asarray(np.isnan(features).all(axis=1))


def kept(model: Model) -> Measured | None:
    """What a model measures new rows by; None where they come with their distances, or with
    features that the method itself compares."""
    facts = model.facts.get(MEASURED)
    if facts is None:
        return None
    points = model.arrays[POINTS]
    if facts["role"] == ITEMS:
        return MeasuredItems(Gower.kept(facts["columns"]), points)
    return MeasuredFeatures(facts["metric"], points)


def distances_to(points: Measured, data: Data, method: str) -> tuple[Float, tuple[str, ...]]:
    """((M, N) distances of new rows to the points, warnings).

    method : its id, for the message. Raises UsageError as `Measured.new` and `Measured.between`,
    and where they would not fit in memory.
    """
    rows, notes = points.new(data)
    budget.require(method, 8 * len(rows) * points.n_points, "Place fewer rows at a time.")
    return points.between(rows, 0, NEW), notes


def place_measured(method: str, points: Measured, tree: Tree, data: Data) -> Predictions:
    """New rows at the leaves of their nearest points, of equally near ones the first, with the
    warning that the method itself says nothing of new rows; every probability is 1. O(M N D).

    method : its id. Raises UsageError as `Measured.new`, `Measured.between` and `at_leaves`.
    """
    rows, notes = points.new(data)
    nearest: Int = np.zeros(len(rows), dtype=np.int64)
    for block in row_blocks(len(rows), points.n_points, AT_ONCE):
        nearest[block] = points.between(rows[block], block.start, NEW).argmin(axis=1)
    note = (
        f"Method {method!r} has no rule for new rows: each is at the leaf of the nearest point of "
        "the fit."
    )
    leaf = tree.leaf_of_point[nearest].astype(np.int64)
    return replace(at_leaves(method, tree, leaf), warnings=(note, *notes))


NEW = "A new row and one of the fit, numbers"


def check_metric(role: str, metric: str, weights: Mapping[str, float] | None) -> None:
    """Raises UsageError for parameters that only items take, and for another metric of theirs."""
    wrong = "metric" if metric == "gower" else "weights" if weights else None
    if wrong is not None and role != ITEMS:
        what = "Metric 'gower'" if wrong == "metric" else "Parameter 'weights'"
        raise UsageError(
            f"{what} applies to the input {ITEMS!r}, a table of columns of several kinds; leave it "
            f"out when {role!r} is given.",
            code="wrong-parameter",
            parameter=wrong,
        )
    if role == ITEMS and metric not in ("euclidean", "gower"):
        raise UsageError(
            f"Input {ITEMS!r} is compared by the metric 'gower', not by {metric!r}.",
            code="wrong-parameter",
            parameter="metric",
        )


def bytes_of_measured(n_points: int, n_columns: int) -> int:
    """Memory for the distances of all points beyond that of their clustering."""
    return 8 * n_points * (n_points + 2 * n_columns) + 40 * AT_ONCE


def table_of(data: Data) -> ItemTable:
    """The input 'items'. Raises UsageError for another kind of input."""
    table = data.values[ITEMS]
    if not isinstance(table, ItemTable):
        raise UsageError(
            f"Input {ITEMS!r} must be a table with named columns.", code="wrong-input", role=ITEMS
        )
    return table
