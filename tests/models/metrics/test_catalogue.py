"""Requests to `evaluate`, its results and its refusals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn import metrics as sk

from models.errors import Cancelled, UsageError
from models.metrics import costs
from models.metrics.catalogue import LIKELIHOODS, METRICS, evaluate
from models.metrics.hierarchical import upper_part
from models.metrics.pairs import Gaussian
from models.running.progress import silent
from models.tree.build import from_merges, from_partition
from models.tree.cut import cut
from models.tree.rows import over_rows
from models.tree.tree import Tree
from tests.models.metrics.trees_kit import any_tree, meet, naive_lhd, points_under, tree_of


def needing(*roles: str) -> list[str]:
    """Metrics for which one of the roles is enough."""
    return [name for name, metric in METRICS.items() if set(roles) & set(metric.needs)]


LABELLED = needing("labels")
FLAT = [name for name, metric in METRICS.items() if metric.looks_at == "cut"]
MEASURED = needing("measured")
COSTS = ["dasgupta_cost", "wang_wang_ratio", "triplet_cost", "moseley_wang_revenue"]
OF_CLUSTERS = ["silhouette", "davies_bouldin", "calinski_harabasz"]


def average_linkage(features: np.ndarray) -> tuple[Tree, np.ndarray]:
    merges = linkage(features, "average")
    return from_merges(*merges[:, :2].astype(np.int64).T, merges[:, 2]), merges


@pytest.fixture(scope="module")
def blobs() -> tuple[Tree, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 120)
    features = rng.normal(size=(4, 5))[labels] + 0.9 * rng.normal(size=(120, 5))
    return *average_linkage(features), features, labels


def test_the_catalogue_is_whole() -> None:
    for name, metric in METRICS.items():
        assert name == metric.id
        assert metric.title
        assert metric.definition.endswith(".")
        assert metric.source
        assert metric.needs
    assert set(METRICS) == {
        *("dendrogram_purity", "leaf_purity", "lhd"),
        *("purity", "nmi", "mi", "ari", "ri", "accuracy", "macro_f1", "micro_f1"),
        *("dasgupta_cost", "wang_wang_ratio", "triplet_cost", "moseley_wang_revenue"),
        *("shortest_path_similarity", "path_sharing_similarity"),
        *("cophenetic_agreement", "robinson_foulds"),
        *("silhouette", "davies_bouldin", "calinski_harabasz"),
        *("cophenetic_correlation", "held_out_log_likelihood", "explained_variance"),
        *("found_log_likelihood", "labels_log_likelihood"),
    }
    assert set(FLAT) == {*LABELLED, *OF_CLUSTERS} - {"dendrogram_purity", "leaf_purity", "lhd"}


def test_none_is_all_that_the_inputs_allow(
    blobs: tuple[Tree, np.ndarray, np.ndarray, np.ndarray],
) -> None:
    tree, _, features, labels = blobs
    assert list(evaluate(tree, labels=labels).metrics) == LABELLED
    evaluation = evaluate(tree, features=features)
    assert list(evaluation.metrics) == [*COSTS, "cophenetic_correlation"]
    assert evaluation.cut == {}
    assert list(evaluate(tree, features=features, cut={"k": 3}).metrics) == needing("features")
    square = np.zeros((120, 120))
    assert list(evaluate(tree, similarity=square).metrics) == COSTS
    assert list(evaluate(tree, distances=square).metrics) == ["cophenetic_correlation"]
    evaluation = evaluate(tree, distances=square, cut={"k": 3})
    assert list(evaluation.metrics) == needing("distances")
    assert list(evaluate(tree, hierarchy=tree).metrics) == needing("hierarchy")
    given_ = {"labels": labels, "features": features, "hierarchy": tree}
    assert list(evaluate(tree, **given_).metrics) == [m for m in METRICS if m not in MEASURED]
    measured = {"inertia": 3.0, "explained_variance": 0.5, "held_out_log_likelihood": -7.5}
    measured |= dict.fromkeys(LIKELIHOODS, -3.0)
    assert list(evaluate(tree, **given_, measured=measured).metrics) == list(METRICS)
    names = ["nmi", "dendrogram_purity", "nmi"]
    assert list(evaluate(tree, labels=labels, metrics=names).metrics) == names[:2]
    assert evaluate(tree, labels=labels, metrics=[]).metrics == {}
    with pytest.raises(UsageError, match="Nothing to evaluate"):
        evaluate(tree)


def test_single_points_are_cut_at_the_number_of_classes(
    blobs: tuple[Tree, np.ndarray, np.ndarray, np.ndarray],
) -> None:
    tree, merges, _, labels = blobs
    evaluation = evaluate(tree, labels=[f"class {label}" for label in labels])
    assert evaluation.cut == {"k": 4, "n_clusters": 4}
    flat = fcluster(merges, 4, "maxclust")
    assert evaluation.metrics["ari"] == pytest.approx(sk.adjusted_rand_score(labels, flat))
    assert evaluation.metrics["leaf_purity"] == evaluation.metrics["purity"]
    assert evaluation.warnings == []
    clusters = cut(tree, k=4)
    over = upper_part(tree, clusters.nodes, clusters.cluster_of_point)
    assert evaluation.metrics["lhd"] == pytest.approx(naive_lhd(over, labels.tolist()))
    assert 0 < evaluation.metrics["lhd"] < 1


def test_new_rows_are_measured_where_they_were_placed(
    blobs: tuple[Tree, np.ndarray, np.ndarray, np.ndarray],
) -> None:
    tree, _, _, labels = blobs
    # Rows at single points of the fit, some of which get several and some none.
    rng = np.random.default_rng(1)
    point = rng.integers(len(labels), size=80)
    rows = over_rows(tree, tree.leaf_of_point[point])
    true = np.where(rng.random(80) < 0.2, 4, labels[point])
    evaluation = evaluate(rows, labels=true, fitted=tree)
    flat = cut(tree, k=5).cluster_of_point[point]
    assert evaluation.cut == {"k": 5, "n_clusters": 5}
    assert evaluation.metrics["nmi"] == pytest.approx(sk.normalized_mutual_info_score(true, flat))
    shares = []
    for i, j in combinations(range(80), 2):
        if true[i] == true[j]:
            under = points_under(rows, meet(rows, i, j))
            shares.append((true[under] == true[i]).mean())
    assert evaluation.metrics["dendrogram_purity"] == pytest.approx(np.mean(shares))


def test_new_rows_may_have_more_classes_than_the_tree_has_leaves() -> None:
    tree = tree_of([-1, 0, 0], [1, 2])
    rows = over_rows(tree, np.array([1, 1, 2, 2]))
    evaluation = evaluate(rows, labels=[0, 1, 2, 3], metrics=["purity"], fitted=tree)
    assert evaluation.cut == {"k": 2, "n_clusters": 2}
    assert evaluation.metrics == {"purity": 0.5}


def test_new_rows_are_not_taken_for_the_points_that_leaves_are_named_after() -> None:
    names = np.array([None, "1", "0"], dtype=object)
    tree = replace(tree_of([-1, 0, 0], [1, 2]), name=names)
    other = tree_of([-1, 0, 0], [1, 2])
    rows = over_rows(tree, tree.leaf_of_point)
    evaluation = evaluate(rows, hierarchy=other, metrics=["robinson_foulds"], fitted=tree)
    assert evaluation.metrics == {"robinson_foulds": 0.0}
    assert (over_rows(tree, np.array([2, 2])).size == [2, 0, 2]).all()
    assert rows.name.tolist() == [None] * 3


@pytest.mark.parametrize(
    "requested", [{"k": 7}, {"height": 1.5}, {"level": 3}, {"k": 3, "level": None}]
)
def test_the_requested_cut_is_used(
    requested: dict[str, Any], blobs: tuple[Tree, np.ndarray, np.ndarray, np.ndarray]
) -> None:
    tree, merges, _, labels = blobs
    evaluation = evaluate(tree, labels=labels, metrics=["nmi"], cut=requested)
    key, value = next(iter(requested.items()))
    assert evaluation.cut[key] == value
    if key != "level":
        flat = fcluster(merges, value, "maxclust" if key == "k" else "distance")
        assert evaluation.cut["n_clusters"] == len(set(flat))
        expected = sk.normalized_mutual_info_score(labels, flat)
        assert evaluation.metrics["nmi"] == pytest.approx(expected)


def test_leaves_that_are_clusters_are_evaluated_as_they_are() -> None:
    #       0
    #      / \
    #     1   2      leaves 2, 3, 4 with 2, 3 and 1 points
    #    / \
    #   3   4
    tree = tree_of([-1, 0, 0, 1, 1], [2, 2, 3, 3, 3, 4])
    labels = [0, 0, 1, 1, 2, 2]
    evaluation = evaluate(tree, labels=labels)
    assert evaluation.cut == {"leaves": True, "n_clusters": 3}
    assert evaluation.metrics["purity"] == pytest.approx(5 / 6)
    assert evaluation.metrics["leaf_purity"] == pytest.approx(5 / 6)
    # A cut changes the clusters of flat metrics, not the leaves.
    evaluation = evaluate(tree, labels=labels, cut={"level": 1})
    assert evaluation.cut == {"level": 1, "n_clusters": 2}
    assert evaluation.metrics["purity"] == pytest.approx(4 / 6)
    assert evaluation.metrics["leaf_purity"] == pytest.approx(5 / 6)
    assert evaluation.metrics["lhd"] == pytest.approx(naive_lhd(tree, labels))


def test_a_cut_that_cannot_be_met_is_warned_of() -> None:
    tree = tree_of([-1, 0, 0, 0, 0], [1, 2, 3, 4])
    evaluation = evaluate(tree, labels=[0, 0, 1, 1])
    assert evaluation.cut == {"k": 2, "n_clusters": 1}
    assert any("not binary" in text for text in evaluation.warnings)


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        ({"metrics": ["nmj"]}, "unknown-metric", "'nmj'; there are dendrogram_purity, .*nmi"),
        ({"metrics": ["dasgupta_cost"]}, "wrong-input", "needs similarity or features"),
        ({"metrics": ["robinson_foulds"]}, "wrong-input", "needs hierarchy"),
        ({"metrics": ["explained_variance"]}, "wrong-input", "this tree's method measured nothing"),
        ({"hierarchy": from_partition([0], 1)}, "wrong-input", "'0' .* '1'|'0', '1'|names no leaf"),
        ({"labels": [1, 2]}, "wrong-length", "2 labels for the 3 points"),
        ({"cut": {"k": 9}}, "wrong-cut", "k = 9"),
        ({"cut": {"k": 2, "level": 1}}, "wrong-cut", "k and level"),
        ({"cut": {"depth": 1}}, "wrong-cut", "this one is by depth"),
        ({"cut": {"k": 1.5}}, "wrong-cut", "integer"),
        ({"cut": {"k": True}}, "wrong-cut", "integer"),
        ({"cut": {"height": "low"}}, "wrong-cut", "number"),
        ({"cut": {"k": 9}, "metrics": ["dendrogram_purity"]}, "wrong-cut", "k = 9"),
    ],
)
def test_refusals(arguments: dict[str, Any], code: str, text: str) -> None:
    tree = tree_of([-1, 0, 0, 1, 1], [2, 3, 4])
    with pytest.raises(UsageError, match=text) as caught:
        evaluate(tree, **{"labels": [0, 0, 1], **arguments})
    assert caught.value.code == code


def test_undefined_is_null_with_a_warning() -> None:
    tree = tree_of([-1, 0, 0], [1, 2])
    evaluation = evaluate(tree, labels=["a", "b"])
    assert evaluation.metrics["dendrogram_purity"] is None
    assert any("dendrogram purity is undefined" in text for text in evaluation.warnings)
    alone = evaluate(tree_of([-1], [0]), labels=["a"], features=np.ones((1, 2)))
    assert {name for name, value in alone.metrics.items() if value is None} == {
        "dendrogram_purity",
        "wang_wang_ratio",
        "cophenetic_correlation",
        *OF_CLUSTERS,
    }
    assert len(alone.warnings) == 6
    empty = evaluate(tree_of([-1, 0, 0], []), labels=[])
    assert {name for name, value in empty.metrics.items() if value is not None} == {"lhd"}
    assert len(empty.warnings) == len(LABELLED) - 1


def test_a_value_too_large_is_null() -> None:
    tree = tree_of([-1, 0, 0, 1, 1, 3, 3], [2, 4, 5, 6])
    huge = np.full((4, 4), 1e308)
    huge[0, 1] = huge[1, 0] = 1e307
    distances = huge * (1.0 - np.eye(4))
    with np.errstate(all="ignore"):
        evaluation = evaluate(tree, similarity=huge, distances=distances, cut={"k": 2})
    # A correlation has no scale.
    correlation = evaluation.metrics.pop("cophenetic_correlation")
    small = evaluate(tree, distances=distances / 1e307, metrics=["cophenetic_correlation"]).metrics
    assert correlation == pytest.approx(small["cophenetic_correlation"])
    assert set(evaluation.metrics.values()) == {None}
    assert len(evaluation.warnings) == len(evaluation.metrics) == 5


def test_distances_of_points_from_themselves_are_refused_however_large() -> None:
    tree = tree_of([-1, 0, 0, 1, 1, 3, 3], [2, 4, 5, 6])
    with pytest.raises(UsageError, match="diagonal"):
        evaluate(tree, distances=np.full((4, 4), 1e308))


def test_clusters_without_labels_are_those_of_the_cut() -> None:
    line = np.array([0.0, 1.0, 10.0, 12.0])[:, None]
    tree = tree_of([-1, 0, 0, 1, 1, 2, 2], [3, 4, 5, 6])
    with pytest.raises(UsageError, match="single points") as caught:
        evaluate(tree, features=line, metrics=["silhouette"])
    assert caught.value.code == "wrong-cut"
    evaluation = evaluate(tree, features=line, metrics=["silhouette"], cut={"k": 2})
    assert evaluation.cut == {"k": 2, "n_clusters": 2}
    expected = sk.silhouette_score(line, [0, 0, 1, 1])
    assert evaluation.metrics["silhouette"] == pytest.approx(expected)


def test_metrics_of_the_method_are_in_the_evaluation() -> None:
    tree = tree_of([-1, 0, 0], [1, 2])
    measured = {"inertia": 2.0, "held_out_log_likelihood": -3.5}
    evaluation = evaluate(tree, labels=[0, 0], measured=measured)
    assert evaluation.metrics["held_out_log_likelihood"] == -3.5
    assert "explained_variance" not in evaluation.metrics
    alone = evaluate(tree, metrics=["held_out_log_likelihood"], measured=measured)
    assert alone.metrics == {"held_out_log_likelihood": -3.5}
    with pytest.raises(UsageError, match="measured inertia, held_out_log_likelihood"):
        evaluate(tree, metrics=["explained_variance"], measured=measured)


def test_a_hierarchy_alone_is_compared_with() -> None:
    #      0          0
    #     / \        / \
    #    1   2      1   2      points 0 1 2 in leaves 3 4 2 and 3 2 4
    #   / \        / \
    #  3   4      3   4
    tree, other = tree_of([-1, 0, 0, 1, 1], [3, 4, 2]), tree_of([-1, 0, 0, 1, 1], [3, 2, 4])
    evaluation = evaluate(tree, hierarchy=other)
    assert evaluation.metrics == {
        "shortest_path_similarity": pytest.approx(1 - 2 / 27),
        "path_sharing_similarity": pytest.approx(1 - 2 / 27),
        "cophenetic_agreement": pytest.approx(-0.5),
        "robinson_foulds": 1.0,
    }
    assert evaluation.warnings == []
    with pytest.raises(UsageError, match="3 rows and the tree 4 points"):
        evaluate(tree_of([-1, 0, 0], [1, 1, 2, 2]), hierarchy=tree)
    # Without a metric that reads it there is no error.
    assert evaluate(tree, labels=[0, 0, 1], hierarchy=other, metrics=["nmi"]).warnings == []
    taken = evaluate(tree, labels=[0, 0, 1], hierarchy=other)
    assert sum("rows are taken" in text for text in taken.warnings) == 1


def test_estimates_do_not_depend_on_other_metrics(
    blobs: tuple[Tree, np.ndarray, np.ndarray, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    tree, _, features, labels = blobs
    monkeypatch.setattr(costs, "SAMPLED_PAIRS", 1000)
    exact = evaluate(tree, labels=labels, features=features)
    assert exact.standard_errors == {}
    estimates = evaluate(tree, labels=labels, features=features, sample=1000, seed=3)
    assert set(estimates.standard_errors) == {"dendrogram_purity"}
    alone = evaluate(tree, labels=labels, metrics=["dendrogram_purity"], sample=1000, seed=3)
    name = "dendrogram_purity"
    assert alone.metrics[name] == estimates.metrics[name]
    assert abs(alone.metrics[name] - exact.metrics[name]) < 5 * alone.standard_errors[name]
    by_itself = evaluate(tree, labels=labels, metrics=["dendrogram_purity"], sample=1000, seed=4)
    assert alone.metrics[name] != by_itself.metrics[name]


def test_many_points_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "SAMPLED_PAIRS", 20_000)
    monkeypatch.setattr(costs, "SAMPLED_TRIPLES", 20_000)
    rng = np.random.default_rng(0)
    n = costs.EXACT_POINTS + 1
    features = rng.normal(size=(n, 2))
    tree = from_partition(rng.integers(0, 9, n), 9)
    names = [*COSTS, "cophenetic_correlation"]
    evaluation = evaluate(tree, features=features, kernel="gaussian", metrics=names)
    assert set(evaluation.standard_errors) == {*COSTS, "cophenetic_correlation"}
    assert len(evaluation.warnings) == 5
    exact = costs.dasgupta_cost(tree, Gaussian(features), exact_points=n).value
    error = evaluation.standard_errors["dasgupta_cost"]
    assert 0 < error < 0.02 * exact
    assert abs(evaluation.metrics["dasgupta_cost"] - exact) < 5 * error


def test_progress_can_cancel() -> None:
    stages: list[str] = []

    def report(fraction: float, stage: str, message: str = "") -> None:
        silent(fraction, stage, message)
        stages.append(stage)
        if len(stages) == 3:
            raise Cancelled

    with pytest.raises(Cancelled):
        evaluate(tree_of([-1, 0, 0], [1, 2]), labels=[0, 0], progress=report)
    assert stages == list(METRICS)[:3]


@given(any_tree(), st.data())
def test_values_lie_in_their_ranges(tree: Tree, data: st.DataObject) -> None:
    n = tree.n_points
    labels = data.draw(st.lists(st.sampled_from(["", "a", "b"]), min_size=n, max_size=n))
    features = np.array(data.draw(st.lists(st.floats(-2, 2), min_size=n, max_size=n)))[:, None]
    evaluation = evaluate(tree, labels=labels, features=features, hierarchy=tree)
    assert list(evaluation.metrics) == [name for name in METRICS if name not in MEASURED]
    for name, value in evaluation.metrics.items():
        if value is None:
            assert evaluation.warnings
            continue
        assert np.isfinite(value)
        low, high = METRICS[name].low, METRICS[name].high
        assert low is None or value >= low
        assert high is None or value <= high


@pytest.mark.parametrize(("name", "expected"), [("glass", 0.5006), ("spambase", 0.6279)])
def test_average_linkage_has_the_published_dendrogram_purity(
    name: str, expected: float, real_data: Callable[[str], Path]
) -> None:
    # The table of gHHC (KDD 2019) has 0.501 and 0.629 for HAC-Avg.
    with np.load(real_data(f"bench_{name}.npz")) as file:
        features, labels = file["X"], file["y"]
    tree, _ = average_linkage(features)
    evaluation = evaluate(tree, labels=labels, metrics=["dendrogram_purity"])
    assert evaluation.metrics["dendrogram_purity"] == pytest.approx(expected, abs=5e-5)
