"""A model of the objectives of many classes by the few rows that matter to them.

Around some weights of a class, its objective changes along d by about

    F(d) = (g - R' r) d + s |d|^2 / 2 + sum_i C n_i (l_i(z_i + R_i d) - l_i(z_i))

with the gradient g of the whole objective, the rows R that matter, of which the last is the mean of
all others and counts n_i times, their scores z at these weights, their logistic losses l, and the
derivatives r of the sum there. So F has the gradient of the objective, and differs from it by how
the others vary about their mean. At the minimum d = R' e - g / s, so that what must be found is as
long as there are rows in R: Newton's method for e.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.special import expit

from models.arrays import Array, Float, Int

MOST_STEPS = 20
MOST_CG = 50
HALVINGS = 20

CG_ENOUGH = 0.1
"""Conjugate gradients end when the residual promises this share of the decrease so far."""


@dataclass(frozen=True, eq=False)
class Pooled:
    """The rows that do not matter, none of which is of one of the classes, as one.

    mean : (n_columns,) by the chances of all classes. times : (n_classes,) n, and chance :
        (n_classes,) those at the scores z, with which the sums of the rows' chances and of their
        curvatures are right.
    """

    mean: Array
    times: Float
    chance: Float


class RowModel:
    """F of each class. Matrices are (n_rows, n_classes), the pooled row last, in double precision:
    the single ones decide whether steps of a converging fit are seen to gain.

    Cost of a step of conjugate gradients: two products with R; memory about 20 such matrices, and
    8 bytes for each class and column of R that is not 0.
    """

    ENOUGH = 0.01
    """Newton steps end when one gained this share of the decrease so far."""

    LEFT = CG_ENOUGH * ENOUGH
    """The share of the decrease that is about left then."""

    def __init__(
        self,
        *,
        design: Array | sp.csr_array,
        positive: Float,
        scores: Array,
        pooled: Pooled,
        gradient: Array,
        square: Float,
        stiffness: Float,
        C: float,
    ) -> None:
        """design : the rows but the pooled one, over all columns. positive : 1 where a row is of
        the class. gradient : (n_columns, n_classes) g. square : (n_classes,) |g|^2."""
        self._columns, self._rows = _with_last(design, pooled.mean)
        self._stiffness, self._square = stiffness, square
        none = np.zeros((1, stiffness.size))
        self._times = np.full((scores.shape[0] + 1, stiffness.size), C)
        self._times[-1] *= pooled.times
        self._positive = np.vstack([positive, none])
        self._start = np.vstack([scores, np.log(pooled.chance / (1.0 - pooled.chance))])
        # d = R' factor - share g / s, with which scores are start - share turned + R R' factor.
        self._turned = np.asarray(self._rows @ gradient[self._columns].astype(np.float64))
        self._turned /= stiffness
        self._slope = self._times * (expit(self._start) - self._positive)
        self._loss = self._losses(self._start)
        self._share, self._factor = np.zeros_like(stiffness), np.zeros_like(self._start)
        self._scores = self._start

    def minimize(self) -> Float:
        """(n_classes,) the decrease of F to about its minimum, where the model then is."""
        decrease = np.zeros_like(self._stiffness)
        for _ in range(MOST_STEPS):
            gained = self._step(decrease)
            decrease += gained
            if (gained <= self.ENOUGH * decrease).all():
                break
        return decrease

    def direction(self, gradient: Array) -> Array:
        """(n_columns, n_classes) d, in the place of the gradient."""
        gradient *= (-self._share / self._stiffness).astype(np.float32)
        gradient[self._columns] += self._rows.T @ self._factor
        return gradient

    def _step(self, decrease: Float) -> Float:
        """One Newton step, or less where it would not gain; returns what it gained."""
        chance = expit(self._scores)
        curvature = self._times * chance * (1.0 - chance)
        center = self._start - self._turned
        target = self._slope - self._times * (chance - self._positive)
        target += curvature * (self._scores - center)
        factor, image = self._solved(curvature, target)
        to_share, to_factor = 1.0 - self._share, factor - self._factor
        to_scores = center + image - self._scores
        length = np.ones_like(decrease)
        for _ in range(HALVINGS):
            value = self._value(
                self._share + length * to_share,
                self._factor + length * to_factor,
                self._scores + length * to_scores,
            )
            better = value < -decrease
            if better.all():
                break
            length[~better] *= 0.5
        length[~better] = 0.0
        self._share = self._share + length * to_share
        self._factor += length * to_factor
        self._scores = self._scores + length * to_scores
        return np.where(better, -decrease - value, 0.0)

    def _solved(self, curvature: Float, target: Float) -> tuple[Float, Float]:
        """e with (s + H K) e = target, where K = R R' and H are the curvatures; and K e.

        By conjugate gradients with the inner product of K, in which the matrix is symmetric.
        """
        stiffness = self._stiffness
        factor, image = self._factor.copy(), self._scores - self._start + self._share * self._turned
        residual = target - stiffness * factor - curvature * image
        search = residual.copy()
        turned = self._kernel(residual)
        along = turned.copy()
        product = _products(residual, turned)
        decrease = np.zeros(product.size)
        for _ in range(MOST_CG):
            moved = stiffness * search + curvature * along
            length = ratio(product, _products(along, moved))
            factor += length * search
            image += length * along
            residual -= length * moved
            decrease += 0.5 * length * product
            turned = self._kernel(residual)
            following = _products(residual, turned)
            if (following <= CG_ENOUGH * stiffness * decrease).all():
                break
            kept = ratio(following, product)
            search *= kept
            search += residual
            along *= kept
            along += turned
            product = following
        return factor, image

    def _kernel(self, factor: Float) -> Float:
        """R R' e."""
        return np.asarray(self._rows @ (self._rows.T @ factor))

    def _losses(self, scores: Float) -> Float:
        soft = np.maximum(scores, 0.0) + np.log1p(np.exp(-np.abs(scores)))
        return np.asarray((self._times * (soft - self._positive * scores)).sum(axis=0))

    def _value(self, share: Float, factor: Float, scores: Float) -> Float:
        """F."""
        s, moved = self._stiffness, scores - self._start
        mixed = _products(self._turned, factor)
        linear = -share * self._square / s + s * mixed - _products(self._slope, moved)
        square = share**2 * self._square / s**2 - 2.0 * share * mixed
        square += _products(factor, moved + share * self._turned)
        return np.asarray(linear + 0.5 * s * square + self._losses(scores) - self._loss)


def _with_last(
    design: Array | sp.csr_array, last: Array
) -> tuple[Int | slice, Float | sp.csr_array]:
    """The columns in which one of the rows is not 0, and there the rows and one more."""
    if isinstance(design, np.ndarray):
        return slice(None), np.vstack([design, last]).astype(np.float64)
    columns, index = np.unique(design.indices, return_inverse=True)
    values = np.concatenate([design.data, last[columns]]).astype(np.float64)
    index = np.concatenate([index, np.arange(columns.size)]).astype(design.indices.dtype)
    start = np.append(design.indptr, values.size).astype(design.indptr.dtype)
    shape = design.shape[0] + 1, columns.size
    return columns, sp.csr_array((values, index, start), shape=shape)


def _products(left: Float, right: Float) -> Float:
    return np.asarray(np.einsum("ij,ij->j", left, right))


def ratio(upper: Float, lower: Float) -> Float:
    """0 where the lower is not positive."""
    return np.divide(upper, lower, out=np.zeros_like(upper), where=lower > 0.0)
