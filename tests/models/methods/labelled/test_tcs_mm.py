"""tcs-mm on figure 6.1's data and on rows drawn at random."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from models.errors import UsageError
from models.inputs.data import Data
from models.method import Fitted
from models.methods.labelled.tcs_mm import TCSMM, TCSMMParams
from tests.models.methods.labelled.bimodal_kit import half_known


def fitted(data: Data, **params: Any) -> Fitted:
    return TCSMM().fit(data, TCSMMParams(**{"n_init": 5, **params}))


def axes_of(result: Fitted) -> np.ndarray:
    """The diagonal of A on rows as they came."""
    assert result.model is not None
    return np.square(result.model.arrays["projection"]).sum(axis=1)


def overlapping() -> Data:
    """Four known clusters of six that overlap in three columns; two more columns spread widely."""
    rng = np.random.default_rng(0)
    code = np.arange(180) % 6
    means = np.zeros((6, 5))
    means[:, :3] = 2.0 * rng.normal(size=(6, 3))
    points = means[code] + rng.normal(size=(180, 5)) * [1, 1, 1, 4, 4]
    return Data({"features": points, "labels": np.where(code < 4, code, -1)})


@pytest.mark.parametrize("seed", range(3))
def test_figure_6_1_is_solved(seed: int) -> None:
    # k-means splits the modes, so that the known clusters win only where A ends them.
    data, code = half_known(seed)
    result = fitted(data, n_clusters=3, gamma=0.1)
    across, along = axes_of(result)
    assert across > 100 * along
    cluster = result.logits.argmax(axis=1)
    assert adjusted_rand_score(code[code < 3], cluster[code < 3]) == 1.0
    assert "other clustering(s)" in result.warnings[0]


def test_a_large_gamma_leaves_rows_as_they_are() -> None:
    data, _ = half_known(0)
    across, along = axes_of(fitted(data, n_clusters=3, gamma=1e6))
    assert across == pytest.approx(along, rel=1e-5)


def test_clusters_far_apart_leave_rows_as_they_are() -> None:
    code = np.arange(40) % 4
    points = 9.0 * np.eye(4)[code] + np.random.default_rng(0).normal(size=(40, 4))
    labels = np.where(code < 3, code, -1)
    data = Data({"features": points, "labels": labels})
    result = fitted(data, n_clusters=1, gamma=1.0)
    assert "left as they were" in result.warnings[0]
    assert np.ptp(axes_of(result)) <= 1e-12
    assert "objective" in result.curves


def test_its_objective_never_falls_and_bounds_what_was_found() -> None:
    result = fitted(overlapping(), n_clusters=2, gamma=0.1, tol=1e-6, n_init=2, n_searches=3)
    rounds, objectives = zip(*result.curves["objective"], strict=True)
    assert rounds == tuple(range(1, len(rounds) + 1))
    assert len(rounds) == result.metrics["n_iter"] > 1
    assert (np.diff(objectives) >= -1e-12).all()
    assert objectives[-1] == result.metrics["bound"]
    assert result.metrics["bound"] == pytest.approx(result.metrics["objective"], abs=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_the_slack_is_no_less_than_any_clustering_needs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    code = np.arange(120) % 5
    points = 2.0 * rng.normal(size=(5, 4))[code] + rng.normal(size=(120, 4)) * [1, 1, 1, 3]
    data = Data({"features": points, "labels": np.where(code < 4, code, -1)})
    result = fitted(data, n_clusters=1, gamma=0.1)
    assert result.model is not None
    folded = points[code < 4] @ result.model.arrays["projection"]
    known = code[code < 4]

    def within(cluster: np.ndarray) -> float:
        means = [folded[cluster == k].mean(axis=0) for k in range(4) if (cluster == k).any()]
        squares = [
            ((folded[cluster == k] - mean) ** 2).sum()
            for k, mean in zip(np.unique(cluster), means, strict=True)
        ]
        return float(sum(squares) / len(known))

    def lacks(cluster: np.ndarray) -> float:
        loss = 1.0 - max(adjusted_rand_score(known, cluster), 0.0)
        return loss - (within(cluster) - within(known))

    runs = [
        KMeans(4, n_init=1, random_state=run, init=init).fit_predict(folded)
        for run in range(60)
        for init in ("random", "k-means++")
    ]
    worst = max(map(lacks, runs))
    assert worst > 0.0
    metrics = result.metrics
    assert worst <= metrics["slack"] + 1e-6
    assert max(lacks(rng.integers(4, size=len(known))) for _ in range(50)) <= metrics["slack_bound"]
    assert metrics["slack"] <= metrics["slack_bound"] + 1e-9
    assert metrics["bound"] <= metrics["objective"] + 1e-9
    assert f"at least {metrics['slack']:.3g}" in " ".join(result.warnings)


def test_too_few_rounds_are_a_warning() -> None:
    result = fitted(overlapping(), n_clusters=2, gamma=0.1, max_iter=1)
    assert any("Not converged after 1 rounds" in warning for warning in result.warnings)


def test_the_number_of_rows_does_not_matter() -> None:
    data, _ = half_known(0)
    twice = Data({role: np.concatenate([value, value]) for role, value in data.values.items()})
    once, doubled = (fitted(some, n_clusters=3, gamma=0.3, tol=1e-5) for some in (data, twice))
    # k-means finds the same clusterings of rows that are there twice.
    assert doubled.metrics["objective"] == pytest.approx(once.metrics["objective"], rel=2e-2)


def test_clusters_that_nothing_tells_apart_are_refused_where_distances_cost_little() -> None:
    points = np.random.default_rng(0).normal(size=(60, 2))
    labels = np.where(np.arange(60) < 40, np.arange(60) % 2, -1)
    with pytest.raises(UsageError, match="use a larger 'gamma'") as caught:
        fitted(Data({"features": points, "labels": labels}), n_clusters=2, gamma=1e-4)
    assert caught.value.where == {"parameter": "gamma"}


def test_gamma_is_chosen_by_validation_where_four_clusters_are_known() -> None:
    rng = np.random.default_rng(0)
    code = np.arange(90) % 6
    points = rng.normal(size=(90, 2)) * [0.3, 6.0] + 3.0 * code[:, None] * [1.0, 0.0]
    labels = np.where(code < 4, code, -1)
    result = fitted(
        Data({"features": points, "labels": labels}), n_clusters=2, n_searches=2, max_iter=10
    )
    assert "Chosen by validation" in result.warnings[0]
    scores = [score for _, score in result.curves["validation_nmi"]]
    assert max(scores) > scores[0] + 0.3
    assert adjusted_rand_score(code[code >= 4], result.logits.argmax(axis=1)[code >= 4]) == 1.0
