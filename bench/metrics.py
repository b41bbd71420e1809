"""Every metric of the catalogue on trees over a million points.

Every run starts from the bare tree, so each metric also pays for computations that others share.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from bench import Size
from bench.measure import Measured, measured
from bench.report import Report
from bench.trees import LEAVES, RUNS, SHAPES, binary_tree
from models.metrics.catalogue import METRICS, evaluate
from models.metrics.evaluation import Metric
from models.tree.tree import Tree, sizes
from models.tree.walk import leaf_order

_ValueAndError = tuple[float | None, float | None]

N_CLASSES = 1000
NOISE = 0.3
N_FEATURES = 16


def table(report: Report, size: Size) -> None:
    """One row for each tree and metric, and one for all metrics of labels together.

    value : the metric's. error : its standard error where it is estimated from sampled pairs.
    """
    n_points = LEAVES[size]
    rng = np.random.default_rng(0)
    features = rng.standard_normal((n_points, N_FEATURES), dtype=np.float32)
    second = binary_tree("random", n_points, seed=1)
    for what, tree in _trees(n_points):
        labels = classes(tree, rng)
        inputs = {"labels": labels, "features": features, "hierarchy": second}
        for metric in METRICS.values():
            if metric.looks_at == "method":
                continue
            call = partial(_evaluated, tree, _needed(metric, inputs), metric.id)
            _row(report, what, metric.id, measured(call, runs=RUNS[size]))
        call = partial(_evaluated, tree, {"labels": labels}, None)
        _row(report, what, "all with labels", measured(call, runs=RUNS[size]))


def _row(report: Report, what: str, metric: str, cost: Measured[_ValueAndError]) -> None:
    value, error = cost.result
    report.row(
        "metrics",
        tree=what,
        metric=metric,
        cpu_s=cost.cpu_s,
        wall_s=cost.wall_s,
        peak_bytes=cost.peak_bytes,
        value=value,
        error=error,
    )


def _needed(metric: Metric, inputs: dict[str, Any]) -> dict[str, Any]:
    """The inputs of the metric; without labels its clusters come from a cut."""
    role = next(role for role in metric.needs if role in inputs)
    cut = {"cut": {"k": N_CLASSES}} if metric.looks_at == "cut" and role != "labels" else {}
    return {role: inputs[role], **cut}


def _evaluated(tree: Tree, inputs: dict[str, Any], metric: str | None) -> _ValueAndError:
    """Value and standard error of one metric; None for all of them."""
    if metric is None:
        evaluate(replace(tree), **inputs)
        return None, None
    evaluation = evaluate(replace(tree), **inputs, metrics=[metric])
    return evaluation.metrics[metric], evaluation.standard_errors.get(metric)


def _trees(n_points: int) -> Iterator[tuple[str, Tree]]:
    for shape in SHAPES:
        yield f"{shape}, {n_points:,} leaves", binary_tree(shape, n_points)
    for n_leaves in (n_points // 1000, n_points // 100):
        tree = binary_tree("random", n_leaves)
        leaf = np.random.default_rng(1).choice(tree.leaves, n_points).astype(np.int32)
        held = replace(tree, leaf_of_point=leaf, size=sizes(tree.parent, leaf))
        yield f"random, {n_leaves:,} leaves, {n_points:,} points", held.validate()


def classes(tree: Tree, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """(n_points,) classes that are runs of leaves; a share `NOISE` of points is reassigned."""
    place = np.empty(tree.n_nodes, dtype=np.int64)
    place[leaf_order(tree)] = np.arange(tree.n_leaves)
    own = place[tree.leaf_of_point] * N_CLASSES // tree.n_leaves
    wild = rng.random(own.size) < NOISE
    return np.where(wild, rng.integers(N_CLASSES, size=own.size), own)
