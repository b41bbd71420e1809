"""Turtle: clusters with a known answer in one and two spaces, choice of runs, refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import adjusted_rand_score

from models import registry
from models.errors import UsageError
from models.inputs.data import Data
from models.inputs.rows import ArrayRows
from models.method import Fitted
from models.methods.partitions import turtle
from models.methods.partitions.heads import space_tensors
from models.methods.partitions.turtle import TurtleParams
from tests.models.methods.partitions.blobs_kit import blobs, together

pytestmark = pytest.mark.needs("torch")

METHOD = registry.method("turtle")
QUICK = {"max_iter": 100, "learning_rate": 0.03, "inner_learning_rate": 0.1, "inner_iter": 6}


def fit(features: Any, names: list[str] | None = None, **params: Any) -> Fitted:
    inputs = {"features": features}
    if names is not None:
        inputs["names"] = names
    return METHOD.fit(Data(inputs), TurtleParams(**{**QUICK, **params}))


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("batch_size", [10_000, 64])
def test_clusters_that_lie_apart_are_found(seed: int, batch_size: int) -> None:
    features, own = blobs(seed)
    fitted = fit(features, n_clusters=5, seed=seed, batch_size=batch_size)
    assert together(fitted, own) > 0.99
    assert fitted.tree.kind == "partition"
    assert (np.diff(fitted.tree.size[1:]) <= 0).all()
    assert fitted.warnings == ()
    assert fitted.metrics["cross_validated_accuracy"] > 0.99
    # In a batch of 64 points the clusters' shares differ by chance.
    assert fitted.metrics["entropy"] == pytest.approx(np.log(5), abs=0.1)
    assert fitted.metrics["objective"] == pytest.approx(
        fitted.metrics["cross_entropy"] - 10.0 * fitted.metrics["entropy"]
    )


def test_two_spaces_are_used_together() -> None:
    features, own = blobs(3)
    rng = np.random.default_rng(1)
    turned = features @ np.linalg.qr(rng.normal(size=(8, 8)))[0]
    second_space = (turned + rng.normal(size=turned.shape))[:, :6].astype(np.float16)
    fitted = fit((features, second_space), n_clusters=5)
    assert together(fitted, own) > 0.99
    assert fitted.model.arrays.keys() >= {"bias", "weights_0", "weights_1"}
    assert fitted.model.arrays["weights_1"].shape == (6, 5)
    assert fitted.metrics["entropy"] == pytest.approx(2 * np.log(5), abs=0.05)


def test_a_step_lowers_the_objective() -> None:
    features, _ = blobs(2, apart=2.0)
    values = [
        fit(features, n_clusters=5, max_iter=n, learning_rate=0.01).metrics["objective"]
        for n in (1, 30, 150)
    ]
    assert values[2] < values[1] < values[0]


def test_logits_are_log_probabilities_and_new_points_go_where_they_belong() -> None:
    features, own = blobs(4)
    fitted = fit(features, n_clusters=5)
    assert np.exp(fitted.logits).sum(axis=1) == pytest.approx(1.0, abs=1e-9)
    cluster = fitted.tree.leaf_of_point - 1
    assert (fitted.logits.argmax(axis=1) == cluster).all()
    new, of_new = blobs(5)
    predictions = METHOD.predict(fitted.model, fitted.tree, Data({"features": new}))
    assert adjusted_rand_score(
        np.concatenate([own, of_new]), np.concatenate([cluster + 1, predictions.leaf])
    ) == pytest.approx(1.0)
    logits = METHOD.logits(fitted.model, Data({"features": new}))
    assert predictions.probability[1::2] == pytest.approx(np.exp(logits.max(axis=1)))
    with pytest.raises(UsageError, match=r"2 matrix\(es\) are given; the model was fitted on 1"):
        METHOD.predict(fitted.model, fitted.tree, Data({"features": (new, new)}))


def test_the_run_that_classifiers_learn_best_is_chosen() -> None:
    features, _ = blobs(6, n_clusters=6, each=20, apart=2.0)
    params = {"n_clusters": 6, "max_iter": 25, "seed": 4}
    fitted = fit(features, n_init=4, **params)
    accuracies = fitted.model.facts["accuracies"]
    assert len(set(accuracies)) > 1
    assert fitted.metrics["cross_validated_accuracy"] == max(accuracies)
    first = fit(features, n_init=1, **params)
    assert first.model.facts["accuracies"] == accuracies[:1]
    same = (first.tree.leaf_of_point == fitted.tree.leaf_of_point).all()
    assert same == (max(accuracies) == accuracies[0])


def test_a_run_with_one_cluster_comes_last(monkeypatch: pytest.MonkeyPatch) -> None:
    features, _ = blobs(6, n_clusters=3, each=20)
    trained = turtle.train
    number = iter(range(9))

    def first_falls(*args: Any) -> Any:
        result = trained(*args)
        if next(number) == 0:
            for bias in result.layer.bias:
                bias[0] = 1e6
        return result

    monkeypatch.setattr(turtle, "train", first_falls)
    fitted = fit(features, n_clusters=3, n_init=2)
    assert fitted.model.facts["accuracies"][0] == 1.0
    assert len(set(fitted.tree.leaf_of_point.tolist())) == 3


def test_without_a_weight_on_sizes_empty_clusters_are_warned_of() -> None:
    features, _ = blobs(7)
    fitted = fit(features, n_clusters=12, gamma=0.0, max_iter=150)
    assert any("cluster(s) have no point." in warning for warning in fitted.warnings)


def test_a_mapped_file_read_in_pools_gives_the_same_clusters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    features, own = blobs(8, each=200)
    np.save(tmp_path / "features.npy", features)
    monkeypatch.setattr(space_tensors, "RESIDENT", 0)
    monkeypatch.setattr(space_tensors, "POOL", 8 * 300)
    rows = ArrayRows(np.load(tmp_path / "features.npy", mmap_mode="r"))
    assert together(fit(rows, n_clusters=5, batch_size=100), own) > 0.99


def test_accuracy_of_a_sample_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turtle, "VALIDATED", 50)
    features, _ = blobs(9)
    fitted = fit(features, n_clusters=5, batch_size=20)
    assert fitted.warnings == (
        "The cross-validated accuracy was measured on a sample of 50 of 200 points.",
    )
    without = fit(features, n_clusters=5, batch_size=20, n_folds=0)
    assert without.warnings == ()
    assert "cross_validated_accuracy" not in without.metrics
    assert without.model.facts == {"accuracies": []}


def test_another_seed_starts_elsewhere() -> None:
    features, _ = blobs(1, apart=1.0)
    fitted, fitted_anew = (fit(features, n_clusters=5, max_iter=2, seed=seed) for seed in (0, 1))
    assert fitted.metrics != fitted_anew.metrics


def test_classifiers_that_cannot_learn_in_so_few_steps_are_warned_of() -> None:
    features, _ = blobs(0)
    fitted = fit(features, n_clusters=5, max_iter=3, inner_learning_rate=1e-3)
    assert any("too little to learn a labelling" in warning for warning in fitted.warnings)
    sums = np.abs(features).sum(axis=1).mean()
    assert f"move by {6 * 1e-3 * sums:.2g} at most" in fitted.warnings[0]
    warm = fit(features, n_clusters=5, max_iter=3, inner_learning_rate=1e-3, warm_start=True)
    assert warm.warnings == ()


def test_duplicates_and_a_constant_column_are_taken() -> None:
    features, own = blobs(2)
    features = np.concatenate([features, np.full((len(features), 1), 3.0)], axis=1)
    twice = np.concatenate([features, features])
    assert together(fit(twice, n_clusters=5), np.concatenate([own, own])) > 0.99


@pytest.mark.parametrize(
    ("features", "code", "part"),
    [
        (np.eye(2), "too-few-points", "only 2 point(s)"),
        (np.ones((9, 3)), "too-few-points", "only 1 distinct point(s)"),
        (np.array([[0.0], [1.0], [1e39]]), "too-large", "would overflow"),
        ((np.eye(3), np.eye(4)), "wrong-shape", "has 4 rows, the first one 3"),
        ((np.eye(3), np.ones((3, 2))), "wrong-input", "Matrix 1"),
    ],
)
def test_unusable_input_is_named(features: Any, code: str, part: str) -> None:
    with pytest.raises(UsageError) as caught:
        fit(features, n_clusters=3)
    assert caught.value.code == code
    assert part in caught.value.detail


@pytest.mark.parametrize("params", [{"n_folds": 1}, {"n_init": 2, "n_folds": 0}])
def test_runs_cannot_be_compared_without_folds(params: dict[str, int]) -> None:
    with pytest.raises(UsageError, match=r"'n_folds' is [01]") as caught:
        fit(np.eye(3), n_clusters=3, **params)
    assert caught.value.where == {"parameter": "n_folds"}


def test_names_are_one_for_each_cluster() -> None:
    with pytest.raises(UsageError, match="2 names; 3 are needed, one for each cluster"):
        fit(np.eye(3), ["a", "b"], n_clusters=3)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_a_gpu_finds_the_same_clusters() -> None:
    features, own = blobs()
    assert together(fit(features, n_clusters=5, device="cuda", n_init=2), own) > 0.99


def test_inputs_too_large_for_memory_are_refused() -> None:
    params = TurtleParams(n_clusters=10_000)
    with pytest.raises(UsageError, match=r"GiB.*Ask for fewer clusters"):
        METHOD.check_size({"features": (10**6, 64)}, params, 1 << 32)
