"""Tokens, vocabularies and counts, against naive ones."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.errors import UsageError
from models.preprocess import documents as counting
from models.preprocess.documents import (
    cooccurrences,
    numbered,
    reader,
    tokens,
    vocabulary,
    word_counts,
)

some_documents = st.lists(
    st.lists(st.sampled_from("abcdef"), max_size=12).map(" ".join), min_size=1, max_size=6
)


def literal(documents: list[str], words: list[str], window: int) -> np.ndarray:
    """Token by token, with every other token near it."""
    near: dict[tuple[str, str], float] = defaultdict(float)
    for document in documents:
        here = [word for word in document.split() if word in words]
        for i, word in enumerate(here):
            for j, other in enumerate(here):
                if i != j and abs(i - j) <= window:
                    near[word, other] += 1 / abs(i - j)
    return np.array([[near[one, other] for other in words] for one in words])


def test_words_are_runs_of_letters_digits_and_underscores_of_any_script() -> None:
    assert tokens("The cat's 2 hats: HAT_1, naïve Straße.") == [
        *("the", "cat", "s", "2", "hats", "hat_1", "naïve", "straße"),
    ]
    assert tokens("Кошка и 猫 \u0627\u0644\u0642\u0637") == [
        "кошка",
        "и",
        "猫",
        "\u0627\u0644\u0642\u0637",
    ]
    assert tokens("cafe\u0301") == tokens("caf\u00e9") == ["café"]
    assert tokens(" .,! \n") == []


@settings(max_examples=60, deadline=None)
@given(some_documents, st.integers(1, 3), st.integers(1, 4))
def test_the_vocabulary_is_the_frequent_words(
    documents: list[str], min_count: int, max_words: int
) -> None:
    counted = Counter(word for document in documents for word in document.split())
    expected = sorted((-n, word) for word, n in counted.items() if n >= min_count)[:max_words]
    if not expected:
        with pytest.raises(UsageError) as caught:
            vocabulary(documents, min_count, max_words)
        assert caught.value.code == "empty"
        assert caught.value.where == {"role": "documents"}
        return
    result = vocabulary(documents, min_count, max_words)
    assert [
        (-n, word) for word, n in zip(result.words, result.count.tolist(), strict=True)
    ] == expected
    assert result.n_left_out == len(counted) - len(expected)


def test_stop_words_are_left_out_and_words_brought_to_their_stems() -> None:
    read = reader("english", "english")
    assert read("The cats were running, and one cat runs.") == ["cat", "run", "cat", "run"]
    assert reader("none", "german")("Katzen Katze") == ["katz", "katz"]
    assert reader("none", "none") is tokens
    assert vocabulary(["the cats", "a cat"], read=read).words == ["cat"]
    assert numbered(["the cats", "the"], ["cat"], read=read).start.tolist() == [0, 1, 1]
    with pytest.raises(UsageError, match="stop words may be left out"):
        vocabulary(["the", "a"], read=read)


def test_documents_without_words_are_refused() -> None:
    with pytest.raises(UsageError, match="without a single word"):
        vocabulary(["...", "!"])
    with pytest.raises(UsageError, match=r"no word occurs 'min_count' = 3 times.*'b'.* 2 time"):
        vocabulary(["a b", "b"], min_count=3)


@settings(max_examples=60, deadline=None)
@given(some_documents, st.sampled_from([["a", "c", "d"], list("abcdef")]))
def test_counts_of_documents_are_those_of_their_words(
    documents: list[str], words: list[str]
) -> None:
    counts = word_counts(numbered(documents, words), len(words))
    expected = [[document.split().count(word) for word in words] for document in documents]
    np.testing.assert_array_equal(counts.toarray(), expected)


@settings(max_examples=100, deadline=None)
@given(
    some_documents,
    st.integers(1, 5),
    st.sampled_from([["a", "c", "d"], list("abcdef")]),
    st.sampled_from([1, 3, 1 << 20]),
)
def test_words_occur_together_by_their_distance(
    documents: list[str], window: int, words: list[str], block: int
) -> None:
    """Words outside the vocabulary are skipped, and blocks do not matter."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "_BLOCK", block)
        pairs = cooccurrences(numbered(documents, words), len(words), window)
    np.testing.assert_allclose(pairs.toarray(), literal(documents, words, window), atol=1e-12)


def test_counting_takes_time_for_words_not_for_pairs_of_words() -> None:
    rng = np.random.default_rng(0)
    words = [f"w{number}" for number in range(20_000)]
    documents = [" ".join(rng.choice(words, size=200)) for _ in range(100)]
    pairs = cooccurrences(numbered(documents, words), len(words), 5)
    assert pairs.shape == (20_000, 20_000)
    assert pairs.nnz <= 2 * 5 * 20_000
    assert pairs.sum() == pytest.approx(
        2 * 100 * sum((200 - apart) / apart for apart in range(1, 6))
    )
