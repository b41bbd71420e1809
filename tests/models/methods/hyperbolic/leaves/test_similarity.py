"""Similarities against their definitions, and the order that depends on values alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.spatial.distance import cdist

from models.methods.hyperbolic.leaves import similarity as module
from models.methods.hyperbolic.leaves.similarity import (
    FeatureSimilarity,
    MatrixSimilarity,
    canonical,
)
from models.metrics.pairs import Cosine, Gaussian

pytestmark = pytest.mark.needs("torch")

FEATURES = np.random.default_rng(3).normal(size=(12, 4)) + 2.0
TRIPLES = torch.tensor([[0, 3, 5], [1, 7, 11], [2, 8, 6]])


def literal(affinity: str, gamma: float | None) -> np.ndarray:
    if affinity == "cosine":
        return (1 + (1 - cdist(FEATURES, FEATURES, "cosine"))) / 2
    squares = cdist(FEATURES, FEATURES, "sqeuclidean")
    if gamma is None:
        gamma = 1 / (2 * squares[np.triu_indices(12, 1)].mean())
    return np.exp(-gamma * squares)


@pytest.mark.parametrize(("affinity", "gamma"), [("cosine", None), ("rbf", None), ("rbf", 0.3)])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_features_have_the_similarities_of_the_definition(
    affinity: module.Affinity, gamma: float | None, kind: type
) -> None:
    similarity = FeatureSimilarity(FEATURES.astype(kind), affinity, gamma)
    matrix = literal(affinity, gamma)[np.ix_(similarity.order, similarity.order)]
    i, j, k = TRIPLES.numpy()
    expected = np.stack([matrix[i, j], matrix[i, k], matrix[j, k]])
    assert similarity.of(TRIPLES).numpy() == pytest.approx(expected, abs=1e-6)
    assert similarity.at(i, j) == pytest.approx(matrix[i, j], abs=1e-6)


def test_the_similarities_are_those_of_the_cost() -> None:
    first, second = np.arange(6), np.arange(6, 12)
    for affinity, pairs in (("cosine", Cosine(FEATURES)), ("rbf", Gaussian(FEATURES))):
        similarity = FeatureSimilarity(FEATURES, affinity, None)
        expected = pairs.at(similarity.order[first], similarity.order[second])
        assert similarity.at(first, second) == pytest.approx(expected, abs=1e-6)


def test_a_matrix_is_read_as_the_mean_of_its_halves() -> None:
    matrix = literal("cosine", None)
    matrix[2, 5] += 2e-9
    similarity = MatrixSimilarity(matrix)
    row = np.argsort(similarity.order)
    triple = torch.from_numpy(row[np.array([[2], [5], [7]])])
    expected = [(matrix[2, 5] + matrix[5, 2]) / 2, matrix[2, 7], matrix[5, 7]]
    assert similarity.of(triple)[:, 0].numpy() == pytest.approx(expected, rel=1e-12)
    assert similarity.of(triple)[0, 0].item() != matrix[2, 5]


def test_near_points_keep_their_digits() -> None:
    rows = np.ones((3, 50))
    rows[1, 0] += 1e-3
    rows[2, 0] += 2e-3
    similarity = FeatureSimilarity(rows, "cosine", None)
    apart = 1 - similarity.at(np.array([0, 0, 1]), np.array([1, 2, 2]))
    exact = cdist(rows, rows, "cosine")[np.ix_(similarity.order, similarity.order)] / 2
    assert apart == pytest.approx(exact[[0, 0, 1], [1, 2, 2]], rel=1e-3)


@pytest.mark.parametrize("square", [False, True])
def test_the_order_depends_on_values_alone(square: bool) -> None:
    values = literal("rbf", None) if square else FEATURES
    shuffle = np.random.default_rng(0).permutation(12)
    shuffled = values[np.ix_(shuffle, shuffle)] if square else values[shuffle]
    assert (shuffle[canonical(shuffled, square)] == canonical(values, square)).all()
    assert sorted(canonical(values, square)) == list(range(12))


def test_equal_rows_stay_in_order_and_rows_of_other_columns_do_not_tie() -> None:
    assert canonical(np.array([[1.0, -0.0], [1.0, 0.0], [1.0, 0.0]])).tolist() == [0, 1, 2]
    eye = np.eye(20)
    shuffle = np.random.default_rng(0).permutation(20)
    assert (shuffle[canonical(eye[shuffle])] == canonical(eye)).all()
