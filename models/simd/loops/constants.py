"""Numbers that vector operations and plain loops have in common."""

from __future__ import annotations

import math

import numpy as np
from numba import types

LANES = 64
"""The numbers of a row are dealt to this many lanes: number j to lane j % LANES."""

RANKED = 16
"""The number of values that `rows.ranks` orders."""

WIDE = 16
"""Lanes of the float64 exponentials: their intermediate results stay in registers."""

SLOTS = 9
"""The best numbers of each row that `columns.best` keeps in order."""

SIDE_BY_SIDE = {types.uint16: 8, types.float32: 8, types.float64: 4}
"""R of `columns`: how many rows it takes at a time."""

POINTS = 32
"""Points of a tile, of which (n_columns, POINTS) values are stored; fewer are padded."""


def _coefficients() -> list[float]:
    """Coefficients of 1 + c1 f + .. + c4 f^4, which is 2^f for f in [-0.5, 0.5] to 3.5e-6."""
    near = np.polynomial.Chebyshev.interpolate(np.exp2, 4, domain=[-0.5, 0.5])
    found = near.convert(kind=np.polynomial.Polynomial).coef.astype(np.float32)
    return [1.0, *found[1:].tolist()]


COEFFICIENTS = _coefficients()
ROUNDER = 1.5 * 2.0**23
"""Adding this to a small float32 and subtracting it again leaves the nearest integer."""

LEAST_BITS = int(np.float32(ROUNDER - 127).view(np.int32))
"""The bits of `ROUNDER`, and the exponent at and below which a power is 0."""

LOG2E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
ROUNDER_64 = 1.5 * 2.0**52
"""`ROUNDER` for float64."""

TAYLOR = [1.0 / math.factorial(i) for i in range(13)]
UNDERFLOW = -708.0
"""Exponents of float64 below this give 0."""
