"""Logistic regressions of many classes at once, each drawn to a centre of its own.

Class k minimises s_k |w - c_k|^2 / 2 plus C times its logistic loss. Classes take Newton steps
together, so that each product with the design serves all of them, but have steps, conjugate
gradients and an end of their own; those that have ended are left out. In single precision.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.special import expit

from models.arrays import Array, Float, Int, Mask, row_blocks
from models.methods.classifiers.classes.problem import Problem

MOST_STEPS = 50
MOST_CG = 50
HALVINGS = 20

ENOUGH = 0.1
"""Conjugate gradients end when the residual promises this share of the decrease so far."""


def minimize(
    problem: Problem, stiffness: Array, center: Array, start: Array, C: float, tol: float
) -> tuple[Array, Float]:
    """The best weights, which take the place of `start`, and each class's objective.

    problem : with a design in single precision. stiffness : (n_classes,) s. center, start :
        (n_columns, n_classes).

    A class ends after a step of which `ENOUGH` of the promised decrease, about what is left, is at
    most `tol` times its objective.

    Cost: tens of products of O(nnz) or O(N D) for each class; memory 28 N K + 36 D K bytes, and
    those of the design twice.
    """
    fits = _Fits(problem, stiffness, center, start, C)
    weights, objective = start, np.empty(problem.n_classes)
    own = np.arange(problem.n_classes)
    for _ in range(MOST_STEPS):
        promised = fits.step()
        open_ = ENOUGH * promised > tol * fits.objective
        if not open_.all():
            weights[:, own], objective[own] = fits.weights(), fits.objective
            own = own[open_]
            if not own.size:
                break
            fits.keep(open_)
    else:
        weights[:, own], objective[own] = fits.weights(), fits.objective
    return weights, objective


def curvature_bound(problem: Problem, weights: Array, C: float) -> Array:
    """(n_columns, n_classes) a diagonal above the Hessian matrix of each class's loss.

    |X|' diag(c |X| 1), since by rows x x' is below diag(|x| (|x|' 1)); c are the curvatures of the
    rows at these weights. Three products of O(nnz) for each class.
    """
    design = problem.design
    chance = expit(np.asarray(design @ weights))
    sizes = abs(design)
    curvature = np.float32(C) * chance * (1.0 - chance)
    curvature *= np.asarray(sizes.sum(axis=1)).reshape(-1, 1)
    return np.asarray(sizes.T @ curvature)


class _Fits:
    """Those classes that have not ended. Matrices are (n_rows or n_columns, n_classes)."""

    def __init__(
        self, problem: Problem, stiffness: Array, center: Array, start: Array, C: float
    ) -> None:
        design = problem.design
        self._design, self._C = design, np.float32(C)
        self._transposed = sp.csr_array(design.T) if sp.issparse(design) else design.T
        self._squared = self._transposed * self._transposed
        self._row, self._code = problem.row, problem.code
        self._stiffness, self._center, self._move = stiffness, center, start - center
        self._scores = np.asarray(design @ start)
        own = 0.5 * stiffness * _products(self._move, self._move)
        self.objective = own + self._losses(self._scores, np.arange(problem.n_classes))

    def weights(self) -> Array:
        return np.asarray(self._center + self._move)

    def keep(self, classes: Mask) -> None:
        """Leave out the others."""
        number = np.cumsum(classes) - 1
        kept = classes[self._code]
        self._row, self._code = self._row[kept], number[self._code[kept]]
        self._stiffness, self.objective = self._stiffness[classes], self.objective[classes]
        self._center, self._move = self._center[:, classes], self._move[:, classes]
        self._scores = self._scores[:, classes]

    def step(self) -> Float:
        """One Newton step of each class; returns the decrease that each one promised, 0 where
        rounding leaves no better weights to see."""
        chance = expit(self._scores)
        curvature = self._C * chance * (1.0 - chance)
        chance[self._row, self._code] -= 1.0
        gradient = self._stiffness * self._move
        gradient += self._C * np.asarray(self._transposed @ chance)
        del chance
        direction, promised = self._direction(gradient, curvature)
        del gradient, curvature
        along = np.asarray(self._design @ direction)
        length, objective = self._lengths(direction, along)
        self._move += length * direction
        self._scores += length * along
        self.objective = objective
        return np.where(length > 0.0, promised, 0.0)

    def _direction(self, gradient: Array, curvature: Array) -> tuple[Array, Float]:
        """Newton's direction by conjugate gradients, and the decrease that it promises.

        gradient : overwritten.
        """
        inverse = 1.0 / (self._stiffness + np.asarray(self._squared @ curvature))
        residual = np.negative(gradient, out=gradient)
        search = inverse * residual
        product = _products(residual, search)
        direction, decrease = np.zeros_like(gradient), np.zeros(product.size)
        for _ in range(MOST_CG):
            image = np.asarray(self._transposed @ (curvature * (self._design @ search)))
            image += self._stiffness * search
            length = _ratio(product, _products(search, image))
            direction += length.astype(np.float32) * search
            residual -= length.astype(np.float32) * image
            decrease += 0.5 * length * product
            conditioned = inverse * residual
            following = _products(residual, conditioned)
            if (following <= ENOUGH * decrease).all():
                break
            search *= _ratio(following, product).astype(np.float32)
            search += conditioned
            del conditioned
            product = following
        return direction, decrease

    def _lengths(self, direction: Array, along: Array) -> tuple[Array, Float]:
        """(n_classes,) the largest of 1, 1/2, 1/4, ... that is better, or 0; and the objectives."""
        forms = [
            _products(left, right)
            for left, right in (
                (self._move, self._move),
                (self._move, direction),
                (direction, direction),
            )
        ]
        length = np.zeros(self.objective.size, dtype=np.float32)
        objective = self.objective.copy()
        worse, trial = np.arange(objective.size), 1.0
        for _ in range(HALVINGS):
            still, mixed, moved = (form[worse] for form in forms)
            values = 0.5 * self._stiffness[worse] * (still + 2.0 * trial * mixed + trial**2 * moved)
            some = slice(None) if worse.size == objective.size else worse
            scores = self._scores[:, some] + np.float32(trial) * along[:, some]
            values += self._losses(scores, worse)
            better = values < objective[worse]
            length[worse[better]], objective[worse[better]] = trial, values[better]
            worse, trial = worse[~better], 0.5 * trial
            if not worse.size:
                break
        return length, objective

    def _losses(self, scores: Array, classes: Int) -> Float:
        """(n_classes,) C times the logistic loss of some classes, of which these are the scores."""
        total = np.zeros(classes.size)
        for block in row_blocks(*scores.shape):
            some = scores[block]
            losses = np.maximum(some, 0.0) + np.log1p(np.exp(-np.abs(some)))
            total += losses.sum(axis=0, dtype=np.float64)
        number = np.full(self._stiffness.size, -1)
        number[classes] = np.arange(classes.size)
        code = number[self._code]
        row, code = self._row[code >= 0], code[code >= 0]
        total -= np.bincount(code, weights=scores[row, code], minlength=classes.size)
        return np.asarray(float(self._C) * total)


def _products(left: Array, right: Array) -> Float:
    """(n_classes,) inner products of columns."""
    total = np.zeros(left.shape[1])
    for block in row_blocks(*left.shape):
        total += np.einsum("ij,ij->j", left[block], right[block])
    return total


def _ratio(upper: Float, lower: Float) -> Float:
    """0 where the lower is not positive."""
    return np.divide(upper, lower, out=np.zeros_like(upper), where=lower > 0.0)
