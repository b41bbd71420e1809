"""Choice of the number of clusters: candidates, curves, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from models.clusters.choosing import Choice, candidates, check_count, highest, lowest
from models.errors import UsageError
from models.inputs.data import Data
from models.methods.partitions.kmeans import KMeansParams
from models.running.progress import subprogress


def chosen(**params: Any) -> KMeansParams:
    return KMeansParams(**{"choose": "bic", **params})


def test_candidates_end_before_the_number_of_distinct_points() -> None:
    features = np.repeat(np.arange(6.0), 3)[:, None]
    numbers, notes = candidates(features, chosen(max_clusters=4))
    assert (numbers, notes) == ((2, 3, 4), ())
    numbers, notes = candidates(features, chosen())
    assert numbers == (2, 3, 4, 5)
    assert "up to 5, not 'max_clusters' = 20" in notes[0]
    with pytest.raises(UsageError, match=r"'min_clusters' is 6, .* only 6 distinct"):
        candidates(features, chosen(min_clusters=6))


def test_curves_are_points_and_metrics_are_those_at_the_choice() -> None:
    choice = highest("silhouette", (2, 3, 4), (0.1, 0.5, 0.5), (0.01, 0.02, 0.03))
    assert choice.n_clusters == 3
    assert choice.curves == {
        "silhouette": [(2, 0.1), (3, 0.5), (4, 0.5)],
        "silhouette_standard_error": [(2, 0.01), (3, 0.02), (4, 0.03)],
    }
    assert choice.metrics == {
        "n_clusters": 3.0,
        "silhouette": 0.5,
        "silhouette_standard_error": 0.02,
    }
    assert choice.warnings == ()


def test_a_best_number_at_the_end_is_warned_of() -> None:
    choice = lowest("bic", (2, 3), (9.0, 4.0), ("first.",))
    assert (choice.n_clusters, choice.error) == (3, None)
    assert choice.warnings[0] == "first."
    assert "the largest that was tried, 3" in choice.warnings[1]
    assert lowest("bic", (5,), (1.0,)).warnings == ()


def test_a_number_that_was_given_has_no_curve() -> None:
    choice = Choice.given(4)
    assert (choice.curves, choice.metrics, choice.warnings) == ({}, {}, ())


@pytest.mark.parametrize(
    ("params", "where", "part"),
    [
        ({"min_clusters": 5, "max_clusters": 4}, {"parameter": "min_clusters"}, "is 5 and"),
        ({"choose": "silhouette", "min_clusters": 1}, {"parameter": "min_clusters"}, "from 2"),
        ({"names": ["a", "b"]}, {"role": "names"}, "yet to be chosen"),
    ],
)
def test_a_choice_that_cannot_be_made_is_refused(
    params: dict[str, Any], where: dict[str, str], part: str
) -> None:
    values = {"features": np.zeros((9, 2)), **{k: params.pop(k) for k in ["names"] if k in params}}
    with pytest.raises(UsageError, match=part) as caught:
        check_count(Data(values), chosen(**params))
    assert caught.value.where == where


def test_progress_of_a_part_is_a_share_of_the_whole() -> None:
    seen: list[tuple[float, str, str]] = []
    part = subprogress(lambda *report: seen.append(report), 0.2, 0.6, "3 clusters")
    part(0.5, "fitting", "run 1 of 2")
    part(1.0, "fitting")
    assert seen == [(0.4, "fitting", "3 clusters, run 1 of 2"), (0.6, "fitting", "3 clusters")]
