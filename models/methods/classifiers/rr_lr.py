"""Recursively regularized logistic regression: classes share strength along a hierarchy or a graph.

It minimises the sum over nodes of |w_n - w_parent|^2 / 2, with 0 above the root, plus C times the
logistic loss of each class against the rest. On a graph the penalty is the sum over edges of
|w_i - w_j|^2 / 2 and 0.001 |w|^2 for each node, so that no component can drift. Rows may have
several classes. Newton's method over all nodes at once (`recursive.logistic`); by blocks of
classes, until the objective settles (`recursive.blocks`).

The probabilities of a row with one class are the classes' logistic probabilities over their sum.

Source: Gopal, "Large-scale Structured Learning" (2014), chapter 3. Deviations: inner nodes are
eliminated instead of updated in turn, to the same optimum; the anchor of graphs.

Cost: about ten steps of O(N D^2 K + T D^3) for T nodes at most, for wide or sparse features tens of
products of O(nnz K) each; memory a copy of the features, 40 N K bytes and 104 T D, for narrow ones
16 T D^2.

Measured: CPU time as N^0.8 D^1.5 K^0.7, from 4,000 x 64 and 16 classes to four times each,
iterations bounded (`python -m bench costs`).
"""

from __future__ import annotations

from models.method import Paper, Run
from models.methods.classifiers.classes.classifier import Trained
from models.methods.classifiers.classes.problem import Problem
from models.methods.classifiers.recursive.classifier import RecursiveClassifier
from models.methods.classifiers.recursive.inputs import LogisticParams, RecursiveParams
from models.methods.classifiers.recursive.penalty import Penalty
from models.running.budget import CLASSES, Cost


class RRLRParams(LogisticParams, RecursiveParams):
    pass


class RRLR(RecursiveClassifier[RRLRParams]):
    """See the module's docstring."""

    id = "rr-lr"
    title = "Recursively regularized logistic regression"
    paper = Paper("Large-scale Structured Learning", 2014, "chapter 3")
    Params = RRLRParams
    cost = Cost(1e-7, k=CLASSES)
    loss = "logistic"
    advice = "Set 'block_size' or use fewer rows or features (`preprocess`)."

    def _train_at_once(
        self,
        problem: Problem,
        penalty: Penalty,
        params: RRLRParams,
        run: Run,
        warnings: tuple[str, ...],
    ) -> Trained:
        from models.methods.classifiers.recursive import logistic

        self._require(logistic.fit_bytes(problem, penalty))
        return logistic.train(problem, penalty, params.effort, run, warnings)
