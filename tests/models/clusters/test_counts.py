"""Counts: refusals, warnings, the distinctive terms of a cluster."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from models.clusters import counts
from models.clusters.counts import (
    cluster_names,
    held_out,
    require_counts,
    require_some,
    term_names,
    top_terms,
    zero_rows,
)
from models.errors import UsageError
from models.inputs.data import Data
from tests.pairwise_kit import pairwise


@pytest.mark.parametrize(
    ("value_and_whole", "dtype", "sparse"),
    pairwise(
        [(-1, True), (-1, False), (2.5, True), (2.5, False), (7, True)],
        ("float32", "float64", "int16"),
        (False, True),
    ),
)
def test_a_value_that_is_no_count_is_named(
    value_and_whole: tuple[float, bool], dtype: str, sparse: bool, monkeypatch: Any
) -> None:
    value, whole = value_and_whole
    refused = value == -1 or (value, whole) == (2.5, True)
    monkeypatch.setattr(counts, "BLOCK", 8)
    values = np.ones((30, 4), dtype=dtype)
    values[17, 2] = value
    form = sp.csr_array(values) if sparse else values
    if not refused or (value == 2.5 and dtype == "int16"):
        require_counts(form, whole=whole)
        return
    with pytest.raises(UsageError, match=f"the value {value} at row 17, column 2") as caught:
        require_counts(form, whole=whole)
    assert caught.value.code == "not-counts"


def test_rounding_is_no_fraction() -> None:
    require_counts(np.array([[3.0000001, 1e6 + 0.05]]), whole=True)
    with pytest.raises(UsageError):
        require_counts(np.array([[3.001]]), whole=True)


def test_rows_without_counts_are_warned_of() -> None:
    values = np.array([[1, 0], [0, 0], [0, 2], [0, 0]])
    for form in (values, sp.csr_array(values)):
        assert "2 row(s) hold no count at all, the first is row 1" in zero_rows(form, "all")[0]
        assert zero_rows(form[[0, 2]], "all") == ()
        require_some(form)
        with pytest.raises(UsageError, match="every value is 0"):
            require_some(form[[1, 3]])


def test_a_share_of_the_rows_is_held_out() -> None:
    out = held_out(50, 0.3, np.random.default_rng(0))
    assert out.sum() == 15
    assert not held_out(50, 0.0, np.random.default_rng(0)).any()


def test_top_terms_are_frequent_and_the_clusters_own() -> None:
    terms = np.array([[0.5, 0.4, 0.1, 0.0], [0.5, 0.0, 0.1, 0.4]])
    terms_of_clusters = top_terms(terms, np.array([0.5, 0.5]), ["the", "cat", "and", "tax"])
    assert terms_of_clusters == [
        [{"term": "cat", "probability": 0.4}],
        [{"term": "tax", "probability": 0.4}],
    ]


def test_names_of_clusters_are_given_or_their_terms_or_numbers() -> None:
    top = [[{"term": one} for one in "abcd"], []]
    assert cluster_names(Data({}), 2, top) == ["a, b, c", "1"]
    assert cluster_names(Data({}), 2, None) == ["0", "1"]
    assert cluster_names(Data({"names": ["x", "y"]}), 2, top) == ["x", "y"]


def test_terms_are_one_for_each_column() -> None:
    assert term_names(Data({}), 3) is None
    assert term_names(Data({"feature_names": ["a", "b"]}), 2) == ["a", "b"]
    with pytest.raises(UsageError, match="2 names; 3 are needed") as caught:
        term_names(Data({"feature_names": ["a", "b"]}), 3)
    assert caught.value.where == {"role": "feature_names"}
