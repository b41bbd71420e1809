"""What rows teach, beside scikit-learn's discriminants fitted to the same rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from models.answers.beside_tree import ClassScores
from models.arrays import Float
from models.calibration import relearning
from models.calibration.relearning import N_FOLDS, SHRINKAGE, Relearning, relearned
from models.errors import UsageError
from models.numerics.rows import log_softmax


def scores_of(logits: Float) -> ClassScores:
    node = np.arange(logits.shape[1])
    return ClassScores(node, len(logits), lambda start, stop: logits[start:stop])


def test_folds_are_answered_by_discriminants_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("models.calibration.probabilities.BLOCK", 300)
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
    monkeypatch.setattr(relearning, "MOST_CLASSES", 2)
    assert relearned(scores_of(logits), label, 1.0, 4) is None


def test_classes_that_are_never_predicted_are_found_again() -> None:
    """Rows of class 2 look to the model like class 1, and tell by the third score alone."""
    rng = np.random.default_rng(1)
    label = rng.integers(0, 3, 600)
    logits = 4.0 * np.eye(3)[np.array([0, 1, 1])[label]] + 0.3 * rng.normal(size=(600, 3))
    logits[:, 2] = np.where(label == 2, -1.0, -3.0) + 0.3 * rng.normal(size=600)
    own = Relearning.of(logits[:200], label[:200], 1.5, np.random.default_rng(0))
    both = own.applied(scores_of(logits[200:])).read(0, 400)
    assert (logits[200:].argmax(axis=1)[label[200:] == 2] != 2).all()
    assert (both.argmax(axis=1) == label[200:]).mean() > 0.97


@pytest.mark.parametrize("share", [None, [0.5, 0.3, 0.2, 0.0]])
def test_both_count_alike_and_a_class_without_rows_keeps_its_score(share: Any) -> None:
    rng = np.random.default_rng(2)
    label = rng.integers(0, 3, 120)
    logits = 2.0 * np.eye(4)[label] + rng.normal(size=(120, 4))
    known = None if share is None else np.array(share)
    own = Relearning.of(logits, label, 2.0, np.random.default_rng(0), known)
    log = log_softmax(logits / 2.0)
    centred = np.maximum(log, relearning.LEAST_LOG)
    centred -= centred.mean(axis=1, keepdims=True)
    theirs = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=SHRINKAGE)
    score = theirs.fit(centred, label).decision_function(centred)
    if known is not None:
        score += np.log(known[:3]) - np.log(theirs.priors_)
    score /= own.temperature
    wanted = (log[:, :3] + log_softmax(score)) / 2
    both = own.applied(scores_of(logits)).read(0, 120)
    np.testing.assert_allclose(both[:, :3], wanted, atol=1e-9)
    np.testing.assert_allclose(both[:, 3], log[:, 3])


def test_too_few_rows_to_learn_from_are_refused() -> None:
    with pytest.raises(UsageError, match="too few"):
        Relearning.of(np.eye(3), np.arange(3), 1.0, np.random.default_rng(0))
