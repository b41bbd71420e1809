"""Words of a text: runs of letters, digits and underscores of any script, in lower case.

Text is normalized first (NFC), so that an accented letter is the same however it is encoded.
`reader` leaves out stop words (scikit-learn's list) and reduces words to their stems (Snowball,
Porter's algorithms). Cost: O(length), a stem once for each word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Literal

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
