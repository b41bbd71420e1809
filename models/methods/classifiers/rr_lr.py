"""Recursively regularized logistic regression: classes share strength along a hierarchy or a graph.

It minimises the sum over nodes of |w_n - w_parent|^2 / 2, with 0 above the root, plus C times the
logistic loss of each class against the rest. On a graph the penalty is the sum over edges of
|w_i - w_j|^2 / 2 and 0.001 |w|^2 for each node, so that no component can drift. Rows may have
several classes. Newton's method over all nodes at once (`recursive.logistic`).

The probabilities of a row with one class are the classes' logistic probabilities over their sum.

Source: Gopal, "Large-scale Structured Learning" (2014), chapter 3. Deviations: inner nodes are
eliminated instead of updated in turn, to the same optimum; the anchor of graphs.

Cost: about ten steps of O(N D^2 K + T D^3) for T nodes at most, for wide or sparse features tens of
products of O(nnz K) each; memory a copy of the features, 20 N K bytes and 24 T D, for narrow ones
16 T D^2.
"""

from __future__ import annotations

from models.arrays import Arrays
from models.method import Paper, Piece, Run
from models.methods.classifiers.classes.classifier import Classifier, Trained
from models.methods.classifiers.classes.inputs import loss_weight
from models.methods.classifiers.classes.problem import Problem
from models.methods.classifiers.recursive.inputs import (
    INPUTS,
    DecreaseShare,
    RecursiveParams,
    penalty_of,
)
from models.parameters import MaxIter
from models.progress import subprogress


class RRLRParams(RecursiveParams):
    tol: DecreaseShare = 1e-6
    max_iter: MaxIter = 100


class RRLR(Classifier[RRLRParams]):
    """See the module's docstring."""

    id = "rr-lr"
    title = "Recursively regularized logistic regression"
    paper = Paper("Large-scale Structured Learning", 2014, "chapter 3")
    Params = RRLRParams
    inputs = INPUTS
    one_of = ("hierarchy", "graph")
    resumes = True
    advice = "Set 'block_size' (of a hierarchy), or use fewer rows or features (`preprocess`)."

    def _piece_of(self, problem: Problem, params: RRLRParams, piece: Piece) -> Arrays:
        from models.methods.classifiers.recursive import blocks

        assert params.block_size is not None
        blocked = blocks.blocked_of(problem, params.contract, params.block_size)
        return blocks.piece(problem, blocked, "logistic", piece)

    def _train(self, problem: Problem, params: RRLRParams, run: Run) -> Trained:
        from threadpoolctl import threadpool_limits

        from models.methods.classifiers.recursive import blocks
        from models.methods.classifiers.recursive.logistic import fit_bytes, minimize

        if params.block_size is not None:
            with threadpool_limits(run.threads):
                return blocks.train(
                    problem,
                    blocks.blocked_of(problem, params.contract, params.block_size),
                    "logistic",
                    run,
                    C=loss_weight(params.C),
                    tol=params.tol,
                    max_iter=params.max_iter,
                )
        penalty, warnings = penalty_of(problem, params.contract)
        self._require(fit_bytes(problem, penalty))
        with threadpool_limits(run.threads):
            fit = minimize(
                problem,
                penalty,
                loss_weight(params.C),
                tol=params.tol,
                max_iter=params.max_iter,
                progress=subprogress(run.progress, 0.02, 0.95),
                checkpoint=run.checkpoint,
            )
        return fit.trained(penalty, warnings)
