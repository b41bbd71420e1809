"""Multiclass logistic regression: a softmax over all classes with an L2 penalty.

It minimises half the sum of squared weights plus C times the negative log-likelihood, by L-BFGS, on
the features with a constant column, so that the intercept is penalised like other weights. It is
the flat baseline of `hblr` and `rmlr`; a hierarchy, where there is one, is only used for paths.
Columns of any offset and size are solved in coordinates in which they are moderate
(`classes.coordinates`).

Classes are the job's, even where a part of its rows (a fold of a cross-validation) has no example
of one: its weights are then what keeps it improbable. Weights of classes sum to 0.

Source: Gopal, "Large-scale Structured Learning" (2014), §2.6.2 (MLR) and §4.3, OPT 1 with lambda =
1 / C.

Cost: O(N D K) a step, for sparse features O(nnz K); tens to hundreds of steps. Memory: a copy of
the features, 336 D K bytes and 24 N K.

Measured: CPU time as N^0.8 D^0.6 K^0.7, from 4,000 x 64 and 16 classes to four times each,
iterations bounded (`python -m bench costs`).
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from models.arrays import Float
from models.method import Paper, Run
from models.methods.classifiers.classes.classifier import Classifier, Trained
from models.methods.classifiers.classes.inputs import ClassifierParams, LossWeight, loss_weight
from models.methods.classifiers.classes.problem import Problem
from models.methods.classifiers.softmax.objective import SoftmaxObjective, minimize_jointly
from models.parameters import MaxIter
from models.running.budget import CLASSES, Cost


class MLRParams(ClassifierParams):
    C: LossWeight = 1.0
    max_iter: MaxIter = 1000
    tol: float = Field(
        1e-5,
        gt=0,
        le=1,
        description=(
            "Steps end when no entry of the objective's gradient exceeds this times C times the "
            "number of rows, columns being turned and scaled to a moderate offset and size."
        ),
    )


class MLR(Classifier[MLRParams]):
    """See the module's docstring."""

    title = "Multiclass logistic regression"
    paper = Paper("Large-scale Structured Learning", 2014, "chapter 4")
    Params = MLRParams
    cost = Cost(1e-7, k=CLASSES)
    several_labels = False
    advice = "Use 'rmlr' with the bound 'log-concavity'."
    example = {"C": 1.0}

    def _train(self, problem: Problem, params: MLRParams, run: Run) -> Trained:
        self._require(problem.n_classes * (336 * problem.n_columns + 24 * problem.n_rows))
        objective = SoftmaxObjective.in_units(
            problem.design, problem.code, problem.n_classes, loss_weight(params.C)
        )
        least = params.tol * objective.C * objective.n_rows

        def ends(value: float, gradient: Float) -> bool:
            return float(np.abs(gradient).max()) <= least

        minimum = minimize_jointly(objective, ends, params.max_iter, run.progress, run.checkpoint)
        return Trained(
            minimum.weights,
            "softmax",
            metrics={"objective": minimum.objective, "n_iter": float(minimum.n_iter)},
            warnings=()
            if minimum.converged
            else (f"Not converged after {minimum.n_iter} steps; raise 'max_iter' or 'tol'.",),
            converged=minimum.converged,
        )
