"""One pass over pairs of words, compiled."""

from __future__ import annotations

from typing import Any

import numba
import numpy.typing as npt


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})  # type: ignore[untyped-decorator]
def sweep(
    pairs: npt.NDArray[Any],
    row: npt.NDArray[Any],
    column: npt.NDArray[Any],
    log_count: npt.NDArray[Any],
    weight: npt.NDArray[Any],
    words: npt.NDArray[Any],
    contexts: npt.NDArray[Any],
    of_words: npt.NDArray[Any],
    of_contexts: npt.NDArray[Any],
    learning_rate: float,
) -> float:
    """AdaGrad on the pairs of those numbers in order; the sum of their f r^2 as each was met.

    words, contexts : (V, D + 1) vectors, the bias last, changed in place. of_words, of_contexts :
    (V, D + 1) sums of squares of gradients, too. O(P D).
    """
    n = words.shape[1] - 1
    total = 0.0
    for number in pairs:
        i, j = row[number], column[number]
        w, c = words[i], contexts[j]
        gw, gc = of_words[i], of_contexts[j]
        dot = 0.0
        for d in range(n):
            dot += w[d] * c[d]
        rest = dot + w[n] + c[n] - log_count[number]
        slope = weight[number] * rest
        total += slope * rest
        for d in range(n):
            to_w, to_c = slope * c[d], slope * w[d]
            w[d] -= learning_rate * to_w / gw[d] ** 0.5
            c[d] -= learning_rate * to_c / gc[d] ** 0.5
            gw[d] += to_w * to_w
            gc[d] += to_c * to_c
        w[n] -= learning_rate * slope / gw[n] ** 0.5
        c[n] -= learning_rate * slope / gc[n] ** 0.5
        gw[n] += slope * slope
        gc[n] += slope * slope
    return total
