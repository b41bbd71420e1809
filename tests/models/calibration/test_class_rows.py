"""The scores of classes by methods of each kind; that all methods agree is a contract test."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.arrays import Float
from models.calibration import class_rows
from models.calibration.class_rows import class_scores
from models.calibration.climbing import ClassTree, TreeProbabilities
from models.errors import UsageError
from models.inputs.data import Data
from models.inputs.label_sets import LabelSets
from models.method import Method, Model, Predictions
from models.numerics.rows import log_softmax
from models.registry import method
from models.tree.tree import Tree
from models.tree.walk import paths
from tests.models.calibration.calibration_kit import under, up
from tests.models.consensus.sets_kit import random_tree


class Placing(Method):  # type: ignore[type-arg]
    """A method that knows paths alone, those that its test gives."""

    id, family = "placing", "test"
    inputs = {}
    outputs = ("tree", "model")
    placed: Predictions

    def _predict(self, model: Model, tree: Tree, data: Data) -> Predictions:
        return self.placed

    def _fit(self, data, params, run):  # type: ignore[no-untyped-def]
        raise NotImplementedError


def placed(tree: Tree, rng: np.random.Generator, n_rows: int, soft: bool) -> Predictions:
    leaf = rng.choice(tree.leaves, n_rows).astype(np.int64)
    start, node = paths(tree, leaf)
    probability = np.ones(len(node))
    for row in range(n_rows):
        part = slice(start[row] + 1, start[row + 1])
        if soft:
            probability[part] = np.sort(rng.integers(0, 65, part.stop - part.start))[::-1] / 64
    return Predictions(leaf, start, node, probability)


def masses(tree: Tree, probability: Float, node: int) -> Float:
    leaves = [place for place, leaf in enumerate(tree.leaves.tolist()) if node in up(tree, leaf)]
    return np.asarray(probability[:, leaves].sum(axis=1))


def probabilities(tree: Tree, predictions: Predictions, by_edges: bool | None = None) -> Float:
    own = Placing()
    own.placed = predictions
    scores = class_scores(own, Model(), tree, Data({}), by_edges)
    assert scores.node.tolist() == tree.leaves.tolist()
    blocks = [scores.read(0, 2), scores.read(2, scores.n_rows)]
    return np.exp(log_softmax(np.concatenate(blocks)))


@given(st.integers(0, 10**6))
def test_the_masses_of_a_path_are_its_probabilities(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, int(rng.integers(2, 9)))
    predictions = placed(tree, rng, 5, soft=True)
    if (predictions.probability == 1).all():
        return
    probability = probabilities(tree, predictions)
    classes = ClassTree.of(tree, tree.leaves.astype(np.int64))
    for row in range(5):
        path = range(predictions.start[row], predictions.start[row + 1])
        single = [len(under(classes, int(predictions.node[at]))) for at in path]
        if len(set(single)) < len(single):
            continue  # a node with an only child can have no mass beyond its child's
        for at in path:
            node = int(predictions.node[at])
            np.testing.assert_allclose(
                masses(tree, probability, node)[row], predictions.probability[at], atol=1e-9
            )
        below: set[int] = set()
        for at in reversed(path):
            beside = under(classes, int(predictions.node[at])) - below
            assert np.ptp(probability[row, list(beside)]) < 1e-9
            below |= beside


@given(st.integers(0, 10**6))
def test_leaves_alone_climb_by_edges(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, int(rng.integers(2, 9)))
    predictions = placed(tree, rng, 5, soft=False)
    probability = probabilities(tree, predictions)
    np.testing.assert_array_equal(probability, probabilities(tree, predictions, by_edges=True))
    rows = TreeProbabilities.of(ClassTree.of(tree, tree.leaves.astype(np.int64)), probability)
    assert (rows.leaf == predictions.leaf).all()
    for row in range(5):
        above = up(tree, int(predictions.leaf[row]))
        for edges, node in enumerate(above[:-1]):
            mass = masses(tree, probability, node)[row]
            assert mass == pytest.approx(1 - 3.0 ** (-1 - edges))


def test_classes_that_do_not_fit_in_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.array([[0.0], [0.1], [5.0], [5.1]])
    used = method("mlr")
    data = Data({"features": points, "labels": np.array([0, 0, 1, 1])})
    fitted = used.fit(data, used.Params())
    assert fitted.model is not None
    assert class_scores(used, fitted.model, fitted.tree, Data({"features": points})).n_rows == 4
    monkeypatch.setattr("models.running.budget.available", lambda: 100)
    with pytest.raises(UsageError, match="'calibration' would need") as error:
        class_scores(used, fitted.model, fitted.tree, Data({"features": points}))
    assert error.value.code == "too-large"


def test_a_classifier_of_several_labels_is_refused() -> None:
    points = np.array([[0.0], [0.1], [5.0], [5.1]])
    labels = LabelSets(
        np.array([0, 1, 2, 4, 5]),
        np.array([0, 0, 0, 1, 1]),
        ["a", "b"],
        np.zeros(4, dtype=bool),
    )
    used = method("blr")
    data = Data({"features": points, "labels": labels})
    fitted = used.fit(data, used.Params())
    assert fitted.model is not None
    with pytest.raises(UsageError, match="several labels") as error:
        class_scores(used, fitted.model, fitted.tree, Data({"features": points}))
    assert error.value.code == "cannot-predict"


def test_probabilities_that_may_not_be_overwritten_are_copied() -> None:
    """A method in another package may give such ones."""
    given = np.array([[0.25, 0.75], [1.0, 0.0]], dtype=np.float32)
    given.flags.writeable = False
    read = class_rows._of_probabilities(np.arange(2), given).read(0, 2)
    np.testing.assert_allclose(np.exp(read), given)
    assert np.isfinite(read).all()
