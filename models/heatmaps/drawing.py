"""A heatmap of a tree, as `HeatmapTerms` say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from models.arrays import Array, Float
from models.errors import UsageError
from models.heatmaps.columns import column_tree, most_distinctive
from models.heatmaps.options import HeatmapTerms
from models.heatmaps.summaries import means, medians, moments
from models.heatmaps.tiles import Span, n_levels, tile
from models.heatmaps.tips import Tips, largest_groups, meetings, tips_of
from models.inputs.checks import Points, require_columns
from models.running import memory
from models.running.progress import Progress
from models.tree.tree import Tree

GROUPS = 20
"""The most subtrees that distinctive columns tell apart."""
SAMPLED = 512
"""Rows whose distances decide what is shown in which colour."""
EXTREME = 0.01
"""The share of values at either end that have the colour of the end."""


@dataclass(frozen=True, slots=True)
class Heatmap:
    """values : what its tiles are made of, see `models.heatmaps.tiles.tile`. rows, columns : facts
    of each, from left to right. merges : of the columns, see `column_tree`. n_rows, n_columns : of
    the matrix. low, high : bounds of all values. shown : the values that have the first and the
    last colour. warnings : one sentence each.
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
    if rows is not None and rows.shape[0] != tree.n_points:
        raise UsageError(
            f"There are {rows.shape[0]:,} rows; the tree has {tree.n_points:,} points. Give "
            "`inputs` with a row of features for each.",
            code="wrong-shape",
            role="features",
        )
    tips, notes = tips_of(tree, cut)
    of_rows = {
        "node": tips.node.tolist(),
        "size": tree.size[tips.node].tolist(),
        "name": tree.name[tips.node].tolist(),
    }
    if terms.what == "features":
        assert rows is not None
        require_columns(rows)
        return _features(tree, tips, of_rows, rows, names, terms, notes, progress)
    return _distances(tree, tips, of_rows, rows, terms, notes, progress)


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
    of_groups = moments(rows, groups.of_point, groups.node.size)
    chosen = most_distinctive(of_groups.between, terms.n_columns)
    if chosen.size < n_columns:
        notes += (
            f"There are {n_columns:,} columns; the {chosen.size:,} that tell the largest subtrees "
            "apart best are shown.",
        )
    progress(0.4, "summing up")
    summary = means if terms.statistic == "mean" else medians
    values = summary(rows, chosen, tips.of_point, tips.node.size)
    deviation = of_groups.deviation[chosen]
    scaled = (values - of_groups.whole[chosen]) / np.where(deviation > 0, deviation, 1.0)
    progress(0.8, "ordering columns")
    order, merges = column_tree(scaled)
    columns = chosen[order]
    values = (scaled if terms.scale == "standard" else values)[:, order].astype(np.float32)
    low, high = float(values.min()), float(values.max())
    if terms.scale == "standard":
        most = float(np.quantile(np.abs(values), 1 - EXTREME)) or 1.0
        shown = (-most, most)
    else:
        shown = _ends(values)
    of_columns = {
        "column": columns.tolist(),
        "name": [str(column) if names is None else names[column] for column in columns.tolist()],
        "mean": of_groups.whole[columns].tolist(),
        "deviation": of_groups.deviation[columns].tolist(),
        "between": of_groups.between[columns].tolist(),
    }
    return Heatmap(
        values, of_rows, of_columns, merges, tips.node.size, columns.size, low, high, shown, notes
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
        memory.require(
            "heatmap", 16 * n * rows.shape[1], "Give a `cut` into fewer clusters, or fewer columns."
        )
        progress(0.05, "summing up")
        of_tips = moments(rows, tips.of_point, n)
        centred = of_tips.mean - of_tips.whole
        if terms.metric == "cosine":
            length = np.linalg.norm(of_tips.mean, axis=1, keepdims=True)
            centred = of_tips.mean / np.where(length > 0, length, 1.0)
        values = centred.astype(np.float32)
        low, high = 0.0, 2.0
        if terms.metric == "euclidean":
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
        span = Span(0, n, step)
        distances = tile(values, "distances", terms.metric, span, span)
    else:
        chosen = values[::step]
        span = Span(0, len(chosen), 1)
        distances = tile(chosen, "distances", terms.metric, span, span)
    others = distances[~np.eye(len(distances), dtype=bool)]
    return others if others.size else distances


def _ends(values: Array) -> tuple[float, float]:
    low, high = (float(end) for end in np.quantile(values, [EXTREME, 1 - EXTREME]))
    return (low, high) if high > low else (low, low + 1.0)
