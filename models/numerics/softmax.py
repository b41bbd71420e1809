"""Log-softmax in float64, stable for logits of any finite size.

Logits may have any numeric type. The largest logit of a row is subtracted first, so no exponential
overflows; a difference that overflows to -inf gives the probability 0, which it stands for.
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
