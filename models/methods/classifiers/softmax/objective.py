"""The objective of multiclass logistic regression, and what a minimisation of it gives.

J(W) = 1/2 sum_k |w_k|^2 + C sum_i [log sum_k exp(w_k.x_i) - w_{y_i}.x_i], which is C times the
thesis's OPT 1 with lambda = 1 / C. J is 1-strongly convex, so J(W) - min J <= |grad J(W)|^2 / 2:
this is the gap by which all minimisations end.

Where columns are of very different sizes they are in units, and weights belong to columns in
units: a square in the penalty and a square in the gap then have factors.

Source: Gopal, "Large-scale Structured Learning" (2014), §4.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from models.arrays import Float, Int, row_blocks
from models.methods.classifiers.classes.coordinates import column_units, in_units
from models.numerics.rows import log_softmax

BLOCK = 1 << 20
"""Scores that are computed at a time (8 MiB)."""

Curve = list[tuple[int, float]]


@dataclass(frozen=True, eq=False)
class SoftmaxObjective:
    """J for rows with one class each.

    design : (n_rows, n_columns) float64, columns divided by their units. code : (n_rows,) class of
        each row. C : weight of the loss. units : (n_columns,), or (1,) for all.
    """

    design: Float | sp.csr_array
    code: Int
    n_classes: int
    C: float
    units: Float = field(default_factory=lambda: np.ones(1))

    @classmethod
    def in_units(
        cls, design: Float | sp.csr_array, code: Int, n_classes: int, C: float
    ) -> SoftmaxObjective:
        """J of a design in the columns as they came. O(N D)."""
        # Below this size the penalty alone decides.
        units = column_units(design, least=1.0 / np.sqrt(C * design.shape[0]))
        return cls(in_units(design, units), code, n_classes, C, units)

    @cached_property
    def ridge(self) -> Float:
        """(n_columns,) or (1,) factors of half the squared weights in J."""
        return np.asarray(1.0 / self.units**2)

    def gap(self, gradient: Float) -> float:
        """The most by which J lies above its minimum. gradient : (n, n_columns) of J."""
        return gap(self.norm(gradient))

    def norm(self, gradient: Float) -> float:
        """The length of a gradient in the columns as they came."""
        return float(np.linalg.norm(gradient * self.units))

    def plain(self, weights: Float) -> Float:
        """(n_classes, n_columns) of the columns as they came."""
        return np.asarray(weights / self.units)

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
        return 0.5 * float(np.vdot(weights, self.ridge * weights)) - self.C * inner

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
        total, gradient = 0.0, self.ridge * weights - self.C * self.class_sums
        for rows, scores in self.scores_by_rows(weights):
            log_probability = log_softmax(scores)
            total += float((scores[:, 0] - log_probability[:, 0]).sum())
            gradient += self.C * (self.design[rows].T @ np.exp(log_probability)).T
        return self.linear(weights) + self.C * total, gradient

    def curved(self, weights: Float, direction: Float) -> Float:
        """The Hessian of J at weights times a direction, (n_classes, n_columns) all. O(N D K)."""
        product = self.ridge * direction
        for rows, scores in self.scores_by_rows(weights):
            chance = np.exp(log_softmax(scores))
            along = chance * np.asarray(self.design[rows] @ direction.T)
            along -= chance * along.sum(axis=1, keepdims=True)
            product += self.C * np.asarray(self.design[rows].T @ along).T
        return product


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
    gradient_norm : of what was minimised, in the weights. weights : of the columns as they came.
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
