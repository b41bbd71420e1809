"""The hierarchical mixture of von Mises-Fisher distributions as a method."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import logsumexp

from models import registry
from models.errors import UsageError
from models.inputs.data import Data
from models.method import Fitted
from models.methods.sphere.hvmf import HVMFParams
from models.numerics import sphere
from models.numerics.sphere import draw_vmf, uniform
from models.tree.build import from_parents
from models.tree.tree import Tree
from tests.models.methods.sphere.sphere_kit import assert_never_falling, mixture

METHOD = registry.method("hvmf")
INFERENCES = ["variational-sampling", "variational-bounding"]
SHORT = {"n_init": 1, "max_iter": 60}

each_inference = pytest.mark.parametrize("inference", INFERENCES)


def fit(features: Any, **params: Any) -> Fitted:
    inputs = {"features": features}
    for role in ("hierarchy", "names", "feature_names"):
        if role in params:
            inputs[role] = params.pop(role)
    return METHOD.fit(Data(inputs), HVMFParams(**{**SHORT, **params}))


def nested(sizes: tuple[int, ...], n_features: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Points and the leaf of each; two leaves under each of some groups at right angles."""
    rng = np.random.default_rng(seed)
    n_groups = len(sizes) // 2
    top = np.linalg.qr(rng.normal(size=(n_features, n_features)))[0][:n_groups]
    leaves = draw_vmf(np.repeat(top, 2, axis=0), 6.0 * n_features, rng)
    own = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    return draw_vmf(leaves[own], 60.0 * n_features, rng), own


@each_inference
@pytest.mark.parametrize("kind", ["float32", "sparse"])
def test_the_hierarchy_is_found_and_larger_siblings_come_first(inference: str, kind: str) -> None:
    sizes = (90, 40, 60, 50)
    features, own = nested(sizes, 25)
    rows: Any = sp.csr_array(features) if kind == "sparse" else features.astype(np.float32)
    fitted = fit(rows, height=2, branching=2, inference=inference, n_init=3)
    tree = fitted.tree
    #          0
    #     1         2
    #   3   4     5   6
    assert tree.parent.tolist() == [-1, 0, 0, 1, 1, 2, 2]
    assert tree.size.tolist() == [240, 130, 110, 90, 40, 60, 50]
    assert tree.name.tolist() == [None, None, None, "0", "1", "2", "3"]
    assert tree.height.tolist() == [2.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    assert (tree.leaf_of_point == own + 3).all()
    extra = tree.extra
    assert (extra["kappa_low"] < extra["kappa"]).all()
    assert (extra["kappa"] < extra["kappa_high"]).all()
    assert extra["kappa"][3:] == pytest.approx(60.0 * 25, rel=0.15)
    assert fitted.warnings == ()
    assert_never_falling(fitted)


@each_inference
def test_logits_are_the_posterior_predictive(inference: str) -> None:
    features = nested((30, 20, 25, 15), 8)[0]
    fitted = fit(features, height=2, branching=2, inference=inference, held_out=0.2)
    arrays = fitted.model.arrays
    rng = np.random.default_rng(0)
    n = 10_000
    joint = np.empty((90, 4))
    for k, leaf in enumerate(arrays["leaf"]):
        mu = draw_vmf(np.tile(arrays["psi"][leaf], (n, 1)), arrays["gamma"][leaf], rng)
        kappa = np.exp(arrays["log_mean"][leaf] + arrays["log_sd"][leaf] * rng.standard_normal(n))
        log_density = sphere.log_c(8, kappa) + kappa * (features @ mu.T)
        joint[:, k] = logsumexp(log_density, axis=1) - np.log(n) + arrays["log_weights"][k]
    evidence = logsumexp(joint, axis=1)
    near = evidence > -20
    assert near.mean() > 0.9
    assert fitted.point_columns["log_likelihood"][near] == pytest.approx(evidence[near], abs=0.2)
    assert np.exp(fitted.logits) == pytest.approx(np.exp(joint - evidence[:, None]), abs=0.05)
    held = fitted.metrics["held_out_log_likelihood"]
    total = fitted.point_columns["log_likelihood"].sum()
    assert 18 * held + fitted.metrics["log_likelihood"] == pytest.approx(total)


def test_a_given_hierarchy_keeps_its_shape_names_and_heights() -> None:
    features, own = nested((60, 60, 60, 60), 12, seed=1)
    # Points go where they fit best: the group of two on the right, the others one to a leaf.
    #      0
    #   1  2  3
    #         4 5
    hierarchy = from_parents(
        np.array([-1, 0, 0, 0, 3, 3]),
        np.array([5.0, 1.0, 0.0, 4.0, 0.5, 0.0]),
        ["top", None, "b", None, "c", "d"],
        np.array([1, 2, 4, 5, 1]),
    )
    rows = own != 0
    for n_init in (4,):
        fitted = fit(features[rows], hierarchy=hierarchy, n_init=n_init)
        tree = fitted.tree
        assert tree.parent.tolist() == hierarchy.parent.tolist()
        assert tree.height.tolist() == hierarchy.height.tolist()
        assert tree.name.tolist() == ["top", "0", "b", None, "c", "d"]
        assert tree.kind == "hierarchy"
        assert tree.n_points == rows.sum()
    named = fit(features[rows], hierarchy=hierarchy, names=["p", "q", "r", "s"]).tree
    assert named.name[named.leaves].tolist() == ["p", "q", "r", "s"]


def test_one_node_is_one_cluster() -> None:
    features = mixture((40,), 6, 50.0)[0]
    alone = from_parents(np.array([-1]), np.array([0.0]), [None])
    fitted = fit(features, hierarchy=alone, empirical_bayes=False, kappa_median=50.0)
    assert fitted.tree.n_nodes == 1
    assert (fitted.logits == 0).all()
    assert fitted.tree.extra["kappa"][0] == pytest.approx(50.0, rel=0.2)
    result = METHOD.predict(fitted.model, fitted.tree, Data({"features": features[:3]}))
    assert result.probability.tolist() == [1.0, 1.0, 1.0]


def test_predictions_add_up_along_the_path() -> None:
    features, _ = nested((40, 30, 30, 20), 6)
    fitted = fit(features, height=2, branching=2)
    rng = np.random.default_rng(5)
    new = Data({"features": uniform(200, 6, rng)})
    result = METHOD.predict(fitted.model, fitted.tree, new)
    logits = METHOD.logits(fitted.model, new)
    tree = fitted.tree
    for row in range(200):
        path = result.node[result.start[row] : result.start[row + 1]]
        assert path[2] == result.leaf[row] == tree.leaves[logits[row].argmax()]
        under = [k for k, leaf in enumerate(tree.leaves) if tree.parent[leaf] == path[1]]
        probability = result.probability[result.start[row] : result.start[row + 1]]
        expected = [1.0, np.exp(logits[row, under]).sum(), np.exp(logits[row].max())]
        assert probability == pytest.approx(np.array(expected))


def test_nodes_are_named_by_what_distinguishes_them_from_their_parents() -> None:
    rng = np.random.default_rng(2)
    #          all
    #     a           b
    #  a+p  a+q    b+r  b+s
    base = np.zeros((4, 7))
    base[:, 6] = 0.6
    base[[0, 1], 0] = base[[2, 3], 1] = 1.0
    base[np.arange(4), 2 + np.arange(4)] = 0.7
    base /= np.linalg.norm(base, axis=1, keepdims=True)
    own = np.repeat(np.arange(4), [50, 40, 30, 20])
    features = draw_vmf(base[own], 400.0, rng)
    words = ["a", "b", "p", "q", "r", "s", "all"]
    fitted = fit(features, height=2, branching=2, feature_names=words, n_init=3)
    top = fitted.model.facts["top_terms"]
    assert [one[0]["term"] for one in top[1:]] == ["a", "b", "p", "q", "r", "s"]
    assert fitted.tree.name[0] is None
    assert [name.split(", ")[0] for name in fitted.tree.name[1:]] == ["a", "b", "p", "q", "r", "s"]
    assert {one["term"] for one in top[0][:3]} == {"a", "b", "all"}


def test_the_order_of_rows_does_not_matter_two_levels_deep() -> None:
    features, _ = nested((50, 40, 35, 20), 10)
    order = np.random.default_rng(4).permutation(145)
    fitted = fit(features, height=2, branching=2, n_init=3)
    fitted_mixed = fit(features[order], height=2, branching=2, n_init=3)
    assert (fitted.tree.leaf_of_point[order] == fitted_mixed.tree.leaf_of_point).all()
    assert fitted.tree.extra["kappa"] == pytest.approx(fitted_mixed.tree.extra["kappa"], rel=0.02)


def test_the_same_seed_gives_the_same_and_threads_change_nothing() -> None:
    features = nested((30, 20, 20, 10), 5)[0]
    params = HVMFParams(**{**SHORT, "height": 2, "branching": 2, "n_init": 4})
    on_one_thread, on_three_threads = (
        METHOD.fit(Data({"features": features}), params, threads=n) for n in (1, 3)
    )
    assert (on_one_thread.logits == on_three_threads.logits).all()
    assert on_one_thread.metrics == on_three_threads.metrics


def test_new_rows_are_in_sample_or_not() -> None:
    features, own = nested((200, 150, 150, 100), 10, seed=1)
    fitted = fit(features, height=2, branching=2, held_out=0.3, level=0.9)
    rng = np.random.default_rng(3)
    mean = fitted.model.arrays["psi"][fitted.tree.leaf_of_point[own == 0][:1]]
    near = Data({"features": draw_vmf(mean.repeat(2000, axis=0), 600.0, rng)})
    assert METHOD.in_sample(fitted.model, near)["in_sample"].mean() == pytest.approx(0.9, abs=0.08)
    far = Data({"features": uniform(2000, 10, rng)})
    assert METHOD.in_sample(fitted.model, far)["in_sample"].mean() < 0.05
    columns = METHOD.predict(fitted.model, fitted.tree, far).columns
    assert (columns["in_sample"] == METHOD.in_sample(fitted.model, far)["in_sample"]).all()


def test_the_weight_of_a_node_is_that_of_the_leaves_below_it() -> None:
    features, own = nested((200, 150, 150, 100), 10, seed=1)
    tree = fit(features, height=2, branching=2).tree
    weight = tree.extra["weight"]
    assert weight[0] == pytest.approx(1.0)
    assert sorted(weight[tree.leaves]) == pytest.approx(
        sorted(np.bincount(own) / len(own)), abs=0.02
    )
    for node in range(tree.n_nodes):
        below = np.flatnonzero(tree.parent == node)
        if below.size:
            assert weight[below].sum() == pytest.approx(weight[node])


def test_a_hierarchy_is_likelier_out_of_sample_than_flat_clusters() -> None:
    """Few rows a leaf, leaves in groups: figure 5.2's order."""
    rng = np.random.default_rng(11)
    top = uniform(4, 40, rng)
    leaves = draw_vmf(np.repeat(top, 4, axis=0), 150.0, rng)
    own = np.tile(np.arange(16), 10)
    features = draw_vmf(leaves[own], 300.0, rng)
    new = Data({"features": draw_vmf(leaves[rng.integers(16, size=3000)], 300.0, rng)})
    ours = fit(features, height=2, branching=4, n_init=3)
    flat_verdicts = registry.method("bvmf").in_sample

    flat = registry.method("bvmf")
    fitted_flat = flat.fit(Data({"features": features}), flat.Params(n_clusters=16, n_init=3))
    value = METHOD.in_sample(ours.model, new)["log_likelihood"].mean()
    assert value > flat_verdicts(fitted_flat.model, new)["log_likelihood"].mean()


@each_inference
@pytest.mark.parametrize("empirical", [True, False])
def test_identical_and_opposite_points_give_no_nan(inference: str, empirical: bool) -> None:
    same = np.repeat(np.eye(4), [5, 4, 3, 2], axis=0)
    opposite = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    for features, height, branching in ((same, 1, 2), (same, 2, 2), (opposite, 1, 4)):
        fitted = fit(
            features,
            height=height,
            branching=branching,
            inference=inference,
            empirical_bayes=empirical,
            max_iter=12,
        )
        assert np.isfinite(fitted.logits).all()
        assert all(np.isfinite(array).all() for array in fitted.model.arrays.values())
        # By the bound it is the median that stays below.
        most = 1e6 if inference == "variational-sampling" else 1e6 * np.exp(8)
        assert fitted.metrics["kappa_max"] <= most


def test_odd_results_are_warned_of() -> None:
    few = nested((40, 30, 20, 10), 5)[0]
    warnings = fit(few, height=1, branching=2, inference="variational-bounding").warnings
    assert any("one part in 4" in warning for warning in warnings)
    warnings = fit(uniform(200, 5, np.random.default_rng(0)), max_iter=2, tol=0.0).warnings
    assert any("max_iter = 2" in warning for warning in warnings)
    alike = np.repeat(np.eye(4)[:2], 20, axis=0)
    warnings = fit(alike, height=1, branching=2, max_kappa=50.0).warnings
    assert any("of a leaf are nearly identical" in warning for warning in warnings)


LARGE = from_parents(np.array([-1, *[0] * 9]), np.zeros(10), [None] * 10)


@pytest.mark.parametrize(
    ("features", "params", "code", "where"),
    [
        (np.eye(4), {"height": 2, "branching": 3}, "too-few-points", {"parameter": "height"}),
        (np.eye(4), {"height": 16, "branching": 1000}, "too-few-points", {"parameter": "height"}),
        (np.eye(4), {"hierarchy": LARGE}, "too-few-points", {"role": "hierarchy"}),
        (np.eye(4)[[0, 0, 0, 1]], {"height": 1}, "too-few-points", {"parameter": "height"}),
        (np.eye(4), {"height": 1, "held_out": 0.5}, "too-few-points", {"parameter": "height"}),
        (np.eye(4), {"hierarchy": [1, 2]}, "wrong-input", {"role": "hierarchy"}),
        (np.ones((9, 1)), {"height": 1}, "wrong-shape", {"role": "features"}),
        (2.0 * np.eye(4), {"height": 1}, "not-unit", {"role": "features", "row": 0}),
        (np.eye(4) * [1, 1, 0, 1], {"height": 1}, "zero-row", {"role": "features", "row": 2}),
        (np.eye(4), {"height": 1, "feature_names": ["a"]}, "wrong-shape",
         {"role": "feature_names"}),
    ],
)  # fmt: skip
def test_unusable_input_is_named(
    features: np.ndarray, params: dict[str, Any], code: str, where: dict[str, Any]
) -> None:
    for rows in (features, sp.csr_array(features)):
        with pytest.raises(UsageError) as caught:
            fit(rows, **params)
        assert caught.value.code == code
        assert caught.value.where == where


def test_inputs_too_large_for_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match=r"GiB.*Ask for fewer leaves"):
        METHOD.check_size({"features": (10**6, 4)}, HVMFParams(height=3, branching=10), 1 << 30)
    monkeypatch.setattr("models.running.budget.available", lambda: 10_000)
    with pytest.raises(UsageError, match=r"GiB.*Ask for fewer leaves"):
        METHOD._check(Data({"features": np.eye(9), "hierarchy": LARGE}), HVMFParams())


def test_a_hierarchy_is_a_tree_of_any_depth() -> None:
    """A chain of single children above three leaves."""
    parent = np.array([-1, *range(100), 100, 100])
    chain: Tree = from_parents(parent, np.arange(103, 0, -1.0), [None] * 103)
    features = mixture((30, 20), 5, 40.0, upright=True)[0]
    fitted = fit(features, hierarchy=chain, max_iter=3)
    assert np.bincount(fitted.tree.leaf_of_point)[-2:].sum() == 50
