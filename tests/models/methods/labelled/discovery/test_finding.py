"""New clusters beside known ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from models.errors import UsageError
from models.methods.labelled.discovery.finding import CERTAIN, Discovery, find
from models.running.progress import silent

CENTERS = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0], [10.0, 10.0]])


def discovered(points: np.ndarray, code: np.ndarray, n_new: int, **how: Any) -> Discovery:
    settings = {"clusterer": "gmm", "may_join": False, "n_init": 10, **how}
    rng = np.random.default_rng(0)
    return find(points, code, n_new, rng=rng, progress=silent, **settings)


def four(sizes: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    truth = np.repeat(np.arange(4), sizes)
    return CENTERS[truth] + rng.normal(size=(truth.size, 2)), truth


def test_new_clusters_come_after_the_known_ones_the_largest_first() -> None:
    points, truth = four((20, 20, 30, 40))
    code = np.where(truth < 2, truth, -1)
    result = discovered(points, code, 2)
    np.testing.assert_array_equal(result.cluster, np.array([0, 1, 3, 2])[truth])
    np.testing.assert_allclose(result.mixture.means, CENTERS[[0, 1, 3, 2]], atol=0.8)
    assert result.mixture.weights.sum() == pytest.approx(1)
    np.testing.assert_allclose(result.mixture.weights * truth.size, [20, 20, 40, 30], atol=0.1)


@pytest.mark.parametrize("may_join", [False, True])
def test_only_where_rows_may_join_known_clusters_do_they(may_join: bool) -> None:
    points, truth = four((40, 30, 30, 30))
    code = np.where(truth < 1, 0, -1)
    code[20:40] = -1
    code[np.flatnonzero(truth == 1)[:10]] = 1
    result = discovered(points, code, 2, may_join=may_join)
    joined = (result.cluster < 2) & (code < 0)
    if may_join:
        np.testing.assert_array_equal(joined, (truth < 2) & (code < 0))
    else:
        assert not joined.any()


def test_labelled_rows_are_of_their_cluster_wherever_they_lie() -> None:
    points, truth = four((20, 20, 20, 20))
    code = np.where(truth < 2, truth, -1)
    code[0] = 1
    result = discovered(points, code, 2, may_join=True)
    assert result.cluster[0] == 1
    assert result.logits[0, 1] == 0
    assert result.logits[0, 0] == CERTAIN
    assert result.logits.min() >= CERTAIN


def test_directions_are_clustered_without_their_length() -> None:
    rng = np.random.default_rng(2)
    truth = np.repeat(np.arange(3), 30)
    points = np.eye(3)[truth] + rng.normal(0, 0.1, (90, 3))
    points *= np.exp(rng.normal(0, 2, 90))[:, None]
    code = np.where(truth == 0, 0, -1)
    result = discovered(points, code, 2, clusterer="vmf")
    assert len({*zip(result.cluster.tolist(), truth.tolist(), strict=True)}) == 3
    np.testing.assert_allclose(np.linalg.norm(result.mixture.means, axis=1), 1)


def test_the_likeliest_run_is_kept() -> None:
    points, truth = four((20, 20, 20, 20))
    result = discovered(points, np.full(truth.size, -1), 4, n_init=20)
    assert result.log_likelihoods.size == 20
    assert result.log_likelihood == result.log_likelihoods.max()
    single = discovered(points, np.full(truth.size, -1), 1)
    assert np.ptp(single.log_likelihoods) == pytest.approx(0, abs=1e-6)


def test_the_criterion_is_lowest_at_the_true_number() -> None:
    points, truth = four((40, 40, 40, 40))
    code = np.where(truth < 1, 0, -1)
    values = [discovered(points, code, n_new).bic for n_new in range(1, 6)]
    assert int(np.argmin(values)) + 1 == 3


def test_fewer_distinct_rows_than_clusters_are_refused() -> None:
    points = np.array([[0.0, 1.0], [0.0, 1.0], [5.0, 5.0]])
    with pytest.raises(UsageError, match="distinct"):
        discovered(points, np.array([-1, -1, 0]), 2)


def test_threads_change_nothing() -> None:
    points, truth = four((20, 20, 30, 40))
    code = np.where(truth < 2, truth, -1)
    one, two = (discovered(points, code, 2, threads=threads) for threads in (1, 2))
    np.testing.assert_array_equal(one.logits, two.logits)
    np.testing.assert_array_equal(one.log_likelihoods, two.log_likelihoods)
