"""Regularised multinomial logistic regression at scale: `mlr`'s objective, minimised by a bound of
its log partition function that falls apart into classes.

The objective is half the sum of squared weights plus C times the negative log-likelihood of a
softmax over all classes (OPT 1 with lambda = 1 / C, times C). `bound` says how it is minimised:

- 'log-concavity': with a shift for each row, every class has a separate problem, which is solved
  by Newton's method; shifts and weights take turns (OPT 2, algorithm 2). The optimum is that of the
  softmax. Scores of a block of classes are all that is ever held besides weights and a few values
  a row.
- 'double-majorization': the same with a looser bound, whose minimum is not that of the objective.
  The metric `bound` is what was minimised, `objective` the value of the true one at its weights.
- 'admm': the alternating direction method of multipliers on all scores.
- 'lbfgs': L-BFGS on all weights at once, the fastest where they and all scores fit in memory.

Alternation as printed (`acceleration` 'none') is slow, since all classes must move together, which
the shifts hold back. 'centering' takes the mean from the weights after each turn, which never
raises the bound; 'anderson' also extrapolates the shifts, and undoes what would raise it. To within
1e-6 of the optimum with C = 1: glass 473, 37 and 10 sweeps; segment more than 1000, 288 and 33.

Columns of any offset and size are solved in coordinates in which they are moderate
(`classes.coordinates`); where sizes differ much, steps of Newton's method on all weights end what
rounding hides from the sweeps of 'log-concavity', and from L-BFGS.

A fit ends at a point that is shown to lie within `tol` of the optimum: the objective is 1-strongly
convex, so half its squared gradient bounds the distance (metric `gap`). If it does not, a warning
says so.

Source: Gopal, "Large-scale Structured Learning" (2014), chapter 4. Deviations: its criterion, the
norm of the bound's gradient (the curve `gradient`), is taken row by row and only tells when to
compute the gap; the shift of double majorization and the penalty in ADMM, which it leaves out,
follow the objective; the factor rho of ADMM adapts.

Cost: O(N D K), for sparse features O(nnz K), a product of rows and weights; some 25 of them a sweep
by bounds, over 100 for sparse or wide features if C is large; 4 by 'admm', 2 a step by 'lbfgs'.
Memory: a copy of the features; by bounds about 16 times the weights, 25 values a row, and
at most 576 MiB besides; by 'lbfgs' 42 times the weights; by 'admm' 18 times all scores (N, K), 6
times the weights and a matrix of the smaller of N and D.

Measured: CPU time as N^0.7 D^0.8 K^0.6, from 2,000 x 32 and 16 classes to four times each,
iterations bounded (`python -m bench costs`).
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from models.method import Paper, Run
from models.methods.classifiers.classes.classifier import Classifier, Trained
from models.methods.classifiers.classes.inputs import ClassifierParams, LossWeight, loss_weight
from models.methods.classifiers.classes.problem import Problem
from models.methods.classifiers.softmax.admm import minimize_by_splitting
from models.methods.classifiers.softmax.bounds import BOUNDS, factored_values
from models.methods.classifiers.softmax.objective import (
    BLOCK,
    Effort,
    Minimum,
    SoftmaxObjective,
    by_gap,
    minimize_jointly,
)
from models.methods.classifiers.softmax.sweeps import Acceleration, descend
from models.parameters import MaxIter


class RMLRParams(ClassifierParams):
    C: LossWeight = 1.0
    bound: Literal["log-concavity", "double-majorization", "admm", "lbfgs"] = Field(
        "log-concavity",
        description=(
            "How the objective is minimised: by one of two bounds that fall apart into classes, by "
            "ADMM, or by L-BFGS on all weights. All but 'double-majorization' end at the same "
            "weights."
        ),
    )
    acceleration: Acceleration = Field(
        "anderson",
        description=(
            "For the two bounds: 'none' is the algorithm as published; 'centering' takes the mean "
            "from the weights after each sweep; 'anderson' also extrapolates the rows' shifts."
        ),
    )
    max_iter: MaxIter = 1000
    tol: float = Field(
        1e-6,
        gt=0,
        le=1,
        description=(
            "Iterations end when what is minimised is shown to be within this share of its minimum."
        ),
    )


class RMLR(Classifier[RMLRParams]):
    """See the module's docstring."""

    title = "Regularised multinomial logistic regression"
    paper = Paper("Large-scale Structured Learning", 2014, "chapter 4")
    Params = RMLRParams
    several_labels = False
    resumes = True
    advice = "The bound 'log-concavity' needs the least memory."
    example = {"C": 1.0, "tol": 1e-8}

    def _train(self, problem: Problem, params: RMLRParams, run: Run) -> Trained:
        self._require(_bytes(problem, params))
        # ADMM finds weights by ridge regression, for which the penalty must be the same in all.
        kind = SoftmaxObjective if params.bound == "admm" else SoftmaxObjective.in_units
        objective = kind(problem.design, problem.code, problem.n_classes, loss_weight(params.C))
        minimum = _minimum(objective, params, run)
        return Trained(
            minimum.weights,
            "softmax",
            metrics={
                "objective": minimum.objective,
                "bound": minimum.value,
                "gradient_norm": minimum.gradient_norm,
                "gap": minimum.relative_gap,
                "n_iter": float(minimum.n_iter),
            },
            curves=minimum.curves,
            warnings=_warnings(minimum, params),
            converged=minimum.converged,
        )


def _minimum(objective: SoftmaxObjective, params: RMLRParams, run: Run) -> Minimum:
    effort = Effort(params.tol, params.max_iter)
    if params.bound == "lbfgs":
        ends = by_gap(objective, params.tol)
        return minimize_jointly(objective, ends, params.max_iter, run.progress, run.checkpoint)
    if params.bound == "admm":
        return minimize_by_splitting(objective, effort, run.progress, run.checkpoint)
    bound = BOUNDS[params.bound]
    return descend(objective, bound, params.acceleration, effort, run.progress, run.checkpoint)


def _bytes(problem: Problem, params: RMLRParams) -> int:
    """About what a training takes besides the design."""
    n_rows, n_columns = problem.n_rows, problem.n_columns
    n_weights, n_scores = problem.n_classes * n_columns, problem.n_classes * n_rows
    if params.bound == "admm":
        return 8 * (18 * n_scores + 6 * n_weights + 3 * min(n_rows, n_columns) ** 2)
    at_a_time = min(n_scores, BLOCK)
    if params.bound == "lbfgs":
        return 8 * (42 * n_weights + 4 * at_a_time)
    factors = factored_values(problem.design, problem.n_classes)
    return 8 * (16 * n_weights + 25 * n_rows + 7 * at_a_time + 2 * factors)


def _warnings(minimum: Minimum, params: RMLRParams) -> tuple[str, ...]:
    notes = []
    if not minimum.converged:
        notes.append(
            f"Not converged after {minimum.n_iter} iteration(s): what is minimised may lie "
            f"{100.0 * minimum.relative_gap:.2g} per cent above its minimum; raise 'max_iter' or "
            "'tol'" + (", or choose another 'acceleration'." if _slow(params) else ".")
        )
    if params.bound == "double-majorization":
        above = minimum.value - minimum.objective
        notes.append(
            "The bound 'double-majorization' is loose: its minimum lies "
            f"{100.0 * above / minimum.objective:.2g} per cent above the objective at its weights, "
            "which do not minimise the objective."
        )
    return tuple(notes)


def _slow(params: RMLRParams) -> bool:
    return params.acceleration == "none" and params.bound in BOUNDS
