"""A candidate chosen by validation."""

from __future__ import annotations

import numpy as np

from models.methods.labelled.choosing.choice import choose
from models.methods.labelled.choosing.validation import Candidate
from models.methods.labelled.supervision.known import KnownClusters
from models.running.progress import silent
from tests.models.methods.labelled.bimodal_kit import bimodal


def to_columns(*columns: int) -> Candidate:
    matrix = np.eye(2)[list(columns)]
    return Candidate(f"columns {columns}", lambda known: matrix)


CANDIDATES = [Candidate("nothing", None), to_columns(1), to_columns(0)]


def known(n_clusters: int) -> KnownClusters:
    points, code = bimodal(0, n_clusters, 12)
    return KnownClusters(points, code, n_clusters)


def test_the_best_candidate_is_chosen_and_told() -> None:
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
