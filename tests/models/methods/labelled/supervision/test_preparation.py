"""Rows on one scale, and transformations of rows as they came."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from models.errors import UsageError
from models.methods.labelled.supervision.inputs import CUT_TO, WIDE
from models.methods.labelled.supervision.transformation import (
    Transformation,
    factor,
    prepare,
    spreads,
)


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int64])
def test_one_scale_for_all_columns(kind: Any) -> None:
    features = (np.random.default_rng(0).normal(5, [1, 10, 100], (50, 3)) * 10).astype(kind)
    preparation, points, notes = prepare(features, "auto", 0)
    assert notes == ()
    assert points.dtype == (np.float32 if kind == np.float32 else np.float64)
    np.testing.assert_allclose(points.mean(axis=0), 0, atol=1e-5)
    assert points.var(axis=0).mean() == pytest.approx(1, rel=1e-4)
    ratio = points.std(axis=0) / features.std(axis=0)
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-3)
    np.testing.assert_allclose(
        points, (features - preparation.center) / preparation.scale, 1e-3, 1e-4
    )


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("n_components", ["auto", 5, None])
def test_a_transformation_does_to_rows_what_was_done_to_the_first(
    sparse: bool, n_components: Any
) -> None:
    rng = np.random.default_rng(1)
    dense = rng.normal(size=(260, WIDE + 1)) * (rng.uniform(size=(260, WIDE + 1)) < 0.2)
    features = sp.csr_array(dense) if sparse else dense
    preparation, points, notes = prepare(features, n_components, 0)
    kept = {"auto": CUT_TO, 5: 5, None: WIDE + 1}[n_components]
    assert points.shape == (260, kept)
    assert len(notes) == (kept <= WIDE)
    matrix = rng.normal(size=(2, kept))
    transformation = Transformation.of(preparation, matrix)
    np.testing.assert_allclose(transformation.apply(features), points @ matrix.T, atol=1e-9)
    again = Transformation.of_arrays(transformation.arrays)
    np.testing.assert_array_equal(again.apply(features), transformation.apply(features))


def test_more_columns_than_rows() -> None:
    features = np.random.default_rng(2).normal(size=(10, 500))
    _, points, notes = prepare(features, "auto", 0)
    assert points.shape == (10, 10)
    assert "500 columns were cut to 10" in notes[0]


def test_equal_rows_are_refused() -> None:
    with pytest.raises(UsageError, match="equal rows"):
        prepare(np.ones((4, 2)), None, 0)


def test_the_factor_of_a_metric_has_its_rank() -> None:
    rng = np.random.default_rng(3)
    half = rng.normal(size=(2, 5))
    matrix = factor(half.T @ half)
    assert matrix.shape == (2, 5)
    np.testing.assert_allclose(matrix.T @ matrix, half.T @ half, atol=1e-12)
    assert np.linalg.norm(matrix[0]) > np.linalg.norm(matrix[1])
    assert factor(np.zeros((3, 3))).shape == (0, 3)


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int64])
def test_spreads_are_standard_deviations(kind: Any) -> None:
    rng = np.random.default_rng(1)
    dense = (rng.normal(5, [1, 10, 100], (50, 3)) * (rng.random((50, 3)) < 0.4)).astype(kind)
    expected = dense.astype(np.float64).std(axis=0)
    np.testing.assert_allclose(spreads(dense), expected)
    np.testing.assert_allclose(spreads(sp.csr_array(dense)), expected, rtol=1e-6)
    # Each value stored as two that add up to it.
    rows, columns = np.nonzero(dense)
    parts = np.concatenate([dense[rows, columns], dense[rows, columns]])
    where = (np.tile(rows, 2), np.tile(columns, 2))
    order = np.lexsort((where[1], where[0]))
    start = np.searchsorted(where[0][order], np.arange(51))
    doubled = sp.csr_array((parts[order], where[1][order], start), dense.shape)
    assert doubled.nnz == 2 * rows.size
    np.testing.assert_allclose(spreads(doubled), 2 * expected, rtol=1e-6)
    assert doubled.nnz == 2 * rows.size
