"""Pairs of words from counts, and counts that are refused."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from models.errors import UsageError
from models.methods.hyperbolic.words.pairs import checked, pairs_of
from tests.models.methods.hyperbolic.words.vectors_kit import some_counts


def test_pairs_do_not_depend_on_the_order_of_words() -> None:
    counts = some_counts(12, 3)
    order = np.random.default_rng(0).permutation(12)
    pairs = pairs_of(checked(counts, "graph"), 100.0, 0.75)
    pairs_mixed = pairs_of(checked(counts[np.ix_(order, order)], "graph"), 100.0, 0.75)
    assert (pairs.order == order[pairs_mixed.order]).all()
    for name in ("row", "column", "log_count", "weight"):
        np.testing.assert_array_equal(getattr(pairs, name), getattr(pairs_mixed, name))
    assert (np.diff(counts.sum(axis=1)[pairs.order]) <= 0).all()


def refused(values: object) -> UsageError:
    with pytest.raises(UsageError) as caught:
        checked(values, "graph")
    assert caught.value.where["role"] == "graph"
    return caught.value


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_a_value_that_is_no_count_is_named(make: type) -> None:
    good = some_counts(5, 0, density=1.0)
    assert refused(make(good[:4])).code == "wrong-shape"
    bad = good.copy()
    bad[1, 3] = bad[3, 1] = -2.0
    error = refused(make(bad))
    assert "-2 at row 1, column 3" in error.detail
    bad = good.copy()
    bad[2, 4] += 0.5
    error = refused(make(bad))
    assert error.code == "not-symmetric"
    assert "row 2, column 4" in error.detail
    bad = good.copy()
    bad[2, 4] = 0.0
    assert refused(make(bad)).code == "not-symmetric"
    bad = good.copy()
    bad[3] = bad[:, 3] = 0.0
    error = refused(make(bad))
    assert error.where["row"] == 3
    bad = good.copy()
    bad[0, 1] = bad[1, 0] = 1e31
    assert "above 1e+30" in refused(make(bad)).detail
    bad[0, 1] = np.nan
    assert refused(make(bad)).code == "not-finite"


def test_sums_in_another_order_are_still_symmetric() -> None:
    counts = some_counts(5, 0)
    counts[0, 1] *= 1 + 1e-12
    assert checked(counts, "graph").nnz
