"""Noise in the client, the clusterer and the command line: -1, as in scikit-learn's HDBSCAN."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.cluster import HDBSCAN
from sklearn.datasets import make_blobs, make_circles, make_moons

from app.cli import main
from tests.e2e.conftest import Service
from umbel_client import Umbel
from umbel_client.errors import UmbelWarning
from umbel_client.sklearn import UmbelClusterer


def scattered(points: np.ndarray, seed: int) -> np.ndarray:
    """The points with some far from all, in another order."""
    rng = np.random.default_rng(seed)
    wide = np.ptp(points, axis=0)
    far = points.min(axis=0) - wide + 3 * wide * rng.random((12, points.shape[1]))
    return rng.permutation(np.concatenate([points, far]))


SETS = {
    "blobs": scattered(make_blobs(150, centers=3, cluster_std=0.6, random_state=4)[0], 0),
    "many columns": scattered(make_blobs(120, 9, centers=4, random_state=1)[0], 1),
    "moons": scattered(make_moons(160, noise=0.05, random_state=2)[0], 2),
    "circles": scattered(make_circles(160, noise=0.03, factor=0.4, random_state=3)[0], 3),
    "no clusters": np.random.default_rng(4).random((60, 2)),
}


def same_partition(one: np.ndarray, other: np.ndarray) -> bool:
    pairs = set(zip(one.tolist(), other.tolist(), strict=True))
    return len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs}) and all(
        (a == -1) == (b == -1) for a, b in pairs
    )


@pytest.mark.parametrize("name", SETS)
def test_labels_are_scikit_learns(service: Service, name: str) -> None:
    points, umbel = SETS[name], Umbel(service.url)
    # With one neighbour, and so without ties; scikit-learn counts the point itself among them.
    params: dict[str, Any] = {"min_cluster_size": 12, "min_samples": 1}
    known = HDBSCAN(min_cluster_size=12, min_samples=2, copy=True).fit_predict(points)
    model = UmbelClusterer("hdbscan", params=params, umbel=umbel).fit(points)
    assert same_partition(model.labels_, known)
    assert model.n_clusters_ == len(set(known.tolist()) - {-1})
    tree = umbel.run("hdbscan", features=points, **params)
    labels = tree.assignments()
    assert same_partition(labels, known)
    n_noise = int((known == -1).sum())
    flat = tree.cut()
    assert (flat.n_clusters, flat.n_noise) == (model.n_clusters_, n_noise)
    assert sorted(set(labels.tolist()) - {-1}) == list(range(flat.n_clusters))
    rows = csv.DictReader(io.StringIO(tree.content("/assignments.csv").decode()))
    assert [int(row["cluster"]) for row in rows] == labels.tolist()
    with pytest.warns(UmbelWarning, match="approximate_predict"):
        placed = tree.predict(features=points + 1e4)
    assert placed.clusters == [-1] * len(points)


@pytest.mark.parametrize("name", SETS)
def test_nearest_leaves_no_noise_where_there_are_clusters(service: Service, name: str) -> None:
    points, umbel = SETS[name], Umbel(service.url)
    params: dict[str, Any] = {"min_cluster_size": 12, "min_samples": 1}
    kept = UmbelClusterer("hdbscan", params=params, umbel=umbel).fit(points).labels_
    given = UmbelClusterer("hdbscan", params={**params, "noise": "nearest"}, umbel=umbel)
    with pytest.warns(UmbelWarning, match="noise"):
        labels = given.fit(points).labels_
    assert labels[kept >= 0].tolist() == kept[kept >= 0].tolist()
    assert (labels[kept < 0] < 0).all() == (not (kept >= 0).any())
    assert (labels < 0).any() == (not (kept >= 0).any())


def test_a_coarse_cut_warns_of_the_noise_in_it(service: Service) -> None:
    points = SETS["blobs"]
    tree = Umbel(service.url).run("hdbscan", features=points, min_cluster_size=12)
    assert tree.cut().n_noise > 0
    with pytest.warns(UmbelWarning, match="of noise are in the clusters"):
        assert set(tree.assignments(1).tolist()) == {0}
    evaluation = tree.evaluate(features=points)
    assert evaluation.cut is not None
    assert evaluation.cut["n_noise"] == tree.cut().n_noise
    assert any("points are noise" in text for text in evaluation.warnings)


def test_the_command_line(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UMBEL_URL", service.url)
    np.save("x.npy", SETS["blobs"])

    def labels(*params: str) -> tuple[list[int], list[int]]:
        outs = ("--out", "rows.csv", "--out", "rows.npy")
        with pytest.raises(SystemExit) as ended:
            main(("run", "hdbscan", "x.npy", "--min-cluster-size", "12", *params, *outs))
        assert ended.value.code == 0
        with Path("rows.csv").open() as file:
            rows = [int(row["cluster"]) for row in csv.DictReader(file)]
        return rows, np.load("rows.npy").tolist()

    kept, as_array = labels()
    assert kept == as_array
    assert kept.count(-1) > 0
    given, _ = labels("--noise", "nearest")
    assert given.count(-1) == 0
    assert [a for a, b in zip(given, kept, strict=True) if b >= 0] == [b for b in kept if b >= 0]
