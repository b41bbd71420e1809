"""Calibrations that follow the rows that come: bounds of any rows, and the bookkeeping."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from models.answers.beside_tree import ClassScores
from models.calibration.calibration import CalibrationTerms
from models.calibration.fit import fitted_calibration, followed_calibration
from models.calibration.following import LARGEST_MOVE, Following
from models.errors import UsageError
from tests.models.consensus.sets_kit import random_tree


@pytest.mark.parametrize("seed", range(8))
def test_no_rows_can_be_missed_more_often_than_the_bound(seed: int) -> None:
    """An adversary misses as many as it likes, but none where all classes are held."""
    rng = np.random.default_rng(seed)
    alpha = float(rng.choice([0.02, 0.1, 0.4]))
    state = Following.begun(alpha, float(rng.random()))
    for _ in range(400):
        n_rows = int(rng.choice([1, 3, 200])) if seed % 2 else 5
        worst = n_rows if seed < 4 else int(rng.integers(0, n_rows + 1))
        state = state.after(alpha, n_rows, worst if state.level > 0 else 0)
        assert -LARGEST_MOVE <= state.level <= state.cap
        over = state.n_missed - alpha * state.n_rows
        assert over <= (state.cap - state.level) / state.step + 1e-6 <= state.surplus + 2e-6
    if seed < 4:
        # An adversary that misses all it can is kept to alpha as well as any other.
        assert state.n_missed / state.n_rows == pytest.approx(
            alpha, abs=1.5 * state.surplus / state.n_rows
        )


def test_answers_widen_after_misses_and_every_row_is_counted_once() -> None:
    rng = np.random.default_rng(1)
    tree = random_tree(rng, 6)
    node = tree.leaves.astype(np.int64)

    def drawn(n_rows: int, noise: float) -> tuple[ClassScores, np.ndarray]:
        label = rng.integers(0, 6, n_rows)
        logits = 4.0 * np.eye(6)[label] + noise * rng.normal(size=(n_rows, 6))
        return ClassScores(node, n_rows, lambda start, stop: logits[start:stop]), label

    for answer in ("node", "set"):
        terms = CalibrationTerms(answer=answer, alpha=0.1)
        calibration = fitted_calibration(tree, *drawn(400, 2.0), terms).calibration
        width, n_missed, rates = [], 0, []
        for batch in range(60):
            scores, label = drawn(20, 4.0)
            shown = calibration.answers(tree, scores, 0.1)
            held = np.zeros(20, dtype=bool)
            for row, true in enumerate(label.tolist()):
                at = int(node[true])
                own = set(shown.node[shown.start[row] : shown.start[row + 1]].tolist())
                while at > 0 and at not in own:
                    at = int(tree.parent[at])
                held[row] = at in own
            n_missed += int((~held).sum())
            rates.append(1 - held.mean())
            width.append(shown.n_classes.mean())
            known = np.where(np.arange(20) < 20, label, -1)
            fitted = followed_calibration(calibration, tree, scores, known)
            calibration = fitted.calibration
            state = calibration.following
            assert state is not None
            assert (state.n_rows, state.n_missed) == (20 * (batch + 1), n_missed)
        assert np.mean(rates[:5]) > 0.15
        assert np.mean(rates[20:]) == pytest.approx(0.1, abs=0.03)
        assert np.mean(width[20:]) > width[0]
        assert f"{n_missed} of 1200" in calibration.promise(0.1)
        # The words promise no more than the number.
        most = int(calibration.promise(0.1).split("at most ")[1].split()[0])
        assert state.surplus <= most < state.surplus + 1
        assert "while no more are given at once" in calibration.promise(0.1)
        with pytest.raises(UsageError, match="follows rows at alpha"):
            calibration.thresholds(0.2)


def test_the_level_begins_at_the_threshold_that_answered() -> None:
    """With 19 rows a score just keeps alpha 0.1: the first group of rows moves it no further."""
    rng = np.random.default_rng(5)
    tree = random_tree(rng, 5)
    node = tree.leaves.astype(np.int64)
    logits, label = 2.0 * rng.normal(size=(19, 5)), rng.integers(0, 5, 19)
    scores = ClassScores(node, 19, lambda start, stop: logits[start:stop])
    terms = CalibrationTerms(answer="set", temperature=1.0)
    plain = fitted_calibration(tree, scores, label, terms).calibration
    begun = replace(plain, following=Following.begun(0.1, plain.cap))
    assert begun.thresholds(0.1) == plain.thresholds(0.1)


def test_what_cannot_be_followed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    tree = random_tree(rng, 4)
    node = tree.leaves.astype(np.int64)
    logits, label = rng.normal(size=(200, 4)), rng.integers(0, 4, 200)
    scores = ClassScores(node, 200, lambda start, stop: logits[start:stop])
    of_classes = fitted_calibration(tree, scores, label, CalibrationTerms(per="class")).calibration
    with pytest.raises(UsageError, match="loss miss over all rows"):
        followed_calibration(of_classes, tree, scores, label)
    plain = fitted_calibration(tree, scores, label, CalibrationTerms()).calibration
    with pytest.raises(UsageError, match="No row is labelled"):
        followed_calibration(plain, tree, scores, np.full(200, -1))
    monkeypatch.setattr("models.running.budget.available", lambda: 100)
    with pytest.raises(UsageError) as caught:
        followed_calibration(plain, tree, scores, label)
    assert caught.value.code == "too-large"
