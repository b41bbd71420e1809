"""The clusterer against scikit-learn's own requirements and examples."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.cluster.hierarchy as hierarchy
from sklearn.cluster import AgglomerativeClustering
from sklearn.metrics import adjusted_rand_score

from tests.conftest import ROOT
from tests.e2e.conftest import Service
from umbel_client import Umbel
from umbel_client.sklearn import UmbelClusterer

RNG = np.random.default_rng(0)
TRUE = np.repeat([0, 1, 2], 10)
FEATURES = RNG.normal(size=(30, 4)) + 6 * TRUE[:, None]


def clusterer(service: Service, *arguments: object, **options: object) -> UmbelClusterer:
    return UmbelClusterer(*arguments, umbel=Umbel(service.url), **options)


def test_it_agrees_with_scikit_learns_own(service: Service) -> None:
    model = clusterer(service, "hac", n_clusters=3, params={"linkage": "ward"}).fit(FEATURES)
    own = AgglomerativeClustering(3, linkage="ward", compute_distances=True).fit(FEATURES)
    assert adjusted_rand_score(own.labels_, model.labels_) == 1.0
    np.testing.assert_array_equal(np.sort(model.children_, axis=1), np.sort(own.children_, axis=1))
    np.testing.assert_allclose(model.distances_, own.distances_)
    assert model.n_leaves_ == own.n_leaves_


def test_the_example_plot_dendrogram_runs(service: Service) -> None:
    """`plot_dendrogram` as scikit-learn's example has it, without drawing."""
    model = clusterer(service, "hac", n_clusters=3).fit(FEATURES)
    counts = np.zeros(model.children_.shape[0])
    n_samples = len(model.labels_)
    for i, merge in enumerate(model.children_):
        current_count = 0
        for child_idx in merge:
            if child_idx < n_samples:
                current_count += 1
            else:
                current_count += counts[child_idx - n_samples]
        counts[i] = current_count
    linkage_matrix = np.column_stack([model.children_, model.distances_, counts]).astype(float)
    drawn = hierarchy.dendrogram(linkage_matrix, truncate_mode="level", p=3, no_plot=True)
    assert drawn["ivl"]
    np.testing.assert_allclose(linkage_matrix, model.tree_.linkage())


def test_a_partition_gives_its_own_clusters(service: Service) -> None:
    model = clusterer(service, "kmeans", n_clusters=3, random_state=1)
    assert adjusted_rand_score(TRUE, model.fit_predict(FEATURES)) == 1.0
    assert model.n_clusters_ == 3
    with pytest.raises(AttributeError, match="3 leaves for 30 rows"):
        _ = model.children_


CHECKS = """
import sys
from sklearn.utils.estimator_checks import check_estimator
from umbel_client import Umbel
from umbel_client.sklearn import UmbelClusterer
umbel = Umbel(sys.argv[1])
for method in ("hac", "kmeans"):
    estimator = UmbelClusterer(method, n_clusters=2, random_state=0, umbel=umbel)
    check_estimator(estimator, on_skip=None)
"""


@pytest.mark.slow
def test_scikit_learns_checks_pass(service: Service) -> None:
    """All of them, without exclusions, in a process that enables SciPy's array API for one."""
    paths = os.pathsep.join([str(ROOT / "client"), str(ROOT)])
    environment = {**os.environ, "SCIPY_ARRAY_API": "1", "PYTHONPATH": paths}
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CHECKS, service.url], env=environment, check=True
    )
