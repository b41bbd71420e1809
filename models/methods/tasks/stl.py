"""Single-task learning: a regressor or classifier for each task, from its own rows alone.

Ridge regression with a free intercept, or logistic regression, the penalty given or chosen by rows
left out (`regression.single`). Features and targets are scaled by their mean and deviation over
all rows first. The tree is by average linkage over the regressors, intercepts included, in those
scales: its leaves are the tasks. It is the baseline of `mtrl` and `ghhc-mtl`.

With `held_out` the regressors are measured on rows that they were not fitted to:
`explained_variance`, 1 less the mean squared error over the variance of the targets, or
`classification_accuracy` and `held_out_log_likelihood`. Of the rows fitted to the names end in
`_fitted`.

Source: Zhang and Yeung, "A Convex Formulation for Learning Task Relationships in Multi-Task
Learning" (2010), §4; Monath et al., "Gradient-based Hierarchical Clustering using Continuous
Representations of Trees in Hyperbolic Space" (2019), §6.2, both as a baseline.

Cost: O(N D min(n, D)) for tasks of n rows each, for classes tens of times N O D for each penalty
and fold, and O(T^2 (D + log T)) for the tree of T tasks; memory five copies of the features in
double precision and 12 T^2 bytes.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from models.data import Data
from models.method import Fitted, Method, Model, Paper, Predictions, Run, Shapes
from models.methods.tasks.regression import single
from models.methods.tasks.regression.inputs import INPUTS, TaskParams, bytes_of_table
from models.methods.tasks.regression.linear import Scaling
from models.methods.tasks.regression.serving import apart, linked, place, served
from models.methods.tasks.regression.splits import folds, held_out
from models.methods.tasks.regression.table import check, table_of
from models.progress import subprogress
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
            "What the squared weights of scaled features are multiplied by. None: the one, of 13 "
            "from 0.01 to 10,000, with the least error on rows left out."
        ),
    )
    tuning: Literal["each", "together"] = Field(
        "each", description="Whether the penalty is chosen for 'each' task or for all 'together'."
    )
    n_folds: int = Field(
        5,
        ge=2,
        le=100,
        description="Folds that a penalty is chosen by for classes; numbers are left out singly.",
    )


class STL(Method[STLParams]):
    """See the module's docstring."""

    title = "Single-task learning"
    paper = Paper(
        "A Convex Formulation for Learning Task Relationships in Multi-Task Learning",
        2010,
        "UAI, section 4, the baseline",
    )
    Params = STLParams
    inputs = dict(INPUTS)
    outputs = ("tree", "model")
    advice = "Use a sample of the rows, or fewer features (`preprocess`)."
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
        scaling = Scaling.of(fitted)
        columns, targets = scaling.columns(fitted), scaling.targets(fitted)
        within = subprogress(run.progress, 0.05, 0.9)
        if params.problem == "regression":
            found = single.ridges(
                columns, targets, fitted.start, params.penalty, params.tuning, within
            )
        else:
            fold = folds(fitted, params.n_folds, run.rng)
            found = single.logistics(columns, fitted, params.penalty, params.tuning, fold, within)
        run.progress(0.9, "building the tree")
        return served(
            linked(apart(found.weights), table),
            found.weights,
            scaling,
            table,
            fitted,
            table.part(out),
            params.problem,
            {"mean_log10_penalty": float(np.log10(found.penalty).mean())},
        )

    def _predict(self, model: Model, tree: Tree, data: Data) -> Predictions:
        """The leaf of each row's task, and what its regressor says of the row."""
        return place(model, tree, data)
