"""Classifiers' accuracy on held-out rows, against scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from models.methods.partitions.heads.bilevel import accuracy, fitted, folds
from models.running.progress import silent

pytestmark = pytest.mark.needs("torch")


def points(n_points: int = 90, apart: float = 1.5) -> tuple[torch.Tensor, torch.Tensor]:
    rng = np.random.default_rng(4)
    labels = rng.integers(3, size=n_points)
    rows = rng.normal(size=(n_points, 5)) + apart * np.eye(3, 5)[labels]
    return torch.from_numpy(rows.astype(np.float32)), torch.from_numpy(labels)


def test_a_classifier_is_scikit_learns() -> None:
    rows, labels = points()
    classifier = fitted(rows, labels, 3)
    theirs = LogisticRegression(C=1.0, tol=1e-8, max_iter=1000).fit(rows.numpy(), labels.numpy())
    assert classifier[:-1].T.numpy() == pytest.approx(theirs.coef_, abs=2e-2)
    # Intercepts are equal up to a constant.
    ours = classifier[-1].numpy()
    assert ours - ours.mean() == pytest.approx(
        theirs.intercept_ - theirs.intercept_.mean(), abs=2e-2
    )


@pytest.mark.parametrize("n_folds", [2, 5])
def test_accuracy_is_that_of_scikit_learn_on_the_same_folds(n_folds: int) -> None:
    rows, labels = points()
    spaces = [rows, rows[:, :2].contiguous()]
    result = accuracy(spaces, labels, n_folds, np.random.default_rng(1), silent)
    fold = folds(labels.numpy(), n_folds, np.random.default_rng(1))
    right = []
    for space in spaces:
        for number in range(n_folds):
            shown = fold != number
            model = LogisticRegression(C=1.0, tol=1e-8, max_iter=1000)
            model.fit(space[shown].numpy(), labels[shown].numpy())
            right.append((model.predict(space[~shown].numpy()) == labels[~shown].numpy()).sum())
    assert result == pytest.approx(sum(right) / (2 * len(labels)), abs=0.012)


def test_folds_share_each_label() -> None:
    labels = np.repeat([0, 1, 2], [50, 7, 3])
    fold = folds(labels, 5, np.random.default_rng(0))
    counts = np.array([np.bincount(fold[labels == one], minlength=5) for one in range(3)])
    assert (counts.max(axis=1) - counts.min(axis=1) <= 1).all()
    assert np.bincount(fold).tolist() == [12] * 5
    assert (fold != folds(labels, 5, np.random.default_rng(1))).any()


def test_labels_that_depend_on_nothing_are_not_learned() -> None:
    rows, _ = points(300)
    labels = torch.from_numpy(np.random.default_rng(0).integers(10, size=300)) + 90
    assert accuracy([rows], labels, 5, np.random.default_rng(1), silent) < 0.2
    learned = (rows[:, 0] > 0).long()
    assert accuracy([rows], learned, 5, np.random.default_rng(1), silent) > 0.9


def test_few_points_and_one_label() -> None:
    rows, labels = points(4)
    assert 0.0 <= accuracy([rows], labels, 100, np.random.default_rng(1), silent) <= 1.0
    assert accuracy([rows], torch.zeros(4), 5, np.random.default_rng(1), silent) == 1.0
