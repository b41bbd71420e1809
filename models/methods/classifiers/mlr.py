"""Multiclass logistic regression: a softmax over all classes with an L2 penalty.

It minimises half the sum of squared weights plus C times the negative log-likelihood, by L-BFGS
(scikit-learn's LogisticRegression on the features with a constant column, so that the intercept is
penalised like other weights). It is the flat baseline of `hblr` and `rmlr`; a hierarchy, where
there is one, is only used for paths.

Classes are the job's, even where a part of its rows (a fold of a cross-validation) has no example
of one: its weights are then what keeps it improbable. Weights of classes sum to 0, also of two,
where scikit-learn fits their difference.

Source: Gopal, "Large-scale Structured Learning" (2014), §2.6.2 (MLR) and §4.3, OPT 1 with lambda =
1 / C.

Cost: O(N D K) a step, for sparse features O(nnz K); tens to hundreds of steps. Memory: a copy of
the features, 336 D K bytes and 24 N K.

Measured: CPU time as N^0.8 D^0.6 K^0.7, from 4,000 x 64 and 16 classes to four times each,
iterations bounded (`python -m bench costs`).
"""

from __future__ import annotations

import warnings

import numpy as np
from pydantic import Field

from models.method import Paper, Run
from models.methods.classifiers.classes.classifier import Classifier, Trained
from models.methods.classifiers.classes.inputs import ClassifierParams, LossWeight, loss_weight
from models.methods.classifiers.classes.problem import Problem, with_every_class
from models.methods.classifiers.softmax.objective import SoftmaxObjective
from models.parameters import MaxIter


class MLRParams(ClassifierParams):
    C: LossWeight = 1.0
    max_iter: MaxIter = 1000
    tol: float = Field(
        1e-5,
        gt=0,
        le=1,
        description=(
            "Steps end when no entry of the objective's gradient exceeds this times C times the "
            "number of rows."
        ),
    )


class MLR(Classifier[MLRParams]):
    """See the module's docstring."""

    title = "Multiclass logistic regression"
    paper = Paper("Large-scale Structured Learning", 2014, "chapter 4")
    Params = MLRParams
    several_labels = False
    advice = "Use 'rmlr' with the bound 'log-concavity'."
    example = {"C": 1.0}

    def _train(self, problem: Problem, params: MLRParams, run: Run) -> Trained:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression
        from threadpoolctl import threadpool_limits

        n_rows, n_classes = problem.n_rows, problem.n_classes
        self._require(n_classes * (336 * problem.n_columns + 24 * n_rows))
        run.progress(0.05, "fitting")
        two = n_classes == 2
        model = LogisticRegression(
            # With two classes scikit-learn fits the difference of their weights, whose halves they
            # are; its square is twice the sum of theirs.
            C=2.0 * loss_weight(params.C) if two else loss_weight(params.C),
            fit_intercept=False,
            tol=params.tol,
            max_iter=params.max_iter,
        )
        design, code, counts = with_every_class(problem)
        with threadpool_limits(run.threads), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(design, code, counts)
        notes = (
            (f"Not converged after {params.max_iter} steps; raise 'max_iter' or 'tol'.",)
            if any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
            else ()
        )
        weights = np.asarray(model.coef_)
        if two:
            weights = np.concatenate([-weights, weights]) / 2.0
        objective = SoftmaxObjective(
            problem.design, problem.code, problem.n_classes, loss_weight(params.C)
        )
        return Trained(
            weights,
            "softmax",
            metrics={
                "objective": objective.value(weights),
                "n_iter": float(np.max(model.n_iter_)),
            },
            warnings=notes,
        )
