"""The compiled loops of `hinge`: coordinate descent over the rows of one class."""

from __future__ import annotations

import numpy as np
from numba import njit


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


@njit(cache=True, nogil=True, fastmath=True)
def _dot(row, weights):
    total = 0.0
    for column in range(row.shape[0]):
        total += row[column] * weights[column]
    return total


@njit(cache=True, nogil=True, fastmath=True)
def _add(weights, factor, row):
    for column in range(row.shape[0]):
        weights[column] += factor * row[column]


@njit(cache=True, nogil=True)
def descend(design, sign, squares, kappa, weights, alpha, upper, active, tol, max_epochs, state):
    """Minimise over the active rows' variables, in place; returns the state of the generator.

    design : (N, D). sign : (N,). squares : (N,) of the rows' lengths. weights : (D,) of the class,
    which are `kappa` times the sum of alpha sign x, and a constant. alpha : (N,) in 0 .. upper.
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
            gradient = sign[row] * _dot(design[row], weights) - 1.0
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
                    _add(weights, (moved - value) * kappa * sign[row], design[row])
            place += 1
        if most - least <= tol:
            break
        high = most if most > 0.0 else np.inf
        low = least if least < 0.0 else -np.inf
    return state


@njit(cache=True, nogil=True)
def descend_sparse(
    data,
    indices,
    indptr,
    sign,
    squares,
    kappa,
    weights,
    alpha,
    upper,
    active,
    tol,
    max_epochs,
    state,
):
    """As `descend`, for a design in compressed rows."""
    n_active = active.shape[0]
    high, low = np.inf, -np.inf
    for _ in range(max_epochs):
        state = _shuffle(active, n_active, state)
        most, least = -np.inf, np.inf
        place = 0
        while place < n_active:
            row = active[place]
            product = 0.0
            for at in range(indptr[row], indptr[row + 1]):
                product += data[at] * weights[indices[at]]
            gradient = sign[row] * product - 1.0
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
                    factor = (moved - value) * kappa * sign[row]
                    for at in range(indptr[row], indptr[row + 1]):
                        weights[indices[at]] += factor * data[at]
            place += 1
        if most - least <= tol:
            break
        high = most if most > 0.0 else np.inf
        low = least if least < 0.0 else -np.inf
    return state
