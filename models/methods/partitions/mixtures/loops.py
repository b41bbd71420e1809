"""The variational step of a row of counts, compiled."""

from __future__ import annotations

import numpy as np

from models.running.loops import njit


@njit(cache=True, nogil=True, inline="always")
def _digamma(x):
    """psi(x) for x > 0, to about 1e-14: by the recurrence to 8 or more, there by its series."""
    shift = 0.0
    while x < 8.0:
        shift -= 1.0 / x
        x += 1.0
    y = 1.0 / (x * x)
    series = y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y * (1 / 240 - y * (1 / 132)))))
    return shift + np.log(x) - 0.5 / x - series


@njit(cache=True, nogil=True)
def topics_of_rows(start, column, count, weights, prior, max_iter, tol, mixture, sums):
    """Fill `mixture` with the Dirichlet parameters of each row's topics, and add each row's counts
    by topic to `sums`.

    start : (n + 1,), column, count : the counts of rows, as a sparse matrix has them.
    weights : (V, K) exp E[log] of each term in each topic. prior : of a row's topics.
    mixture : (n, K). sums : (V, K), to be multiplied by `weights`; (0, K): none are added.

    A row ends when its parameters change by less than `tol` on average, or after `max_iter`. O(S K)
    for each iteration, S the number of counts.
    """
    n_topics = weights.shape[1]
    expected = np.empty(n_topics)
    before = np.empty(n_topics)
    gathered = np.empty(n_topics)
    for row in range(len(start) - 1):
        own = mixture[row]
        own[:] = 1.0
        _expected(own, expected)
        for _ in range(max_iter):
            before[:] = own
            gathered[:] = 0.0
            for at in range(start[row], start[row + 1]):
                term = weights[column[at]]
                share = count[at] / _shared(expected, term)
                for k in range(n_topics):
                    gathered[k] += share * term[k]
            change = 0.0
            for k in range(n_topics):
                own[k] = prior + expected[k] * gathered[k]
                change += abs(own[k] - before[k])
            _expected(own, expected)
            if change < tol * n_topics:
                break
        if not len(sums):
            continue
        for at in range(start[row], start[row + 1]):
            term = weights[column[at]]
            share = count[at] / _shared(expected, term)
            total = sums[column[at]]
            for k in range(n_topics):
                total[k] += share * expected[k]


@njit(cache=True, nogil=True, inline="always")
def _shared(expected, term):
    """What a term's count is divided by among the topics."""
    total = 2.220446049250313e-16
    for k in range(len(expected)):
        total += expected[k] * term[k]
    return total


@njit(cache=True, nogil=True, inline="always")
def _expected(parameters, out):
    """exp E[log p] of a Dirichlet distribution."""
    total = 0.0
    for value in parameters:
        total += value
    whole = _digamma(total)
    for k in range(len(parameters)):
        out[k] = np.exp(_digamma(parameters[k]) - whole)
