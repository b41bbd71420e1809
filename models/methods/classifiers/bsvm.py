"""One-versus-rest linear SVM: a maximum-margin separator of each class from all others.

It minimises half the squared weights plus C times the hinge loss, for each class on its own. Rows
may have several classes. It is the flat baseline of `rr-svm`; a hierarchy, where there is one, is
only used for paths.

Columns that lie far from 0 or are large are solved by an interior point in coordinates that make
them moderate (`recursive.interior`), to the same gap; what is not proven there is refused with the
column.

Source: Gopal, "Large-scale Structured Learning" (2014), §2.6.2 (BSVM); Hsieh et al., "A Dual
Coordinate Descent Method for Large-scale Linear SVM" (2008), as liblinear, whose solution it is.
Not computed by liblinear, since `recursive.hinge`, with every class tied to 0, ends at a proven
duality gap, at which it is several times faster, and its draws are the same on several threads.

Cost: tens of passes of O(N D K) or O(nnz K), most of them over few rows; memory a copy of the
features, 48 K D bytes, and 16 bytes for each support vector.

Measured: CPU time as N^0.7 D^0.4 K^1.6, from 4,000 x 64 and 16 classes to four times each,
iterations bounded (`python -m bench costs`).
"""

from __future__ import annotations

from models.method import Paper, Run
from models.methods.classifiers.classes.classifier import Classifier, Trained
from models.methods.classifiers.classes.problem import Problem
from models.methods.classifiers.recursive.inputs import HingeParams
from models.methods.classifiers.recursive.penalty import Penalty
from models.running.budget import CLASSES, Cost


class BSVM(Classifier[HingeParams]):
    """See the module's docstring."""

    title = "One-versus-rest linear SVM"
    paper = Paper(
        "A Dual Coordinate Descent Method for Large-scale Linear SVM", 2008, "algorithm 3"
    )
    Params = HingeParams
    cost = Cost(1e-7, k=CLASSES)
    resumes = True
    proven = True
    advice = "Use fewer features ('preprocess' with svd or pca), or 'td-svm'."
    hurry = (1e-2, 10)

    def _train(self, problem: Problem, params: HingeParams, run: Run) -> Trained:
        from models.methods.classifiers.recursive import hinge

        penalty = Penalty.of_classes(problem.n_classes)
        self._require(hinge.fit_bytes(problem, penalty))
        return hinge.train(problem, penalty, params.effort, run)
