"""The nearest neighbours of each point by cosine, all pairs compared on the device.

Cost: 2 N^2 D multiplications and additions. Memory: a tile of `TILE` scores, the rows that it
compares, and 4 bytes for each neighbour. Features that do not fit in memory are read once for each
block of points that does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from models.errors import UsageError
from models.methods.partitions.heads import space_tensors
from models.methods.partitions.heads.space_tensors import ROLE, SpaceTensors
from models.running.progress import Progress

if TYPE_CHECKING:
    from torch import Tensor

TILE = 1 << 24
"""Scores that are computed together (64 MiB)."""

_QUERIES = 2048


def neighbours(tensors: SpaceTensors, n_neighbors: int, progress: Progress) -> Tensor:
    """(n_points, n_neighbors) int32, nearest first, never the point itself.

    n_neighbors : below the number of points. The choice among equally near points is undefined.

    Raises UsageError for a point without a direction, whose values are all 0.
    """
    import torch

    n_points = tensors.n_points
    n_queries = _QUERIES
    if not tensors.is_resident:
        n_queries = max(n_queries, space_tensors.RESIDENT // (2 * tensors.widths[0]))
    n_keys = max(1, TILE // min(n_queries, n_points))
    shift = torch.from_numpy(tensors.frames[0].shift).to(tensors.device)
    moved = bool(shift.any())

    def seen(rows: Tensor) -> Tensor:
        """From 0, as cosines are."""
        return rows + shift if moved else rows

    index = torch.empty((n_points, n_neighbors), dtype=torch.int32, device=tensors.device)
    for start, (rows,) in tensors.blocks(n_queries):
        queries = _unit(seen(rows), start)
        best = torch.full((len(queries), 0), -2.0, device=tensors.device)
        which = torch.full((len(queries), 0), 0, dtype=torch.int64, device=tensors.device)
        for first, (others,) in tensors.blocks(n_keys):
            progress((start + len(queries) * first / n_points) / n_points, "finding neighbours")
            near = queries @ _unit(seen(others), first).T
            # Below the lowest cosine, so that no point is its own neighbour.
            near.diagonal(start - first)[:] = -2.0
            value, place = near.topk(min(n_neighbors, near.shape[1]), dim=1)
            best, which = torch.cat([best, value], dim=1), torch.cat([which, place + first], dim=1)
            best, kept = best.topk(min(n_neighbors, best.shape[1]), dim=1)
            which = which.gather(1, kept)
        index[start : start + len(queries)] = which
    return index


def _unit(rows: Tensor, first_row: int) -> Tensor:
    largest = rows.abs().amax(dim=1, keepdim=True)
    if not bool((largest > 0).all()):
        row = first_row + int((largest[:, 0] == 0).nonzero()[0])
        raise UsageError(
            f"Input {ROLE!r} has only zeros in row {row} (counted from 0; in single precision): it "
            "has no direction, so no neighbours by cosine.",
            code="no-distance",
            role=ROLE,
            row=row,
        )
    # Squares of small values would be rounded to 0.
    scaled = rows / largest
    unit: Tensor = scaled / scaled.norm(dim=1, keepdim=True)
    return unit
