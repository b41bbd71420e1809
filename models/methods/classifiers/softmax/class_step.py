"""The weights of a block of classes that minimise a bound with given shifts.

Each class k minimises 1/2 r.w^2 + C [sum_i cell(w.x_i - a_i) - w.s_k] by itself, s_k being the sum
of its rows and r the ridge. All classes of a block take steps of Newton's method together, by
conjugate gradients whose products are matrix products over the block, and halve their steps until
their own objective falls; a class that is done drops out. Nothing here looks at other classes, so
that a block is a unit of work for another process: shifts in, weights and sums over its classes
out.

Cost: about ten products of the rows (n_rows, D) with (D, n_block) for each step of Newton's method
with whole matrices as preconditioners, up to 50 with diagonals; memory some 8 arrays (n_block,
n_rows).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from models.arrays import Float, Int
from models.methods.classifiers.softmax.bounds import Bound

MOST_STEPS = 50
MOST_PRODUCTS = 100
MOST_HALVINGS = 40

REDUCTION = 1e-3
"""A class is done when its gradient has shrunk to this share. Where steps are less exact, sweeps
follow no smooth path that they could be extrapolated along: to within 1e-6 on ImCLEF07A it takes 39
of them, with 1e-2 over 60."""

FORCING = 0.1
"""Share of the gradient that a step of Newton's method leaves."""

WIDEST_FACTORED = 512
"""Columns up to which preconditioners are whole matrices."""

MOST_FACTORS = 1 << 25
"""Entries of the preconditioners of a fit up to which they are whole matrices (256 MiB)."""

MOST_CURVATURE = 1e20
"""Larger ones, of exponentials that are about to overflow, are taken as this in preconditioners."""

NEGLIGIBLE = 1e-3
"""Rows with less than this share of a class's largest curvature are left out of its matrix."""


@dataclass(frozen=True, slots=True, eq=False)
class BlockProblem:
    """What a block of classes minimises.

    design : (n_rows, n_columns). sums : (n_block, n_columns) sums of the rows of each class.
    shift : (n_rows,). ridge : (n_columns,) or (1,), as in `SoftmaxObjective`.
    """

    design: Float | sp.csr_array
    sums: Float
    shift: Float
    bound: Bound
    C: float
    ridge: Float = field(default_factory=lambda: np.ones(1))

    def scores(self, weights: Float) -> Float:
        """(n, n_rows), a class after the other."""
        if isinstance(self.design, sp.csr_array):
            return np.ascontiguousarray((self.design @ weights.T).T)
        return weights @ self.design.T

    def gaps(self, weights: Float) -> Float:
        """(n, n_rows) scores minus shifts."""
        return self.scores(weights) - self.shift

    def summed(self, factors: Float) -> Float:
        """(n, n_columns) sums of the rows times their factors (n, n_rows)."""
        if isinstance(self.design, sp.csr_array):
            return np.asarray((self.design.T @ factors.T).T)
        return factors @ self.design

    def values(self, weights: Float, cells: Float, classes: Int) -> Float:
        """(n,) objectives of classes. weights, cells : (n, n_columns), (n, n_rows) theirs."""
        ridge = 0.5 * self.ridge * weights
        linear = (weights * (ridge - self.C * self.sums[classes])).sum(axis=1)
        return np.asarray(linear + self.C * cells.sum(axis=1))

    def gradient(self, weights: Float, slopes: Float, classes: Int) -> Float:
        """(n, n_columns) gradients of classes. weights, slopes : as in `values`."""
        return self.ridge * weights + self.C * (self.summed(slopes) - self.sums[classes])


@dataclass(frozen=True, slots=True, eq=False)
class BlockStep:
    """The weights of a block of classes, and sums over them.

    weights : (n_block, n_columns). value : sum of the classes' objectives. slopes : (n_rows,) sums
        of the cells' slopes.
    """

    weights: Float
    value: float
    slopes: Float


@dataclass(frozen=True, slots=True, eq=False)
class Preconditioner:
    """Approximate inverses of Hessians, to speed up conjugate gradients.

    inverse : (n_block, n_columns, n_columns), or (n_block, n_columns) of diagonals alone.
    """

    inverse: Float

    @staticmethod
    def at(problem: BlockProblem, weights: Float, n_classes: int) -> Preconditioner:
        """That of the Hessians at `weights`. n_classes : of all blocks, which share memory."""
        curvature = problem.bound.cells(problem.gaps(weights)).curvature
        curvature = np.minimum(curvature, MOST_CURVATURE)
        n_columns = weights.shape[1]
        if not factored_values(problem.design, n_classes):
            squares = problem.design**2
            diagonal: Float = np.asarray((squares.T @ curvature.T).T, dtype=np.float64)
            return Preconditioner(1.0 / (problem.ridge + problem.C * diagonal))
        hessians = np.tile(np.eye(n_columns) * problem.ridge, (len(weights), 1, 1))
        for hessian, weight in zip(hessians, curvature, strict=True):
            rows = np.flatnonzero(weight > NEGLIGIBLE * weight.max())
            near = problem.design[rows]
            hessian += problem.C * ((near.T * weight[rows]) @ near)
            # So that it can be inverted where the curvature of few rows outweighs all.
            hessian[np.diag_indices(n_columns)] += 1e-13 * np.trace(hessian)
        return Preconditioner(np.asarray(np.linalg.inv(hessians), dtype=np.float64))

    def times(self, vectors: Float, classes: Int) -> Float:
        """(n, n_columns) each class's inverse with its vector."""
        if self.inverse.ndim == 2:
            return vectors * self.inverse[classes]
        return np.asarray((self.inverse[classes] @ vectors[:, :, None])[:, :, 0])


def factored_values(design: Float | sp.csr_array, n_classes: int) -> int:
    """Values of the preconditioners that are whole matrices; 0 where they are diagonals."""
    n_columns = int(design.shape[1])
    values = n_classes * n_columns**2
    small = n_columns <= WIDEST_FACTORED and values <= MOST_FACTORS
    return values if small and not sp.issparse(design) else 0


def minimize_block(
    problem: BlockProblem, weights: Float, preconditioner: Preconditioner, floor: float
) -> BlockStep:
    """The minimum of each class of the block, from `weights`; no class's objective rises.

    floor : gradients of this norm need not shrink.
    """
    weights, gaps = weights.copy(), problem.gaps(weights)
    unfinished, goal = np.arange(len(weights)), np.full(len(weights), floor)
    for step in range(MOST_STEPS):
        cells = problem.bound.cells(gaps[unfinished])
        gradient = problem.gradient(weights[unfinished], cells.slope, unfinished)
        norm = np.linalg.norm(gradient, axis=1)
        if step == 0:
            goal = np.maximum(goal, REDUCTION * norm)
        far = np.flatnonzero(norm > goal[unfinished])
        unfinished, gradient = unfinished[far], gradient[far]
        if not unfinished.size:
            break
        value = problem.values(weights[unfinished], cells.value[far], unfinished)
        direction = _newton(problem, gradient, cells.curvature[far], preconditioner, unfinished)
        unfinished = _descend(problem, weights, gaps, unfinished, value, gradient, direction)
    cells = problem.bound.cells(gaps)
    every = np.arange(len(weights))
    total = float(problem.values(weights, cells.value, every).sum())
    return BlockStep(weights, total, cells.slope.sum(axis=0))


def _newton(
    problem: BlockProblem,
    gradient: Float,
    curvature: Float,
    preconditioner: Preconditioner,
    classes: Int,
) -> Float:
    """(n, n_columns) steps of Newton's method, to `FORCING`, by conjugate gradients."""
    goal = FORCING * np.linalg.norm(gradient, axis=1)
    result, direction, residual = np.zeros_like(gradient), np.zeros_like(gradient), -gradient
    towards = preconditioner.times(residual, classes)
    inner = (residual * towards).sum(axis=1)
    place = np.arange(len(classes))
    for _ in range(MOST_PRODUCTS):
        product = problem.ridge * towards
        product += problem.C * problem.summed(curvature * problem.scores(towards))
        bend = (towards * product).sum(axis=1)
        # A class that is done, or whose digits are spent, stays where it is.
        going = (np.linalg.norm(residual, axis=1) > goal[place]) & (inner > 0) & (bend > 0)
        if not going.any():
            break
        length = np.divide(inner, bend, out=np.zeros_like(inner), where=going)[:, None]
        direction = direction + length * towards
        residual = residual - length * product
        if 4 * going.sum() <= 3 * len(place):
            result[place] = direction
            place, curvature = place[going], curvature[going]
            direction, residual, towards = direction[going], residual[going], towards[going]
            inner = inner[going]
        scaled = preconditioner.times(residual, classes[place])
        before, inner = inner, (residual * scaled).sum(axis=1)
        share = np.divide(inner, before, out=np.zeros_like(inner), where=before > 0)
        towards = scaled + share[:, None] * towards
    result[place] = direction
    return result


def _descend(
    problem: BlockProblem,
    weights: Float,
    gaps: Float,
    classes: Int,
    value: Float,
    gradient: Float,
    direction: Float,
) -> Int:
    """Move weights and gaps of the classes, halving each one's step until its objective falls.

    Returns the classes that moved.
    """
    slope = (gradient * direction).sum(axis=1)
    along = problem.scores(direction)
    length, trying = np.ones(len(classes)), np.flatnonzero(slope < 0)
    moved = []
    for _ in range(MOST_HALVINGS):
        if not trying.size:
            break
        those, step = classes[trying], length[trying]
        new_weights = weights[those] + step[:, None] * direction[trying]
        new_gaps = gaps[those] + step[:, None] * along[trying]
        after = problem.values(new_weights, problem.bound.cells(new_gaps).value, those)
        falls = after < value[trying] + 1e-4 * step * slope[trying]
        weights[those[falls]], gaps[those[falls]] = new_weights[falls], new_gaps[falls]
        moved.append(those[falls])
        trying = trying[~falls]
        length[trying] /= 2.0
    return np.sort(np.concatenate(moved)) if moved else np.empty(0, dtype=np.int64)
