"""New rows of counts in a tree over words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from models.errors import UsageError
from models.method import Model
from models.methods.hyperbolic.words.pairs import checked
from models.methods.hyperbolic.words.placing import digests, place, unexplained
from models.tree.build import from_merges
from tests.models.methods.hyperbolic.words.vectors_kit import some_counts, some_vectors


def test_what_a_word_does_not_explain_is_least_for_the_best_bias() -> None:
    rng = np.random.default_rng(0)
    expected, log_count, weight = rng.normal(size=(4, 6)), rng.normal(size=6), rng.random(6)
    for u in range(4):
        values = [
            float((weight * (expected[u] + bias - log_count) ** 2).sum())
            for bias in np.linspace(-5, 5, 20_001)
        ]
        assert unexplained(expected, log_count, weight)[u] == pytest.approx(min(values), rel=1e-5)


def fitted_model(n_words: int = 6) -> tuple[Model, Any, np.ndarray]:
    vectors, counts = some_vectors(n_words, 3, 0), some_counts(n_words, 1)
    steps_ = np.arange(n_words - 1)
    left = np.concatenate([[0], n_words + steps_[:-1]])
    tree = from_merges(left, steps_ + 1, steps_ + 1.0)
    model = Model(
        arrays={
            "words": vectors.words,
            "contexts": vectors.contexts,
            "context_bias": vectors.context_bias,
            "digest": digests(checked(counts, "graph")),
        },
        facts={"x_max": 100.0, "exponent": 0.75, "glove_loss": 0.5},
    )
    return model, tree, counts


def test_a_row_comes_to_the_word_that_explains_it_best() -> None:
    model, tree, _ = fitted_model()
    words, contexts = model.arrays["words"], model.arrays["contexts"]
    expected = words @ contexts.T + model.arrays["context_bias"]
    # What word u expects, with its own bias and a little noise.
    rows = np.exp(
        expected + np.arange(6)[:, None] + 0.01 * np.random.default_rng(0).normal(size=(6, 6))
    )
    predictions = place(model, tree, rows, "graph")
    assert (predictions.leaf == tree.leaf_of_point).all()
    loss = np.array(
        [
            unexplained(expected, np.log(row), np.minimum(row / 100, 1) ** 0.75)
            for row in rows
        ]
    )  # fmt: skip
    share = np.exp(-loss / (2 * 0.5))
    share /= share.sum(axis=1, keepdims=True)
    for row in range(6):
        path = slice(predictions.start[row], predictions.start[row + 1])
        for node, probability in zip(
            predictions.node[path], predictions.probability[path], strict=True
        ):
            leaves = tree.leaf_of_point.tolist()
            under = [word for word in range(6) if node in ancestors(tree, leaves[word])]
            assert probability == pytest.approx(share[row, under].sum(), rel=1e-9)


def ancestors(tree: Any, node: int) -> set[int]:
    nodes = {int(node)}
    while tree.parent[node] >= 0:
        node = tree.parent[node]
        nodes.add(int(node))
    return nodes


def test_a_words_own_row_comes_to_it_for_certain() -> None:
    model, tree, counts = fitted_model()
    for rows in (counts, sp.csr_array(counts), counts.astype(np.float64)[:, :]):
        predictions = place(model, tree, rows, "graph")
        assert (predictions.leaf == tree.leaf_of_point).all()
        assert (predictions.probability == 1).all()
    order = np.array([4, 0, 2])
    assert (place(model, tree, counts[order], "graph").leaf == tree.leaf_of_point[order]).all()


def test_rows_that_cannot_be_placed_are_named() -> None:
    model, tree, counts = fitted_model()
    for bad, message in (
        (counts[:, :4], "4 columns; the model has 6 words"),
        (np.where(np.arange(6)[:, None] == 2, 0, counts), "row 2"),
        (np.where(np.arange(6)[:, None] == 3, -counts, counts), "below 0 in row 3"),
    ):
        with pytest.raises(UsageError, match=message) as caught:
            place(model, tree, bad, "graph")
        assert caught.value.where["role"] == "graph"
