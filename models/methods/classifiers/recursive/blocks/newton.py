"""Logistic regressions of many classes at once, each drawn to its own centre.

Class k minimises s_k |w - c_k|^2 / 2 plus C times its logistic loss. Classes take Newton steps
together, so that each product with the design serves all of them, but have steps, conjugate
gradients and an end of their own; those that have ended are left out. In single precision.

Against the rest, most rows are far from most classes and hardly curve their losses. Where few rows
matter to any class, a step goes to the minimum of a `RowModel` of these, whose gradient is exact:
two products with the whole design, instead of two for each conjugate gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from models.arrays import Array, Float, Int, Mask, row_blocks
from models.methods.classifiers.classes.problem import Problem
from models.methods.classifiers.recursive.blocks.row_model import Pooled, RowModel, ratio

MOST_STEPS = 50
MOST_CG = 50
HALVINGS = 20
TINY = 1e-30

ENOUGH = 0.1
"""Conjugate gradients end when the residual promises this share of the decrease so far."""

MATTERS = 0.02
"""A row matters to a class if it adds at least this share of the penalty's curvature somewhere."""

MOST_ROWS = 1 / 8
"""The largest share of rows that are worth a model of them."""


def minimize(
    problem: Problem, stiffness: Array, center: Array, start: Array, C: float, tol: float
) -> tuple[Array, Float, Array]:
    """The best weights, which take the place of `start`, each class's objective, and the scores.

    problem : with a design in single precision. stiffness : (n_classes,) s. center, start :
        (n_columns, n_classes).

    A class ends after a step that leaves about `tol` times its objective at most. After a model's
    that is what the step gained less than promised, or more; after one by conjugate gradients,
    `ENOUGH` of what it promised.

    Cost: for each class a product of O(nnz) or O(N D) and two for each step, of which one to three
    are usual where few rows matter; else tens of products. Memory 28 N K + 36 D K bytes, and the
    design once, with half its rows' values.
    """
    fits = _Fits(problem, stiffness, center, start, C, tol)
    weights, objective = start, np.empty(problem.n_classes)
    scores = np.empty((problem.n_rows, problem.n_classes), dtype=np.float32)
    own: Int | slice = slice(None)
    for number in range(1, MOST_STEPS + 1):
        open_ = fits.step() > tol * fits.objective
        if number < MOST_STEPS and open_.all():
            continue
        weights[:, own], objective[own], scores[:, own] = fits.result()
        own = np.arange(problem.n_classes)[own][open_]
        if number == MOST_STEPS or not own.size:
            break
        fits.keep(open_)
    return weights, objective, scores


def curvature_bound(problem: Problem, scores: Array, C: float) -> Array:
    """(n_columns, n_classes) a diagonal above the Hessian matrix of each class's loss.

    |X|' diag(c |X| 1), since by rows x x' is below diag(|x| (|x|' 1)); c are the curvatures of the
    rows with these scores. A product of O(nnz) for each class.

    scores : (n_rows, n_classes), overwritten.
    """
    sizes = with_values(problem.design, np.abs)
    curvature = expit(scores, out=scores)
    for block in row_blocks(*curvature.shape):
        curvature[block] *= 1.0 - curvature[block]
    curvature *= (C * np.asarray(sizes.sum(axis=1))).astype(np.float32)[:, None]
    return np.asarray(sizes.T @ curvature)


class _Fits:
    """Those classes that have not ended. Matrices are (n_rows or n_columns, n_classes)."""

    def __init__(
        self,
        problem: Problem,
        stiffness: Array,
        center: Array,
        start: Array,
        C: float,
        tol: float,
    ) -> None:
        design = problem.design
        self._design, self._C, self._tol = design, np.float32(C), tol
        # Not turned into rows: sums over the rows of a column are then gathered from all over.
        self._transposed = design.T
        self._square = np.asarray(with_values(design, np.square).sum(axis=1))
        self._matters = MATTERS
        self._row, self._code = problem.row, problem.code
        self._stiffness, self._center, self._move = stiffness, center, start - center
        self._scores = np.asarray(design @ start)
        own = 0.5 * stiffness * _products(self._move, self._move)
        self.objective = own + self._losses(self._scores, np.arange(problem.n_classes))

    def result(self) -> tuple[Array, Float, Array]:
        """Weights, objectives and scores."""
        return self._center + self._move, self.objective, self._scores

    def keep(self, classes: Mask) -> None:
        """Leave out the others."""
        number = np.cumsum(classes) - 1
        kept = classes[self._code]
        self._row, self._code = self._row[kept], number[self._code[kept]]
        self._stiffness, self.objective = self._stiffness[classes], self.objective[classes]
        self._center, self._move = self._center[:, classes], self._move[:, classes]
        self._scores = self._scores[:, classes]

    def step(self) -> Float:
        """One Newton step of each class; returns about how far above its minimum each one is, 0
        where rounding leaves no better weights to see."""
        chance = expit(self._scores)
        rows = self._rows_that_matter(chance)
        modelled = rows.size <= MOST_ROWS * chance.shape[0]
        pooled = self._pooled(chance, rows) if modelled else None
        chance[self._row, self._code] -= 1.0
        gradient = np.asarray(self._transposed @ chance)
        del chance
        gradient *= self._C
        for block in row_blocks(*gradient.shape):
            gradient[block] += self._stiffness * self._move[block]
        if pooled is None:
            direction, promised = self._direction(gradient)
        else:
            direction, promised = self._modelled(gradient, rows, pooled)
        del gradient
        along = np.asarray(self._design @ direction)
        length, objective = self._lengths(direction, along)
        direction *= length
        self._move += direction
        along *= length
        self._scores += along
        gained, self.objective = self.objective - objective, objective
        left = ENOUGH * promised
        if modelled:
            left = np.abs(promised - gained) + RowModel.LEFT * promised
            amiss = (gained < 0.5 * promised) & (promised > self._tol * objective)
            self._matters *= 0.1 if amiss.any() else 1.0
        return np.where(length > 0.0, left, 0.0)

    def _rows_that_matter(self, chance: Array) -> Int:
        """The rows of one of the classes, and those whose curvature is large for one."""
        matter = np.zeros(chance.shape[0], dtype=bool)
        for block in row_blocks(*chance.shape):
            some = chance[block]
            largest = (some * (1.0 - some) / self._stiffness).max(axis=1)
            matter[block] = self._C * self._square[block] * largest > self._matters
        matter[self._row] = True
        return np.flatnonzero(matter)

    def _pooled(self, chance: Array, rows: Int) -> Pooled:
        """All but these rows as one."""
        weight = np.zeros(chance.shape[0], dtype=np.float32)
        others = np.ones(chance.shape[0], dtype=np.float32)
        others[rows] = 0.0
        total, squares = np.zeros((2, chance.shape[1]))
        for block in row_blocks(*chance.shape):
            some = chance[block]
            weight[block] = others[block] * some.sum(axis=1)
            total += others[block] @ some
            squares += others[block] @ (some * some)
        mean = self._transposed @ (weight / max(float(weight.sum(dtype=np.float64)), TINY))
        chances = np.clip(squares / np.maximum(total, TINY), TINY, 0.5)
        return Pooled(np.asarray(mean), total / chances, chances)

    def _modelled(self, gradient: Array, rows: Int, pooled: Pooled) -> tuple[Array, Float]:
        """The direction to the minimum of a model, and the decrease that it promises.

        gradient : overwritten.
        """
        positive = np.zeros((rows.size, self._stiffness.size))
        positive[np.searchsorted(rows, self._row), self._code] = 1.0
        model = RowModel(
            design=self._design[rows],
            positive=positive,
            scores=self._scores[rows],
            pooled=pooled,
            gradient=gradient,
            square=_products(gradient, gradient),
            stiffness=self._stiffness.astype(np.float64),
            C=float(self._C),
        )
        promised = model.minimize()
        return model.direction(gradient), promised

    def _direction(self, gradient: Array) -> tuple[Array, Float]:
        """Newton's direction by conjugate gradients, and the decrease that it promises.

        gradient : overwritten.
        """
        curvature = expit(self._scores)
        for block in row_blocks(*curvature.shape):
            curvature[block] *= self._C * (1.0 - curvature[block])
        squared = with_values(self._design, np.square)
        inverse = 1.0 / (self._stiffness + np.asarray(squared.T @ curvature))
        del squared
        residual = np.negative(gradient, out=gradient)
        search = inverse * residual
        product = _products(residual, search)
        direction, decrease = np.zeros_like(gradient), np.zeros(product.size)
        for _ in range(MOST_CG):
            image = np.asarray(self._transposed @ (curvature * (self._design @ search)))
            image += self._stiffness * search
            length = ratio(product, _products(search, image))
            direction += length.astype(np.float32) * search
            residual -= length.astype(np.float32) * image
            decrease += 0.5 * length * product
            conditioned = inverse * residual
            following = _products(residual, conditioned)
            if (following <= ENOUGH * decrease).all():
                break
            search *= ratio(following, product).astype(np.float32)
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


def expit(scores: Array, out: Array | None = None) -> Array:
    """1 / (1 + exp(-score))."""
    chance = np.negative(scores, out=out)
    # Not beyond the range of single precision.
    np.minimum(chance, 80.0, out=chance)
    np.exp(chance, out=chance)
    chance += 1.0
    return np.reciprocal(chance, out=chance)


def with_values(design: Array | sp.csr_array, function: Callable[[Array], Array]) -> Any:
    """The design with a function of its values, which maps 0 to 0."""
    if isinstance(design, np.ndarray):
        return function(design)
    return sp.csr_array((function(design.data), design.indices, design.indptr), shape=design.shape)


def _products(left: Array, right: Array) -> Float:
    """(n_classes,) inner products of columns."""
    total = np.zeros(left.shape[1])
    for block in row_blocks(*left.shape):
        total += np.einsum("ij,ij->j", left[block], right[block])
    return total
