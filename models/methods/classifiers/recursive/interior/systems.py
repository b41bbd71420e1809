"""The linear systems of an interior point: the penalty's matrix plus the curvatures of the rows.

The unknowns are weights (n_nodes, n_columns) of columns in units: the matrix is that of the penalty
times the columns' factors, plus the sum over rows of M_i times x_i x_i', where M_i belongs to pairs
of nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from models.arrays import Float
from models.methods.classifiers.classes.coordinates import TINY
from models.methods.classifiers.recursive.penalty import BlockElimination, Penalty

Solve: TypeAlias = Callable[[Float], Float]
"""From a right side to the solution, both (n_nodes, n_columns)."""

RIDGE = 1e-12
"""The share of the diagonal that is added where rounding has made a matrix singular."""


def gram(design: Float | sp.csr_array, factor: Float) -> Float:
    """(n_columns, n_columns) the sum over rows of a factor times x x'. O(N D^2)."""
    if isinstance(design, sp.csr_array):
        scaled = design.multiply(factor[:, None])
        return np.asarray((design.T @ scaled).toarray())
    return np.asarray(design.T @ (design * factor[:, None]))


def joint(matrix: Float, ridge: Float, curvature: Float) -> Solve:
    """The solver of all nodes and columns at once.

    matrix : (n_nodes, n_nodes) of the penalty. ridge : (n_columns,). curvature : (n_nodes,
    n_columns, n_nodes, n_columns) of the rows, changed in place.

    O((T D)^3) for T nodes, O((T D)^2) each.
    """
    n_nodes, n_columns = curvature.shape[:2]
    columns = np.arange(n_columns)
    curvature[:, columns, :, columns] += ridge[:, None, None] * matrix
    whole = curvature.reshape(n_nodes * n_columns, -1)
    size = np.exp2(-np.rint(0.5 * np.log2(np.maximum(np.diagonal(whole), TINY))))
    whole *= size[:, None]
    whole *= size
    try:
        factor = cho_factor(whole, lower=True, check_finite=False)
    except LinAlgError:
        shifted = whole + RIDGE * np.diag(np.diagonal(whole))
        factor = cho_factor(shifted, lower=True, check_finite=False)

    def solve(right: Float) -> Float:
        flat = right.ravel() * size
        first = cho_solve(factor, flat, check_finite=False)
        first += cho_solve(factor, flat - whole @ first, check_finite=False)
        return np.asarray(first * size).reshape(right.shape)

    return solve


def by_node(penalty: Penalty, ridge: Float, curvatures: Float) -> Solve:
    """The solver of a tree's penalty by elimination of nodes.

    ridge : (n_columns,), squares of inverse units. curvatures : (n_classes, n_columns, n_columns)
    of the rows.

    O(T D^3), O(T D^2) each.
    """
    units = 1.0 / np.sqrt(ridge)
    eliminated = BlockElimination(penalty, curvatures * (units[:, None] * units))

    def solve(right: Float) -> Float:
        first = units * eliminated(right * units)
        image = ridge * (penalty.matrix @ first)
        image[penalty.node] += np.matmul(curvatures, first[penalty.node][:, :, None])[:, :, 0]
        return np.asarray(first + units * eliminated((right - image) * units))

    return solve
