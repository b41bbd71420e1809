"""Words of documents as numbers: which words count, how often, and how often near each other.

A word is a run of letters, digits and underscores of any script, in lower case. Text is normalized
first (NFC), so that an accented letter is the same however it is encoded. `reader` leaves out stop
words (scikit-learn's list) and reduces words to their stems (Snowball, Porter's algorithms). Words
that occur often enough count, the most frequent first. Cost: O(length), a stem once for each word;
for T tokens O(T), twice where they are needed as numbers, and 4 bytes a token.

Cost: `word_counts` O(T log T) for T tokens; `cooccurrences` O(T window log T) at most, by blocks
whose counts are added like the digits of a binary number, so that each is added only a few times;
memory for two copies of the distinct pairs, 16 bytes each, and for a block.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from models.arrays import Int
from models.errors import UsageError, shown
from models.running.progress import Progress, silent

StopWords = Literal["none", "english"]
Stemming = Literal[
    "none",
    "arabic",
    "danish",
    "dutch",
    "english",
    "finnish",
    "french",
    "german",
    "greek",
    "hungarian",
    "italian",
    "norwegian",
    "portuguese",
    "romanian",
    "russian",
    "spanish",
    "swedish",
    "turkish",
]

_WORD = re.compile(r"\w+")


def tokens(text: str) -> list[str]:
    """The words in order."""
    return _WORD.findall(unicodedata.normalize("NFC", text).lower())


def reader(stop_words: StopWords, stemming: Stemming) -> Callable[[str], list[str]]:
    """`tokens` without stop words, each reduced to its stem."""
    if stop_words == "none" and stemming == "none":
        return tokens
    left_out: frozenset[str] = frozenset()
    if stop_words == "english":
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        left_out = frozenset(ENGLISH_STOP_WORDS)
    stem = _stem(stemming)

    def read(text: str) -> list[str]:
        return [stem(word) for word in tokens(text) if word not in left_out]

    return read


def _stem(stemming: Stemming) -> Callable[[str], str]:
    if stemming == "none":
        return str
    import snowballstemmer  # type: ignore[import-untyped]

    known: dict[str, str] = {}
    find = snowballstemmer.stemmer(stemming).stemWord

    def stem(word: str) -> str:
        known_stem = known.get(word)
        if known_stem is None:
            known_stem = known[word] = str(find(word))
        return known_stem

    return stem


Read = Callable[[str], list[str]]
"""Splits a text into words, as `tokens` or what `reader` gives."""

_AT_ONCE = 4096
"""The number of documents between two progress reports."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words that count.

    words : most frequent first, ties in alphabetical order.
    count : (V,) number of occurrences of each. n_left_out : number of words left out as too rare,
        or beyond the limit.
    """

    words: list[str]
    count: Int
    n_left_out: int

    def numbers(self) -> dict[str, int]:
        """The number of each word."""
        return {word: number for number, word in enumerate(self.words)}


@dataclass(frozen=True, slots=True)
class Tokens:
    """The words of documents by their numbers, without words outside the vocabulary.

    number : (T,) int32. start : (n_documents + 1,), document i has `number[start[i]:start[i + 1]]`.
    """

    number: npt.NDArray[np.int32]
    start: Int

    @property
    def n_documents(self) -> int:
        return len(self.start) - 1


def vocabulary(
    documents: Sequence[str],
    min_count: int = 1,
    max_words: int | None = None,
    progress: Progress = silent,
    read: Read = tokens,
) -> Vocabulary:
    """The words that occur at least `min_count` times, and at most `max_words` of them.

    Raises UsageError `empty` if none is left.
    """
    counted: Counter[str] = Counter()
    for number, document in enumerate(documents):
        if number % _AT_ONCE == 0:
            progress(number / len(documents), "counting words", f"{number:,} documents")
        counted.update(read(document))
    n_all = len(counted)
    often = [(word, n) for word, n in counted.items() if n >= min_count]
    often.sort(key=lambda entry: (-entry[1], entry[0]))
    kept = often if max_words is None else often[:max_words]
    if not kept:
        detail = _nothing_left(len(documents), counted, min_count)
        raise UsageError(detail, code="empty", role="documents")
    words = [word for word, _ in kept]
    return Vocabulary(words, np.array([n for _, n in kept], dtype=np.int64), n_all - len(kept))


def numbered(
    documents: Sequence[str],
    words: Sequence[str],
    progress: Progress = silent,
    read: Read = tokens,
) -> Tokens:
    """The tokens of documents that are among `words`, by their numbers there."""
    number = {word: at for at, word in enumerate(words)}
    parts: list[npt.NDArray[np.int32]] = []
    start = np.zeros(len(documents) + 1, dtype=np.int64)
    for at, document in enumerate(documents):
        if at % _AT_ONCE == 0:
            progress(at / len(documents), "reading words", f"{at:,} documents")
        here = [number[word] for word in read(document) if word in number]
        parts.append(np.array(here, dtype=np.int32))
        start[at + 1] = start[at] + len(here)
    numbers = np.concatenate(parts) if parts else np.empty(0, dtype=np.int32)
    return Tokens(numbers, start)


def _nothing_left(n_documents: int, counted: Counter[str], min_count: int) -> str:
    what = f"Input 'documents' has {n_documents:,} document(s) "
    if not counted:
        return what + (
            "without a single word that counts; a word is a run of letters or digits, and stop "
            "words may be left out."
        )
    word, n = max(counted.items(), key=lambda entry: (entry[1], entry[0]))
    return (
        f"{what}in which no word occurs 'min_count' = {min_count} times; the most frequent one, "
        f"{shown(word)}, occurs {n} time(s)."
    )


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
