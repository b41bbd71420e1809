"""Suspected labels against the literal definition."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from models.answers.class_scores import ClassScores, finite
from models.arrays import Float
from models.calibration.climbing import ClassTree
from models.calibration.label_errors import label_errors
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
    at = np.arange(len(found.row))
    assert np.allclose(found.of_label, probability[found.row, found.label])
    assert np.allclose(found.of_likely, probability[found.row, found.likely])
    margin = found.of_label - found.of_likely
    rank = np.lexsort((np.round(margin, 9), found.n_classes))
    assert (found.n_classes[rank] == found.n_classes[at]).all()
    assert np.allclose(margin[rank], margin[at])


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
    # Of rows of a class about half are surer than their mean.
    assert right.sum() > 0.5 * flipped.sum()
    assert right.mean() > 0.6
