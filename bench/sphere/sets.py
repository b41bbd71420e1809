"""Sets with known classes: embeddings, pixels, and documents prepared by the steps of a job."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from bench import Size, real_data
from bench.report import Report
from bench.sphere.documents import docstrings
from models.arrays import Int, Matrix
from models.preprocess import pipeline

EMBEDDED: dict[Size, tuple[str, ...]] = {
    "quick": ("emoji",),
    "default": ("emoji", "optdigits", "20ng3000"),
    "full": ("emoji", "optdigits", "20ng3000", "wordnet12k"),
}
TEXTS: dict[Size, tuple[str, ...]] = {
    "quick": ("scipy",),
    "default": ("scipy",),
    "full": ("scipy", "sympy", "glosses"),
}
"""Sources of documents: packages with docstrings, or explanations of nouns."""

_GLOSSES = 4000
_EVERY = 3
"""The quick size uses one document in this many."""

Steps: TypeAlias = list[dict[str, Any]]

UNIT: Steps = [{"step": "l2"}]
TF: Steps = [{"step": "tfidf", "scheme": "lnc"}]
TFIDF: Steps = [{"step": "tfidf", "scheme": "ltc"}]
WORDS: Steps = [{"step": "words", "stop_words": "english", "stemming": "english", "min_count": 3}]
FEWER: Steps = [{"step": "svd", "n": 50}, {"step": "l2"}]


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """A set with known classes.

    features : rows of length 1. labels : the class of each.
    counts, tf : of documents, else None; `tf` without the inverse document frequency.
    """

    name: str
    features: Matrix
    labels: Int
    counts: sp.csr_array | None = None
    tf: Matrix | None = None

    @property
    def n_classes(self) -> int:
        return len(np.unique(self.labels))


def at_hand(report: Report, size: Size) -> Iterator[LabelledSet]:
    """The available sets in turn; the report gets a note for each missing one."""
    for name in EMBEDDED[size]:
        rows = _embedded(name)
        if rows is None:
            report.note("sphere", f"Left out: {name} is not in the folder that UMBEL_TEST_DATA "
                        "names.")  # fmt: skip
        else:
            yield LabelledSet(name, prepared(rows[0], UNIT), rows[1])
    for name in TEXTS[size]:
        texts = _glosses() if name == "glosses" else docstrings(name)
        if texts is None:
            report.note("sphere", f"Left out: no documents of {name!r} are at hand.")
        else:
            every = _EVERY if size == "quick" else 1
            yield of_documents(name, texts[0][::every], texts[1][::every])


def of_documents(name: str, documents: list[str], topics: list[str]) -> LabelledSet:
    """Stemmed words without stop words, then tf-idf; documents without a known word are omitted."""
    counts = prepared(documents, WORDS)
    assert isinstance(counts, sp.csr_array)
    filled = np.flatnonzero(np.diff(counts.indptr))
    counts, labels = counts[filled], _numbered(topics)[filled]
    return LabelledSet(name, prepared(counts, TFIDF), labels, counts, prepared(counts, TF))


def prepared(features: Matrix | list[str], steps: Steps) -> Matrix:
    """The features after the steps of a job."""
    matrix = pipeline.fit(steps, features, 0)[1]
    assert isinstance(matrix, (np.ndarray, sp.csr_array))
    return matrix


def _numbered(classes: list[str]) -> Int:
    return np.unique(classes, return_inverse=True)[1]


def _embedded(name: str) -> tuple[npt.NDArray[Any], Int] | None:
    """Rows and classes of a set; None if its files are absent."""
    if name == "optdigits":
        path = real_data("bench_optdigits.npz")
        if path is None:
            return None
        with np.load(path, allow_pickle=False) as file:
            return file["X"].astype(np.float32), _numbered(file["y"])
    features = real_data(f"{name}_minilm.npy")
    if features is None:
        return None
    values = np.load(features).astype(np.float32)
    if name == "20ng3000":
        path = real_data("20ng3000_labels.npy")
        return None if path is None else (values, np.load(path))
    path = real_data(f"{name}_tree.json")
    if path is None:
        return None
    described = json.loads(path.read_text())
    own = [entry["category"] for entry in described] if name == "emoji" else described["lex"]
    return values, _numbered(own)


def _glosses() -> tuple[list[str], list[str]] | None:
    """Explanations of nouns and their topics; None if the file is absent."""
    path = real_data("wordnet12k_tree.json")
    if path is None:
        return None
    described = json.loads(path.read_text())
    rows = np.sort(np.random.default_rng(0).permutation(len(described["text"]))[:_GLOSSES])
    return [described["text"][row] for row in rows], [described["lex"][row] for row in rows]
