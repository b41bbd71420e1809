"""Trees of classes from similarities, and the consensus of several."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from models.arrays import Float
from models.numerics.agglomeration import merged
from models.numerics.merges import spans

_TIE = 1e-10
"""Similarities and scores within this part of the best are equal to it; the first is taken."""

_LEANING = 1e-6
"""Part of the mean similarity in the consensus: it decides where the trees leave a tie."""


def averaged(similarity: Float) -> Float:
    """(u - 1, 4) merges as SciPy's: average linkage of 1 - similarity."""
    upper = np.triu_indices(len(similarity), 1)
    return merged(np.maximum(1.0 - similarity[upper], 0.0), "average")


def smallest_first(similarity: Float, score: Float) -> Float:
    """(u - 1, 4) merges as SciPy's: the group with the least sum of scores joins the group to which
    its average similarity is highest. The height is the number of the merge. O(u^2)."""
    n = len(similarity)
    near, least = similarity.copy(), score.astype(np.float64)
    np.fill_diagonal(near, -np.inf)
    size, name = np.ones(n), np.arange(n)
    merges = np.zeros((n - 1, 4))
    for step in range(n - 1):
        low = least.min()
        a = int(np.argmax(least <= low + _TIE * abs(low)))
        row = near[a]
        b = int(np.argmax(row >= row.max() - _TIE))
        merges[step] = name[a], name[b], step + 1, size[a] + size[b]
        row = (size[a] * near[a] + size[b] * near[b]) / (size[a] + size[b])
        row[[a, b]] = -np.inf
        near[a] = row
        near[:, a] = row
        near[b] = -np.inf
        near[:, b] = -np.inf
        size[a] += size[b]
        least[a] += least[b]
        least[b] = np.inf
        name[a] = n + step
    return merges


def together(merges: Float) -> Float:
    """(u, u) log of the size of the smallest cluster that has both classes, of log u; 0 on the
    diagonal. O(u^2)."""
    n = len(merges) + 1
    order, span = spans(merges)
    in_order = np.zeros((n, n))
    for step in range(n - 1):
        a, b = (int(part) for part in merges[step, :2])
        left, right = slice(*span[a]), slice(*span[b])
        value = np.log(merges[step, 3]) / np.log(n)
        in_order[left, right] = value
        in_order[right, left] = value
    place = np.argsort(order)
    return in_order[np.ix_(place, place)]


def consensus(trees: Sequence[Float], similarities: Sequence[Float]) -> Float:
    """(u - 1, 4) merges as SciPy's: average linkage of the mean of `together` over the trees. Where
    that leaves a tie, the mean similarity decides."""
    n = len(trees[0]) + 1
    upper = np.triu_indices(n, 1)
    apart = np.zeros(len(upper[0]))
    for tree in trees:
        apart += together(tree)[upper]
    apart /= len(trees)
    for similarity in similarities:
        apart += _LEANING / len(similarities) * (1.0 - similarity[upper])
    return merged(apart, "average")
