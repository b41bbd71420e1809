"""Directions in which known rows differ."""

from __future__ import annotations

import numpy as np
import pytest

from models.methods.labelled.supervision.inputs import KnownClusters
from models.methods.labelled.supervision.transformation import Subspace


def known(n_rows: int, n_columns: int, rank: int) -> KnownClusters:
    rng = np.random.default_rng(n_rows)
    points = rng.normal(size=(n_rows, rank)) @ rng.normal(size=(rank, n_columns)) + 3.0
    return KnownClusters(points, np.arange(n_rows) % 2, 2)


@pytest.mark.parametrize(
    ("n_rows", "n_columns", "rank", "expected"), [(30, 4, 4, 4), (30, 6, 3, 3), (5, 9, 9, 4)]
)
def test_as_many_directions_as_rows_differ_in(
    n_rows: int, n_columns: int, rank: int, expected: int
) -> None:
    rows = known(n_rows, n_columns, rank)
    subspace = Subspace.of(rows)
    assert subspace.basis.shape == (n_columns, expected)
    inside = subspace.within(rows)
    away = rows.points - rows.points.mean(axis=0)
    moved = inside.points - inside.points.mean(axis=0)
    assert moved @ moved.T == pytest.approx(away @ away.T, abs=1e-9)


def test_rounding_of_single_precision_is_no_direction() -> None:
    rows = known(5, 9, 9)
    single = KnownClusters(rows.points.astype(np.float32), rows.code, 2)
    assert Subspace.of(single).basis.shape == (9, 4)
    assert Subspace.of(single).within(single).points.dtype == np.float32


def test_other_directions_stay_as_they_are() -> None:
    rows = known(5, 9, 9)
    subspace = Subspace.of(rows)
    rng = np.random.default_rng(0)
    root = rng.normal(size=(4, 4))
    matrix = subspace.transformation(root @ root.T)
    metric = matrix.T @ matrix
    assert subspace.basis.T @ metric @ subspace.basis == pytest.approx(root @ root.T)
    other = rng.normal(size=9)
    other -= subspace.basis @ (subspace.basis.T @ other)
    assert metric @ other == pytest.approx(other)


def test_no_row_where_known_rows_fall_together() -> None:
    subspace = Subspace.of(known(5, 9, 9))
    assert subspace.transformation(np.zeros((4, 4))).shape == (0, 9)
