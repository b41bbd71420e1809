"""Multiclass SVM of Crammer and Singer: each row's class must lead all others by a margin.

It minimises half the squared weights of all classes plus C times, for each row, by how much another
class comes nearer to its own than 1 at worst. By liblinear (scikit-learn's LinearSVC), with the
constant feature penalised like the others. It is a flat baseline; a hierarchy, where there is one,
is only used for paths.

Columns that lie far from 0 or are large are solved by an interior point in coordinates that make
them moderate (`recursive.interior`), to a gap of 'tol' times the objective; what is not proven
there is refused with the column.

Classes are the job's, even where a part of its rows (a fold) has no example of one.

Source: Crammer and Singer, "On the Algorithmic Implementation of Multiclass Kernel-based Vector
Machines" (2001); Gopal, "Large-scale Structured Learning" (2014), §2.6.2 (MSVM).

Cost: hundreds to many thousands of passes of O(N D K), for sparse features O(nnz K), most of them
over few rows and classes; more of them the larger C is. It can neither be cancelled nor show
progress meanwhile. Memory: three times the features, 8 N K and 24 D K bytes.

Measured: CPU time as N^1.0 D^0.7 K^0.7, from 4,000 x 64 and 16 classes to four times each,
iterations bounded (`python -m bench costs`).
"""

from __future__ import annotations

import warnings

import numpy as np
from pydantic import Field

from models.arrays import Float, row_blocks
from models.method import Paper, Run
from models.methods.classifiers.classes.classifier import Classifier, Trained
from models.methods.classifiers.classes.inputs import ClassifierParams, LossWeight, loss_weight
from models.methods.classifiers.classes.problem import Problem, with_every_class
from models.methods.classifiers.classes.structure import ClassTree
from models.parameters import MaxIter, Seed
from models.running.budget import CLASSES, Cost


class MSVMParams(ClassifierParams):
    C: LossWeight = 1.0
    tol: float = Field(
        1e-2,
        gt=0,
        le=1,
        description="Passes end when the gradients of the dual violate its optimum by less; for "
        "columns that are far from 0 or large, when the duality gap is this share of the "
        "objective.",
    )
    max_iter: MaxIter = 20_000
    seed: Seed = 0


class MSVM(Classifier[MSVMParams]):
    """See the module's docstring."""

    title = "Multiclass SVM"
    paper = Paper(
        "On the Algorithmic Implementation of Multiclass Kernel-based Vector Machines", 2001
    )
    Params = MSVMParams
    cost = Cost(1e-7, k=CLASSES)
    several_labels = False
    proven = True
    advice = "Use fewer features ('preprocess' with svd or pca), or 'bsvm'."

    def _train(self, problem: Problem, params: MSVMParams, run: Run) -> Trained:
        from models.methods.classifiers.recursive import interior

        C, n_values = loss_weight(params.C), (problem.n_classes * problem.n_columns) ** 2
        if interior.taken(problem, n_values):
            n_margins = problem.n_rows * problem.n_classes
            self._require(interior.fit_bytes(problem, n_values, problem.n_classes, n_margins))
            return _by_interior_point(problem, C, params.tol, run)
        # Liblinear's own copy of the design takes 16 bytes a value.
        copied = 16 * int(problem.design.size)
        self._require(copied + problem.n_classes * (8 * problem.n_rows + 24 * problem.n_columns))
        run.progress(0.05, "fitting")
        return _by_liblinear(problem, C, params)


def _by_interior_point(problem: Problem, C: float, tol: float, run: Run) -> Trained:
    """The minimum to a duality gap of `tol` times the objective."""
    from models.methods.classifiers.recursive import interior
    from models.methods.classifiers.recursive.interior import along_the_tree
    from models.methods.classifiers.structured.penalty import Plain

    tree = ClassTree.flat(problem.n_classes)
    margins = along_the_tree(problem, tree, "siblings", "margin")
    fit = interior.minimize(problem, margins, Plain(tree.n_nodes), C, tol, run.progress)
    return fit.trained(fit.weights[tree.node], "softmax")


def _by_liblinear(problem: Problem, C: float, params: MSVMParams) -> Trained:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    model = LinearSVC(
        multi_class="crammer_singer",
        C=C,
        fit_intercept=False,
        tol=params.tol,
        max_iter=params.max_iter,
        random_state=params.seed,
    )
    # Its zeros leave a class without an example where it is.
    design, code, _ = with_every_class(problem)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(design, code)
    notes = (
        (f"Not converged after {params.max_iter} passes; raise 'max_iter' or 'tol'.",)
        if any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
        else ()
    )
    weights = np.asarray(model.coef_)
    if problem.n_classes == 2:
        # scikit-learn gives their difference; they sum to 0.
        weights = np.concatenate([-weights, weights]) / 2.0
    return Trained(
        weights,
        "softmax",
        metrics={
            "objective": _objective(problem, weights, C),
            "n_iter": float(np.max(model.n_iter_)),
        },
        warnings=notes,
        converged=not notes,
    )


def _objective(problem: Problem, weights: Float, C: float) -> float:
    """What is minimised. O(N D K)."""
    loss = 0.0
    for block in row_blocks(problem.n_rows, problem.n_classes):
        scores = np.asarray(problem.design[block] @ weights.T)
        own = np.arange(scores.shape[0]), problem.code[block]
        ahead = scores[own]
        scores += 1.0
        scores[own] = ahead
        loss += float((scores.max(axis=1) - ahead).sum())
    return 0.5 * float(np.vdot(weights, weights)) + C * loss
