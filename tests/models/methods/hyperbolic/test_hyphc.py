"""HypHC on data with a known answer, against average linkage; its model and its refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris

from models import registry
from models.errors import UsageError
from models.inputs.data import Data
from models.method import Fitted
from models.methods.hyperbolic.hyphc import HypHCParams
from models.methods.hyperbolic.leaves import decoding, similarity
from models.metrics.costs import dasgupta_cost
from models.metrics.hierarchical import dendrogram_purity
from models.metrics.inputs import classes_of
from models.metrics.pairs import Cosine, Gaussian

pytestmark = pytest.mark.needs("torch")

METHOD = registry.method("hyphc")
QUICK: dict[str, Any] = {"max_iter": 800, "n_init": 1, "batch_size": 256}


def fit(features: Any = None, similarity: Any = None, **params: Any) -> Fitted:
    inputs = {"features": features} if similarity is None else {"similarity": similarity}
    return METHOD.fit(Data(inputs), HypHCParams(**{**QUICK, **params}))


def purity(fitted: Fitted, labels: np.ndarray) -> float:
    value = dendrogram_purity(fitted.tree, classes_of(labels, len(labels))).value
    assert value is not None
    return value


def branches(each: int = 12, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Six groups; 2 g and 2 g + 1 are near each other: (points, group)."""
    rng = np.random.default_rng(seed)
    middle = 20.0 * np.repeat(np.eye(6)[:3], 2, axis=0) + 12.0 * np.eye(6)[[3, 4, 3, 4, 3, 4]]
    group = np.repeat(np.arange(6), each)
    return middle[group] + rng.normal(size=(6 * each, 6)), group


def planted(depth: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Similarities of the leaves of a full binary tree, by the level at which they meet, and the
    meeting levels: 0 for a leaf and itself.

    depth 2:   ((0 1) (2 3))   0 and 1 meet at level 1, 0 and 2 at level 2
    """
    leaf = np.arange(2**depth)
    level = np.frexp((leaf[:, None] ^ leaf).astype(np.float64))[1]
    return 0.5**level, level


def clades(fitted: Fitted) -> set[frozenset[int]]:
    tree = fitted.tree
    under: list[set[int]] = [set() for _ in range(tree.n_nodes)]
    for point, leaf in enumerate(tree.leaf_of_point):
        under[leaf].add(point)
    for node in range(tree.n_nodes - 1, 0, -1):
        under[tree.parent[node]] |= under[node]
    return {frozenset(points) for points in under}


def test_a_planted_tree_is_recovered() -> None:
    similarity, level = planted()
    fitted = fit(similarity=similarity)
    expected = {
        frozenset(np.flatnonzero(row <= most).tolist()) for row in level for most in range(5)
    }
    assert clades(fitted) == expected


@pytest.mark.parametrize("params", [{}, {"affinity": "rbf"}, {"dimension": 3}])
def test_groups_and_groups_of_groups_are_found(params: dict[str, Any]) -> None:
    """Except for single leaves, since a leaf that stays apart costs little."""
    features, group = branches()
    fitted = fit(features, **params)
    assert purity(fitted, group // 2) == 1.0
    assert purity(fitted, group) > 0.9


def test_the_cost_on_iris_is_below_average_linkages() -> None:
    features = load_iris().data
    features = (features - features.mean(axis=0)) / features.std(axis=0)
    pairs = Cosine(features)
    similarity = pairs.block(np.arange(150), np.arange(150))
    peer = registry.method("hac")
    average = peer.fit(Data({"similarity": similarity}), peer.Params(linkage="average"))
    fitted = fit(features, max_iter=800, batch_size=2048, patience=30)
    least = dasgupta_cost(average.tree, pairs).value
    cost = dasgupta_cost(fitted.tree, pairs).value
    assert cost < least
    assert fitted.metrics["dasgupta_cost"] == pytest.approx(cost)


@pytest.mark.parametrize("affinity", ["cosine", "rbf"])
def test_features_and_their_matrix_give_trees_of_like_cost(affinity: str) -> None:
    features, group = branches(each=6)
    pairs: Any = Cosine(features) if affinity == "cosine" else Gaussian(features)
    matrix = pairs.block(np.arange(36), np.arange(36))
    by_features, by_matrix = fit(features, affinity=affinity), fit(similarity=matrix)
    for fitted in (by_features, by_matrix):
        cost = dasgupta_cost(fitted.tree, pairs).value
        assert fitted.metrics["dasgupta_cost"] == pytest.approx(cost, rel=1e-5)
        assert purity(fitted, group // 2) > 0.9
    assert by_features.metrics["dasgupta_cost"] == pytest.approx(
        by_matrix.metrics["dasgupta_cost"], rel=0.01
    )


def test_a_constant_or_a_factor_changes_no_tree_much() -> None:
    """Binary trees all pay the same for a constant, so values below 0 are taken."""
    similarity, level = planted(depth=3)
    expected = {
        frozenset(np.flatnonzero(row <= most).tolist()) for row in level for most in range(4)
    }
    for changed in (similarity - 5.0, 1e6 * similarity, 1e-9 * similarity):
        assert clades(fit(similarity=changed, max_iter=300)) == expected


def test_the_fit_has_leaves_embedding_heights_and_curves() -> None:
    features, _ = branches()
    fitted = fit(features, max_norm=0.99, max_iter=200)
    tree, arrays = fitted.tree, fitted.model.arrays
    norm = np.linalg.norm(arrays["embedding"], axis=1)
    assert arrays["embedding"].shape == (72, 2)
    assert norm == pytest.approx(np.tanh(fitted.metrics["radius"] / 2))
    decoded = decoding.decode(arrays["embedding"] / norm[:, None])
    heights = np.sort(tree.height)[-71:]
    assert heights == pytest.approx(
        decoded.heights(decoding.Sphere(fitted.metrics["radius"])), abs=1e-6
    )
    assert tree.monotone
    assert tree.height[0] <= fitted.metrics["radius"]
    steps = [step for step, _ in fitted.curves["cost"]]
    assert steps == [step for step, _ in fitted.curves["objective"]]
    assert (
        dict(fitted.curves["cost"])[int(fitted.metrics["best_step"])]
        == (fitted.metrics["dasgupta_cost"])
    )
    assert tree.name[tree.leaf_of_point].tolist() == [str(point) for point in range(72)]


def test_names_are_the_points() -> None:
    names = [f"point {number}" for number in range(10)]
    data = Data({"features": np.random.default_rng(0).normal(size=(10, 3)), "names": names})
    tree = METHOD.fit(data, HypHCParams(**{**QUICK, "max_iter": 20})).tree
    assert tree.name[tree.leaf_of_point].tolist() == names


@pytest.mark.parametrize("affinity", ["cosine", "rbf"])
def test_new_points_go_to_the_most_similar(affinity: str) -> None:
    features, group = branches()
    fitted = fit(features, affinity=affinity, max_iter=200)
    new, _ = branches(seed=3)
    predictions = METHOD.predict(fitted.model, fitted.tree, Data({"features": new}))
    kind = "cosine" if affinity == "cosine" else "sqeuclidean"
    nearest = cdist(new, features, kind).argmin(axis=1)
    assert (predictions.leaf == fitted.tree.leaf_of_point[nearest]).all()
    assert (group[nearest] == group).all()
    pairs: Any = (Cosine if affinity == "cosine" else Gaussian)(features)
    gamma = fitted.model.facts["gamma"]
    if affinity == "cosine":
        similar = (2 - cdist(new, features, kind)) / 2
    else:
        assert gamma == pytest.approx(1 / (2 * pairs.width2))
        similar = np.exp(-gamma * cdist(new, features, kind))
    share = np.exp(similar / 0.05)
    share /= share.sum(axis=1, keepdims=True)
    tree = fitted.tree
    for row in range(0, 72, 7):
        at = slice(predictions.start[row], predictions.start[row + 1])
        leaf = tree.leaf_of_point
        for node, probability in zip(
            predictions.node[at], predictions.probability[at], strict=True
        ):
            under = np.zeros(tree.n_nodes, dtype=bool)
            under[node] = True
            for below in range(node + 1, tree.n_nodes):
                under[below] = under[tree.parent[below]]
            assert probability == pytest.approx(share[row, under[leaf]].sum(), rel=1e-4)


def test_new_points_of_a_matrix_are_rows_of_it() -> None:
    similarity, _ = planted()
    fitted = fit(similarity=3.0 * similarity, max_iter=100)
    predictions = METHOD.predict(
        fitted.model, fitted.tree, Data({"similarity": 3 * similarity[[5, 2]]})
    )
    assert (predictions.leaf == fitted.tree.leaf_of_point[[5, 2]]).all()
    share = np.exp(similarity[5] / 0.05)
    assert predictions.probability[predictions.start[1] - 1] == pytest.approx(
        share[5] / share.sum()
    )
    few = METHOD.predict(fitted.model, fitted.tree, Data({"similarity": similarity[:0]}))
    assert (few.leaf.size, few.start.tolist()) == (0, [0])


def test_new_points_that_do_not_fit_are_refused() -> None:
    features, _ = branches(each=2)
    by_features, by_matrix = fit(features, max_iter=20), fit(similarity=np.eye(12), max_iter=20)
    for fitted, data, match in (
        (by_features, {"features": np.eye(6) * [[1], [1], [0], [1], [1], [1]]}, "Row 2"),
        (by_features, {"similarity": np.eye(12)}, "fitted on the input 'features'"),
        (by_matrix, {"features": features}, "fitted on the input 'similarity'"),
    ):
        with pytest.raises(UsageError, match=match):
            METHOD.predict(fitted.model, fitted.tree, Data(data))


def test_progress_reports_the_objective_and_the_cost() -> None:
    reports: list[str] = []
    METHOD.fit(
        Data({"features": branches()[0]}),
        HypHCParams(**{**QUICK, "max_iter": 40, "n_init": 2}),
        lambda fraction, stage, message="": reports.append(f"{stage}: {message}"),
    )
    steps = [
        report
        for report in reports
        if report.startswith("moving leaves: run 2 of 2, step 30 of 40")
    ]
    assert all("objective" in step and "cost" in step and "best" in step for step in steps)
    assert steps


@pytest.mark.parametrize("n_points", [2, 3, 4])
@pytest.mark.parametrize("dimension", [2, 3])
def test_few_points(n_points: int, dimension: int) -> None:
    fitted = fit(np.eye(4)[:n_points] + 0.1, dimension=dimension, max_iter=30)
    assert (fitted.tree.n_leaves, fitted.tree.n_nodes) == (n_points, 2 * n_points - 1)
    assert fitted.warnings == ()


def test_without_steps_the_tree_is_that_of_the_start() -> None:
    fitted = fit(branches()[0], max_iter=0, n_init=2)
    assert fitted.metrics["best_step"] == 0.0
    assert fitted.tree.validate().n_points == len(branches()[0])


def test_equal_points_are_taken() -> None:
    fitted = fit(np.repeat(np.eye(4), 10, axis=0), max_iter=400, batch_size=1024)
    assert purity(fitted, np.repeat(np.arange(4), 10)) == 1.0
    same = fit(np.ones((12, 3)), affinity="rbf", max_iter=20)
    assert same.tree.n_leaves == 12


def test_approximations_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "EXACT_POINTS", 20)
    monkeypatch.setattr(similarity, "EXACT_POINTS", 20)
    features, group = branches()
    fitted = fit(features, affinity="rbf", dimension=3, max_iter=300)
    assert [warning[:23] for warning in fitted.warnings] == [
        "The tree was decoded al",
        "Trees were compared by ",
    ]
    assert purity(fitted, group // 2) > 0.9
    few = fit(features, max_iter=4, batch_size=10)
    assert few.warnings == (
        "A run draws each point about 2 times, which is few: average linkage may cost less. Raise "
        "'max_iter' or 'batch_size'.",
    )


@pytest.mark.parametrize(
    ("inputs", "params", "code", "part"),
    [
        ({"features": np.eye(1)}, {}, "too-few-points", "'features' has only one point"),
        ({"similarity": np.eye(1)}, {}, "too-few-points", "'similarity' has only one point"),
        ({"features": np.diag([1.0, 1.0, 0.0, 1.0])}, {}, "no-distance", "Row 2"),
        ({"features": 1e200 * np.eye(9)}, {}, "too-large", "would overflow"),
        ({"similarity": np.ones((4, 3))}, {}, "wrong-shape", "4 rows and 3 columns"),
        ({"similarity": np.tri(4)}, {}, "not-similarities", "row 0, column 1"),
        ({"similarity": np.eye(4)}, {"affinity": "rbf"}, "wrong-parameter", "'affinity'"),
        ({"similarity": np.eye(4)}, {"gamma": 1.0}, "wrong-parameter", "'gamma'"),
        ({"features": np.eye(4)}, {"gamma": 1.0}, "wrong-parameter", "'rbf' only"),
        ({"features": np.eye(4), "similarity": np.eye(4)}, {}, "wrong-input", "exactly one"),
    ],
)
def test_unusable_input_is_named(
    inputs: dict[str, Any], params: dict[str, Any], code: str, part: str
) -> None:
    with pytest.raises(UsageError) as caught:
        METHOD.fit(Data(inputs), HypHCParams(**{**QUICK, **params}))
    assert caught.value.code == code
    assert part in caught.value.detail


def test_steps_have_four_triples_a_point_by_default() -> None:
    sizes = [HypHCParams().triples_of_step(n_points) for n_points in (9, 999, 10**6)]
    assert sizes == [1024, 3996, 65_536]
    assert HypHCParams(batch_size=7).triples_of_step(999) == 7


def test_inputs_too_large_for_memory_are_refused() -> None:
    METHOD.check_size({"features": (10**6, 128)}, HypHCParams(), 8 << 30)
    # A matrix is not copied.
    METHOD.check_size({"similarity": (50_000, 50_000)}, HypHCParams(), 1 << 30)
    with pytest.raises(UsageError, match=r"GiB.*Lower 'batch_size'"):
        METHOD.check_size({"features": (10**7, 128)}, HypHCParams(), 8 << 30)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_a_gpu_finds_the_same_groups() -> None:
    features, group = branches()
    # On the processor 31 of 32 seeds are above .93, two of them at 1.
    assert max(purity(fit(features, device="cuda", seed=s), group) for s in range(3)) > 0.93
    similarity, _ = planted()
    assert fit(similarity=similarity, device="cuda").tree.n_leaves == 16
