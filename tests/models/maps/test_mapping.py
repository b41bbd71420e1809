"""Maps of points: each against what it must keep."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from pydantic import ValidationError

from models.arrays import Array
from models.errors import UsageError
from models.inputs.rows import ArrayRows
from models.maps import mapping
from models.maps.mapping import disc_map, in_disc, mapped
from models.maps.options import NEEDS, MapTerms
from models.numerics import poincare
from models.running.progress import silent


def groups(n_each: int = 25) -> tuple[Array, Array]:
    """Four groups far apart in eight columns, and the group of each row."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(4), n_each)
    rows = rng.normal(size=(group.size, 8)) + 12.0 * np.eye(8)[group]
    return rows.astype(np.float32), group


def map_of(rows: Any, by: str, **terms: Any) -> mapping.PointMap:
    return mapped(rows, MapTerms.model_validate({"by": by, **terms}), 1, silent)


def purity(positions: Array, group: Array) -> float:
    """The share of points whose nearest one on the map is of their group."""
    apart = np.linalg.norm(positions[:, None] - positions[None], axis=2)
    np.fill_diagonal(apart, np.inf)
    return float((group[apart.argmin(axis=1)] == group).mean())


@pytest.mark.parametrize(
    "by",
    [
        pytest.param(by, marks=pytest.mark.needs(*NEEDS.get(by, ())))
        for by in ("pca", "umap", "tsne")
    ],
)
def test_neighbours_stay_together_and_equal_rows_coincide(by: str) -> None:
    rows, group = groups()
    rows[60] = rows[3]
    group[60] = group[3]
    terms = {"tsne": {"perplexity": 8, "metric": "cosine"}, "umap": {"n_components": 4}}
    made = map_of(ArrayRows(rows), by, **terms.get(by, {}))
    assert made.positions.shape == (100, 2)
    assert made.positions.dtype == np.float32
    assert np.array_equal(made.positions[60], made.positions[3])
    assert purity(made.positions, group) > (0.8 if by == "pca" else 0.98)
    assert made.neighbours_kept is not None
    assert 0.2 < made.neighbours_kept <= 1
    assert (made.explained is not None) == (by == "pca")
    assert (made.n_columns, made.warnings) == (8, ())


@pytest.mark.needs("umap-learn")
def test_a_seed_gives_one_map() -> None:
    rows, _ = groups(10)
    first, again, other = (map_of(rows, "umap", seed=seed).positions for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.needs("umap-learn", "openTSNE")
def test_fewer_neighbours_than_requested_are_a_warning() -> None:
    rows, _ = groups(3)
    assert map_of(rows, "umap").warnings == (
        "`n_neighbors` is 11 and not 15: there are no more distinct points.",
    )
    (note,) = map_of(rows, "tsne").warnings
    assert note.startswith("`perplexity` is 3.66667 and not 30")
    with pytest.raises(UsageError, match="at least 4 points with different features; there are 1"):
        map_of(np.ones((30, 2)), "umap")


def test_sparse_rows_are_reduced_first() -> None:
    rows, _ = groups(5)
    dense, sparse = map_of(rows, "pca"), map_of(sp.csr_array(rows), "pca")
    np.testing.assert_allclose(np.abs(sparse.positions), np.abs(dense.positions), atol=1e-3)
    assert sparse.n_columns == 8


def test_a_layout_larger_than_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapping.budget, "available", lambda: 1000)
    with pytest.raises(UsageError, match=r"'tsne' would need .* by 'pca'"):
        map_of(groups()[0], "tsne")


def test_terms_of_another_map_are_refused() -> None:
    with pytest.raises(ValidationError, match="perplexity is no term of umap, which takes metric"):
        MapTerms.model_validate({"by": "umap", "perplexity": 4})
    own = MapTerms.model_validate({"by": "tsne", "perplexity": 4}).own()
    assert own == {
        "by": "tsne", "metric": "euclidean", "perplexity": 4, "n_components": 50, "seed": 0
    }  # fmt: skip


def test_a_flat_ball_is_its_own_disc() -> None:
    points = np.array([[0.0, 0.0], [0.3, -0.9], [-0.5, 0.2]])
    made = disc_map(points, MapTerms(by="disc"))
    np.testing.assert_array_equal(made.positions, points.astype(np.float32))
    assert (made.explained, made.neighbours_kept, made.warnings) == (1.0, None, ())


def test_a_ball_of_more_dimensions_is_projected_on_its_widest_plane() -> None:
    rng = np.random.default_rng(0)
    flat = rng.uniform(-0.6, 0.6, size=(30, 2))
    turn = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    ball = np.hstack([flat, np.zeros((30, 3))]) @ turn
    whole = in_disc(ball)
    assert whole.explained == pytest.approx(1.0)
    # Nothing is lost: distances in the ball are those in the disc.
    np.testing.assert_allclose(
        poincare.distances(whole.points.astype(np.float64), whole.points.astype(np.float64)),
        poincare.distances(ball, ball),
        atol=1e-5,
    )
    made = disc_map(ball + 0.05 * rng.normal(size=ball.shape), MapTerms(by="disc"))
    assert np.linalg.norm(made.positions, axis=1).max() < 1
    assert made.warnings[0].startswith("The ball has 5 dimensions: the disc shows")
