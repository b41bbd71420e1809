"""What holds a transformation: functions of L, or of its diagonal, with their gradients.

A likelihood that the length of L, or of its rows, does not change has no minimum where a penalty
only shrinks L ('l2', 'nuclear'): the objective falls all the way to 0, where L tells nothing. These
two have one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from models.arrays import Float

Function = Callable[[Float], tuple[float, Float]]
"""From (D, D) L, or (D,) its diagonal, to a value and its gradient."""


def identity(matrix: Float) -> tuple[float, Float]:
    """|L - I|^2, the squares of entries summed."""
    away = matrix - (np.eye(matrix.shape[0]) if matrix.ndim == 2 else 1.0)
    return float(np.vdot(away, away)), 2.0 * away


def logdet(matrix: Float) -> tuple[float, Float]:
    """trace(L'L) - log det(L'L); infinite for a singular L. O(D^3) for a matrix.

    Its least value, D, is at every rotation.
    """
    squares = float(np.vdot(matrix, matrix))
    if matrix.ndim == 1:
        if not matrix.all():
            return np.inf, np.zeros_like(matrix)
        value = squares - 2.0 * float(np.log(np.abs(matrix)).sum())
        return value, 2.0 * (matrix - 1.0 / matrix)
    sign, log = np.linalg.slogdet(matrix)
    if sign == 0.0:
        return np.inf, np.zeros_like(matrix)
    return squares - 2.0 * float(log), 2.0 * (matrix - np.linalg.inv(matrix).T)


PENALTIES: Mapping[str, Function] = {"identity": identity, "logdet": logdet}


def penalized(loss: Function, penalty: Function, gamma: float) -> Function:
    """The loss and `gamma` times the penalty."""

    def objective(matrix: Float) -> tuple[float, Float]:
        value, gradient = loss(matrix)
        held, slope = penalty(matrix)
        return value + gamma * held, gradient + gamma * slope

    return objective
