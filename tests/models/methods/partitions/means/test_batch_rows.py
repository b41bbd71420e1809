"""Mini-batches over shares of rows: the naive ones, whoever computes the pieces, and k-means."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from models import registry
from models.clusters import row_sums
from models.errors import UsageError
from models.inputs.data import Data
from models.inputs.rows import ArrayRows
from models.methods.partitions.means import batch_rows
from models.methods.partitions.minibatch_kmeans import MiniBatchKMeansParams
from models.running.progress import silent
from tests.models.methods.partitions.mixtures.by_rows_kit import assert_same_whoever_computes

METHOD = registry.method("minibatch-kmeans")


@pytest.fixture(autouse=True)
def by_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_rows, "WHOLE", 1)
    monkeypatch.setattr(batch_rows, "POOL", 1000)
    monkeypatch.setattr(row_sums, "LEAST_VALUES", 200)


def blobs(n_points: int = 2400, n_features: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    group = np.sort(rng.integers(4, size=n_points))
    centres = 9.0 * rng.normal(size=(4, n_features))
    return centres[group] + rng.normal(size=(n_points, n_features)), group


def test_a_step_moves_each_centre_to_the_mean_of_what_it_took_up() -> None:
    rng = np.random.default_rng(0)
    rows, start = rng.normal(size=(90, 4)) + 30.0, rng.normal(size=(5, 4)) + 30.0
    centers, count = start.copy(), np.zeros(5)
    taken: list[list[np.ndarray]] = [[] for _ in range(5)]
    naive = start.copy()
    for first in range(0, 90, 20):
        batch = rows[first : first + 20]
        batch_rows.step(batch, centers, count)
        nearest = [int(((row - naive) ** 2).sum(axis=1).argmin()) for row in batch]
        for row, k in zip(batch, nearest, strict=True):
            taken[k].append(row)
        naive = np.array(
            [np.mean(part, axis=0) if part else start[k] for k, part in enumerate(taken)]
        )
        np.testing.assert_allclose(centers, naive, rtol=1e-12)
        assert count.tolist() == [len(part) for part in taken]


def test_after_a_pass_a_centre_is_the_mean_of_all_that_it_took_up() -> None:
    features, _ = blobs(600)
    rows = ArrayRows(features)
    centers = features[[0, 200, 400, 599]]
    cut = row_sums.shares(600, 1, 3)
    assert len(cut) > 1
    given = {"first": 0, "last": len(cut), "seed": 1, "turn": 0, "batch_size": 10_000}
    shared = {"centers": centers, "count": np.zeros(4)}
    found = batch_rows.piece(rows, {**given, "shared": shared}, 1, silent)
    count = sum(found[f"{number}.count"] for number in range(len(cut)))
    weighed = sum(found[f"{number}.weighed"] for number in range(len(cut)))
    # One batch a share, so all rows go by the centres at the start, as in Lloyd's iteration.
    nearest = ((features[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
    assert count.tolist() == np.bincount(nearest, minlength=4).tolist()
    for k in range(4):
        mean = features[nearest == k].mean(axis=0)
        np.testing.assert_allclose(centers[k] + weighed[k] / count[k], mean, rtol=1e-12)


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_the_same_whoever_computes_the_pieces(offset: float) -> None:
    noise = np.random.default_rng(6).normal(size=(2400, 3)) + offset
    params = MiniBatchKMeansParams(n_clusters=30, batch_size=64, tol=0.0)
    fitted = assert_same_whoever_computes(METHOD, Data({"features": noise}), params)
    assert fitted.metrics["n_iter"] > 3
    features, group = blobs()
    few = METHOD.fit(
        Data({"features": features + offset}), MiniBatchKMeansParams(n_clusters=4, batch_size=64)
    )
    assert adjusted_rand_score(group, few.tree.leaf_of_point) == 1.0


def test_the_inertia_is_near_that_of_k_means() -> None:
    features = np.random.default_rng(1).normal(size=(6000, 6)).astype(np.float32)
    whole = registry.method("kmeans")
    best = whole.fit(Data({"features": features}), whole.Params(n_clusters=12, n_init=3))
    params = MiniBatchKMeansParams(n_clusters=12, batch_size=128)
    fitted = METHOD.fit(Data({"features": features}), params)
    assert fitted.metrics["inertia"] < 1.05 * best.metrics["inertia"]


def test_centres_with_few_rows_move_into_the_sample() -> None:
    drawn = np.arange(20.0).reshape(10, 2)
    centers = np.array([[0.0, 0.0], [1e3, 1e3], [5.0, 5.0]])
    moved, count = batch_rows._moved(centers, np.array([90.0, 0.0, 10.0]), drawn, 0.05, (0, 1))
    assert moved[[0, 2]].tolist() == centers[[0, 2]].tolist()
    assert moved[1].tolist() in drawn.tolist()
    assert count.tolist() == [90.0, 10.0, 10.0]


def test_a_bad_value_of_the_last_share_is_named() -> None:
    features, _ = blobs(20_000)
    features[-3, 1] = np.nan
    with pytest.raises(UsageError, match="row 19997, column 1"):
        METHOD.fit(Data({"features": features}), MiniBatchKMeansParams(n_clusters=4))
