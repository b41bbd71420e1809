"""The compiled pass of AdaGrad over pairs of words."""

from __future__ import annotations

from models.arrays import Array
from models.running.loops import njit


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})  # type: ignore[untyped-decorator]
def sweep(
    pairs: Array,
    row: Array,
    column: Array,
    log_count: Array,
    weight: Array,
    words: Array,
    contexts: Array,
    word_squares: Array,
    context_squares: Array,
    learning_rate: float,
) -> float:
    """The sum of f r^2 over some pairs, each before its step of AdaGrad. O(P D).

    pairs : numbers of pairs, in order. words, contexts : (V, D + 1) vectors, the bias last, changed
    in place. word_squares, context_squares : (V, D + 1) sums of squares of gradients, changed too.
    """
    n = words.shape[1] - 1
    total = 0.0
    for number in pairs:
        i, j = row[number], column[number]
        w, c = words[i], contexts[j]
        gw, gc = word_squares[i], context_squares[j]
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
