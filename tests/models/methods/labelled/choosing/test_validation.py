"""Candidates compared on held-out known clusters.

A candidate chosen by validation.
"""

from __future__ import annotations

import numpy as np
import pytest

from models.methods.labelled.supervision.inputs import KnownClusters
from models.methods.labelled.supervision.validation import (
    MOST_SPLITS,
    Candidate,
    _splits,
    choose,
    chosen,
    sample,
    validate,
)
from models.running.progress import silent
from tests.models.methods.labelled.bimodal_kit import bimodal


def to_columns(*columns: int) -> Candidate:
    matrix = np.eye(2)[list(columns)]
    return Candidate(f"columns {columns}", lambda known: matrix)


CANDIDATES = [Candidate("nothing", None), to_columns(1), to_columns(0)]


def known(n_clusters: int) -> KnownClusters:
    points, code = bimodal(0, n_clusters, 12)
    return KnownClusters(points, code, n_clusters)


def test_the_best_candidate_is_chosen_and_reported() -> None:
    # Clusters are apart in the first column; the second has two modes of each.
    choice = choose(known(6), CANDIDATES, 1, "gmm", np.random.default_rng(0), silent)
    assert choice.number == 2
    assert "columns (0,)" in choice.warnings[0]
    scores = [score for _, score in choice.curves["validation_nmi"]]
    assert scores[2] > 0.99 > max(scores[:2])


def test_too_few_clusters_take_the_cautious_one() -> None:
    choice = choose(known(3), CANDIDATES, 1, "gmm", np.random.default_rng(0), silent)
    assert choice.number == 1
    assert "3 known clusters are too few" in choice.warnings[0]
    assert "columns (1,)" in choice.warnings[0]
    assert not choice.curves


def test_a_candidate_under_which_all_rows_fall_together_is_not_chosen() -> None:
    empty = Candidate("empty", lambda known: np.empty((0, 2)))
    choice = choose(known(4), [CANDIDATES[0], empty], 1, "gmm", np.random.default_rng(0), silent)
    assert choice.number == 0
    assert choice.curves["validation_nmi"][1] == (1, 0.0)


@pytest.mark.parametrize("n_clusters", [4, 5, 11, 100])
def test_every_split_learns_and_validates_on_at_least_two(n_clusters: int) -> None:
    splits = _splits(n_clusters, MOST_SPLITS, np.random.default_rng(0))
    assert len(splits) == MOST_SPLITS
    for learning, held_out in splits:
        assert min(learning.size, held_out.size) >= 2
        np.testing.assert_array_equal(
            np.sort(np.concatenate([learning, held_out])), np.arange(n_clusters)
        )


def test_the_helpful_candidate_is_chosen_and_the_harmful_one_is_not() -> None:
    known = KnownClusters(*bimodal(0), 6)
    across, along = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])
    seen: list[int] = []

    def collapse(part: KnownClusters) -> np.ndarray:
        seen.append(part.n_clusters)
        return across

    candidates = [
        Candidate("nothing", None),
        Candidate("along", lambda part: along),
        Candidate("across", collapse),
    ]
    validated = validate(known, candidates, "gmm", np.random.default_rng(0), silent)
    assert validated.best == 2
    assert validated.scores[2].min() == pytest.approx(1)
    assert validated.scores[1].max() < 0.2
    assert seen == [4] * MOST_SPLITS
    harmful = validate(known, candidates[:2], "gmm", np.random.default_rng(0), silent)
    assert harmful.best == 0


def test_a_candidate_that_collapses_scores_0() -> None:
    known = KnownClusters(*bimodal(0), 6)
    candidates = [
        Candidate("nothing", None),
        Candidate("empty", lambda part: np.zeros((0, 2))),
        Candidate("zero", lambda part: np.zeros((1, 2))),
    ]
    validated = validate(known, candidates, "gmm", np.random.default_rng(0), silent)
    assert validated.scores[1:].max() == 0
    assert validated.best == 0


def test_a_gain_within_its_error_is_none() -> None:
    assert chosen(np.array([[0.5, 0.5, 0.5], [0.9, 0.4, 0.35]])) == 0
    assert chosen(np.array([[0.5, 0.5, 0.5], [0.6, 0.58, 0.62], [0.55, 0.55, 0.55]])) == 1
    assert chosen(np.array([[0.5, 0.5], [0.5, 0.5]])) == 0


def test_a_sample_keeps_every_cluster() -> None:
    code = np.concatenate([np.zeros(1000), np.ones(5), [2]]).astype(np.int64)
    known = KnownClusters(np.arange(2012.0).reshape(-1, 2), code, 3)
    some = sample(known, 100, np.random.default_rng(0))
    np.testing.assert_array_equal(some.size, [99, 2, 1])
    np.testing.assert_array_equal(known.code[(some.points[:, 0] / 2).astype(int)], some.code)
    assert sample(known, 5000, np.random.default_rng(0)) is known
