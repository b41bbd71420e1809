"""Multiclass logistic regression: a softmax over all classes with an L2 penalty.

It minimises half the sum of squared weights plus C times the negative log-likelihood, by L-BFGS
(scikit-learn's LogisticRegression on the features with a constant column, so that the intercept is
penalised like other weights). It is the flat baseline of `hblr` and `rmlr`; a hierarchy, where
there is one, is only used for paths.

Source: Gopal, "Large-scale Structured Learning" (2014), §2.6.2 (MLR) and §4.3, OPT 1 with lambda =
1 / C.

Cost: O(N D K) a step for sparse features O(nnz K), tens to hundreds of steps; memory a copy of the
features and about 20 D K values.
"""

from __future__ import annotations

import warnings

import numpy as np
from pydantic import Field

from models.method import Paper, Run
from models.methods.classifiers.classes.classifier import Classifier, ClassifierParams, Trained
from models.methods.classifiers.classes.problem import Problem
from models.parameters import MaxIter


class MLRParams(ClassifierParams):
    C: float = Field(
        1.0, gt=0, le=1e9, description="Weight of the loss against the penalty of weights."
    )
    max_iter: MaxIter = 1000
    tol: float = Field(
        1e-5, gt=0, le=1, description="Steps end when no entry of the gradient exceeds this."
    )


class MLR(Classifier[MLRParams]):
    """See the module's docstring."""

    title = "Multiclass logistic regression"
    paper = Paper("Large-scale Structured Learning", 2014, "chapter 4")
    Params = MLRParams
    several_labels = False
    example = {"C": 1.0}

    def _train(self, problem: Problem, params: MLRParams, run: Run) -> Trained:
        from sklearn.linear_model import LogisticRegression

        run.progress(0.05, "fitting")
        two = problem.n_classes == 2
        model = LogisticRegression(
            # Of two classes scikit-learn fits the difference of their weights, whose halves they
            # are; its square is twice the sum of theirs.
            C=2.0 * params.C if two else params.C,
            fit_intercept=False,
            tol=params.tol,
            max_iter=params.max_iter,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(problem.design, problem.code)
        n_iter = int(np.max(model.n_iter_))
        notes = (
            (f"Not converged after {params.max_iter} steps; raise 'max_iter' or 'tol'.",)
            if n_iter >= params.max_iter
            else ()
        )
        weights = np.asarray(model.coef_)
        if two:
            weights = np.concatenate([-weights, weights]) / 2.0
        return Trained(weights, "softmax", metrics={"n_iter": float(n_iter)}, warnings=notes)
