"""The likelihood of the rows' classes given scores, with its first two derivatives."""

from __future__ import annotations

from dataclasses import dataclass
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
