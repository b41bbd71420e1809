"""Bounds on the errors of weights of classes, for all loops of `l2h`.

Apart from `rows`, so that loops without vector operations need not be compiled again where these
are replaced (`models.simd.loops.choice`).
"""

from __future__ import annotations

import numpy as np

LEAST = np.float32(1e-26)
"""A lower weight is not trusted: later terms may have underflowed.

A million terms below 2^-126 = 1.2e-38, each off by at most that, are less than `TAIL_ERROR` of it.
"""

WEIGHT_ERROR = 2.0**-23
"""Bound on the relative error of a weight: computed in float64, rounded to float32."""

TAIL_ERROR = 3.2e-5
"""Bound on the relative error of sums of float32 exponentials, on processors with and without fused
multiply-add. A term exp(d), d in [-87, 0], is off by at most 3 |d| half ulp for the roundings of d
(difference, scale, product) and 3.6e-6 = 61 half ulp for the exponential itself; a sum in
`LANES` lanes (`models.simd`) of 128 terms each by 127 half ulp and 63 for adding these, or of 191
terms in whatever order by 190: (261 + 61 + 190) 2^-24 = 3.06e-5."""
