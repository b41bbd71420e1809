"""Multi-task relationship learning: regressors of tasks with the covariance of tasks.

The fit alternates between weights and covariance, each solved in closed form
(`regression.relationship`), starting from unrelated tasks. `penalty`, the cost of weights, and
`sharing`, how much tasks share, are parameters or chosen by the error on folds of rows. Features
and targets are first scaled by their mean and deviation over all rows. The tree is built by average
linkage over 1 minus the correlation of tasks; its leaves are the tasks.

With `held_out` the regressors are measured on rows that they were not fitted to:
`explained_variance` is 1 minus the mean squared error over the variance of the targets.
`explained_variance_fitted` is that of the fitted rows.

Source: Zhang and Yeung, "A Convex Formulation for Learning Task Relationships in Multi-Task
Learning" (2010), §2.2 and §2.3. The grid and the folds are additions.

Cost: O(N D^2 + i (s (T D^2 + T^2 D) + T^3)) for T tasks and i iterations of s steps each, tens of
both, and the same for each fold and each of the 18 pairs of `penalty` and `sharing`; memory five
copies of the features in double precision and 8 T (D^2 + 4 T) bytes.

Measured: CPU time as N^0.6 D^0.8 K^0.6, from 10,000 x 32 and 16 tasks to four times each,
iterations bounded (`python -m bench costs`).
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from models.arrays import Float, Int
from models.errors import UsageError
from models.inputs.data import Data
from models.method import Fitted, Method, Model, Paper, Predictions, Run, Shapes
from models.methods.tasks.regression import linear, relationship
from models.methods.tasks.regression.inputs import INPUTS, TaskParams, bytes_of_table
from models.methods.tasks.regression.linear import Standardization
from models.methods.tasks.regression.relationship import TaskMoments
from models.methods.tasks.regression.result import average_linkage, place, result
from models.methods.tasks.regression.table import Table, check, folds, held_out, table_of
from models.running.budget import Cost
from models.running.progress import Progress, subprogress
from models.tree.tree import Tree

MOST_TASKS = 2_000
"""The largest number of tasks; the eigenvectors of their covariance take a few seconds."""

MOST_VALUES = 1 << 27
"""The most values in the tasks' covariances of features (1 GiB)."""

PENALTIES = (1e-3, 1e-2, 1e-1)
SHARINGS = (1e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0)


class MTRLParams(TaskParams):
    penalty: float | None = Field(
        None,
        ge=1e-9,
        le=1e9,
        description=(
            "Factor of half the squared weights of scaled features. None: the one of least error "
            "on folds, of 0.001, 0.01 and 0.1."
        ),
    )
    sharing: float | None = Field(
        None,
        ge=1e-9,
        le=1e9,
        description=(
            "Cost of weights that depart from the tasks' covariance. None: the one of least error "
            "on folds, of six from 0.001 to 1."
        ),
    )
    n_folds: int = Field(5, ge=2, le=100, description="Number of folds of rows to choose by.")
    max_iter: int = Field(
        100,
        ge=1,
        le=10_000,
        description="Largest number of iterations, each of weights and covariance.",
    )
    tol: float = Field(
        1e-5,
        ge=0,
        le=1,
        description="Iterations end when one lowers the objective by this share or less.",
    )


class MTRL(Method[MTRLParams]):
    """See the module's docstring."""

    id = "mtrl"
    title = "Multi-task relationship learning"
    family = "tasks"
    paper = Paper(
        "A Convex Formulation for Learning Task Relationships in Multi-Task Learning", 2010, "UAI"
    )
    Params = MTRLParams
    cost = Cost(6e-6, times=("max_iter",), start=0.5)
    inputs = INPUTS
    outputs = ("tree", "model")
    placing = "the leaf of its task"
    advice = "Use fewer features (`preprocess`); the method 'stl' takes more tasks."
    distances = False
    example = {"penalty": 0.01, "n_folds": 2}

    def _memory(self, shapes: Shapes, params: MTRLParams) -> int:
        return bytes_of_table(shapes)

    def _check(self, data: Data, params: MTRLParams) -> None:
        check(data, "regression")
        n_features = data.dense("features").shape[1]
        n_tasks = len(np.unique(np.asarray(data.values["tasks"])))
        if n_tasks > MOST_TASKS or n_tasks * n_features**2 > MOST_VALUES:
            raise UsageError(
                f"Method 'mtrl' takes at most {MOST_TASKS:,} tasks, and at most {MOST_VALUES:,} "
                "for their number times the square of the number of features; there are "
                f"{n_tasks:,} tasks with {n_features:,} features. {self.advice}",
                code="too-large",
                role="tasks",
            )

    def _fit(self, data: Data, params: MTRLParams, run: Run) -> Fitted:
        run.progress(0.02, "ordering rows")
        table = table_of(data, "regression")
        out = held_out(table, params.held_out, run.rng)
        fitted = table.part(~out)
        scaling = Standardization.of(fitted)
        columns, targets = scaling.columns(fitted), scaling.targets(fitted)
        fold = folds(fitted, params.n_folds, run.rng)
        penalty, sharing = _choose(
            columns, targets, fitted, fold, params, subprogress(run.progress, 0.05, 0.8)
        )
        moments = TaskMoments.of(columns[:, :-1], targets, fitted.start)
        learned = relationship.relate(
            moments,
            penalty,
            sharing,
            params.max_iter,
            params.tol,
            subprogress(run.progress, 0.8, 0.9),
        )
        run.progress(0.9, "building the tree")
        warnings = []
        if not learned.converged:
            warnings.append(
                f"Weights and covariance were still changing after {params.max_iter} iterations; "
                "raise 'max_iter'."
            )
        return result(
            average_linkage(1.0 - relationship.correlation(learned.covariance), table),
            learned.with_intercepts(moments),
            scaling,
            table,
            fitted,
            table.part(out),
            "regression",
            {
                "penalty": penalty,
                "sharing": sharing,
                "objective": learned.objectives[-1],
                "n_iter": len(learned.objectives) / 2,
            },
            warnings,
            arrays={"covariance": learned.covariance},
        )

    def _predict(self, model: Model, tree: Tree, data: Data) -> Predictions:
        """The leaf of each row's task, and the prediction of its regressor."""
        return place(model, tree, data)


def _choose(
    columns: Float,
    targets: Float,
    table: Table,
    fold: Int,
    params: MTRLParams,
    progress: Progress,
) -> tuple[float, float]:
    """The penalty and the sharing of least squared error on folds."""
    penalties = PENALTIES if params.penalty is None else (params.penalty,)
    sharings = SHARINGS if params.sharing is None else (params.sharing,)
    errors = np.zeros((len(penalties), len(sharings)))
    if errors.size == 1:
        return penalties[0], sharings[0]
    for number in range(params.n_folds):
        out = fold == number
        if not out.any():
            continue
        part = table.part(~out)
        moments = TaskMoments.of(columns[~out, :-1], targets[~out], part.start)
        for row, column in np.ndindex(errors.shape):
            done = (number + (row * len(sharings) + column) / errors.size) / params.n_folds
            learned = relationship.relate(
                moments,
                penalties[row],
                sharings[column],
                params.max_iter,
                10 * params.tol,
                subprogress(progress, done, done),
            )
            weights = learned.with_intercepts(moments)
            scores = linear.scores(columns[out], table.task[out], weights)
            errors[row, column] += linear.loss(scores, targets[out], "regression").sum()
    row, column = np.unravel_index(errors.argmin(), errors.shape)
    return penalties[int(row)], sharings[int(column)]
