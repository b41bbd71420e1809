"""What rows teach, beside scikit-learn's discriminants fitted to the same rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from models.answers.beside_tree import ClassScores
from models.arrays import Float
from models.calibration import pair_needs
from models.calibration.pair_needs import N_FOLDS, SHRINKAGE, relearned


def scores_of(logits: Float) -> ClassScores:
    node = np.arange(logits.shape[1])
    return ClassScores(node, len(logits), lambda start, stop: logits[start:stop])


def test_folds_are_answered_by_discriminants_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("models.calibration.calibration.BLOCK", 300)
    rng = np.random.default_rng(0)
    label = rng.integers(0, 4, 203)
    # Class 4 has no rows; classes 1 and 2 are mistaken for each other.
    logits = 2.0 * np.eye(5)[np.array([0, 2, 1, 3])[label]] + rng.normal(size=(203, 5))
    label[::40] = -1
    own = relearned(scores_of(logits), label, 1.0, 9)
    assert own is not None
    known = np.flatnonzero(label >= 0)
    assert (own[label < 0] == -1).all()
    fold = np.random.default_rng(0).permutation(len(known)) % N_FOLDS
    rows = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    rows = rows - rows.mean(axis=1, keepdims=True)
    for each in range(N_FOLDS):
        learner = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=SHRINKAGE)
        learner.fit(rows[known[fold != each]], label[known[fold != each]])
        mine = known[fold == each]
        assert (own[mine] == learner.predict(rows[mine])).all()
    assert (own[known] == label[known]).mean() > 0.7 > (logits.argmax(1) == label)[known].mean()


def test_what_cannot_be_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    logits = np.random.default_rng(0).normal(size=(30, 3))
    label = np.arange(30) % 3
    assert relearned(scores_of(logits), np.where(np.arange(30) < 9, label, -1), 1.0, 4) is None
    alike = np.tile(np.eye(3), (10, 1))
    assert relearned(scores_of(alike), label, 1.0, 4) is None
    monkeypatch.setattr(pair_needs, "MOST_CLASSES", 2)
    assert relearned(scores_of(logits), label, 1.0, 4) is None
