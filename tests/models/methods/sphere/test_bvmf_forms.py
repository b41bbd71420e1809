"""`bvmf` where the number of clusters is estimated, or all share one concentration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from models.clusters.choosing import Choice
from models.errors import UsageError
from models.inputs.data import Data
from models.methods.sphere.bayes.merging import with_credible_number
from models.methods.sphere.bvmf import BVMFParams
from tests.models.methods.sphere.bvmf_kit import INFERENCES, METHOD, each_inference, fit
from tests.models.methods.sphere.sphere_kit import mixture
from tests.pairwise_kit import pairwise

STICKS = {"weights": "stick-breaking", "max_iter": 200}


@each_inference
@pytest.mark.parametrize("kind", ["float64", "sparse"])
def test_the_number_of_clusters_is_right(inference: str, kind: str) -> None:
    features, own, _ = mixture((90, 70, 50), 25, [40.0, 60.0, 80.0], seed=4, upright=True)
    rows: Any = sp.csr_array(features) if kind == "sparse" else features
    fitted = fit(rows, n_clusters=9, inference=inference, held_out=0.1, **STICKS)
    assert (fitted.tree.leaf_of_point - 1 == own).all()
    assert fitted.metrics["n_clusters"] == 3.0
    if inference == "gibbs":
        curve = dict(fitted.curves["n_clusters_probability"])
        assert sum(curve.values()) == pytest.approx(1.0)
        assert max(curve, key=lambda number: curve[number]) == 3
        assert fitted.metrics["n_clusters_probability"] == curve[3]
        assert fitted.metrics["n_clusters_low"] == 3 <= fitted.metrics["n_clusters_high"] <= 5
    else:
        assert fitted.curves == {"lower_bound": [(3, fitted.metrics["objective"])]}
    assert fitted.warnings == ()
    # The six empty clusters are not in the result.
    assert fitted.tree.n_leaves == fitted.logits.shape[1] == 3
    arrays = fitted.model.arrays
    assert {len(arrays[name]) for name in ("log_weights", "psi", "gamma", "kappa")} == {3}
    assert np.exp(arrays["log_weights"]).sum() == pytest.approx(1.0)
    assert np.exp(fitted.logits).sum(axis=1) == pytest.approx(1.0)
    placed = METHOD.predict(fitted.model, fitted.tree, Data({"features": rows}))
    assert (placed.leaf == fitted.tree.leaf_of_point).all()
    assert METHOD.logits(fitted.model, Data({"features": rows})) == pytest.approx(fitted.logits)


def test_every_cluster_found_holds_rows() -> None:
    for seed in range(2):
        features = mixture((25, 15, 8, 4), 6, 8.0, seed=seed)[0]
        fitted = fit(features, n_clusters=8, seed=seed, **STICKS, tol=1e-3)
        held = np.bincount(fitted.tree.leaf_of_point, minlength=fitted.tree.n_nodes)
        assert (held[fitted.tree.leaves] > 0).all()
        assert fitted.metrics["n_clusters"] == fitted.tree.n_leaves < 8


def test_one_cluster_is_possible_and_all_in_use_are_warned_of() -> None:
    alike = mixture((80,), 10, 20.0)[0]
    fitted = fit(alike, n_clusters=5, **STICKS)
    assert fitted.metrics["n_clusters"] == 1.0
    assert not any("set it higher" in warning for warning in fitted.warnings)
    apart = mixture((40, 40, 40), 10, 60.0, upright=True)[0]
    assert "All 2 clusters" in " ".join(fit(apart, n_clusters=2, **STICKS).warnings)


def test_a_chain_that_needs_more_clusters_is_warned_of() -> None:
    apart = mixture((40, 40, 40), 10, 60.0, upright=True)[0]
    fitted = fit(apart, n_clusters=2, inference="gibbs", **STICKS)
    assert fitted.metrics["n_clusters_high"] == 2.0
    assert "All 2 clusters" in " ".join(fitted.warnings)


def test_clusters_that_few_sweeps_have_are_left_out() -> None:
    """The chosen number is the tree's, whatever the interval of their number."""
    choice = Choice("lower_bound", 3, (3,), (-10.0,))
    numbers = np.repeat([4, 5, 6], [70, 25, 5])
    result, ends = with_credible_number(choice, numbers, 6)
    assert result.metrics == {"n_clusters": 3.0, "n_clusters_probability": 0.0}
    assert result.curves["n_clusters_probability"] == [(3, 0.0), (4, 0.7), (5, 0.25), (6, 0.05)]
    assert ends == {"n_clusters_low": 4.0, "n_clusters_high": 6.0}
    assert "in 5% of the sweeps" in result.warnings[0]
    assert not with_credible_number(choice, numbers, 7)[0].warnings


def test_gibbs_and_the_bound_find_the_same_clusters() -> None:
    for n_clusters, n_features in ((3, 10), (6, 30)):
        features, own, _ = mixture((40,) * n_clusters, n_features, 80.0, seed=1)
        for inference in (INFERENCES[0], "gibbs"):
            fitted = fit(features, n_clusters=12, inference=inference, seed=2, **STICKS)
            leaf = fitted.tree.leaf_of_point
            assert len(set(zip(own.tolist(), leaf.tolist(), strict=True))) == n_clusters
            assert fitted.metrics["n_clusters"] == n_clusters


@pytest.mark.parametrize(
    ("inference", "weights", "kind"),
    pairwise(INFERENCES, ("dirichlet", "stick-breaking"), ("float32", "sparse")),
)
def test_one_concentration_for_all(inference: str, weights: str, kind: str) -> None:
    features, own, _ = mixture((120, 80, 50), 25, 80.0, seed=4, upright=True)
    rows: Any = sp.csr_array(features) if kind == "sparse" else features.astype(np.float32)
    fitted = fit(
        rows, n_clusters=3 if weights == "dirichlet" else 8, inference=inference,
        weights=weights, kappa="shared", held_out=0.1, kappa_sigma=0.7,
    )  # fmt: skip
    assert (fitted.tree.leaf_of_point - 1 == own).all()
    for name in ("kappa", "kappa_low", "kappa_high"):
        assert len(set(fitted.tree.extra[name][1:].tolist())) == 1
    low, high = (fitted.tree.extra[f"kappa_{end}"][1] for end in ("low", "high"))
    assert low * 0.95 < 80.0 < high * 1.05
    # As narrow as all rows make it.
    assert np.log(high / low) == pytest.approx(4 * (0.5 * 225 * 24) ** -0.5, rel=0.35)
    assert fitted.metrics["kappa_sigma"] == pytest.approx(0.7)
    assert fitted.metrics["kappa_median"] == pytest.approx(fitted.metrics["kappa_min"], rel=0.03)
    assert fitted.model.facts["kappa"] == "shared"
    assert {len(fitted.model.arrays[name]) for name in ("kappa", "log_sd", "psi")} == {3}
    data = Data({"features": rows})
    assert METHOD.logits(fitted.model, data) == pytest.approx(fitted.logits)
    placed = METHOD.predict(fitted.model, fitted.tree, data)
    assert (placed.leaf == fitted.tree.leaf_of_point).all()
    columns = METHOD.in_sample(fitted.model, data)
    assert (columns["in_sample"] == fitted.point_columns["in_sample"]).all()


@pytest.mark.parametrize("weights", ["dirichlet", "stick-breaking"])
def test_one_concentration_by_batches(weights: str) -> None:
    features, own, _ = mixture((500, 300, 200), 25, 80.0, seed=4, upright=True)
    result = fit(features, n_clusters=3, weights=weights, kappa="shared", batch_size=200)
    assert (result.tree.leaf_of_point - 1 == own).all()
    assert result.metrics["kappa_min"] == pytest.approx(80.0, rel=0.05)


def test_names_need_a_fixed_number_of_clusters() -> None:
    with pytest.raises(UsageError, match="stick-breaking") as caught:
        fit(np.eye(6), n_clusters=4, **STICKS, names=["a", "b", "c", "d"])
    assert caught.value.code == "wrong-input"


def test_the_partitions_that_a_chain_keeps_are_counted() -> None:
    params = {"n_clusters": 8, "inference": "gibbs", "n_samples": 200}
    shapes = {"features": (10**6, 4)}
    plain, process = (
        METHOD._memory(shapes, BVMFParams(**params, weights=weights))
        for weights in ("dirichlet", "stick-breaking")
    )
    assert process - plain > 200 * 10**6
