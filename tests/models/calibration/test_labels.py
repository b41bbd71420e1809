"""Labels as classes of a tree.

Suspected labels against the literal definition.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.answers.beside_tree import ClassScores, finite
from models.arrays import Float
from models.calibration.class_rows import label_classes, label_errors
from models.calibration.climbing import ClassTree
from models.errors import UsageError
from models.inputs.label_sets import LabelSets
from models.tree.newick import read
from tests.models.calibration.calibration_kit import drawn, under, up


def scores_of(classes: ClassTree, probability: Float) -> ClassScores:
    with np.errstate(divide="ignore"):
        scores = finite(np.log(probability))
    return ClassScores(classes.node, len(scores), lambda start, stop: scores[start:stop])


@given(st.integers(0, 10**6))
def test_suspects_are_the_definition(seed: int) -> None:
    classes, probability, label = drawn(3 * seed + 1, 12)
    label[seed % 12] = -1
    found = label_errors(classes.tree, scores_of(classes, probability), label, 1.0)
    least = {
        each: np.mean([probability[row, each] for row in np.flatnonzero(label == each)])
        for each in set(label.tolist()) - {-1}
    }
    # Rounding decides where a probability equals its mean or that of another class.
    clear = [
        row
        for row in range(12)
        if all(abs(probability[row, each] - mean) > 1e-9 for each, mean in least.items())
        and len(set(probability[row].tolist())) == classes.n_classes
    ]
    expected = {}
    for row in clear:
        likely = [c for c in least if probability[row, c] >= least[c]]
        best = max(likely, key=lambda c: probability[row, c], default=None)
        most = int(np.argmax(probability[row]))
        if label[row] >= 0 and best is not None and label[row] not in (best, most):
            paths = [up(classes.tree, int(classes.node[c])) for c in (label[row], best)]
            meet = next(node for node in paths[0] if node in paths[1])
            expected[row] = (best, meet, len(under(classes, meet)))
    own = zip(
        *(found.row.tolist(), found.likely.tolist(), found.meet.tolist()),
        found.n_classes.tolist(),
        strict=True,
    )
    assert {row: tuple(rest) for row, *rest in own if row in clear} == expected
    assert found.label.tolist() == label[found.row].tolist()
    assert np.allclose(found.of_label, probability[found.row, found.label])
    assert np.allclose(found.of_likely, probability[found.row, found.likely])
    # The likeliest errors first: the probability of the label over the root of what is usual.
    usual = [
        np.quantile(
            [probability[row, c] for row in np.flatnonzero(label == c)], 0.5, method="lower"
        )
        for c in found.label
    ]
    chance = [p / u**0.5 if u > 0 else np.inf for p, u in zip(found.of_label, usual, strict=True)]
    assert all(a <= b * (1 + 1e-9) for a, b in itertools.pairwise(chance))


def test_flipped_labels_are_found() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 5, 400)
    logits = 3.0 * np.eye(5)[truth] + rng.normal(size=(400, 5))
    classes = drawn(1)[0]
    while classes.n_classes != 5:
        classes = drawn(int(rng.integers(10**6)) * 3 + 1)[0]
    flipped = rng.random(400) < 0.05
    label = np.where(flipped, (truth + 1 + rng.integers(0, 4, 400)) % 5, truth)
    scores = ClassScores(classes.node, 400, lambda start, stop: logits[start:stop])
    found = label_errors(classes.tree, scores, label, 1.0)
    right = flipped[found.row]
    # About half of the rows of a class are surer than their mean.
    assert right.sum() > 0.5 * flipped.sum()
    assert right.mean() > 0.6
    first = right[: len(right) // 3]
    assert first.mean() > 0.9


# A root r with a leaf "7" and a node "pet" over "cat" and "dog".
TREE = read("((cat:1,dog:1)pet:1,7:2)r;")
NODE = np.array([int(np.flatnonzero(TREE.name == name)[0]) for name in ("dog", "7", "cat")])


def classes(*labels: object) -> list[int]:
    kind = object if isinstance(labels[0], str) else np.int64
    return list(label_classes(LabelSets.of(np.array(labels, dtype=kind)), TREE, NODE).tolist())


def test_names_paths_and_numbers() -> None:
    assert classes("cat", "pet/dog", "r/pet/cat", "7") == [2, 0, 2, 1]
    # As soon as one label is a name, the others are names, too.
    assert classes(7, -1, 7) == [1, -1, 1]
    assert classes(0, 2, 1, -1) == [0, 2, 1, -1]


@pytest.mark.parametrize(
    ("labels", "why", "row"),
    [
        (("cat", "lion"), "'lion' at row 1 .* is no node", 1),
        (("cat", "pet"), "'pet' at row 1 .* is an inner node", 1),
        ((0, 1, 3), "'3' at row 2", 2),
        ((7, 1), "'1' at row 1", 1),
    ],
)
def test_labels_that_are_no_class(labels: tuple[object, ...], why: str, row: int) -> None:
    with pytest.raises(UsageError, match=why) as error:
        classes(*labels)
    assert (error.value.code, error.value.where["row"]) == ("unknown-label", row)


def test_a_row_of_several_labels() -> None:
    several = LabelSets(
        np.array([0, 2]), np.array([0, 1]), ["cat", "dog"], np.zeros(1, dtype=np.bool_)
    )
    with pytest.raises(UsageError, match="at most one"):
        label_classes(several, TREE, NODE)
