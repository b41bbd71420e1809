"""The likelihood of the rows' classes given scores, to second order, and its quadratic bounds.

Softmax (Bouchard): log sum_k e^{s_k} <= beta + sum_k log(1 + e^{s_k - beta}) for any beta, and
(Jaakkola and Jordan) log(1 + e^z) <= lambda(xi) (z^2 - xi^2) + (z - xi) / 2 + log(1 + e^xi) for any
xi, with lambda(xi) = tanh(xi / 2) / (4 xi). A logistic likelihood needs the second alone: the same
bound without beta.

The best xi has xi^2 = E[(s - beta)^2], with which a term is z / 2 + log 2 cosh(xi / 2); at the best
beta the sum over classes of p = 1/2 + 2 lambda(xi) z is 1, as if they were probabilities.

Appendix A of the thesis with its misprints mended: in A.5 log(1 + e^xi), and no lambda on 2 beta
w.x; in A.13 x^T Psi_n x.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, Protocol, TypeAlias

import numpy as np
from scipy.special import expit

from models.arrays import Float, Int

LikelihoodKind: TypeAlias = Literal["softmax", "logistic"]


@dataclass(frozen=True, slots=True, eq=False)
class Expansion:
    """A negative log-likelihood around scores, to second order.

    residual : (n_rows, n_classes) the gradient.
    weight : (n_rows, n_classes) c. The Hessian of a row is diag(c), or, where a row's classes are
        `coupled`, diag(c) - c c^T / sum(c).
    """

    loss: float
    residual: Float
    weight: Float
    coupled: bool

    @property
    def curvature(self) -> Float:
        """(n_rows, n_classes) the diagonal of the Hessian."""
        if not self.coupled:
            return self.weight
        total = self.weight.sum(axis=1, keepdims=True)
        return np.asarray(self.weight * (1.0 - self.weight / total))

    def curved(self, direction: Float) -> Float:
        """(n_rows, n_classes) the Hessian times a direction, which is overwritten."""
        direction *= self.weight
        if self.coupled:
            share = direction.sum(axis=1) / self.weight.sum(axis=1)
            direction -= self.weight * share[:, None]
        return direction


class Likelihood(Protocol):
    def at(self, scores: Float) -> Expansion:
        """The expansion around scores (n_rows, n_classes), which may be overwritten."""
        ...


class Softmax:
    """One class a row, by a softmax of the scores.

    row, code : (n_rows,) rows and their classes.
    """

    def __init__(self, row: Int, code: Int) -> None:
        self._at = (row, code)

    def at(self, scores: Float) -> Expansion:
        scores -= scores.max(axis=1, keepdims=True)
        own = scores[self._at].sum()
        probability = np.exp(scores, out=scores)
        total = probability.sum(axis=1, keepdims=True)
        probability /= total
        residual = probability.copy()
        residual[self._at] -= 1.0
        return Expansion(float(np.log(total).sum() - own), residual, probability, coupled=True)


class Logistic:
    """Any number of classes a row, each by a logistic function of its score.

    row, code : (n_labels,) rows and the classes that they have.
    """

    def __init__(self, row: Int, code: Int) -> None:
        self._at = (row, code)

    def at(self, scores: Float) -> Expansion:
        loss = float(np.logaddexp(0.0, scores).sum() - scores[self._at].sum())
        residual = np.asarray(expit(scores, out=scores))
        weight = residual * (1.0 - residual)
        residual[self._at] -= 1.0
        return Expansion(loss, residual, weight, coupled=False)


def likelihood_of(kind: LikelihoodKind, row: Int, code: Int) -> Likelihood:
    return Softmax(row, code) if kind == "softmax" else Logistic(row, code)


MAX_ROUNDS = 50
"""Steps for beta; some are enough."""
EXACT = 1e-8
"""How near to 1 the sum of p is for the best beta."""
TINY = 1e-300
LEAST_SIZE = 1e-4
"""tanh(xi / 2) / xi is 1/2 below, to nine digits."""


@dataclass(frozen=True, slots=True, eq=False)
class QuadraticBound:
    """The bound at beta and xi.

    row, code : (n_labels,) rows and the classes that they have.
    beta : (n_rows,), 0 for a logistic likelihood. xi : (n_rows, n_classes), not negative.
    """

    kind: LikelihoodKind
    row: Int
    code: Int
    beta: Float
    xi: Float

    @classmethod
    def first(
        cls, kind: LikelihoodKind, row: Int, code: Int, n_rows: int, n_classes: int
    ) -> QuadraticBound:
        """The best bound for scores of mean 0 and variance 1."""
        zero, one = np.zeros((n_rows, n_classes)), np.ones((n_rows, n_classes))
        return cls(kind, row, code, np.zeros(n_rows), one).tightened(zero, one)

    def tightened(self, mean: Float, variance: Float) -> QuadraticBound:
        """The best bound for scores of these means and variances, both (n_rows, n_classes)."""
        beta = self.beta
        if self.kind == "softmax":
            beta = best_beta(beta, mean, variance)
        return replace(self, beta=beta, xi=np.sqrt(variance + (mean - beta[:, None]) ** 2))

    def value(self, mean: Float, variance: Float) -> float:
        """The expected bound for scores of these means and variances, both (n_rows, n_classes)."""
        centred = mean - self.beta[:, None]
        squares = centred**2 + variance - self.xi**2
        log_partition = 0.5 * (centred - self.xi) + slope(self.xi) * squares
        log_partition += np.logaddexp(0.0, self.xi)
        value = mean[self.row, self.code].sum() - log_partition.sum()
        return float(value - (self.beta.sum() if self.kind == "softmax" else 0.0))


class BoundedLikelihood:
    """The best bound as a function of the scores' means, their variances being given.

    bound : one to start from. variance : (n_rows, n_classes).

    Its negative is convex in them, so Newton's method takes it for a likelihood.
    """

    def __init__(self, bound: QuadraticBound, variance: Float) -> None:
        self._bound, self._variance = bound, variance

    def at(self, scores: Float) -> Expansion:
        bound = self._bound.tightened(scores, self._variance)
        centred = scores - bound.beta[:, None]
        share, weight = _derivatives(centred, bound.xi)
        loss = -bound.value(scores, self._variance)
        share[bound.row, bound.code] -= 1.0
        return Expansion(loss, share, weight, coupled=bound.kind == "softmax")


def best_beta(beta: Float, mean: Float, variance: Float) -> Float:
    """(n_rows,) the best beta of each row, from a start.

    The sum of p falls with beta; its logarithm is nearly a line, so Newton's method finds where it
    is 0, with the middle of what earlier steps enclose where a step leaves that.
    """
    n_classes = mean.shape[1]
    rows = np.arange(beta.size)
    # All p are at least 1/2 at the least mean, and below 1 / n_classes at the upper end.
    least = mean.min(axis=1)
    most = mean.max(axis=1) + np.sqrt(n_classes * variance.max(axis=1)) + 2.0 * np.log(n_classes)
    beta = np.clip(beta, least, most)
    for _ in range(MAX_ROUNDS):
        own = beta[rows]
        centred = mean[rows] - own[:, None]
        share, weight = _derivatives(centred, np.sqrt(variance[rows] + centred**2))
        total = share.sum(axis=1)
        low, high = least[rows], most[rows]
        np.copyto(low, own, where=total >= 1.0)
        np.copyto(high, own, where=total <= 1.0)
        least[rows], most[rows] = low, high
        step = own + np.log(total) * total / np.maximum(weight.sum(axis=1), TINY)
        inside = (step >= low) & (step <= high)
        open_ = np.abs(total - 1.0) > EXACT
        beta[rows[open_]] = np.where(inside, step, 0.5 * (low + high))[open_]
        rows = rows[open_]
        if not rows.size:
            break
    return beta


def slope(xi: Float) -> Float:
    """lambda(xi), 1/8 at 0."""
    size = np.maximum(xi, LEAST_SIZE)
    return np.asarray(np.tanh(0.5 * size) / (4.0 * size))


def _derivatives(centred: Float, xi: Float) -> tuple[Float, Float]:
    """The first two of z / 2 + log 2 cosh(xi / 2) by z, where xi^2 - z^2 does not depend on z."""
    size = np.maximum(xi, LEAST_SIZE)
    half = np.tanh(0.5 * size)
    half *= 0.5
    ratio = centred / size
    share = 0.5 + half * ratio
    ratio *= ratio
    # 2 lambda, and at a variance of 0 the derivative of the logistic function.
    weight = half / size
    weight += ratio * (0.25 - half * half - weight)
    return share, weight
