"""The objective of multiclass logistic regression, and what a minimisation of it gives.

J(W) = 1/2 sum_k |w_k|^2 + C sum_i [log sum_k exp(w_k.x_i) - w_{y_i}.x_i], which is C times the
thesis's OPT 1 with lambda = 1 / C. J is 1-strongly convex, so J(W) - min J <= |grad J(W)|^2 / 2:
this is the gap by which all minimisations end.

Source: Gopal, "Large-scale Structured Learning" (2014), §4.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from models.arrays import Float, Int, row_blocks
from models.numerics.softmax import log_softmax

BLOCK = 1 << 20
"""Scores that are computed at a time (8 MiB)."""

Curve = list[tuple[int, float]]


@dataclass(frozen=True, eq=False)
class SoftmaxObjective:
    """J for rows with one class each.

    design : (n_rows, n_columns) float64. code : (n_rows,) class of each row. C : weight of the
        loss.
    """

    design: Float | sp.csr_array
    code: Int
    n_classes: int
    C: float

    @property
    def n_rows(self) -> int:
        return int(self.design.shape[0])

    @property
    def n_columns(self) -> int:
        return int(self.design.shape[1])

    @cached_property
    def class_sums(self) -> Float:
        """(n_classes, n_columns) sums of the rows of each class."""
        ones = np.ones(self.n_rows)
        members = sp.csr_array(
            (ones, (self.code, np.arange(self.n_rows))), shape=(self.n_classes, self.n_rows)
        )
        sums = members @ self.design
        return np.asarray(sums.toarray() if sp.issparse(sums) else sums)

    def zeros(self) -> Float:
        """(n_classes, n_columns) weights to start from."""
        return np.zeros((self.n_classes, self.n_columns))

    def linear(self, weights: Float, classes: slice = slice(None)) -> float:
        """The part of J that is a sum over classes, for weights of some of them."""
        inner = float(np.vdot(weights, self.class_sums[classes]))
        return 0.5 * float(np.vdot(weights, weights)) - self.C * inner

    def scores_by_rows(self, weights: Float) -> Iterator[tuple[slice, Float]]:
        """(n, n_classes) scores of the rows, a block of rows after the other."""
        for rows in row_blocks(self.n_rows, self.n_classes, BLOCK):
            yield rows, np.asarray(self.design[rows] @ weights.T)

    def class_blocks(self) -> list[slice]:
        """The classes in blocks whose scores of all rows are at most `BLOCK`."""
        n_each = max(1, BLOCK // max(1, self.n_rows))
        starts = range(0, self.n_classes, n_each)
        return [slice(first, min(first + n_each, self.n_classes)) for first in starts]

    def value(self, weights: Float) -> float:
        """J. O(N D K)."""
        total = sum(float(log_sums(scores).sum()) for _, scores in self.scores_by_rows(weights))
        return self.linear(weights) + self.C * total

    def value_and_gradient(self, weights: Float) -> tuple[float, Float]:
        """J and its (n_classes, n_columns) gradient. O(N D K)."""
        total, gradient = 0.0, weights - self.C * self.class_sums
        for rows, scores in self.scores_by_rows(weights):
            log_probability = log_softmax(scores)
            total += float((scores[:, 0] - log_probability[:, 0]).sum())
            gradient += self.C * (self.design[rows].T @ np.exp(log_probability)).T
        return self.linear(weights) + self.C * total, gradient


def log_sums(scores: Float) -> Float:
    """(n,) log sum_k exp(scores[:, k])."""
    most = scores.max(axis=1)
    return np.asarray(most + np.log(np.exp(scores - most[:, None]).sum(axis=1)))


def gap(gradient_norm: float) -> float:
    """The most by which a 1-strongly convex objective lies above its minimum."""
    return 0.5 * gradient_norm**2


@dataclass(frozen=True, slots=True)
class Effort:
    """When a minimisation ends: at a gap of `tol` times the value, or after `max_iter` steps."""

    tol: float
    max_iter: int


@dataclass(frozen=True, eq=False, slots=True)
class Minimum:
    """The end of a minimisation.

    value : what was minimised: J, or the least of a bound over its shifts. objective : J.
    gradient_norm : of what was minimised, in the weights.
    """

    weights: Float
    value: float
    objective: float
    gradient_norm: float
    n_iter: int
    converged: bool
    curves: Mapping[str, Curve] = field(default_factory=dict)

    @property
    def relative_gap(self) -> float:
        """The most by which `value` lies above its minimum, as a share of it."""
        return gap(self.gradient_norm) / abs(self.value)
