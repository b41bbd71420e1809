"""One-versus-rest logistic regression: the probability of each class against all others.

It minimises half the squared weights plus C times the logistic loss, for each class on its own.
Rows may have several classes. It is the flat baseline of `rr-lr`; a hierarchy, where there is one,
is only used for paths. The probabilities of a row with one class are the classes' logistic
probabilities over their sum.

Source: Gopal, "Large-scale Structured Learning" (2014), §2.6.2 (BLR); Lin, Weng and Keerthi, "Trust
Region Newton Method for Logistic Regression" (2008), as liblinear, whose solution it is. Not
computed by liblinear, since `recursive.logistic`, with every class tied to 0, ends at a proven
distance from the optimum, and takes half the time or less.

Cost: about ten steps of O(N D^2 K + K D^3), for wide or sparse features tens of products of
O(nnz K) each; memory a copy of the features, 40 N K bytes and 104 K D, for narrow ones 16 K D^2.

Measured: CPU time as N^1.1 D^1.6 K^0.8, from 4,000 x 64 and 16 classes to four times each,
iterations bounded (`python -m bench costs`).
"""

from __future__ import annotations

from models.method import Paper, Run
from models.methods.classifiers.classes.classifier import Classifier, Trained
from models.methods.classifiers.classes.problem import Problem
from models.methods.classifiers.recursive.inputs import LogisticParams
from models.methods.classifiers.recursive.penalty import Penalty
from models.running.budget import CLASSES, Cost


class BLR(Classifier[LogisticParams]):
    """See the module's docstring."""

    title = "One-versus-rest logistic regression"
    paper = Paper("Trust Region Newton Method for Logistic Regression", 2008)
    Params = LogisticParams
    cost = Cost(1e-7, k=CLASSES)
    resumes = True
    advice = "Use fewer rows or features ('preprocess' with svd or pca), or 'bsvm'."

    def _train(self, problem: Problem, params: LogisticParams, run: Run) -> Trained:
        from models.methods.classifiers.recursive import logistic

        penalty = Penalty.of_classes(problem.n_classes)
        self._require(logistic.fit_bytes(problem, penalty))
        return logistic.train(problem, penalty, params.effort, run)
