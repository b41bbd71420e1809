"""What is chosen on rows held out of the training: the weight C of the loss, how scores become
probabilities, and where a row's labels end.

Rows are cut into folds; a classifier is trained without each fold in turn and answers for it. The
folds' tallies add up, so each pair of a fold and a C is a separate piece of work.

Source: the grid and the five folds follow Gopal, "Large-scale Structured Learning" (2014), §2.6.2
and §3.4.2. A slope of scores before the link is Platt's scaling without an offset, on a softmax
temperature scaling (Guo et al. 2017). The cut-off of each row by a regression on its best scores
follows Gopal and Yang, "Multilabel Classification with Meta-level Features" (2010); others are in
`cut_offs`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

import numpy as np

from models.arrays import Arrays, Float, Int, Mask, row_blocks
from models.methods.classifiers.classes.answers import (
    BLOCK,
    N_CUT_SCORES,
    Link,
    Scorer,
    cut_terms,
)
from models.methods.classifiers.classes.cut_offs import (
    EDGES,
    MOST_RANKS,
    CutOff,
    applied,
    best_edges,
    best_rank,
    counts,
)
from models.methods.classifiers.classes.problem import Problem
from models.numerics.rows import log_softmax

Criterion: TypeAlias = Literal["micro_f1", "macro_f1"]

CANDIDATES = (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3)
"""The values of C that are tried."""

ALWAYS = -1
"""The fold of rows that are never held out."""

MOST_SCORES = 1 << 22
"""Scores by which a slope is fitted, at most; rows come in random order."""

STEEPEST = np.log(64.0)
RIDGE = 1e-6


def folds(problem: Problem, n_folds: int, rng: np.random.Generator) -> Int:
    """(n_rows,) the fold of each row, so that each class lies in as many as it can.

    A row with several classes goes by its rarest. The only row of a class is always trained on.
    """
    times = np.bincount(problem.code, minlength=problem.n_classes)
    key = np.full(problem.n_rows, problem.n_classes, dtype=np.int64)
    # Written from the most frequent class to the rarest, which stays.
    order = np.argsort(-times[problem.code], kind="stable")
    row = np.repeat(np.arange(problem.n_rows), np.diff(problem.start))
    key[row[order]] = problem.code[order]
    shuffled = rng.permutation(problem.n_rows)
    by_class = shuffled[np.argsort(key[shuffled], kind="stable")]
    fold = np.empty(problem.n_rows, dtype=np.int64)
    fold[by_class] = np.arange(problem.n_rows) % n_folds
    alone = np.append(times == 1, False)
    fold[alone[key]] = ALWAYS
    return fold


def tally(
    out: Problem, scorer: Scorer, link: Link, one_each: bool, cut_off: CutOff = "auto"
) -> Arrays:
    """What the scores of held-out rows tell; the arrays of several folds may be added.

    right, predicted, actual : (n_classes,) rows that got and have the class, got it, have it.
    log_slope : (2,) sum of rows times the logarithm of the slope of least negative log-likelihood,
        and number of rows.
    products, targets : of the regression of cut-offs; empty where rows have one class.
    given, given_right : of 'rank' and 'class', see `cut_offs`.

    O(N K) and the scores.
    """
    n_classes = out.n_classes
    right, predicted = np.zeros(n_classes), np.zeros(n_classes)
    n_terms = 0 if one_each else 1 + min(n_classes, N_CUT_SCORES)
    products, targets = np.zeros((n_terms, n_terms)), np.zeros(n_terms)
    kept: list[tuple[Float, Mask]] = []
    cutting: dict[str, Float] = {}
    for block in row_blocks(out.n_rows, scorer.width, BLOCK):
        scored = scorer(out.design[block])
        values = scored.values
        has = np.zeros(values.shape, dtype=bool)
        own = slice(out.start[block.start], out.start[block.stop])
        times = np.diff(out.start[block.start : block.stop + 1])
        has[np.repeat(np.arange(values.shape[0]), times), out.code[own]] = True
        gets = values >= 0.0
        if one_each:
            gets = np.zeros_like(has)
            gets[np.arange(values.shape[0]), scored.best] = True
        else:
            terms, cuts = cut_terms(values), best_cuts(values, has)
            products += terms.T @ terms
            targets += terms.T @ cuts
            own_counts = counts(values, scored.top(min(n_classes, MOST_RANKS)), has, cut_off)
            cutting = {name: cutting.get(name, 0.0) + some for name, some in own_counts.items()}
        right += (has & gets).sum(axis=0)
        predicted += gets.sum(axis=0)
        if sum(some.size for some, _ in kept) < MOST_SCORES:
            kept.append((values, has))
    log_slope = _log_slope(kept, link, one_each)
    return {
        "right": right,
        "predicted": predicted,
        "actual": np.bincount(out.code, minlength=n_classes).astype(np.float64),
        "log_slope": np.array([log_slope * out.n_rows, float(out.n_rows)]),
        "products": products,
        "targets": targets,
        **cutting,
    }


def f1(total: Arrays, criterion: Criterion) -> float:
    """The F1 of added tallies; the mean of classes is over those that rows have or got."""
    right, both = total["right"], total["predicted"] + total["actual"]
    if criterion == "micro_f1":
        return float(2.0 * right.sum() / max(both.sum(), 1.0))
    some = both > 0
    return float((2.0 * right[some] / both[some]).mean()) if some.any() else 0.0


@dataclass(frozen=True, slots=True)
class Calibration:
    """slope : of scores before the link. cut : coefficients of `cut_terms`, () where not fitted.

    n_best, thresholds : of 'rank' and (n_classes,) of 'class'; 0 and () for other cut-offs.
    """

    slope: float = 1.0
    cut: tuple[float, ...] = ()
    n_best: int = 0
    thresholds: tuple[float, ...] = ()


def calibration(total: Arrays, cut_off: CutOff = "auto", micro: bool = True) -> Calibration:
    """The slope and the cut-offs that added tallies tell. micro : what 'rank' maximises."""
    weighted, n_rows = total["log_slope"].tolist()
    slope = float(np.exp(weighted / max(n_rows, 1.0)))
    if not total["targets"].size or cut_off == "half":
        return Calibration(slope)
    if cut_off == "rank":
        return Calibration(slope, n_best=best_rank(total, micro))
    if cut_off == "class":
        return Calibration(slope, thresholds=tuple(EDGES[best_edges(total)].tolist()))
    ridge = RIDGE * np.trace(total["products"]) * np.eye(total["targets"].size)
    cut = np.linalg.solve(total["products"] + ridge, total["targets"])
    return Calibration(slope, tuple(cut.tolist()))


@dataclass(frozen=True, slots=True)
class Tuning:
    """What held-out rows tell.

    C : the best value. tallies : whether there were any. metrics, curves, warnings : as in
    `Fitted`; the curve's places number the candidates, from 1.
    """

    C: float | None = None
    tallies: bool = False
    calibration: Calibration = Calibration()
    metrics: Mapping[str, float] = field(default_factory=dict)
    curves: Mapping[str, Sequence[tuple[int, float]]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def tuning_of(
    values: Sequence[float | None],
    tallies: Sequence[Arrays],
    criterion: Criterion,
    cut_off: CutOff = "auto",
) -> Tuning:
    """The best of the values, of equally good ones the smallest, and its calibration.

    tallies : of all folds of the first value, then of the second, ...
    """
    n_folds = len(tallies) // len(values)
    micro = criterion == "micro_f1"
    totals = [added(tallies[n_folds * i : n_folds * (i + 1)]) for i in range(len(values))]
    if "given" in totals[0]:
        totals = [applied(total, cut_off, micro) for total in totals]
    reached = [f1(total, criterion) for total in totals]
    best = int(np.argmax(reached))
    total = totals[best]
    metrics = {f"validation_{name}": f1(total, name) for name in get_args(Criterion)}
    learned = calibration(total, cut_off, micro)
    metrics["slope"] = learned.slope
    if learned.n_best:
        metrics["n_best"] = float(learned.n_best)
    if len(values) == 1:
        return Tuning(values[0], True, learned, metrics)
    edge = "smallest" if best == 0 else "largest"
    at_edge = best in (0, len(values) - 1)
    return Tuning(
        C=values[best],
        tallies=True,
        calibration=learned,
        metrics={"C": float(values[best] or 0.0), **metrics},
        curves={f"validation_{criterion}": list(enumerate(reached, 1))},
        warnings=(f"The best C is the {edge} that was tried, {values[best]:g}.",) * at_edge,
    )


def added(tallies: Sequence[Arrays]) -> Arrays:
    """The sum of the tallies of several folds."""
    return {
        name: np.sum([np.asarray(part[name]) for part in tallies], axis=0) for name in tallies[0]
    }


def best_cuts(values: Float, has: Mask) -> Float:
    """(n_rows,) a cut-off of scores at which each row's labels are wrong least often.

    It lies between two neighbouring scores; of equally good ones it is the highest.
    """
    order = np.argsort(-values, axis=1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=1)
    own = np.take_along_axis(has, order, axis=1)
    n_rows, n_classes = values.shape
    # Errors if the labels are the first j classes, for j from 0: first for j = 0, then the changes.
    wrong = np.zeros((n_rows, n_classes + 1))
    np.cumsum(np.where(own, -1, 1), axis=1, out=wrong[:, 1:])
    last = wrong.argmin(axis=1)
    spread = np.maximum(ordered[:, 0] - ordered[:, -1], 1e-9)[:, None] / n_classes
    edges = np.hstack([ordered[:, :1] + spread, ordered, ordered[:, -1:] - spread])
    row = np.arange(n_rows)
    return np.asarray(0.5 * (edges[row, last] + edges[row, last + 1]))


def _log_slope(kept: list[tuple[Float, Mask]], link: Link, one_each: bool) -> float:
    if not kept:
        return 0.0
    from scipy.optimize import minimize_scalar

    values = np.concatenate([some for some, _ in kept])
    has = np.concatenate([own for _, own in kept])

    def loss(log_slope: float) -> float:
        scaled = np.exp(log_slope) * values
        if link == "softmax":
            return -float(log_softmax(scaled)[has].sum())
        log_odds = -np.logaddexp(0.0, -scaled)
        if one_each:
            return -float(log_softmax(log_odds)[has].sum())
        return float(np.logaddexp(0.0, scaled).sum() - scaled[has].sum())

    result = minimize_scalar(
        loss, bounds=(-STEEPEST, STEEPEST), method="bounded", options={"xatol": 1e-3}
    )
    return float(result.x)
