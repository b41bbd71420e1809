"""Similarities of classes by walks along balanced confusions; `models.numerics.rows` has the
other ones.

Each is (u, u), symmetric, with 1 on the diagonal and nothing above.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from models.arrays import Float
from models.numerics.rows import cosines

_SWEEPS = 200
_SETTLED = 1e-14

_PRIOR = 1e-6
"""Part of the mean confusion that each pair has besides its own."""


def balanced(confusion: Float) -> Float:
    """(u, u) symmetric confusions of classes, scaled so that all rows have the sum 1: classes that
    are high in every row count no more than others.

    confusion : (u, u), not negative, 0 on the diagonal; u > 1.
    """
    both = 0.5 * (confusion + confusion.T) + _PRIOR * confusion.mean()
    np.fill_diagonal(both, 0.0)
    factor = np.ones(len(both))
    for _ in range(_SWEEPS):
        before = factor
        factor = np.sqrt(factor / (both @ factor))
        if np.abs(factor - before).max() <= _SETTLED * factor.max():
            break
    both *= factor[:, None] * factor
    return np.asarray(both)


def walked(steps: Float, onward: float) -> Float:
    """(u, u) correlations of the logarithms of where walks from each class end.

    A walk goes on with the probability `onward` at each step, to a class by the shares of its row
    of `steps`, symmetric: ends = (1 - onward) (1 - onward P)^-1 with P = steps / sums of rows. The
    inverse is that of a symmetric matrix, (sums - onward steps)^-1 sums.
    """
    total = steps.sum(axis=1)
    left = np.diag(total) - onward * steps
    factor, _ = linalg.lapack.dpotrf(left, lower=True, clean=False)
    inverse, _ = linalg.lapack.dpotri(factor, lower=True, overwrite_c=True)
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    # The mean of both directions. Rounding may leave less than nothing.
    ends = 0.5 * (1.0 - onward) * inverse * (total[:, None] + total)
    logs = np.log(np.maximum(ends, np.finfo(np.float64).tiny))
    logs -= logs.mean(axis=1, keepdims=True)
    return cosines(logs @ logs.T)
