"""The candidate with which the others agree most, against the definition."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import normalized_mutual_info_score

from models.methods.labelled.discovery.finding import find
from models.methods.labelled.supervision.agreement import agree
from models.methods.labelled.supervision.inputs import KnownClusters
from models.methods.labelled.supervision.validation import N_INIT, Candidate
from models.running.progress import silent


def test_the_agreement_is_the_mean_with_all_others() -> None:
    rng = np.random.default_rng(0)
    free = rng.normal(size=(40, 3)) + 4.0 * rng.integers(0, 2, size=(40, 1))
    known = KnownClusters(rng.normal(size=(8, 3)), np.repeat(np.arange(4), 2), 4)
    matrices = [np.eye(3), np.eye(3)[:1], np.diag([1.0, 1.0, 9.0]), np.zeros((0, 3))]
    candidates = [
        Candidate(str(number), lambda _, own=matrix: own) for number, matrix in enumerate(matrices)
    ]
    agreement = agree(known, free, 2, candidates, "gmm", rng, silent)
    clusters = [
        find(
            free @ matrix.T,
            np.full(40, -1),
            2,
            clusterer="gmm",
            may_join=False,
            n_init=N_INIT,
            rng=np.random.default_rng(0),
            progress=silent,
        ).cluster
        for matrix in matrices[:3]
    ]
    for number, own in enumerate(clusters):
        others = clusters[:number] + clusters[number + 1 :]
        mean = sum(normalized_mutual_info_score(own, other) for other in others) / 3
        assert agreement.means[number] == pytest.approx(mean)
    assert agreement.means[3] == 0.0
    assert agreement.best == int(np.argmax(agreement.means))
