"""Temi: clusters with a known answer, the choice of the head, refusals."""

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
from models.methods.partitions import temi
from models.methods.partitions.heads import space_tensors
from models.methods.partitions.temi import TemiParams
from tests.models.methods.partitions.blobs_kit import blobs, together

pytestmark = pytest.mark.needs("torch")

METHOD = registry.method("temi")
QUICK = {
    "n_heads": 6,
    "k_neighbors": 10,
    "max_iter": 100,
    "learning_rate": 0.01,
    "momentum": 0.95,
}


def fit(features: Any, names: list[str] | None = None, **params: Any) -> Fitted:
    inputs = {"features": features}
    if names is not None:
        inputs["names"] = names
    return METHOD.fit(Data(inputs), TemiParams(**{**QUICK, **params}))


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("batch_size", [512, 64])
def test_clusters_that_lie_apart_are_found(seed: int, batch_size: int) -> None:
    features, own = blobs(seed)
    n_passes = 100 if batch_size == 64 else 300  # A pass is a single step where all rows fit.
    fitted = fit(features, n_clusters=5, seed=seed, batch_size=batch_size, max_iter=n_passes)
    assert together(fitted, own) > 0.99
    assert fitted.tree.kind == "partition"
    assert (np.diff(fitted.tree.size[1:]) <= 0).all()
    assert fitted.warnings == ()


def test_the_head_with_the_lowest_loss_is_chosen() -> None:
    features, _ = blobs(3, apart=3.0)
    fitted = fit(features, n_clusters=5, max_iter=30)
    losses = fitted.model.facts["losses"]
    assert len(set(losses)) == 6
    assert fitted.metrics["loss"] == pytest.approx(min(losses))
    assert fitted.metrics["mean_loss"] == pytest.approx(np.mean(losses))
    assert fitted.model.arrays.keys() >= {"bias", "weights_0"}
    assert fitted.model.arrays["weights_0"].shape == (8, 5)


def test_passes_lower_the_loss() -> None:
    features, _ = blobs(2, apart=3.0)
    losses = [fit(features, n_clusters=5, max_iter=n).metrics["loss"] for n in (1, 20, 100)]
    assert losses[2] < losses[1] < losses[0]


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
    with pytest.raises(UsageError, match="7 columns; the model was fitted on 8"):
        METHOD.predict(fitted.model, fitted.tree, Data({"features": new[:, :7]}))


def test_clusters_left_empty_are_warned_of() -> None:
    features, _ = blobs(7, n_clusters=3)
    fitted = fit(features, n_clusters=15, beta=1.0, keep="heads")
    assert any("cluster(s) have no point." in warning for warning in fitted.warnings)


def test_a_mapped_file_read_in_pools_gives_the_same_clusters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    features, own = blobs(8, each=100)
    np.save(tmp_path / "features.npy", features)
    monkeypatch.setattr(space_tensors, "RESIDENT", 2000)
    monkeypatch.setattr(space_tensors, "POOL", 8 * 200)
    rows = ArrayRows(np.load(tmp_path / "features.npy", mmap_mode="r"))
    fitted = fit(rows, n_clusters=5, batch_size=100, max_iter=50)
    assert together(fitted, own) > 0.99


def test_another_seed_starts_elsewhere() -> None:
    features, _ = blobs(1, apart=1.0)
    fitted, fitted_anew = (fit(features, n_clusters=5, max_iter=2, seed=seed) for seed in (0, 1))
    assert fitted.metrics != fitted_anew.metrics


def test_duplicates_and_a_constant_column_are_taken() -> None:
    features, own = blobs(2)
    features = np.concatenate([features, np.full((len(features), 1), 3.0)], axis=1)
    twice = np.concatenate([features, features])
    assert together(fit(twice, n_clusters=5), np.concatenate([own, own])) > 0.99


def test_more_neighbours_than_points_are_warned_of() -> None:
    features, _ = blobs(0, each=4)
    few = fit(features, n_clusters=5, k_neighbors=50, max_iter=3)
    assert few.warnings[0] == (
        "Points were paired with all 19 others, fewer than 'k_neighbors' = 50."
    )
    mixed = fit(features, n_clusters=5, k_neighbors=6, max_iter=3)
    assert "more than the 4 points that a cluster has on average" in mixed.warnings[0]


def test_heads_that_learned_nothing_are_warned_of() -> None:
    features, _ = blobs(0)
    uniform = -0.8 * np.log(5) / 5
    fitted = fit(0.01 * features, n_clusters=5, max_iter=1)
    assert fitted.metrics["loss"] == pytest.approx(uniform, rel=0.01)
    assert f"that of equal probabilities {uniform:.3g}" in fitted.warnings[0]


def test_a_teacher_that_lags_and_a_loss_that_falls_are_warned_of() -> None:
    features, own = blobs(1)
    slow = fit(features, n_clusters=5, momentum=0.9999)
    assert any("The teacher lags behind its student" in warning for warning in slow.warnings)
    short = fit(features, n_clusters=5, max_iter=20, learning_rate=0.001)
    assert any("The loss was still falling" in warning for warning in short.warnings)
    chosen = fit(features, n_clusters=5, momentum="auto")
    assert together(chosen, own) > 0.99
    assert chosen.warnings == ()


@pytest.mark.parametrize(
    ("features", "code", "part"),
    [
        (np.eye(2), "too-few-points", "only 2 point(s)"),
        (np.ones((9, 3)), "too-few-points", "only 1 distinct point(s)"),
        (np.array([[0.5], [1.0], [1e39]]), "too-large", "would overflow"),
        (np.array([[0.5], [0.0], [1.0]]), "no-distance", "only zeros in row 1"),
    ],
)
def test_unusable_input_is_named(features: Any, code: str, part: str) -> None:
    with pytest.raises(UsageError) as caught:
        fit(features, n_clusters=3)
    assert caught.value.code == code
    assert part in caught.value.detail


def test_names_are_one_for_each_cluster() -> None:
    with pytest.raises(UsageError, match="2 names; 3 are needed, one for each cluster"):
        fit(np.eye(3), ["a", "b"], n_clusters=3)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_a_gpu_finds_the_same_clusters() -> None:
    features, own = blobs()
    assert together(fit(features, n_clusters=5, device="cuda"), own) > 0.99


def test_inputs_too_large_or_too_slow_are_refused() -> None:
    with pytest.raises(UsageError, match=r"GiB.*Ask for fewer clusters"):
        METHOD.check_size({"features": (10**5, 64)}, TemiParams(n_clusters=10_000), 1 << 32)
    many = {"features": (10**6, 512)}
    with pytest.raises(UsageError, match="compares all pairs of 1,000,000 points") as caught:
        METHOD.check_size(many, TemiParams(), 1 << 40)
    assert caught.value.code == "too-large"
    METHOD.check_size(many, TemiParams(device="cuda"), 1 << 32)
    assert temi.MOST_COMPARED["cpu"] < temi.MOST_COMPARED["cuda"]


def test_the_mutual_information_is_that_of_all_pairs() -> None:
    rng = np.random.default_rng(0)
    cluster, near = rng.integers(4, size=30), rng.integers(30, size=(30, 3))
    joint = np.zeros((4, 4))
    for point, own in enumerate(near):
        for other in own:
            joint[cluster[point], cluster[other]] += 1 / 90
    expected = sum(
        joint[a, b] * np.log(joint[a, b] / (joint[a].sum() * joint[:, b].sum()))
        for a in range(4)
        for b in range(4)
        if joint[a, b] > 0
    )
    assert temi.mutual_information(cluster, near) == pytest.approx(expected)


def test_k_means_is_kept_where_it_tells_more_of_neighbours() -> None:
    features, own = blobs(3)
    # Heads that hardly learn: one pass of tiny steps.
    options = {"n_clusters": 5, "max_iter": 1, "learning_rate": 1e-6}
    poor, kept = (fit(features, keep=keep, **options) for keep in ("heads", "auto"))
    assert "keep" not in poor.chosen
    assert kept.chosen["keep"].value == "kmeans"
    assert "by k-means" in kept.chosen["keep"].reason
    assert any("by k-means" in warning for warning in kept.warnings)
    assert together(poor, own) < 0.95 < together(kept, own)
    # New rows go to the nearest centre, in the same order of clusters.
    placed = METHOD.predict(kept.model, kept.tree, Data({"features": features}))
    np.testing.assert_array_equal(placed.leaf, kept.tree.leaf_of_point)
    known = registry.method("kmeans")
    plain = known.fit(Data({"features": features}), known.Params(n_clusters=5))
    assert adjusted_rand_score(plain.tree.leaf_of_point, kept.tree.leaf_of_point) == 1.0


def test_heads_are_kept_where_they_tell_as_much() -> None:
    features, own = blobs(0)
    fitted = fit(features, n_clusters=5, max_iter=300)
    assert fitted.chosen["keep"].value == "heads"
    assert together(fitted, own) > 0.99
