"""Rows that are sums along paths."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from models.methods.classifiers.classes.compressed import CompressedRows
from models.methods.classifiers.classes.structure import PathSums

PARENT = np.array([-1, 0, 0, 1, 1, 3, -1])


def path_sums() -> tuple[PathSums, np.ndarray]:
    """Some of seven nodes in two trees, and these rows."""
    own = np.random.default_rng(0).normal(size=(7, 5))
    kept = CompressedRows.of(list(own), 5)
    whole = kept.matrix().toarray().astype(np.float64)
    for node in range(7):
        if PARENT[node] >= 0:
            whole[node] += whole[PARENT[node]]
    node = np.array([5, 2, 6, 0])
    return PathSums(kept, PARENT, node), whole[node]


def test_rows_and_columns_are_sums_along_paths() -> None:
    sums, expected = path_sums()
    assert (sums.n_rows, sums.n_columns) == (4, 5)
    np.testing.assert_allclose(np.stack([sums.row(row) for row in range(4)]), expected, rtol=1e-6)
    np.testing.assert_allclose(sums.columns(slice(1, 4)), expected[:, 1:4], rtol=1e-6)


def test_scores_are_products_with_the_rows() -> None:
    sums, expected = path_sums()
    features = np.random.default_rng(1).normal(size=(6, 5))
    for some in (features, sp.csr_array(features)):
        np.testing.assert_allclose(sums.scores(some), features @ expected.T, rtol=1e-5, atol=1e-6)
    constant = features[:, :4] @ expected[:, :4].T + expected[:, 4]
    np.testing.assert_allclose(sums.scores(features[:, :4]), constant, rtol=1e-5, atol=1e-6)


def test_stored_sums_are_the_same() -> None:
    sums, _ = path_sums()
    again = PathSums.of_arrays(sums.arrays("some."), 5, "some.")
    np.testing.assert_array_equal(again.columns(slice(None)), sums.columns(slice(None)))
    alone = PathSums.alone(sums.own)
    np.testing.assert_array_equal(alone.columns(slice(None)), sums.own.columns(slice(None)))


def test_no_rows() -> None:
    none = PathSums.alone(CompressedRows.of([], 5))
    assert none.columns(slice(None)).shape == (0, 5)
