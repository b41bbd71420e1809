"""Functions of a matrix's rows: softmax and its logarithm, an order, cosines of class means.

`softmax` and `log_softmax` are in float64, stable for logits of any finite size. Logits may have
any numeric type. The largest logit of a row is subtracted first, so no exponential overflows; a
difference that overflows to -inf gives the probability 0, which it stands for.

`canonical` orders rows by their values alone, so that a fit does not depend on their order.
`cosines` compares class means where variances within classes are 1 in all directions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from models.arrays import Array, Float, Int, row_blocks


def log_softmax(logits: npt.NDArray[Any]) -> Float:
    """(n, k) log probabilities of each row; -inf only where a difference of logits overflows."""
    shifted = _shifted(logits)
    shifted -= np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return shifted


def softmax(logits: npt.NDArray[Any]) -> Float:
    """(n, k) probabilities of each row; 0 also where a difference of logits overflows."""
    weight = _shifted(logits)
    np.exp(weight, out=weight)
    weight /= weight.sum(axis=1, keepdims=True)
    return weight


def _shifted(logits: npt.NDArray[Any]) -> Float:
    values = np.array(logits, dtype=np.float64)
    with np.errstate(over="ignore"):
        values -= values.max(axis=1, keepdims=True)
    return values


def canonical(values: Array, square: bool = False) -> Int:
    """(n,) rows in an order that depends only on their values. O(size).

    The order is that of a 64-bit hash of each row's bits, in which all columns count alike if they
    are the points again (`square`). Equal rows stay in order.
    """
    n_rows, n_columns = values.shape
    n_factors = 1 if square else n_columns
    factor = np.random.default_rng(0).integers(2**63, size=n_factors, dtype=np.uint64) * 2 + 1
    sums = np.empty(n_rows, dtype=np.uint64)
    for block in row_blocks(n_rows, n_columns, 1 << 20):
        # Adding 0 makes -0.0 equal 0.0 in bits too.
        bits = (values[block].astype(np.float64) + 0.0).view(np.uint64)
        bits ^= bits >> np.uint64(29)
        bits *= np.uint64(0xBF58476D1CE4E5B9)
        bits ^= bits >> np.uint64(32)
        sums[block] = (bits * factor).sum(axis=1)
    return np.argsort(sums, kind="stable")


SHRINKAGE = 0.1
"""Part of the mean variance that each direction has besides its own."""


def whitened(mean: Float, within: Float) -> Float:
    """(u, u) cosines of class means, where variances within classes are 1 in all directions.

    mean : (u, u) mean logits by class. within : (u, u) covariance within classes; where it is 0,
    directions stay as they are.
    """
    from scipy import linalg

    apart = mean - mean.mean(axis=0)
    n = len(apart)
    variance = np.trace(within) / n
    if not variance > 0.0:
        return cosines(apart @ apart.T)
    shrunk = within / variance + SHRINKAGE * np.eye(n)
    lower = linalg.cholesky(shrunk, lower=True, overwrite_a=True, check_finite=False)
    white = linalg.solve_triangular(lower, apart.T, lower=True, check_finite=False)
    return cosines(white.T @ white)


def cosines(products: Float) -> Float:
    """(u, u) cosines of vectors by their scalar products; 0 for a vector without a length, 1 on the
    diagonal."""
    length = np.sqrt(np.maximum(np.diag(products), 0.0))
    tiny = 1e-12 * length.max(initial=0.0)
    length = np.where(length > tiny, length, np.inf)
    found = np.minimum(products / (length[:, None] * length), 1.0)
    found = 0.5 * (found + found.T)
    np.fill_diagonal(found, 1.0)
    return np.asarray(found)
