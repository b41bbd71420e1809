"""Thresholds for shares that moved: the promise by counting, and the literal definitions."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from models.answers.beside_tree import ClassScores
from models.calibration.calibration import CalibrationTerms, fewest_rows, quantile
from models.calibration.climbing import LEAF
from models.calibration.fit import fitted_calibration
from models.calibration.shifts import Regions, class_shares, left_out, shifted_threshold
from models.errors import UsageError
from tests.models.consensus.sets_kit import random_tree


def _threshold(
    scores: list[list[float]], share: list[Fraction], alpha: Fraction
) -> tuple[float, bool]:
    """The definition word by word; infinite where no score keeps it. And whether it just does."""
    for at in sorted({each for own in scores for each in own}):
        bound = sum(
            (q * Fraction(sum(each > at for each in own) + 1, len(own) + 1))
            for q, own in zip(share, scores, strict=True)
        )
        if bound <= alpha:
            return at, bound == alpha
    return float("inf"), False


def _found(scores: list[list[float]], share: list[Fraction], alpha: Fraction) -> float:
    start = np.append(0, np.cumsum([len(own) for own in scores])).astype(np.int64)
    every = np.array([each for own in scores for each in sorted(own)])
    try:
        return shifted_threshold(start, every, np.array([float(q) for q in share]), float(alpha))
    except UsageError:
        return float("inf")


@pytest.mark.parametrize("seed", range(12))
def test_new_rows_are_missed_as_often_as_promised_over_every_choice_of_them(seed: int) -> None:
    """Every row of each region is the new one in turn: the exact probability of a miss."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, rng.integers(1, 4)).tolist()
    bags = [rng.integers(0, 7, size).astype(float).tolist() for size in sizes]
    parts = rng.integers(1, 6, len(sizes)).tolist()
    share = [Fraction(part, sum(parts)) for part in parts]
    for alpha in (Fraction(3, 8), Fraction(1, 2), Fraction(3, 4)):
        missed = Fraction(0)
        for new in product(*(range(size) for size in sizes)):
            left = [own[:one] + own[one + 1 :] for own, one in zip(bags, new, strict=True)]
            at = _found(left, share, alpha)
            literal, just = _threshold(left, share, alpha)
            # Shares are rounded, so that what just keeps the promise need not be taken.
            assert at == literal or (just and at > literal)
            missed += sum(q for q, own, one in zip(share, bags, new, strict=True) if own[one] > at)
        assert missed / int(np.prod(sizes)) <= alpha


def test_without_moves_it_is_the_threshold_of_all_rows() -> None:
    score = np.sort(np.random.default_rng(0).normal(size=200))
    # With 199, 19 and 9 rows some scores just keep the promise.
    for n_rows in (200, 199, 19, 9):
        for alpha in (0.005, 0.05, 0.1, 0.37):
            if n_rows < fewest_rows(alpha):
                continue
            one = shifted_threshold(np.array([0, n_rows]), score[:n_rows], np.ones(1), alpha)
            assert one == quantile(score[:n_rows], alpha)


def test_regions_are_parted_by_the_nodes_that_moved() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        tree = random_tree(rng, 12)
        parent = tree.parent.astype(np.int64)
        moved = rng.random(tree.n_nodes) < 0.3
        at = rng.integers(0, tree.n_nodes, 50)
        under = np.zeros(tree.n_nodes, dtype=np.int64)
        tops = []
        for node in at.tolist():
            path = [node]
            while path[-1] > 0:
                path.append(int(parent[path[-1]]))
            under[path] += 1
            tops.append(next(each for each in path if moved[each] or each == 0))
        regions = Regions.of_moves(parent, moved, under)
        assert regions.node[regions.of[at]].tolist() == tops
        assert regions.n_batch.tolist() == [tops.count(node) for node in regions.node.tolist()]
    with pytest.raises(UsageError, match="a tree with 3 nodes"):
        Regions.of_moves(parent, np.zeros(3, dtype=bool), np.zeros(3, dtype=np.int64))


def test_shares_of_classes_are_found_where_rows_are_mistaken_as_before() -> None:
    mistaken = np.array([[80, 10, 0], [20, 70, 5], [0, 20, 95]])
    placed, true = (np.repeat(each.ravel(), mistaken.ravel()) for each in np.indices((3, 3)))
    share = np.array([0.1, 0.3, 0.6])
    batch = (mistaken / mistaken.sum(axis=0)) @ share * 10_000
    found = class_shares(placed, true, batch.round().astype(np.int64))
    np.testing.assert_allclose(found, share, atol=1e-3)
    # A region where no labelled row was ever placed tells nothing.
    assert class_shares(np.zeros(4, int), np.zeros(4, int), np.array([0, 7])).tolist() == [1.0, 0.0]


def test_shares_of_thousands_of_regions_take_no_square_of_them() -> None:
    """A table of 60,000 x 60,000 regions would take 29 GB."""
    n_regions = 60_000
    every = np.arange(n_regions)
    found = class_shares(every, every, np.where(every < 3, 1, 0))
    np.testing.assert_allclose(found[:3], 1 / 3)
    assert found[3:].max() < 1e-9


def test_what_the_estimate_of_shares_leaves_out_is_named() -> None:
    regions = Regions(np.array([0, 1, 2]), np.array([0, 1, 2]), np.array([5, 7, 0]))
    zero = np.zeros(4, dtype=np.int64)
    placed, empty = left_out(zero, zero, regions, np.array([0, 1, 2, 2]))
    assert placed.startswith("7 of the 12 rows of the batch")
    assert empty.startswith("2 region(s)")
    every = np.arange(3)
    assert left_out(every, every, regions, every) == ()


def test_rows_that_moved_to_a_hard_region_are_held_all_the_same() -> None:
    """Two classes of four are mistaken half of the time; then they are most of what comes."""
    rng = np.random.default_rng(0)
    tree = random_tree(rng, 4)
    node = tree.leaves.astype(np.int64)
    hard = np.isin(np.arange(4), (0, 1))

    def drawn(n_rows: int, of_hard: float) -> tuple[np.ndarray, np.ndarray]:
        is_hard = rng.random(n_rows) < of_hard
        label = np.where(is_hard, rng.integers(0, 2, n_rows), rng.integers(2, 4, n_rows))
        logits = (
            4.0 * np.eye(4)[label] + rng.normal(size=(n_rows, 4)) * np.where(is_hard, 4, 1)[:, None]
        )
        return logits, label

    def scores(logits: np.ndarray) -> ClassScores:
        return ClassScores(node, len(logits), lambda start, stop: logits[start:stop])

    logits, label = drawn(2000, 0.1)
    later, truth = drawn(4000, 0.9)
    of = np.zeros(tree.n_nodes, dtype=np.int64)
    of[node[:2]] = 1, 2
    batch = np.bincount(of[node[later.argmax(axis=1)]], minlength=3)
    regions = Regions(of, np.append(0, node[:2]), batch)
    held = {}
    for shift in (None, "classes"):
        terms = CalibrationTerms(answer="set", alpha=0.1, shift=shift, temperature=1.0)
        fitted = fitted_calibration(
            tree, scores(logits), label, terms, regions=regions, placed=node[logits.argmax(axis=1)]
        )
        calibration = fitted.calibration
        if shift:
            assert calibration.share[1:].sum() == pytest.approx(0.9, abs=0.06)
            assert "in the drift's batch" in calibration.promise(0.1)
        at = calibration.thresholds(0.1)[0]
        shown = calibration.answers(tree, scores(later), 0.1)
        assert shown.start[-1] >= len(later)
        assert at >= LEAF
        row = np.repeat(np.arange(len(later)), np.diff(shown.start))
        path = [[*_path(tree, each)] for each in node.tolist()]
        inside = [
            at in path[of] for at, of in zip(shown.node.tolist(), truth[row].tolist(), strict=True)
        ]
        held[shift] = float((np.bincount(row, inside, len(later)) > 0).mean())
    assert held[None] < 0.88 < held["classes"]
    assert held["classes"] == pytest.approx(0.9, abs=0.03)
    assert hard.sum() == 2


def _path(tree, node: int):  # type: ignore[no-untyped-def]
    while True:
        yield node
        if node == 0:
            return
        node = int(tree.parent[node])
