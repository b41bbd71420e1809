"""A spectral split against the definition with dense matrices."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from models.clusters.kmeans import KMeansEffort
from models.errors import Cancelled
from models.graphs import spectra
from models.methods.features.growing.frontier import Split
from models.methods.features.growing.spectral import Spectral
from models.running.progress import silent


def split(points: np.ndarray, k: int, n_neighbors: int = 5) -> tuple[Split | None, Spectral]:
    rng = np.random.default_rng(0)
    splitter = Spectral(k, n_neighbors, KMeansEffort(20), rng, 1, silent)
    return splitter.split(np.asarray(points, dtype=float)), splitter


def naive(points: np.ndarray, k: int, n_neighbors: int) -> np.ndarray:
    """Ng, Jordan and Weiss on the graph of section 5 of the HMMC paper."""
    from sklearn.cluster import KMeans

    distances = cdist(points, points)
    np.fill_diagonal(distances, np.inf)
    near = np.argsort(distances, axis=1)[:, :n_neighbors]
    lengths = np.take_along_axis(distances, near, axis=1)
    joined = np.zeros(distances.shape, dtype=bool)
    np.put_along_axis(joined, near, True, axis=1)
    joined |= joined.T
    affinity = np.where(joined, np.exp(-(distances**2) / (2 * lengths.mean() ** 2)), 0.0)
    root = 1 / np.sqrt(affinity.sum(axis=1))
    _, vectors = np.linalg.eigh(root[:, None] * affinity * root)
    rows = vectors[:, -k:]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return KMeans(k, n_init=20, random_state=0).fit(rows).labels_


def ring(n_points: int, radius: float, noise: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    angle = rng.random(n_points) * 2 * np.pi
    return (
        radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        + rng.normal(size=(n_points, 2)) * noise
    )


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("n_points", [150, 700])
def test_it_is_the_definition(k: int, n_points: int) -> None:
    rng = np.random.default_rng(k)
    centres = np.array([[0.0, 0.0], [4.5, 0.0], [0.0, 4.5]])[:k]
    points = centres[rng.integers(k, size=n_points)] + rng.normal(size=(n_points, 2))
    division, splitter = split(points, k, 8)
    assert splitter.n_apart == 0
    assert division is not None
    expected = naive(points, k, 8)
    pairs = set(zip(division.cluster.tolist(), expected.tolist(), strict=True))
    assert len(pairs) == k
    for c in range(k):
        assert division.centre[c] == pytest.approx(points[division.cluster == c].mean(axis=0))


def test_nested_rings_are_separated() -> None:
    points = np.concatenate([ring(150, 1.0, 0.05, 0), ring(300, 4.0, 0.1, 1)])
    division, _ = split(points, 2)
    assert division is not None
    assert len(set(division.cluster[:150])) == len(set(division.cluster[150:])) == 1
    assert division.cluster[0] != division.cluster[150]


# Six groups of 20 that no neighbour joins, three to the left and three to the right.
#
#   a  b  c                                        d  e  f
def test_parts_stay_whole_and_near_ones_together() -> None:
    rng = np.random.default_rng(3)
    at = np.array([0.0, 10, 20, 200, 210, 220])
    group = np.repeat(np.arange(6), 20)
    points = np.stack([at[group] + rng.normal(size=120), rng.normal(size=120)], axis=1)
    division, splitter = split(points, 2, 3)
    assert division is not None
    assert splitter.n_apart == 1
    assert len(splitter.warnings()) == 1
    assert len(set(division.cluster[:60])) == len(set(division.cluster[60:])) == 1
    assert division.cluster[0] != division.cluster[-1]
    six, _ = split(points, 6, 3)
    assert six is not None
    assert len(set(zip(six.cluster.tolist(), group.tolist(), strict=True))) == 6


def test_fewer_parts_than_clusters_are_split_further() -> None:
    rng = np.random.default_rng(4)
    points = np.concatenate([rng.normal(size=(30, 2)), 100 + rng.normal(size=(30, 2))])
    division, _ = split(points, 3)
    assert division is not None
    assert len(division.centre) == 3
    assert not set(division.cluster[:30]) & set(division.cluster[30:])


@pytest.mark.parametrize("n_points", [2, 3, 4, 6])
def test_few_points(n_points: int) -> None:
    points = np.random.default_rng(5).normal(size=(n_points, 2))
    division, _ = split(points, 3)
    assert division is not None
    assert 2 <= len(division.centre) <= 3
    assert np.bincount(division.cluster).min() > 0


def test_equal_points_stay_together() -> None:
    assert split(np.ones((5, 2)), 2)[0] is None
    points = np.repeat([[0.0, 0], [1, 0], [9, 0]], 4, axis=0)
    division, _ = split(points, 3)
    assert division is not None
    assert [len(set(division.cluster[i : i + 4])) for i in (0, 4, 8)] == [1, 1, 1]


def test_lengths_of_all_orders_of_magnitude() -> None:
    rng = np.random.default_rng(6)
    points = np.exp(rng.normal(size=(400, 3)) * 6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        division, _ = split(points, 3)
    assert division is not None
    assert np.bincount(division.cluster).size == 3


def test_eigenvectors_that_do_not_converge_are_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(*args: object, **kwargs: object) -> None:
        raise spectra.Unresolved("no")

    monkeypatch.setattr(spectra.Spectrum, "leading", lost)
    division, splitter = split(np.random.default_rng(7).normal(size=(50, 2)), 2)
    assert division is None
    assert any("were not found" in warning for warning in splitter.warnings())


def test_cancel_is_obeyed() -> None:
    def cancel(fraction: float, stage: str, message: str = "") -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        Spectral(2, 5, KMeansEffort(1), np.random.default_rng(0), 1, cancel).split(np.eye(9))
