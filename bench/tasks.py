"""Transfer between tasks: `ghhc-mtl`, `mtrl` and `stl` on tasks of a planted tree.

Weights of tasks drift down the tree: a node's weights are its parent's plus a Gaussian step.
Regressors are fitted to few or many rows of each task and evaluated on 100 others, over 5 seeds;
the last column is for the true weights. A planted group is found if some node of the tree has
exactly its tasks below it. The penalty of `stl` is chosen for each task, or for all together.
"its start" is `ghhc-mtl` without a step: the gain from the regressor of all rows alone.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from bench import Size
from bench.report import Report
from models.arrays import Float, Int
from models.inputs.data import Data
from models.registry import method
from models.tree.parents import under
from models.tree.tree import Tree

N_FEATURES = 12
BRANCHING = (3, 2, 4)
STEPS = (1.0, 0.7, 0.25)
"""Standard deviations of the steps from each level to the next."""

NOISE = 0.5
"""Standard deviation of the noise of targets, relative to that of the root's regressors."""

N_NEW = 100
N_ROWS: dict[Size, tuple[int, ...]] = {
    "quick": (10, 40),
    "default": (5, 10, 20, 40, 80),
    "full": (3, 5, 10, 20, 40, 80, 160),
}
SEEDS: dict[Size, int] = {"quick": 1, "default": 5, "full": 5}
RUNS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("stl", "stl", {}),
    ("stl together", "stl", {"tuning": "together"}),
    ("mtrl", "mtrl", {}),
    ("its start", "ghhc-mtl", {"sharing": 1.0, "max_iter": 0}),
    ("ghhc-mtl", "ghhc-mtl", {}),
)


class Planted(NamedTuple):
    """Tasks of a tree. weights : (T, D). groups : for each level between the root and the tasks
    (T,) the group of each task."""

    weights: Float
    groups: list[Int]

    def rows(self, n_rows: int, rng: np.random.Generator) -> tuple[Float, Float, Int]:
        """Features, targets and tasks of `n_rows` rows of each task."""
        task = np.repeat(np.arange(len(self.weights)), n_rows)
        features = rng.normal(size=(len(task), self.weights.shape[1]))
        noise = NOISE * np.sqrt(self.weights.shape[1]) * rng.normal(size=len(task))
        return features, (features * self.weights[task]).sum(axis=1) + noise, task


def planted(rng: np.random.Generator) -> Planted:
    """A tree of 3 groups of 2 groups of 4 tasks."""
    weights = rng.normal(size=(1, N_FEATURES))
    number = np.zeros((1, 0), dtype=np.int64)
    for n_children, step in zip(BRANCHING, STEPS, strict=True):
        weights = np.repeat(weights, n_children, axis=0)
        weights = weights + step * rng.normal(size=weights.shape)
        number = np.repeat(number, n_children, axis=0)
        number = np.hstack([number, np.arange(len(weights))[:, None]])
    return Planted(weights, list(number.T[:-1]))


def table(report: Report, size: Size) -> None:
    """One row for each method and number of rows per task, with means over the seeds."""
    for n_rows in N_ROWS[size]:
        results: dict[str, list[list[float]]] = {name: [] for name, _, _ in RUNS}
        true: list[float] = []
        for seed in range(SEEDS[size]):
            rng = np.random.default_rng([seed, n_rows])
            tasks = planted(rng)
            rows, new = tasks.rows(n_rows, rng), tasks.rows(N_NEW, rng)
            true.append(explained((new[0] * tasks.weights[new[2]]).sum(axis=1), new[1]))
            for name, method_id, params in RUNS:
                results[name].append(_measured(method_id, params, tasks, rows, new))
        for name, values in results.items():
            mean, spread = np.mean(values, axis=0), np.std(values, axis=0)
            report.row(
                "tasks",
                method=name.ljust(12),
                rows_per_task=n_rows,
                explained_variance=mean[0],
                deviation=spread[0],
                groups_found=mean[1],
                whole_tree=mean[2],
                cpu_s=mean[3],
                of_true_weights=float(np.mean(true)),
            )


def _measured(
    method_id: str,
    params: dict[str, Any],
    tasks: Planted,
    rows: tuple[Float, Float, Int],
    new: tuple[Float, Float, Int],
) -> list[float]:
    """Explained variance of new rows, share of planted groups found, whether all are found, and CPU
    seconds."""
    used = method(method_id)
    began = time.process_time()
    data = Data(dict(zip(("features", "targets", "tasks"), rows, strict=True)))
    fitted = used.fit(data, used.Params(**params))
    seconds = time.process_time() - began
    assert fitted.model is not None
    new_rows = Data({"features": new[0], "tasks": new[2]})
    value = used.predict(fitted.model, fitted.tree, new_rows).columns["value"]
    share = recovered(fitted.tree, tasks, rows[2])
    return [explained(value, new[1]), share, float(share == 1.0), seconds]


def explained(values: Float, targets: Float) -> float:
    """1 minus the mean squared error over the variance."""
    return 1.0 - float(((values - targets) ** 2).mean() / targets.var())


def recovered(tree: Tree, tasks: Planted, task_of_row: Int) -> float:
    """The share of planted groups that are exactly the tasks below some node."""
    leaf = np.empty(len(tasks.weights), dtype=np.int64)
    leaf[task_of_row] = tree.leaf_of_point
    n_groups = n_found = 0
    for groups in tasks.groups:
        for group in np.unique(groups):
            inside = np.bincount(leaf[groups == group], minlength=tree.n_nodes)
            outside = np.bincount(leaf[groups != group], minlength=tree.n_nodes)
            complete = under(tree.parent, inside) == inside.sum()
            n_found += bool((complete & (under(tree.parent, outside) == 0)).any())
            n_groups += 1
    return n_found / n_groups
