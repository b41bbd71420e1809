"""Trees of shares joined to one: the rule of rows, sums kept, and the same whoever computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from models import registry
from models.clusters import row_sums
from models.inputs.data import Data
from models.methods.features.summaries import subclusters
from tests.models.crew_kit import Scattered

METHOD = registry.method("birch")


@pytest.fixture
def in_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subclusters, "WHOLE", 1)
    monkeypatch.setattr(row_sums, "LEAST_VALUES", 300)


def blobs(n_points: int = 1500) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    group = rng.integers(5, size=n_points)
    return 12.0 * rng.normal(size=(5, 3))[group] + rng.normal(size=(n_points, 3)), group


def summaries(tree: Any) -> list[tuple[float, list[float], float]]:
    """What the leaves of a tree summarize, from left to right."""
    left = subclusters._left_of(tree, 3)
    return list(
        zip(left["count"].tolist(), left["total"].tolist(), left["square"].tolist(), strict=True)
    )


@pytest.mark.parametrize(("threshold", "branching"), [(0.5, 3), (2.0, 10), (1e-6, 2)])
def test_single_rows_are_taken_up_as_rows(threshold: float, branching: int) -> None:
    rows = blobs(300)[0]
    known = subclusters.grown(rows, np.zeros(3), threshold, branching, 1000, lambda *_: None)
    square = np.array([np.dot(row, row) for row in rows])
    single = {"count": np.ones(300), "total": rows, "square": square}
    taken = subclusters._taken_up(single, threshold, branching, 1000)
    assert summaries(taken) == summaries(known)


def test_what_is_joined_is_the_sum_of_its_rows() -> None:
    rows = blobs(800)[0]
    halves = [rows[:500], rows[500:]]
    trees = [subclusters.grown(half, np.zeros(3), 1.0, 5, 1000, lambda *_: None) for half in halves]
    left = [subclusters._left_of(tree, 3) for tree in trees]
    parts = {name: np.concatenate([part[name] for part in left]) for name in left[0]}
    joined = subclusters._taken_up(parts, 1.0, 5, 1000)
    whole = subclusters._left_of(joined, 3)
    assert whole["count"].sum() == 800
    assert len(whole["count"]) < len(parts["count"])
    np.testing.assert_allclose(whole["total"].sum(axis=0), rows.sum(axis=0))
    assert whole["square"].sum() == pytest.approx((rows**2).sum())
    mean = whole["total"] / whole["count"][:, None]
    squared = whole["square"] / whole["count"] - (mean**2).sum(axis=1)
    assert squared.max() <= 1.0 + 1e-9
    assert subclusters._taken_up(parts, 1.0, 5, len(whole["count"]) - 1) is None


@pytest.mark.usefixtures("in_shares")
@pytest.mark.parametrize("params", [{}, {"max_leaves": 40}, {"n_clusters": 5, "threshold": 1.0}])
def test_the_same_whoever_computes_the_pieces(params: dict[str, Any]) -> None:
    features, group = blobs()
    data, given = Data({"features": features}), METHOD.Params(**params)
    alone = METHOD.fit(data, given)
    n_lost = 0
    for n_pieces in (2, 3, 7):
        n_threads = n_pieces % 2 + 1
        crew = Scattered(
            lambda piece, at, threads=n_threads: METHOD.piece(
                data, given, piece, at, threads=threads
            ),
            n_pieces,
            n_pieces,
        )
        fitted = METHOD.fit(data, given, crew=crew)
        n_lost += crew.n_lost
        assert fitted.metrics == alone.metrics
        assert fitted.tree.parent.tolist() == alone.tree.parent.tolist()
        assert fitted.tree.leaf_of_point.tolist() == alone.tree.leaf_of_point.tolist()
        for name, array in alone.model.arrays.items():
            np.testing.assert_array_equal(fitted.model.arrays[name], array)
    assert n_lost
    assert alone.metrics["n_subclusters"] <= given.max_leaves
    if given.n_clusters:
        cluster = alone.tree.parent[alone.tree.leaf_of_point]
        assert adjusted_rand_score(group, cluster) > 0.99
