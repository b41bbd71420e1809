"""The compiled loops of `hinge`: coordinate descent over the rows of one class."""

from __future__ import annotations

import numpy as np
from numba import types
from numba.extending import overload

from models.running.loops import njit


@njit(cache=True, nogil=True)
def _shuffle(active, n_active, state):
    """Permute the first `n_active` entries; returns the next state of the generator."""
    for place in range(n_active - 1, 0, -1):
        # xorshift64*, whose upper bits are good.
        state ^= state >> np.uint64(12)
        state ^= state << np.uint64(25)
        state ^= state >> np.uint64(27)
        draw = (state * np.uint64(2685821657736338717)) >> np.uint64(33)
        other = np.int64(draw % np.uint64(place + 1))
        active[place], active[other] = active[other], active[place]
    return state


@njit(cache=True, nogil=True)
def _changed(gradient, alpha, upper):
    """The projected gradient: 0 where the bound holds the variable."""
    if alpha <= 0.0:
        return min(gradient, 0.0)
    if alpha >= upper:
        return max(gradient, 0.0)
    return gradient


def product(rows, row, weights):
    """A row times the weights, in compiled loops."""
    raise NotImplementedError


def add(rows, row, factor, weights):
    """Add a row times a factor to the weights, in compiled loops."""
    raise NotImplementedError


@overload(product, jit_options={"fastmath": True, "nogil": True})
def _product(rows, row, weights):
    if isinstance(rows, types.Array):

        def dense(rows, row, weights):
            own, total = rows[row], 0.0
            for column in range(own.shape[0]):
                total += own[column] * weights[column]
            return total

        return dense

    def sparse(rows, row, weights):
        data, indices, indptr = rows
        total = 0.0
        for at in range(indptr[row], indptr[row + 1]):
            total += data[at] * weights[indices[at]]
        return total

    return sparse


@overload(add, jit_options={"fastmath": True, "nogil": True})
def _add(rows, row, factor, weights):
    if isinstance(rows, types.Array):

        def dense(rows, row, factor, weights):
            own = rows[row]
            for column in range(own.shape[0]):
                weights[column] += factor * own[column]

        return dense

    def sparse(rows, row, factor, weights):
        data, indices, indptr = rows
        for at in range(indptr[row], indptr[row + 1]):
            weights[indices[at]] += factor * data[at]

    return sparse


@njit(cache=True, nogil=True)
def descend(rows, sign, squares, kappa, weights, alpha, upper, active, tol, max_epochs, state):
    """Minimise over the active rows' variables, in place; returns the state of the generator.

    rows : (N, D), or the data, indices and indptr of compressed rows. sign : (N,). squares : (N,)
    of the rows' lengths. weights : (D,) of the class, which are `kappa` times the sum of alpha sign
    x, and a constant. alpha : (N,) in 0 .. upper.
    active : (A,) rows; one whose variable a bound holds firmly leaves them until the end.

    Ends when the projected gradients lie within `tol` of each other, or after `max_epochs`.
    """
    n_active = active.shape[0]
    high, low = np.inf, -np.inf
    for _ in range(max_epochs):
        state = _shuffle(active, n_active, state)
        most, least = -np.inf, np.inf
        place = 0
        while place < n_active:
            row = active[place]
            gradient = sign[row] * product(rows, row, weights) - 1.0
            value = alpha[row]
            firmly = (value <= 0.0 and gradient > high) or (value >= upper and gradient < low)
            if firmly:
                n_active -= 1
                active[place], active[n_active] = active[n_active], active[place]
                continue
            projected = _changed(gradient, value, upper)
            most, least = max(most, projected), min(least, projected)
            if projected != 0.0:
                moved = min(max(value - gradient / (kappa * squares[row]), 0.0), upper)
                if moved != value:
                    alpha[row] = moved
                    add(rows, row, (moved - value) * kappa * sign[row], weights)
            place += 1
        if most - least <= tol:
            break
        high = most if most > 0.0 else np.inf
        low = least if least < 0.0 else -np.inf
    return state
