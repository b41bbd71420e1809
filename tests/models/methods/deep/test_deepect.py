"""The method as a whole: the planted tree is found, images, refusals."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

from models.errors import UsageError
from models.inputs.data import Data
from models.method import Fitted
from models.methods.deep.deepect import DeepECT
from models.methods.deep.networks.scaling import Augmentation, measure_scaling
from tests.models.methods.deep.nested_kit import (
    N_GROUPS,
    clades_of,
    nested_points,
    planted_clades,
)
from umbel.testing.examples import assert_same
from umbel.testing.lost_worker import MemoryCheckpoint

pytestmark = pytest.mark.needs("torch")

METHOD = DeepECT()
QUICK: dict[str, Any] = {
    "hidden_sizes": [32],
    "embedding_size": 6,
    "pretrain_epochs": 20,
    "epochs": 20,
    "learning_rate": 5e-3,
}


def fit(features: np.ndarray, **params: Any) -> Fitted:
    return METHOD.fit(Data({"features": features}), METHOD.Params(**{**QUICK, **params}))


@cache
def planted(seed: int) -> Fitted:
    """The fit to `nested_points`."""
    return fit(nested_points(seed=seed)[0], n_clusters=N_GROUPS, seed=seed)


@cache
def drawn() -> Fitted:
    """The fit to `images`."""
    return fit(images(), n_clusters=3)


def images(n_channels: int = 1) -> np.ndarray:
    """(60, 6, 5, n_channels) bytes: a bright bar on the left, on the right, or on top."""
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 60, size=(60, 6, 5, n_channels))
    pixels[:20, :, :2] += 180
    pixels[20:40, :, 3:] += 180
    pixels[40:, :2] += 180
    return pixels.astype(np.uint8)


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))]
)
def test_the_planted_tree_is_found(seed: int) -> None:
    _, group = nested_points(seed=seed)
    fitted = planted(seed)
    assert clades_of(fitted.tree, group) == planted_clades()
    assert fitted.tree.n_nodes == 2 * N_GROUPS - 1
    assert (fitted.tree.size[fitted.tree.leaves] == 40).all()


def test_more_leaves_split_groups_and_join_none() -> None:
    points, group = nested_points()
    fitted = fit(points, n_clusters=12)
    assert clades_of(fitted.tree, group) == planted_clades()
    assert len(fitted.tree.leaves) == 12


def test_new_points_go_to_the_leaf_of_their_group() -> None:
    points, group = nested_points()
    fitted = planted(0)
    fresh = points + 0.1 * np.random.default_rng(9).normal(size=points.shape)
    assert fitted.model is not None
    predictions = METHOD.predict(fitted.model, fitted.tree, Data({"features": fresh}))
    assert (predictions.leaf == fitted.tree.leaf_of_point).all()
    logits = METHOD.logits(fitted.model, Data({"features": fresh}))
    assert (fitted.tree.leaves[logits.argmax(axis=1)] == predictions.leaf).all()
    assert group.size == len(logits)


def test_the_scale_and_place_of_features_do_not_matter() -> None:
    points, group = nested_points()
    for moved in (1e9 * points - 7e9, 1e-9 * points + 1.0):
        fitted = fit(moved, n_clusters=N_GROUPS)
        assert clades_of(fitted.tree, group) == planted_clades()
        assert fitted.metrics["reconstruction"] < 0.2


def test_leaves_are_named_from_the_largest() -> None:
    points, group = nested_points()
    rows = np.flatnonzero((group >= 4) | (np.arange(len(group)) % 4 == 0))
    names = [f"name {number}" for number in range(N_GROUPS)]
    data = Data({"features": points[rows], "names": names})
    tree = METHOD.fit(data, METHOD.Params(**QUICK, n_clusters=N_GROUPS)).tree
    assert tree.name[tree.leaves].tolist() == names
    assert (np.diff(tree.size[tree.leaves]) <= 0).all()


def test_images_of_three_axes_four_axes_and_a_matrix_are_the_same() -> None:
    pixels = images()
    fits = [
        drawn(),
        fit(pixels[..., 0], n_clusters=3),
        fit(pixels.reshape(60, 30), n_clusters=3, image_shape=[6, 5]),
    ]
    for fitted in fits[1:]:
        assert_same(fitted, fits[0])
    model, tree = fits[0].model, fits[0].tree
    assert model is not None
    pictures = METHOD.pictures(model)
    assert pictures is not None
    assert pictures.pixels.shape == (tree.n_nodes, 2, 6, 5, 1)
    for leaf in tree.leaves:
        mean = pixels[tree.leaf_of_point == leaf].mean(axis=0)
        assert np.abs(pictures.pixels[leaf, 1] - mean).max() <= 0.5
        decoded = pictures.pixels[leaf, 0].astype(float)
        assert np.abs(decoded - mean).mean() < 25, "the centre decodes to a group's image"
    for rows in (pixels, pixels[..., 0], pixels.reshape(60, 30)):
        predictions = METHOD.predict(model, tree, Data({"features": rows}))
        assert (predictions.leaf == tree.leaf_of_point).all()


def test_augmentation_teaches_to_ignore_moves() -> None:
    """More of the digits stay in their leaf when they are turned and moved at random."""
    from sklearn.datasets import load_digits

    digits = load_digits().data[:400]
    scaling = measure_scaling(digits, np.arange(len(digits)))
    versions = Augmentation((8, 8, 1), scaling, "cpu")
    moved = versions(torch.from_numpy(scaling.apply(digits)), np.random.default_rng(5))
    shares = []
    for augment in (False, True):
        fitted = fit(
            digits,
            n_clusters=10,
            hidden_sizes=[64],
            embedding_size=10,
            learning_rate=3e-3,
            image_shape=[8, 8],
            augment=augment,
        )
        assert fitted.model is not None
        features = scaling.undo(moved.numpy())
        predictions = METHOD.predict(fitted.model, fitted.tree, Data({"features": features}))
        shares.append(float((predictions.leaf == fitted.tree.leaf_of_point).mean()))
    assert shares[1] > shares[0] + 0.08, shares


def test_colour_images_have_colour_pictures() -> None:
    fitted = fit(images(3), n_clusters=3)
    assert fitted.model is not None
    pictures = METHOD.pictures(fitted.model)
    assert pictures is not None
    assert pictures.pixels.shape[1:] == (2, 6, 5, 3)


def test_new_images_of_another_shape_are_refused() -> None:
    fitted = drawn()
    assert fitted.model is not None
    for turned in (images().swapaxes(1, 2), images()[:, :5]):
        for call in (
            lambda data: METHOD.predict(fitted.model, fitted.tree, data),
            lambda data: METHOD.logits(fitted.model, data),
        ):
            with pytest.raises(UsageError) as caught:
                call(Data({"features": turned}))
            assert (caught.value.code, caught.value.where) == ("wrong-shape", {"role": "features"})


def test_vectors_have_no_pictures() -> None:
    fitted = fit(images().reshape(60, 30), n_clusters=3)
    assert fitted.model is not None
    assert METHOD.pictures(fitted.model) is None


def test_a_fit_lost_in_either_stage_resumes() -> None:
    points, _ = nested_points(10)
    params = METHOD.Params(**QUICK, n_clusters=N_GROUPS)
    data = Data({"features": points})
    kept = MemoryCheckpoint()
    expected = METHOD.fit(data, params, checkpoint=kept)
    for n_saved in (7, 20, 33):
        again = MemoryCheckpoint(kept.states[n_saved - 1])
        assert_same(METHOD.fit(data, params, checkpoint=again), expected)
        assert len(again.states) == 40 - n_saved


def test_fewer_leaves_and_a_falling_loss_are_warned_of() -> None:
    points, _ = nested_points(10)
    fitted = fit(points, n_clusters=12, pruning_threshold=2.0, batch_size=16, epochs=5)
    assert fitted.metrics["n_leaves"] < 12
    assert any("not 'n_clusters' = 12" in warning for warning in fitted.warnings)
    assert any("were pruned" in warning for warning in fitted.warnings)
    short = fit(points, n_clusters=2, pretrain_epochs=10, learning_rate=1e-3)
    assert any("Raise 'pretrain_epochs'" in warning for warning in short.warnings)
    noise = fit(np.random.default_rng(0).normal(size=(40, 60)), n_clusters=2, embedding_size=1,
                pretrain_epochs=0, epochs=1)  # fmt: skip
    assert any("no better than by their mean" in warning for warning in noise.warnings)


@pytest.mark.parametrize(
    ("features", "params", "code", "where"),
    [
        (np.full((30, 4, 4), 7.0), {}, "too-few-points", {"parameter": "n_clusters"}),
        (images()[:5], {"n_clusters": 6}, "too-few-points", {"parameter": "n_clusters"}),
        (
            images().reshape(60, 30),
            {"image_shape": [7, 5]},
            "wrong-parameter",
            {"parameter": "image_shape"},
        ),
        (
            images().reshape(60, 30),
            {"augment": True},
            "wrong-parameter",
            {"parameter": "augment"},
        ),
        (images(2), {}, "wrong-shape", {"role": "features"}),
        (images(), {"image_shape": [5, 6]}, "wrong-parameter", {"parameter": "image_shape"}),
    ],
    ids=[
        "constant",
        "too few",
        "another size",
        "augmented vectors",
        "two channels",
        "a shape that is another",
    ],
)
def test_unusable_images_are_refused(
    features: np.ndarray, params: dict[str, Any], code: str, where: dict[str, Any]
) -> None:
    with pytest.raises(UsageError) as caught:
        fit(features, **params)
    assert (caught.value.code, caught.value.where) == (code, where)


def test_small_data_are_trained_in_small_batches() -> None:
    auto, fixed = METHOD.Params(), METHOD.Params(batch_size=100)
    assert [auto.points_of_step(n) for n in (60, 400, 2000, 5120, 10**6)] == [16, 20, 100, 256, 256]
    assert [fixed.points_of_step(n) for n in (60, 400)] == [60, 100]
