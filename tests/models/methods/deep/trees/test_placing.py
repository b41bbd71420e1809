"""Rows placed by the arrays of a model, against the definition for one row at a time."""

from __future__ import annotations

import numpy as np
import pytest

from models.errors import UsageError
from models.method import Model
from models.methods.deep.networks import scaling as scaling_module
from models.methods.deep.trees import placing
from models.methods.deep.trees.placing import embed, log_posteriors, place
from models.tree.build import from_parents

#       0
#     1   2       leaves 2, 3, 4
#    3 4
PARENT = np.array([-1, 0, 0, 1, 1])
LEAVES = np.array([2, 3, 4])


def model() -> Model:
    rng = np.random.default_rng(1)
    return Model(
        {
            "mean": rng.normal(size=4),
            "factor": np.array([2.0]),
            "encoder.0.weight": rng.normal(size=(4, 6)).astype(np.float32),
            "encoder.0.bias": rng.normal(size=6).astype(np.float32),
            "encoder.1.weight": rng.normal(size=(6, 3)).astype(np.float32),
            "encoder.1.bias": rng.normal(size=3).astype(np.float32),
            "centers": 4.0 * np.eye(5, 3, k=-2, dtype=np.float32),
            "leaves": LEAVES,
            "variance": np.array([0.8]),
        }
    )


def rows() -> np.ndarray:
    return np.random.default_rng(1).normal(size=(23, 4))


def naive_embedding(row: np.ndarray) -> np.ndarray:
    arrays = model().arrays
    scaled = (row - arrays["mean"]) / 2.0
    hidden = np.maximum(scaled @ arrays["encoder.0.weight"] + arrays["encoder.0.bias"], 0)
    return hidden @ arrays["encoder.1.weight"] + arrays["encoder.1.bias"]


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placing, "BLOCK", 20)
    monkeypatch.setattr(scaling_module, "BLOCK", 20)


def test_embeddings_and_posteriors_are_those_of_single_rows() -> None:
    leaf, log = log_posteriors(model(), rows())
    embedding = embed(model().arrays, rows())
    centres = model().arrays["centers"][LEAVES]
    for row, own, log_row, place_of_row in zip(rows(), leaf, log, embedding, strict=True):
        expected = naive_embedding(row)
        np.testing.assert_allclose(place_of_row, expected, rtol=1e-4, atol=1e-5)
        squared = np.square(expected - centres).sum(axis=1)
        weight = np.exp(-(squared - squared.min()) / (2 * 0.8))
        np.testing.assert_allclose(np.exp(log_row), weight / weight.sum(), rtol=1e-3)
        assert own == squared.argmin()


def test_a_nodes_probability_is_the_sum_over_its_leaves() -> None:
    tree = from_parents(PARENT, [2.0, 1.0, 0, 0, 0], [None] * 5, np.array([2, 3, 4]))
    predictions = place(model(), tree, rows())
    number, log = log_posteriors(model(), rows())
    share = np.exp(log)
    under = {0: [0, 1, 2], 1: [1, 2], 2: [0], 3: [1], 4: [2]}
    paths = {2: [0, 2], 3: [0, 1, 3], 4: [0, 1, 4]}
    assert len(set(predictions.leaf.tolist())) == 3, "the case is too easy"
    for row in range(len(number)):
        part = slice(predictions.start[row], predictions.start[row + 1])
        assert predictions.leaf[row] == LEAVES[number[row]]
        assert predictions.node[part].tolist() == paths[predictions.leaf[row]]
        expected = [share[row, under[node]].sum() for node in paths[predictions.leaf[row]]]
        np.testing.assert_allclose(predictions.probability[part], expected, rtol=1e-12)


def test_a_row_whose_embedding_overflows_is_refused_by_number() -> None:
    far = rows()
    far[17] *= 1e60
    with pytest.raises(UsageError) as caught:
        log_posteriors(model(), far)
    assert caught.value.code == "unusable-input"
    assert caught.value.where == {"role": "features", "row": 17}
