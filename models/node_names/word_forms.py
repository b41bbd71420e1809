"""Forms of a word as one term: "gun" and "guns"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from models.arrays import Matrix
from models.preprocess.documents import reader

MOST_SHOWN = 3


@dataclass(frozen=True, slots=True)
class WordForms:
    """features : (n, D) the counts of all forms of a word together. words : (D,) the most frequent
    form of each. shown : (D,) the most frequent forms, at most `MOST_SHOWN`, for readers."""

    features: sp.csr_array
    words: list[str]
    shown: list[str]


def word_forms(features: Matrix, words: Sequence[str]) -> WordForms | None:
    """Words of the same English stem (Snowball) as one; None where no two have one.

    features : (n, V) counts of the words, the most frequent word first. O(nnz).
    """
    read = reader("none", "english")
    forms: dict[str, list[str]] = {}
    stems = ["".join(read(word)) for word in words]
    for word, stem in zip(words, stems, strict=True):
        forms.setdefault(stem, []).append(word)
    if len(forms) == len(words):
        return None
    column = {stem: place for place, stem in enumerate(forms)}
    places = np.array([column[stem] for stem in stems], dtype=np.int64)
    member = sp.csr_array(
        (np.ones(len(words)), (np.arange(len(words)), places)), shape=(len(words), len(forms))
    )
    return WordForms(
        sp.csr_array(sp.csr_array(features) @ member),
        [own[0] for own in forms.values()],
        ["/".join(own[:MOST_SHOWN]) for own in forms.values()],
    )
