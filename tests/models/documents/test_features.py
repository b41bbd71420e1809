"""Documents as features: the step `words`, its state, and the steps after it."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from pydantic import ValidationError

from models.errors import UsageError
from models.preprocess.pipeline import Pipeline, fit, parsed

DOCUMENTS = ["A cat, a dog.", "The cats ran", "dog dog DOG cat", "nothing known: ünïcode"]


def test_counts_are_weighted_by_the_steps_after_them() -> None:
    steps = [{"step": "words", "min_count": 1}, {"step": "tfidf", "scheme": "ltc"}]
    pipeline, rows, notes = fit(steps, DOCUMENTS, 0)
    assert isinstance(rows, sp.csr_array)
    words = pipeline.learned[0]["words"].tobytes().decode().split("\n")
    assert words[:4] == ["dog", "a", "cat", "cats"]
    texts = [
        text.lower().replace(",", "").replace(".", "").replace(":", "").split()
        for text in DOCUMENTS
    ]
    expected = np.zeros((4, len(words)))
    for row, text in enumerate(texts):
        for column, word in enumerate(words):
            if n := text.count(word):
                n_with = sum(word in other for other in texts)
                expected[row, column] = (1 + np.log(n)) * np.log(4 / n_with)
        expected[row] /= np.linalg.norm(expected[row])
    np.testing.assert_allclose(rows.toarray(), expected)
    assert notes == ()


@pytest.mark.parametrize("params", [{}, {"stop_words": "english", "stemming": "english"}])
def test_new_documents_are_counted_as_the_old_ones(params: dict[str, str]) -> None:
    steps = [{"step": "words", "min_count": 1, **params}, {"step": "tfidf"}]
    pipeline, rows, _ = fit(steps, DOCUMENTS, 0)
    assert isinstance(rows, sp.csr_array)
    assert pipeline.reads_documents
    kept = [one.model_dump() for one in parsed(steps)]
    again = Pipeline.of(kept, pipeline.arrays(), pipeline.n_features)
    np.testing.assert_array_equal(again.apply(DOCUMENTS).toarray(), rows.toarray())
    assert again.apply(["unseen"]).nnz == 0
    with pytest.raises(UsageError, match="fitted on 0"):
        again.apply(np.ones((2, 3)))


def test_words_come_first_and_of_documents_only() -> None:
    for steps in ([{"step": "words"}], [{"step": "l2"}, {"step": "words"}]):
        with pytest.raises(UsageError, match="takes the input 'documents', and comes first"):
            fit(steps, np.ones((3, 2)), 0)
    with pytest.raises(UsageError, match="takes the input 'documents', and comes first"):
        fit([{"step": "words", "min_count": 1}, {"step": "words"}], DOCUMENTS, 0)
    with pytest.raises(UsageError) as caught:
        fit([{"step": "words", "min_count": 99}], DOCUMENTS, 0)
    assert caught.value.code == "empty"
    for wrong in ({"stemming": "klingon"}, {"stop_words": "german"}, {"min_count": 0}):
        with pytest.raises(ValidationError):
            parsed([{"step": "words", **wrong}])
