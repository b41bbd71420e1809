"""Recursively regularized SVM: maximum-margin classes that share strength along a hierarchy or a
graph.

It minimises the sum over nodes of |w_n - w_parent|^2 / 2, with 0 above the root, plus C times the
hinge loss of each class against the rest. On a graph the penalty is the sum over edges of
|w_i - w_j|^2 / 2 and 0.001 |w|^2 for each node, so that no component can drift. Rows may have
several classes. Dual coordinate descent, until the duality gap is small (`recursive.hinge`).

Source: Gopal, "Large-scale Structured Learning" (2014), chapter 3. Deviations: inner nodes are
eliminated instead of updated in turn, to the same optimum; the anchor of graphs.

Cost: tens of passes of O(N D K) or O(nnz K), most of them over few rows; memory a copy of the
features, 8 T D bytes for T nodes, on a graph also 8 T K, and 16 bytes for each support vector.
"""

from __future__ import annotations

from models.arrays import Arrays
from models.method import Paper, Piece, Run
from models.methods.classifiers.classes.classifier import Classifier, Trained
from models.methods.classifiers.classes.inputs import loss_weight
from models.methods.classifiers.classes.problem import Problem
from models.methods.classifiers.recursive.inputs import (
    INPUTS,
    GapShare,
    RecursiveParams,
    penalty_of,
)
from models.parameters import MaxIter, Seed
from models.progress import subprogress


class RRSVMParams(RecursiveParams):
    tol: GapShare = 1e-3
    max_iter: MaxIter = 1000
    seed: Seed = 0


class RRSVM(Classifier[RRSVMParams]):
    """See the module's docstring."""

    id = "rr-svm"
    title = "Recursively regularized SVM"
    paper = Paper("Large-scale Structured Learning", 2014, "chapter 3")
    Params = RRSVMParams
    inputs = INPUTS
    one_of = ("hierarchy", "graph")
    resumes = True
    advice = "Set 'block_size' (of a hierarchy), or use fewer features (`preprocess`)."

    def _hurried(self, params: RRSVMParams) -> RRSVMParams:
        return params.model_copy(
            update={"tol": max(params.tol, 1e-2), "max_iter": min(params.max_iter, 10)}
        )

    def _piece_of(self, problem: Problem, params: RRSVMParams, piece: Piece) -> Arrays:
        from models.methods.classifiers.recursive import blocks

        assert params.block_size is not None
        blocked = blocks.blocked_of(problem, params.contract, params.block_size)
        return blocks.piece(problem, blocked, "hinge", piece)

    def _train(self, problem: Problem, params: RRSVMParams, run: Run) -> Trained:
        from threadpoolctl import threadpool_limits

        from models.methods.classifiers.recursive import blocks
        from models.methods.classifiers.recursive.hinge import minimize

        if params.block_size is not None:
            with threadpool_limits(run.threads):
                return blocks.train(
                    problem,
                    blocks.blocked_of(problem, params.contract, params.block_size),
                    "hinge",
                    run,
                    C=loss_weight(params.C),
                    tol=params.tol,
                    max_iter=params.max_iter,
                )
        penalty, warnings = penalty_of(problem, params.contract)
        self._require(32 * penalty.n_nodes * problem.n_columns + 64 * problem.n_rows)
        with threadpool_limits(run.threads):
            fit = minimize(
                problem,
                penalty,
                loss_weight(params.C),
                tol=params.tol,
                max_iter=params.max_iter,
                seed=params.seed,
                progress=subprogress(run.progress, 0.02, 0.95),
                checkpoint=run.checkpoint,
            )
        return fit.trained(problem, penalty, warnings)
