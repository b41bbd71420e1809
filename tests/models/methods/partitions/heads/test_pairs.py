"""Neighbours by cosine against all pairs compared one by one."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from models.errors import UsageError
from models.inputs.rows import ArrayRows
from models.methods.partitions.heads import distillation, space_tensors
from models.methods.partitions.heads.distillation import neighbours
from models.methods.partitions.heads.space_tensors import SpaceTensors
from models.running.progress import silent
from tests.pairwise_kit import pairwise

pytestmark = pytest.mark.needs("torch")

ROWS = np.random.default_rng(3).normal(size=(57, 6)).astype(np.float32) + 0.3


def opened(rows: np.ndarray) -> SpaceTensors:
    return SpaceTensors([ArrayRows(rows)], "cpu", 10, silent)


def literal(rows: np.ndarray, n_neighbors: int) -> list[list[int]]:
    """For each point the other points by their cosine, the greatest first."""
    nearest = []
    for i, x in enumerate(rows.astype(float)):
        cosine = {
            j: float(x @ y / np.linalg.norm(x) / np.linalg.norm(y))
            for j, y in enumerate(rows.astype(float))
            if j != i
        }
        nearest.append(sorted(cosine, key=lambda j: -cosine[j])[:n_neighbors])
    return nearest


@pytest.mark.parametrize(
    ("n_neighbors", "tile", "resident"), pairwise((1, 7, 56), (1, 40, 1 << 24), (True, False))
)
def test_they_are_the_nearest_whatever_is_compared_at_a_time(
    n_neighbors: int, tile: int, resident: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distillation, "TILE", tile)
    monkeypatch.setattr(distillation, "_QUERIES", 11)
    if not resident:
        monkeypatch.setattr(space_tensors, "RESIDENT", 100)
    nearest = neighbours(opened(ROWS), n_neighbors, silent)
    assert nearest.dtype == torch.int32
    assert nearest.tolist() == literal(ROWS, n_neighbors)


def test_points_that_lie_on_each_other_are_neighbours_but_not_their_own() -> None:
    rows = np.repeat(ROWS[:4], 3, axis=0)
    nearest = neighbours(opened(rows), 2, silent).numpy()
    assert (nearest // 3 == np.arange(12)[:, None] // 3).all()
    assert (nearest != np.arange(12)[:, None]).all()


def test_the_length_of_rows_does_not_matter() -> None:
    lengths = np.logspace(-30, 15, len(ROWS), dtype=np.float64)[:, None]
    rows = (ROWS * lengths).astype(np.float32)
    assert neighbours(opened(rows), 3, silent).tolist() == literal(rows, 3)


def test_a_point_without_direction_is_named() -> None:
    rows = ROWS.copy()
    rows[13] = 0.0
    with pytest.raises(UsageError, match="only zeros in row 13") as caught:
        neighbours(opened(rows), 3, silent)
    assert (caught.value.code, caught.value.where["row"]) == ("no-distance", 13)
