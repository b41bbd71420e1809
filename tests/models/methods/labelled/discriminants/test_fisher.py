"""Fisher discriminants against their definition."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from models.arrays import Float
from models.errors import UsageError
from models.methods.labelled.metric.fisher import discriminants, of_means, of_pairs
from models.methods.labelled.supervision.inputs import KnownClusters


def known(seed: int = 0, n_rows: int = 60, n_columns: int = 5) -> KnownClusters:
    rng = np.random.default_rng(seed)
    code = np.concatenate([np.arange(4), rng.choice(4, n_rows - 4, p=[0.6, 0.2, 0.1, 0.1])])
    means = rng.normal(0, 2, (4, n_columns))
    return KnownClusters(means[code] + rng.normal(size=(n_rows, n_columns)), code, 4)


def test_the_squares_between_clusters_are_as_defined() -> None:
    some = known()
    whole = some.points.mean(axis=0)
    literal = sum(
        rows * np.outer(mean - whole, mean - whole)
        for rows, mean in zip(some.size, some.means, strict=True)
    )
    np.testing.assert_allclose(of_means(some) @ of_means(some).T, literal)
    pairs = sum(
        np.outer(some.means[i] - some.means[j], some.means[i] - some.means[j])
        for i in range(4)
        for j in range(i + 1, 4)
    )
    np.testing.assert_allclose(of_pairs(some) @ of_pairs(some).T, pairs)


@pytest.mark.parametrize("between", [of_means, of_pairs])
def test_directions_solve_the_eigenvalue_problem(between: Callable[[KnownClusters], Float]) -> None:
    some = known()
    learned = discriminants(some, between(some), 0.5)
    matrix, ratios = learned.matrix, [value for _, value in learned.curves["ratio"]]
    within = some.within + 0.5 * np.eye(5)
    squares = between(some) @ between(some).T
    assert matrix.shape == (3, 5)
    np.testing.assert_allclose(matrix @ within @ matrix.T, np.eye(3), atol=1e-10)
    np.testing.assert_allclose(squares @ matrix.T, within @ matrix.T * ratios, atol=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_distances_by_means_and_by_pairs_are_the_same(seed: int) -> None:
    some = known(seed)
    first, second = (
        discriminants(some, between(some), 1e-3).matrix for between in (of_means, of_pairs)
    )
    assert not np.allclose(first, second)
    np.testing.assert_allclose(first.T @ first, second.T @ second, atol=1e-9)


def test_no_more_directions_than_means_span() -> None:
    some = known()
    flat = KnownClusters(some.points[:, :1] * np.array([[1.0, 2.0, 3.0]]), some.code, 4)
    assert discriminants(flat, of_means(flat), 1.0).matrix.shape == (1, 3)


def test_no_spread_within_clusters_needs_a_gamma() -> None:
    code = np.arange(8) % 4
    still = KnownClusters(np.eye(4)[code], code, 4)
    with pytest.raises(UsageError, match="gamma"):
        discriminants(still, of_means(still), 0.0)
    assert discriminants(still, of_means(still), 0.1).matrix.shape == (3, 4)
