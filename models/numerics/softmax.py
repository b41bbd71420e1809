"""Log-softmax in float64, stable for logits of any finite size.

It takes logits of any numeric type and computes in float64. The largest logit of a row
is subtracted first, so no exponential overflows; a difference that overflows to -inf is the
probability 0 that it stands for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

Float = npt.NDArray[np.float64]

IN_CACHE = 1 << 17
"""Values of a float64 block that stays in a core's cache (1 MiB)."""


def log_softmax(logits: npt.NDArray[Any]) -> Float:
    """(n, k) log probabilities of each row; -inf only where a difference of logits overflows."""
    shifted = _shifted(logits)
    shifted -= np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return shifted


def row_blocks(n_rows: int, row_length: int, values: int = IN_CACHE) -> Iterator[slice]:
    """Slices that cut `n_rows` rows into blocks of about `values` values, at least one row each."""
    step = max(1, values // max(1, row_length))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def _shifted(logits: npt.NDArray[Any]) -> Float:
    values = np.array(logits, dtype=np.float64)
    with np.errstate(over="ignore"):
        values -= values.max(axis=1, keepdims=True)
    return values
