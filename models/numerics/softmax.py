"""Log-softmax in float64, stable for logits of any finite size.

It takes logits of any numeric type and computes in float64. The largest logit of a row
is subtracted first, so no exponential overflows; a difference that overflows to -inf is the
probability 0 that it stands for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from models.arrays import Float


def log_softmax(logits: npt.NDArray[Any]) -> Float:
    """(n, k) log probabilities of each row; -inf only where a difference of logits overflows."""
    shifted = _shifted(logits)
    shifted -= np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return shifted


def _shifted(logits: npt.NDArray[Any]) -> Float:
    values = np.array(logits, dtype=np.float64)
    with np.errstate(over="ignore"):
        values -= values.max(axis=1, keepdims=True)
    return values
