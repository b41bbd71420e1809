"""Single-task learning: a regressor or classifier for each task, from its own rows alone.

It is ridge regression with a free intercept, or logistic regression, with a given penalty or one
chosen on rows left out (`regression.linear`). Features and targets are first scaled by their mean
and deviation over all rows. The tree is built by average linkage over the scaled regressors,
intercepts included; its leaves are the tasks. It is the baseline of `mtrl` and `ghhc-mtl`.

With `held_out` the regressors are measured on rows that they were not fitted to:
`explained_variance`, 1 minus the mean squared error over the variance of the targets, or
`classification_accuracy` and `held_out_log_likelihood`. Metrics of the fitted rows have names that
end in `_fitted`.

Source: Zhang and Yeung, "A Convex Formulation for Learning Task Relationships in Multi-Task
Learning" (2010), §4; Monath et al., "Gradient-based Hierarchical Clustering using Continuous
Representations of Trees in Hyperbolic Space" (2019), §6.2, both as a baseline.

Cost: O(N D min(n, D)) for tasks of n rows each, for classes tens of times N O D for each penalty
and fold, and O(T^2 (D + log T)) for the tree of T tasks; memory five copies of the features in
double precision and 12 T^2 bytes.

Measured: CPU time as N^0.8 D^0.8 K^0.0, from 20,000 x 32 and 16 tasks to four times each,
iterations bounded (`python -m bench costs`).
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from models.inputs.data import Data
from models.method import Fitted, Method, Model, Paper, Predictions, Run, Shapes
from models.methods.tasks.regression import linear
from models.methods.tasks.regression.inputs import INPUTS, TaskParams, bytes_of_table
from models.methods.tasks.regression.linear import Standardization
from models.methods.tasks.regression.result import average_linkage, place, result, weight_distances
from models.methods.tasks.regression.table import check, folds, held_out, table_of
from models.running.budget import Cost
from models.running.progress import subprogress
from models.tree.tree import Tree


class STLParams(TaskParams):
    problem: Literal["regression", "classification"] = Field(
        "regression", description="Whether targets are numbers or classes."
    )
    penalty: float | None = Field(
        None,
        ge=1e-6,
        le=1e9,
        description=(
            "Factor of the squared weights of scaled features. None: the one of least error on "
            "rows left out, of 13 from 0.01 to 10,000."
        ),
    )
    tuning: Literal["each", "together"] = Field(
        "each", description="Whether the penalty is chosen for 'each' task or for all 'together'."
    )
    n_folds: int = Field(
        5,
        ge=2,
        le=100,
        description=(
            "Number of folds to choose a penalty on, for classes; for numbers rows are left out "
            "one by one."
        ),
    )


class STL(Method[STLParams]):
    """See the module's docstring."""

    id = "stl"
    title = "Single-task learning"
    family = "tasks"
    paper = Paper(
        "A Convex Formulation for Learning Task Relationships in Multi-Task Learning",
        2010,
        "UAI, section 4, the baseline",
    )
    Params = STLParams
    cost = Cost(4e-7)
    inputs = INPUTS
    outputs = ("tree", "model")
    placing = "the leaf of its task"
    advice = "Use a sample of the rows, or fewer features (`preprocess`)."
    distances = False
    example = {}

    def _memory(self, shapes: Shapes, params: STLParams) -> int:
        return bytes_of_table(shapes)

    def _check(self, data: Data, params: STLParams) -> None:
        check(data, params.problem)

    def _fit(self, data: Data, params: STLParams, run: Run) -> Fitted:
        run.progress(0.02, "ordering rows")
        table = table_of(data, params.problem)
        out = held_out(table, params.held_out, run.rng)
        fitted = table.part(~out)
        scaling = Standardization.of(fitted)
        columns, targets = scaling.columns(fitted), scaling.targets(fitted)
        progress = subprogress(run.progress, 0.05, 0.9)
        if params.problem == "regression":
            separate = linear.ridges(
                columns, targets, fitted.start, params.penalty, params.tuning, progress
            )
        else:
            fold = folds(fitted, params.n_folds, run.rng)
            separate = linear.logistics(
                columns, fitted, params.penalty, params.tuning, fold, progress
            )
        run.progress(0.9, "building the tree")
        return result(
            average_linkage(weight_distances(separate.weights), table),
            separate.weights,
            scaling,
            table,
            fitted,
            table.part(out),
            params.problem,
            {"mean_log10_penalty": float(np.log10(separate.penalty).mean())},
        )

    def _predict(self, model: Model, tree: Tree, data: Data) -> Predictions:
        """The leaf of each row's task, and the prediction of its regressor."""
        return place(model, tree, data)
