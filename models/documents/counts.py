"""Counts of words: of each in each document, and of pairs that occur near each other.

Cost: `word_counts` O(T log T) for T tokens; `cooccurrences` O(T window log T) at most, by blocks
whose counts are added like the digits of a binary number, so that each is added only a few times;
memory for two copies of the distinct pairs, 16 bytes each, and for a block.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from models.documents.words import Tokens
from models.running.progress import Progress, silent

_BLOCK = 1 << 22
"""The number of token pairs counted at once."""


def word_counts(tokens: Tokens, n_words: int) -> sp.csr_array:
    """(n_documents, n_words) how often each word occurs in each document, float64."""
    document = np.repeat(np.arange(tokens.n_documents), np.diff(tokens.start))
    ones = np.ones(len(tokens.number))
    counts = sp.coo_array(
        (ones, (document, tokens.number)), shape=(tokens.n_documents, n_words)
    ).tocsr()
    counts.sum_duplicates()
    return sp.csr_array(counts)


def cooccurrences(
    tokens: Tokens, n_words: int, window: int, progress: Progress = silent
) -> sp.csr_array:
    """(n_words, n_words) symmetric: the sum of 1 / distance over all pairs of tokens of a document
    that are at most `window` apart, float64. Words outside the vocabulary take no position.

    A pair of the same word counts in both directions, like a pair of two words.
    """
    document = np.repeat(np.arange(tokens.n_documents), np.diff(tokens.start))
    n_tokens = len(tokens.number)
    step = max(1, _BLOCK // window)
    done: list[tuple[int, sp.csr_array]] = []
    for start in range(0, n_tokens, step):
        progress(start / n_tokens, "counting pairs", f"{start:,} of {n_tokens:,} words")
        stop = min(n_tokens, start + step)
        part = _block(tokens.number, document, start, stop, n_words, window)
        done.append((0, part))
        while len(done) > 1 and done[-1][0] == done[-2][0]:
            (level, later), (_, earlier) = done.pop(), done.pop()
            done.append((level + 1, later + earlier))
    half = sp.csr_array((n_words, n_words))
    for _, part in reversed(done):
        half = half + part
    whole = sp.csr_array(half + half.T)
    whole.sort_indices()
    return whole


def _block(
    number: npt.NDArray[np.int32],
    document: npt.NDArray[np.int64],
    start: int,
    stop: int,
    n_words: int,
    window: int,
) -> sp.csr_array:
    """Pairs whose first token is in [start, stop), in one direction only."""
    rows, columns, values = [], [], []
    for apart in range(1, window + 1):
        end = min(stop, len(number) - apart)
        if end <= start:
            break
        same = document[start:end] == document[start + apart : end + apart]
        rows.append(number[start:end][same])
        columns.append(number[start + apart : end + apart][same])
        values.append(np.full(len(rows[-1]), 1.0 / apart))
    if not rows:
        return sp.csr_array((n_words, n_words))
    row, column = np.concatenate(rows), np.concatenate(columns)
    pair = (np.minimum(row, column), np.maximum(row, column))
    weights = sp.coo_array((np.concatenate(values), pair), shape=(n_words, n_words)).tocsr()
    weights.sum_duplicates()
    return sp.csr_array(weights)
