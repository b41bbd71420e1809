"""The result of a fit over tasks: a tree over the tasks, and regressors as a model that predicts.

The points of the tree are the rows; each leaf is a task, with its rows.

Cost: O(N O D) for new rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from models.arrays import Arrays, Float
from models.inputs.checks import require_width
from models.inputs.data import Data, require_finite
from models.method import Fitted, Model, Predictions
from models.methods.tasks.regression import linear
from models.methods.tasks.regression.inputs import task_warnings
from models.methods.tasks.regression.linear import Standardization
from models.methods.tasks.regression.table import Problem, Table, tasks_of
from models.numerics.agglomeration import merged
from models.tree.build import from_merges
from models.tree.tree import Tree
from models.tree.walk import paths


def average_linkage(distances: Float, table: Table) -> Tree:
    """The tree over tasks by average linkage; distances (T, T), symmetric. O(T^2)."""
    from scipy.spatial.distance import squareform

    condensed = squareform(distances, checks=False)
    merges = merged(condensed, "average")
    # Rounding may put a merge slightly below one of its parts.
    height = np.maximum.accumulate(merges[:, 2])
    return from_merges(
        merges[:, 0].astype(np.int64),
        merges[:, 1].astype(np.int64),
        height,
        names=table.names,
        leaf_of_point=table.by_row(np.arange(table.n_tasks)),
    )


def weight_distances(weights: Float) -> Float:
    """(T, T) Euclidean distances between the regressors."""
    from scipy.spatial.distance import pdist, squareform

    distances: Float = squareform(pdist(weights.reshape(len(weights), -1)))
    return distances


def result(
    tree: Tree,
    weights: Float,
    scaling: Standardization,
    table: Table,
    fitted: Table,
    out: Table,
    problem: Problem,
    metrics: dict[str, float],
    warnings: Sequence[str] = (),
    curves: Mapping[str, Sequence[tuple[int, float]]] | None = None,
    arrays: Arrays | None = None,
) -> Fitted:
    """The result of a fit, with the metrics of its regressors and the warnings of its tasks.

    tree : the tree over all rows. weights : (T, O, Q). fitted, out : the fitted and the held-out
        rows of `table`. metrics, warnings, arrays : further ones, `arrays` for the model.
    """
    metrics = dict(metrics)
    for part in (fitted, out):
        if len(part.row):
            scores = linear.scores(scaling.columns(part), part.task, weights)
            targets = scaling.targets(part)
            metrics |= linear.accuracy(scores, targets, problem, fitted=part is fitted)
    coefficients, intercept = scaling.plain(weights)
    leaf_of_task = np.empty(table.n_tasks, dtype=np.int64)
    leaf_of_task[table.task] = tree.leaf_of_point[table.row]
    return Fitted(
        tree=tree,
        model=Model(
            arrays={
                "coefficients": coefficients,
                "intercept": intercept,
                "leaf_of_task": leaf_of_task,
                **(arrays or {}),
            },
            facts={"problem": problem, "tasks": table.tasks, "classes": table.classes},
        ),
        metrics=metrics,
        curves=curves or {},
        warnings=(*task_warnings(table, fitted), *warnings),
    )


def place(model: Model, tree: Tree, data: Data) -> Predictions:
    """The leaf of each row's task, with probability 1, and its regressor's prediction as `value`.

    Raises UsageError for a wrong number of columns, values that are not finite, an unknown task.
    """
    features = data.dense("features")
    coefficients = model.arrays["coefficients"]
    require_width(features, coefficients.shape[2])
    require_finite(features, "features")
    task = tasks_of(data, model.facts["tasks"], len(features))
    leaf = model.arrays["leaf_of_task"][task]
    weights = np.concatenate([coefficients, model.arrays["intercept"][:, :, None]], axis=2)
    columns = np.hstack([features.astype(np.float64), np.ones((len(features), 1))])
    scores = linear.scores(columns, task, weights)
    start, node = paths(tree, leaf)
    return Predictions(
        leaf, start, node, np.ones(len(node)), linear.values_of(scores, model.facts["classes"])
    )
