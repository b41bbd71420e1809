"""Agglomerative clustering of items: their distances by Gower, and new rows at the nearest item."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from models.arrays import Float, Int, row_blocks
from models.clusters.placing import at_leaves
from models.errors import UsageError, listed
from models.inputs.checks import require_role
from models.inputs.data import Data
from models.inputs.items import ItemTable
from models.method import Model, Predictions
from models.numerics.gower import AT_ONCE, ROLE, Gower
from models.running.progress import Progress
from models.tree.tree import Tree


@dataclass(frozen=True, slots=True)
class Items:
    """A table, and how its columns are taken."""

    table: ItemTable
    gower: Gower

    @classmethod
    def of(cls, data: Data, weights: Mapping[str, float] | None) -> Items:
        """Raises UsageError for another input than a table, for one without rows or columns, and as
        `Gower.of`."""
        table = _table(data)
        n_rows, n_columns = table.shape
        if not n_rows or not n_columns:
            raise UsageError(
                f"Input {ROLE!r} has {n_rows} rows and {n_columns} columns; at least one of each "
                "is needed.",
                code="wrong-shape",
                role=ROLE,
            )
        return cls(table, Gower.of(table, weights))

    def distances(self, progress: Progress) -> Float:
        """(n, n). Raises UsageError for rows without a common column."""
        return self.gower.distances(self.table, progress)

    def model(self) -> Model:
        arrays, facts = self.gower.model(self.table)
        return Model(arrays, {"role": ROLE, "metric": "gower", **facts})


def check_metric(role: str, metric: str, weights: Mapping[str, float] | None) -> None:
    """Raises UsageError for parameters that only items take, and for another metric of theirs."""
    wrong = "metric" if metric == "gower" else "weights" if weights else None
    if wrong is not None and role != ROLE:
        what = "Metric 'gower'" if wrong == "metric" else "Parameter 'weights'"
        raise UsageError(
            f"{what} applies to the input {ROLE!r}, a table of columns of several kinds; leave it "
            f"out when {role!r} is given.",
            code="wrong-parameter",
            parameter=wrong,
        )
    if role == ROLE and metric not in ("euclidean", "gower"):
        raise UsageError(
            f"Input {ROLE!r} is compared by the metric 'gower', not by {metric!r}.",
            code="wrong-parameter",
            parameter="metric",
        )


def bytes_of_items(n_points: int, n_columns: int) -> int:
    """Memory for the distances of items beyond that of their clustering."""
    return 8 * n_points * (n_points + 2 * n_columns) + 40 * AT_ONCE


def place_items(method: str, model: Model, tree: Tree, data: Data) -> Predictions:
    """New rows at the leaves of their nearest items, of equally near ones the first; every
    probability is 1. O(M N D).

    method : its id. Raises UsageError for columns that are missing or of another kind, for a row
    without a column in common with an item, and as `at_leaves`.
    """
    gower, points = Gower.kept(model.facts), model.arrays["points"]
    table = _table(require_role(data, ROLE))
    rows = gower.values(table)
    nearest: Int = np.zeros(rows.shape[1], dtype=np.int64)
    for block in row_blocks(rows.shape[1], points.shape[1], AT_ONCE):
        far = gower.between(rows[:, block], points, block.start, "A new row and one of the fit")
        nearest[block] = far.argmin(axis=1)
    note = (
        f"Method {method!r} has no rule for new rows: each is at the leaf of the nearest point of "
        "the fit."
    )
    leaf = tree.leaf_of_point[nearest].astype(np.int64)
    return replace(
        at_leaves(method, tree, leaf), warnings=(note, *_unused(gower, table), *gower.beyond(rows))
    )


def _unused(gower: Gower, table: ItemTable) -> tuple[str, ...]:
    used = {column.name for column in gower.columns}
    others = [column.name for column in table.columns if column.name not in used]
    return (f"Columns left out of the distances: {listed(others)}.",) if others else ()


def _table(data: Data) -> ItemTable:
    table = data.values[ROLE]
    if not isinstance(table, ItemTable):
        raise UsageError(
            f"Input {ROLE!r} must be a table with named columns.", code="wrong-input", role=ROLE
        )
    return table
