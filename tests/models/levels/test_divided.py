"""Partitions that are no more than parts of a cloud are warned of, and real ones are not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t

from models.arrays import Array, Int
from models.inputs.data import Data
from models.levels import divided
from models.levels.divided import Divided, neighbour_modularity
from models.levels.silhouette import REFERENCES, mean_silhouette, partitions_of, reference_points
from models.numerics.distances import euclidean
from models.registry import method
from models.tree.build import from_partition
from models.tree.tree import Tree

RNG = np.random.default_rng(3)
CLOUD = RNG.normal(size=(240, 4))
GROUPS = CLOUD + 4 * np.eye(3, 4)[np.arange(240) % 3]
ANGLE = RNG.uniform(0, 2 * np.pi, 240)
RINGS = (
    np.column_stack([np.cos(ANGLE), np.sin(ANGLE)]) * np.where(np.arange(240) % 2, 1, 3)[:, None]
)


def partition(rows: Array, by: str, k: int) -> Tree:
    used = method(by)
    return used.fit(Data({"features": rows}), used.Params(n_clusters=k)).tree


def of(rows: Array, by: str, k: int) -> Divided:
    found = divided.divided(partition(rows, by, k), rows)
    assert found is not None
    return found


def literal_modularity(rows: Array, cluster: Int) -> float:
    """Each row's ten nearest by its distances to all others, one by one."""
    inside = 0
    for row, point in enumerate(rows):
        apart = [float(((point - other) ** 2).sum()) for other in rows]
        nearest = sorted((d, other) for other, d in enumerate(apart) if other != row)[:10]
        inside += sum(int(cluster[other] == cluster[row]) for _, other in nearest)
    shares = [float((cluster == one).mean()) for one in set(cluster.tolist())]
    return inside / (10 * len(rows)) - sum(share * share for share in shares)


@pytest.mark.parametrize("by", ["kmeans", "gmm", "spectral"])
def test_parts_of_a_cloud_are_warned_of_and_groups_are_not(by: str) -> None:
    found = of(CLOUD, by, 3)
    assert found.p_value > 0.05
    assert found.warning is not None
    assert found.warning.startswith("The 3 clusters are no further apart than 3 parts of rows")
    assert of(GROUPS, by, 3).warning is None


def test_clusters_without_a_row_in_the_sample_are_not_compared() -> None:
    rows = RNG.normal(size=(900, 4))
    cluster = (rows[:, 0] > 0).astype(np.int64)
    cluster[1] = 2
    found = divided.divided(from_partition(cluster, 3), rows)
    assert found is not None
    assert found.warning is not None
    assert found.warning.startswith("2 of 3 clusters are no further apart than 2 parts of rows")


def test_long_clusters_are_seen_by_their_neighbours() -> None:
    assert of(RINGS, "spectral", 2).warning is None
    assert of(RINGS, "kmeans", 2).warning is not None


def test_a_single_far_row_does_not_make_clusters_of_the_others() -> None:
    rows = np.vstack([CLOUD, np.full((1, 4), 20.0)])
    assert of(rows, "spectral", 2).warning is not None


def test_both_measures_and_the_p_value_are_their_definitions() -> None:
    rows = GROUPS[:90] + RNG.normal(size=(90, 4))
    tree = partition(rows, "kmeans", 3)
    cluster = np.unique(tree.leaf_of_point, return_inverse=True)[1]
    apart = euclidean(rows)
    assert neighbour_modularity(apart, cluster) == pytest.approx(literal_modularity(rows, cluster))
    silhouettes, modularities = [], []
    for points in reference_points(apart):
        between, clusters = partitions_of(points, 3)
        silhouettes.append(max(mean_silhouette(between, each) for each in clusters))
        modularities.append(max(literal_modularity(points, each) for each in clusters))
    p_values = []
    for own, chance in (
        (mean_silhouette(apart, cluster), silhouettes),
        (literal_modularity(rows, cluster), modularities),
    ):
        error = np.std(chance, ddof=1) * np.sqrt(1 + 1 / REFERENCES)
        p_values.append(t.sf((own - np.mean(chance)) / error, REFERENCES - 1))
    found = divided.divided(tree, rows)
    assert found is not None
    assert found.p_value == pytest.approx(min(1.0, 2 * min(p_values)), rel=1e-6)
    assert found.chance == pytest.approx(np.mean(silhouettes))


def test_what_is_not_compared() -> None:
    hac = method("hac")
    hierarchy = hac.fit(Data({"features": CLOUD}), hac.Params()).tree
    assert divided.divided(hierarchy, CLOUD) is None
    assert divided.divided(partition(CLOUD[:25], "kmeans", 3), CLOUD[:25]) is None
    assert divided.divided(partition(CLOUD, "kmeans", 1), CLOUD) is None


def test_of_real_sets_wine_as_it_is_alone_is_warned_of() -> None:
    """k-means of wine's raw columns follows the widest one, and has an NMI of .43 (standardised
    .88)."""
    datasets = pytest.importorskip("sklearn.datasets")
    warned = {}
    for name in ("iris", "wine", "breast_cancer"):
        data = getattr(datasets, f"load_{name}")()
        k = len(set(data.target.tolist()))
        warned[name] = of(data.data, "kmeans", k).warning is not None
        scaled = (data.data - data.data.mean(axis=0)) / data.data.std(axis=0)
        assert of(scaled, "kmeans", k).warning is None
    assert warned == {"iris": False, "wine": True, "breast_cancer": False}
