"""Noise in the clusters that are nearest to it, against the rule, pair by pair."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from models import registry
from models.errors import UsageError
from models.inputs.data import Data
from models.method import Fitted, Predictions
from models.methods.features.density.placing import (
    given_cores,
    nearest_clusters,
    of_features,
    of_pairs,
)
from models.tree.cut import cut

METHOD = registry.method("hdbscan")


def fit(values: Any, role: str = "features", **params: Any) -> Fitted:
    return METHOD.fit(Data({role: values}), METHOD.Params(**{"min_samples": None, **params}))


def labels(fitted: Fitted) -> np.ndarray:
    """The number of each point's cluster from the largest on, -1 for noise."""
    flat = cut(fitted.tree)
    names = [*fitted.tree.name[flat.nodes].tolist(), "-1"]
    return np.array([int(names[cluster]) for cluster in flat.cluster_of_point])


def groups(n_features: int, seed: int, *, whole: bool = False) -> np.ndarray:
    """Groups with points between them; `whole` numbers have many equal distances."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(4, n_features)) * 5 + 9
    points = centres[rng.integers(4, size=240)] + rng.normal(size=(240, n_features))
    points[::8] = rng.random((30, n_features)) * 30 - 5
    return np.round(4 * points) if whole else points


def nearest(x: np.ndarray, core: float, cores: np.ndarray, label: np.ndarray) -> tuple[int, float]:
    """The cluster and its distance, pair by pair. x : distances to all points."""
    return min(
        ((max(core, cores[y], x[y]), x[y], label[y]) for y in np.flatnonzero(label >= 0)),
        key=lambda pair: pair,
    )[::-2]


METRICS = ["euclidean", "cityblock", "chebyshev", "canberra", "braycurtis", "cosine"]


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("params", [{}, {"min_samples": 2}, {"cluster_selection_method": "leaf"}])
def test_it_is_the_rule(metric: str, params: dict[str, Any], whole: bool) -> None:
    points = np.abs(groups(3, 1, whole=whole)) + 1.0
    params = {"min_cluster_size": 9, "metric": metric, **params}
    kept = labels(fit(points, **params))
    fitted = fit(points, **params, noise="nearest")
    apart = cdist(points, points, metric)
    if metric == "cosine":
        apart = np.maximum(apart, 0.0)
    core = np.sort(apart, axis=1)[:, params.get("min_samples", 9)]
    given = labels(fitted)
    assert 0 < (kept < 0).sum() < kept.size
    assert given[kept >= 0].tolist() == kept[kept >= 0].tolist()
    for row in np.flatnonzero(kept < 0).tolist():
        number, reach = nearest(apart[row], core[row], core, kept)
        if given[row] != number:
            # Two clusters at one distance but for rounding.
            own = apart[row][kept == given[row]]
            ends = np.maximum(np.maximum(own, core[kept == given[row]]), core[row])
            assert ends.min() == pytest.approx(reach, rel=1e-9, abs=1e-12)
            assert own[np.isclose(ends, ends.min(), rtol=1e-9)].min() == pytest.approx(
                min(apart[row][y] for y in np.flatnonzero(kept == number)
                    if np.isclose(max(core[row], core[y], apart[row][y]), reach, rtol=1e-9)),
                rel=1e-9, abs=1e-12,
            )  # fmt: skip
    assert fitted.metrics["n_noise"] == 0
    assert (fitted.point_columns["probability"][kept < 0] == 0).all()
    assert any(
        f"{(kept < 0).sum()} of {(kept < 0).sum()} points" in text for text in fitted.warnings
    )
    assert fitted.tree.size[0] == len(points)


def test_the_literal_example() -> None:
    # Two groups on a line that join at 16, and points that join at 20, 25 and 900.
    points = np.array([0, 1, 2, 3, 4, 20, 21, 22, 23, 24, -20, 49, 949.0])[:, None]
    params: dict[str, Any] = {"min_cluster_size": 4, "min_samples": 1}
    kept = fit(points, **params)
    assert labels(kept).tolist() == [*[0] * 5, *[1] * 5, -1, -1, -1]
    for within, ends in (
        (None, [0, 1, 1]),
        (925.0, [0, 1, 1]),
        (924.9, [0, 1, -1]),
        (25.0, [0, 1, -1]),
        (24.9, [0, -1, -1]),
        (0.0, [-1, -1, -1]),
    ):
        fitted = fit(points, noise="nearest", noise_within=within, **params)
        assert labels(fitted).tolist() == [*[0] * 5, *[1] * 5, *ends]
        n_left = ends.count(-1)
        assert fitted.metrics["n_noise"] == n_left
        assert f"{3 - n_left} of 3 points of noise" in fitted.warnings[0]
        assert ("stay noise" in fitted.warnings[0]) == (n_left > 0)
        assert ("noise" in fitted.tree.name.tolist()) == (n_left > 0)


@pytest.mark.parametrize("n_features", [2, 12])
@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_rows_does_not_matter(n_features: int, seed: int) -> None:
    points = groups(n_features, seed)
    order = np.random.default_rng(seed).permutation(len(points))
    for params in (
        {"noise": "keep"},
        {"noise": "nearest"},
        {"noise": "nearest", "noise_within": 4.0},
    ):
        settings: dict[str, Any] = {"min_cluster_size": 8, **params}
        one, other = labels(fit(points, **settings)), labels(fit(points[order], **settings))
        pairs = set(zip(one[order].tolist(), other.tolist(), strict=True))
        assert len(pairs) == len(set(one.tolist())) == len(set(other.tolist()))
        assert all((a < 0) == (b < 0) for a, b in pairs)


def test_distances_give_what_their_features_give() -> None:
    points = groups(4, 2)
    params: dict[str, Any] = {"min_cluster_size": 8, "noise": "nearest", "noise_within": 12.0}
    by_distances = fit(cdist(points, points), "distances", **params)
    assert labels(by_distances).tolist() == labels(fit(points, **params)).tolist()
    assert 0 < by_distances.metrics["n_noise"] < (labels(fit(points, min_cluster_size=8)) < 0).sum()


@pytest.mark.parametrize("width", [1, 3, 200])
def test_further_points_are_looked_at_where_they_may_be_nearer(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("models.methods.features.density.placing.FIRST", width)
    rng = np.random.default_rng(5)
    points, rows = rng.normal(size=(150, 2)), rng.normal(size=(40, 2)) * 2
    label = rng.integers(-1, 4, size=150)
    # Near points with large core distances: the nearest by reach are far down the list.
    core, own = rng.random(150) * 6, rng.random(40) * 2
    inside, pairs, every = np.flatnonzero(label >= 0), cdist(rows, points), np.arange(40)
    expected = [nearest(pairs[row], own[row], core, label) for row in range(40)]
    for search in (of_features(rows, points, inside, "euclidean"), of_pairs(pairs, every, inside)):
        found = nearest_clusters(own, search, inside, given_cores(core), label)
        assert found.label.tolist() == [number for number, _ in expected]
        assert found.reach == pytest.approx([reach for _, reach in expected])


def place(fitted: Fitted, values: Any, role: str = "features") -> Predictions:
    assert fitted.model is not None
    return METHOD.predict(fitted.model, fitted.tree, Data({role: values}))


@pytest.mark.parametrize("within", [None, 5.0])
def test_new_rows_of_noise_go_to_the_nearest_too(within: float | None) -> None:
    points, rows = groups(3, 3), groups(3, 4) + 1.0
    kept = fit(points, min_cluster_size=9)
    plain = place(kept, rows)
    assert plain.noise is not None
    assert plain.noise.any()
    fitted = fit(points, min_cluster_size=9, noise="nearest", noise_within=within)
    places = place(fitted, rows)
    assert places.noise is not None
    apart, pairs = cdist(points, points), cdist(rows, points)
    core, label = np.sort(apart, axis=1)[:, 8], labels(kept)
    names = fitted.tree.name[places.leaf]
    for row in range(len(rows)):
        if not plain.noise[row]:
            assert names[row] == kept.tree.name[plain.leaf[row]]
            continue
        number, reach = nearest(pairs[row], np.sort(pairs[row])[9], core, label)
        is_near = within is None or reach <= within
        assert bool(places.noise[row]) != is_near
        if is_near:
            assert names[row] == str(number)
            assert places.probability[places.start[row + 1] - 1] == 0.0
        else:
            assert names[row] == "noise"
    square = fit(apart, "distances", min_cluster_size=9, noise="nearest", noise_within=within)
    assert place(square, pairs, "distances").noise.tolist() == places.noise.tolist()  # type: ignore[union-attr]


def test_what_cannot_be() -> None:
    points = groups(2, 0)
    with pytest.raises(UsageError, match="set 'noise' to 'nearest'") as caught:
        fit(points, noise_within=1.0)
    assert caught.value.where == {"parameter": "noise_within"}
    # Without clusters there is no nearest one.
    alone = fit(points, min_cluster_size=200, noise="nearest")
    assert labels(alone).tolist() == [-1] * len(points)
    assert any("all points are noise" in text for text in alone.warnings)
    # Without noise there is nothing to give, and nothing to warn of.
    tight = np.repeat([[0.0], [9.0]], 20, axis=0) + np.linspace(0, 0.1, 40)[:, None]
    assert fit(tight, noise="nearest").warnings == ()
