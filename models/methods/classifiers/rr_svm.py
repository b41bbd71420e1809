"""Recursively regularized SVM: maximum-margin classes that share strength along a hierarchy or a
graph.

It minimises the sum over nodes of |w_n - w_parent|^2 / 2, with 0 above the root, plus C times the
hinge loss of each class against the rest. On a graph the penalty is the sum over edges of
|w_i - w_j|^2 / 2 and 0.001 |w|^2 for each node, so that no component can drift. Rows may have
several classes. Dual coordinate descent, until the duality gap is small (`recursive.hinge`); by
blocks of classes, until the objective settles (`recursive.blocks`).

Columns that lie far from 0 or are large are solved by an interior point in coordinates that make
them moderate (`recursive.interior`), to the same gap; what is not proven there is refused with the
column.

Source: Gopal, "Large-scale Structured Learning" (2014), chapter 3. Deviations: inner nodes move all
at once between sweeps over the classes; the anchor of graphs.

Cost: tens of passes of O(N D K) or O(nnz K), most of them over few rows; memory a copy of the
features, 48 T D bytes for T nodes, and 16 bytes for each support vector.

Measured: CPU time as N^0.7 D^0.6 K^0.9, from 4,000 x 64 and 16 classes to four times each,
iterations bounded (`python -m bench costs`).
"""

from __future__ import annotations

from models.method import Paper, Run
from models.methods.classifiers.classes.classifier import Trained
from models.methods.classifiers.classes.problem import Problem
from models.methods.classifiers.recursive.classifier import RecursiveClassifier
from models.methods.classifiers.recursive.inputs import HingeParams, RecursiveParams
from models.methods.classifiers.recursive.penalty import Penalty
from models.running.budget import CLASSES, Cost


class RRSVMParams(HingeParams, RecursiveParams):
    pass


class RRSVM(RecursiveClassifier[RRSVMParams]):
    """See the module's docstring."""

    id = "rr-svm"
    title = "Recursively regularized SVM"
    paper = Paper("Large-scale Structured Learning", 2014, "chapter 3")
    Params = RRSVMParams
    cost = Cost(1e-7, k=CLASSES)
    hurry = (1e-2, 10)
    loss = "hinge"
    proven = True
    advice = "Set 'block_size', or use fewer features (`preprocess`)."

    def _train_at_once(
        self,
        problem: Problem,
        penalty: Penalty,
        params: RRSVMParams,
        run: Run,
        warnings: tuple[str, ...],
    ) -> Trained:
        from models.methods.classifiers.recursive import hinge

        self._require(hinge.fit_bytes(problem, penalty))
        return hinge.train(problem, penalty, params.effort, run, warnings)
