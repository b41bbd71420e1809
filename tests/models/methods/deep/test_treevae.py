"""TreeVAE: a planted tree, images and their pictures, what the model holds, warnings, refusals."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from models import registry
from models.errors import UsageError
from models.inputs.data import Data
from models.method import Fitted
from models.methods.deep import treevae
from models.methods.deep.treevae import TreeVAEParams
from models.methods.deep.variational import parameters

pytestmark = pytest.mark.needs("torch")

METHOD = registry.method("treevae")
QUICK = {
    "n_clusters": 4,
    "hidden_sizes": [32, 16],
    "latent_size": 2,
    "max_depth": 3,
    "epochs": 40,
    "growth_epochs": 40,
    "tuning_epochs": 10,
    "batch_size": 40,
    "learning_rate": 0.006,
}
BRIEF = {**QUICK, "n_clusters": 3, "epochs": 15, "growth_epochs": 5, "tuning_epochs": 5}


def planted(n_rows: int = 200, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Images of 4 x 6 bits, 5 % of them flipped: ((0, 1), (2, 3)) differ in 6, pairs in 12 more.

    seed : of the flips.
    """
    rng = np.random.default_rng(seed)
    patterns = np.repeat(np.random.default_rng(0).integers(0, 2, (1, 24)), 4, axis=0)
    patterns[2:, :12] ^= 1
    patterns[1, 12:18] ^= 1
    patterns[3, 18:] ^= 1
    own = np.arange(n_rows) % 4
    flipped = rng.random((n_rows, 24)) < 0.05
    return (patterns[own] ^ flipped).astype(np.float64).reshape(-1, 4, 6), own


def fit(features: np.ndarray, names: list[str] | None = None, **params: Any) -> Fitted:
    inputs: dict[str, Any] = {"features": features}
    if names is not None:
        inputs["names"] = names
    return METHOD.fit(Data(inputs), TreeVAEParams(**{**QUICK, **params}))


@pytest.fixture(scope="module")
def images() -> tuple[np.ndarray, np.ndarray]:
    return planted()


@pytest.fixture(scope="module")
def fitted(images: tuple[np.ndarray, np.ndarray]) -> Fitted:
    return fit(images[0], ["a", "b", "c", "d"])


def test_a_planted_tree_is_found(images: tuple[np.ndarray, np.ndarray], fitted: Fitted) -> None:
    tree, own = fitted.tree, images[1]
    assert adjusted_rand_score(own, tree.leaf_of_point) > 0.9
    leaf = [np.bincount(tree.leaf_of_point[own == group]).argmax() for group in range(4)]
    # ((0, 1), (2, 3))
    assert tree.parent[leaf[0]] == tree.parent[leaf[1]] != tree.parent[leaf[2]]
    assert tree.parent[leaf[2]] == tree.parent[leaf[3]]
    assert (tree.n_nodes, tree.height[0]) == (7, 2.0)
    by_size = sorted(tree.leaves, key=lambda node: -tree.size[node])
    assert [tree.name[node] for node in by_size] == ["a", "b", "c", "d"]
    assert fitted.metrics["n_leaves"] == 4.0


def test_columns_and_logits_are_one_posterior(fitted: Fitted) -> None:
    tree, probability = fitted.tree, np.exp(fitted.logits)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0, atol=1e-12)
    assert (tree.leaves[fitted.logits.argmax(axis=1)] == tree.leaf_of_point).all()
    weight, entropy = tree.extra["weight"], tree.extra["decision_entropy"]
    np.testing.assert_allclose(weight[tree.leaves], probability.mean(axis=0), atol=1e-12)
    assert weight[0] == 1.0
    for node in range(tree.n_nodes):
        children = np.flatnonzero(tree.parent == node)
        if children.size:
            assert weight[node] == pytest.approx(weight[children].sum())
            assert 0.0 <= entropy[node] <= np.log(2.0)
        else:
            assert np.isnan(entropy[node])
    # The root's decision written out.
    first = np.flatnonzero(tree.parent == 0)[0]
    below = np.isin(tree.leaves, np.flatnonzero((tree.parent == first) | (np.arange(7) == first)))
    p = probability[:, below].sum(axis=1).clip(1e-300, 1 - 1e-16)
    expected = -(p * np.log(p) + (1 - p) * np.log1p(-p)).mean()
    assert entropy[0] == pytest.approx(expected, rel=1e-6)


def test_new_rows_go_where_they_belong(
    images: tuple[np.ndarray, np.ndarray], fitted: Fitted
) -> None:
    new, of_new = planted(80, seed=3)
    predictions = METHOD.predict(fitted.model, fitted.tree, Data({"features": new}))
    together = adjusted_rand_score(
        np.concatenate([images[1], of_new]),
        np.concatenate([fitted.tree.leaf_of_point, predictions.leaf]),
    )
    assert together > 0.85
    flat = METHOD.predict(fitted.model, fitted.tree, Data({"features": new.reshape(80, 24)}))
    assert (flat.leaf == predictions.leaf).all()
    logits = METHOD.logits(fitted.model, Data({"features": new}))
    last = predictions.probability[predictions.start[1:] - 1]
    np.testing.assert_allclose(last, np.exp(logits.max(axis=1)), rtol=1e-9)
    with pytest.raises(UsageError, match="23 columns; the model was fitted on 24"):
        METHOD.predict(fitted.model, fitted.tree, Data({"features": new.reshape(80, 24)[:, :23]}))


def test_images_and_rows_with_a_shape_are_the_same(images: tuple[np.ndarray, np.ndarray]) -> None:
    some = images[0][:120]
    as_images = fit(some, **BRIEF)
    as_rows = fit(some.reshape(-1, 24), **BRIEF, image_shape=[4, 6])
    assert (as_rows.tree.leaf_of_point == as_images.tree.leaf_of_point).all()
    assert as_rows.metrics == as_images.metrics
    np.testing.assert_array_equal(
        as_rows.model.arrays["pictures"], as_images.model.arrays["pictures"]
    )
    # Other values draw other batches, but are the same data: so are new rows to the model.
    as_bytes = fit((255 * some).astype(np.uint8), **BRIEF)
    assert (as_bytes.model.facts["likelihood"], as_bytes.model.facts["spread"]) == (
        "bernoulli",
        255.0,
    )
    assert as_bytes.metrics["elbo"] == pytest.approx(as_images.metrics["elbo"], rel=0.1)
    plain = fit(some.reshape(-1, 24), **BRIEF)
    assert METHOD.pictures(plain.model) is None
    assert (plain.tree.leaf_of_point == as_images.tree.leaf_of_point).all()


def test_pictures_show_the_points_of_a_node(
    images: tuple[np.ndarray, np.ndarray], fitted: Fitted
) -> None:
    pictures = METHOD.pictures(fitted.model)
    assert pictures.pixels.shape == (7, 8, 4, 6, 1)
    assert pictures.pixels.dtype == np.uint8
    assert not pictures.caption.endswith(".")
    bits = images[0]
    for node in range(7):
        under = fitted.tree.leaf_of_point == node
        if under.any():
            mean = 255 * bits[under].mean(axis=0)
            assert np.abs(pictures.pixels[node, 0, :, :, 0] - mean).mean() < 30
            # What the prior draws at a leaf looks more like its points than like the others.
            draws = pictures.pixels[node, 1:, :, :, 0].mean(axis=0)
            others = 255 * bits[~under].mean(axis=0)
            assert np.abs(draws - mean).mean() < np.abs(draws - others).mean()
    whole = 255 * bits.mean(axis=0)
    assert np.abs(pictures.pixels[0, 0, :, :, 0] - whole).mean() < 15


def test_colour_images_and_gaussian_ones_are_drawn() -> None:
    rng = np.random.default_rng(0)
    colours = rng.random((40, 4, 4, 3))
    colours[::2, :, :, 0] += 0.9
    brief = {**BRIEF, "n_clusters": 2}
    fitted_colours = fit(colours, **brief)
    assert METHOD.pictures(fitted_colours.model).pixels.shape == (3, 8, 4, 4, 3)
    assert fitted_colours.model.facts["likelihood"] == "bernoulli"
    red = fitted_colours.model.arrays["pictures"][1:, 0, :, :, 0].mean(axis=(1, 2))
    assert abs(int(red[0]) - int(red[1])) > 10
    signed = fit(colours - 1.0, **brief)
    assert signed.model.facts["likelihood"] == "gaussian"
    assert METHOD.pictures(signed.model).pixels[:, 0].std() > 5


def test_the_model_is_arrays_and_facts_and_curves_hold_the_losses(fitted: Fitted) -> None:
    assert json.loads(json.dumps(fitted.model.facts)) == fitted.model.facts
    assert all(isinstance(array, np.ndarray) for array in fitted.model.arrays.values())
    assert fitted.model.arrays["learned.encoder.0.weight"].dtype == np.float32
    assert len(fitted.curves["loss"]) == 50
    assert len(fitted.curves["split_loss"]) == 80
    metrics = fitted.metrics
    parts = metrics["kl_root"] + metrics["kl_nodes"] + metrics["kl_decisions"]
    assert metrics["elbo"] == pytest.approx(metrics["reconstruction"] - parts)
    assert metrics["elbo"] == pytest.approx(-fitted.curves["loss"][-1][1], rel=0.15)


def test_gaussian_rows_of_any_place_and_scale_are_taken() -> None:
    rng = np.random.default_rng(1)
    own = np.arange(120) % 2
    rows = rng.normal(size=(120, 6)) + 6.0 * own[:, None]
    fits = [fit(values, **{**BRIEF, "n_clusters": 2}) for values in (rows, 1e4 * rows + 1e6)]
    for one in fits:
        assert adjusted_rand_score(own, one.tree.leaf_of_point) == 1.0
        assert one.model.facts["likelihood"] == "gaussian"
    assert fits[0].metrics["elbo"] == pytest.approx(fits[1].metrics["elbo"], rel=0.05)


def test_passes_by_default_give_a_number_of_steps() -> None:
    few, many, most = (TreeVAEParams().passes(n) for n in (100, 5_620, 1_000_000))
    assert few == (60, 60, 60)
    assert many.root * (5_620 // 128) >= parameters.STEPS > (many.root - 1) * (5_620 // 128)
    assert most.tuning == 10
    assert TreeVAEParams(growth_epochs=3).passes(100).split == 3


def test_fewer_leaves_than_requested_are_a_warning(images: tuple[np.ndarray, np.ndarray]) -> None:
    shallow = fit(images[0][:80], ["a", "b", "c"], **{**BRIEF, "max_depth": 1})
    assert shallow.tree.n_leaves == 2
    assert "The tree has 2 leaves, not n_clusters = 3" in shallow.warnings[0]
    assert "leaves are at 'max_depth'" in shallow.warnings[0]
    assert "Names are given to the largest." in shallow.warnings[0]
    undone = fit(images[0][:80], **{**BRIEF, "least_share": 1.0})
    assert undone.tree.n_leaves == 2
    assert "4 split(s) left one side (almost) without points and were undone" in undone.warnings[0]


def test_embeddings_that_say_nothing_are_warned_of() -> None:
    rng = np.random.default_rng(0)
    brief = {**BRIEF, "n_clusters": 2, "kl_growth": 1.0, "kl_warm_up": 0.0, "tuning_epochs": 40}
    collapsed = fit(rng.normal(size=(200, 3)), **brief)
    assert collapsed.metrics["kl_root"] + collapsed.metrics["kl_nodes"] < treevae.COLLAPSED
    assert any("The embeddings collapsed" in warning for warning in collapsed.warnings)


def test_a_loss_that_falls_is_warned_of(images: tuple[np.ndarray, np.ndarray]) -> None:
    slow = fit(images[0], **{**BRIEF, "learning_rate": 1e-4, "kl_warm_up": 0.0})
    assert any("The loss was still falling" in warning for warning in slow.warnings)


def test_wrong_inputs_are_refused(images: tuple[np.ndarray, np.ndarray]) -> None:
    rows = images[0].reshape(-1, 24)
    with pytest.raises(UsageError, match="has only 1 distinct point") as caught:
        fit(np.ones((20, 4, 6)))
    assert caught.value.where == {"parameter": "n_clusters"}
    with pytest.raises(UsageError, match="'n_clusters' is 4, but") as caught:
        fit(rows[:3])
    assert caught.value.code == "too-few-points"
    with pytest.raises(UsageError, match="has values from 0 to 2") as caught:
        fit(2.0 * rows, likelihood="bernoulli")
    assert caught.value.where == {"parameter": "likelihood"}
    with pytest.raises(UsageError, match="has values from -1 to 0"):
        fit(images[0] - 1.0, likelihood="bernoulli")
    with pytest.raises(UsageError, match="has 25 values, but a row has 24"):
        fit(rows, image_shape=[5, 5])
    with pytest.raises(UsageError, match="2 channels"):
        fit(images[0].reshape(-1, 3, 4, 2))
