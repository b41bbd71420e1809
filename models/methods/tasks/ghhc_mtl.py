"""Multi-task gHHC: regressors or classifiers of tasks, learned together with a tree over the tasks.

A task is a point of the Poincaré ball: its weights, intercept included, minus the weights of one
regressor for all rows (`regression.points`). Tasks and the nodes of a tree over them move together
along the gradient of the sum of the tasks' losses and gHHC's losses of triples of tasks, which draw
a task to the nodes that it shares with similar tasks (`regression.joint`). Features and numeric
targets are first scaled by their mean and deviation over all rows. The leaves of the tree are the
tasks.

With `held_out` the regressors are measured on rows that they were not fitted to:
`explained_variance`, 1 minus the mean squared error over the variance of the targets, or
`classification_accuracy` and `held_out_log_likelihood`. Metrics of the fitted rows have names that
end in `_fitted`.

Source: Monath, Zaheer, Silva, McCallum and Ahmed, "Gradient-based Hierarchical Clustering using
Continuous Representations of Trees in Hyperbolic Space" (2019), §5, eq. 21. Deviations: tasks start
at ridge (logistic) regressors around that of all rows, which is the centre of the ball; each step
uses all rows, or 16,384, instead of one for each task of a triple; `sharing` weighs the tree's
losses, and it and the number of steps are chosen on folds of rows; tasks move by Riemannian Adam;
and the deviations of `ghhc`, but for the loss of triples, which is the paper's ranking objective.

Groups of tasks are found as well as the regressors allow. On planted trees (`bench tasks`, 8 seeds,
'sharing' 30, 100 steps) 22, 86 and 94% of the groups are nodes with 10, 20 and 40 rows a task;
average linkage of the same points finds 21, 82 and 93%, of the true weights 97%. Neither more draws
help (64 in place of 8 find 85 for 84% with 20 rows, 95% both times with 40; 9 seeds) nor nodes that
settle by the expected cost (19 for 20% with 10 rows, 98% both times with 40; 6 seeds).

Cost: O(B M Q + N Q) a step for B = `batch_size`, M = `n_internal` and Q = D + 1 columns, times the
number of classes if they are more than two; `max_iter` (3 `n_folds` + 1) steps at most in total,
a few milliseconds each. Memory: five copies of the features in double precision and about 100 B M
values.

Measured: CPU time as N^0.2 D^0.2 K^0.2, from 5,000 x 16 and 16 tasks to four times each, iterations
bounded (`python -m bench costs`).
"""

from __future__ import annotations

from models.inputs.data import Data
from models.method import Fitted, Method, Model, Paper, Predictions, Run, Shapes
from models.methods.tasks.regression.inputs import INPUTS, GHHCMTLParams, bytes_of_table
from models.methods.tasks.regression.result import place
from models.methods.tasks.regression.table import check
from models.running.device import computing
from models.running.threads import limited
from models.tree.tree import Tree


class GHHCMTL(Method[GHHCMTLParams]):
    """See the module's docstring."""

    id = "ghhc-mtl"
    title = "Multi-task gHHC"
    family = "tasks"
    paper = Paper(
        "Gradient-based Hierarchical Clustering using Continuous Representations of Trees in "
        "Hyperbolic Space",
        2019,
        "KDD, section 5",
    )
    Params = GHHCMTLParams
    inputs = INPUTS
    outputs = ("tree", "model")
    needs = ("torch",)
    placing = "the leaf of its task"
    advice = "Use a sample of the rows, or fewer features (`preprocess`)."
    resumes = True
    distances = False
    example = {"sharing": 10.0, "max_iter": 15, "n_init": 2}

    def _memory(self, shapes: Shapes, params: GHHCMTLParams) -> int:
        return bytes_of_table(shapes)

    def _check(self, data: Data, params: GHHCMTLParams) -> None:
        check(data, params.problem)

    def _fit(self, data: Data, params: GHHCMTLParams, run: Run) -> Fitted:

        from models.methods.tasks.regression.fit import fit

        with limited(run.threads), computing(run.threads):
            return fit(data, params, run)

    def _predict(self, model: Model, tree: Tree, data: Data) -> Predictions:
        """The leaf of each row's task, and the prediction of its regressor."""
        return place(model, tree, data)
