"""The sums of `class_trees.sums`, by torch on a GPU: the same whole numbers, so the same sums."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from models.arrays import Arrays
from models.methods.logits.class_trees.task import (
    SQUARE_STEPS,
    TABLES,
    VALUE_STEPS,
    Device,
    Task,
    fold_of,
)
from models.methods.logits.merging.pass_gpu import require
from models.running.progress import Progress

if TYPE_CHECKING:
    from torch import Tensor

_BLOCK_BYTES = 64 << 20
"""A block as float64; its temporaries take about six times as much."""


def summed(task: Task, device: Device, progress: Progress) -> Arrays:
    """As `sums` on the processor. Raises UsageError where there is no such device."""
    import torch

    require(device)
    n, (n_used, n_classes) = len(task.own), (len(task.used), task.matrix.shape[1])
    tables = {name: torch.from_numpy(t).to(device) for name, t in task.tables().items()}
    ranks, values, picked, squares = (tables[name] for name in TABLES)
    used = torch.from_numpy(task.used).to(device)
    share = torch.from_numpy(task.share).to(device)
    step = max(1, _BLOCK_BYTES // (8 * n_classes))
    for start in range(0, n, step):
        progress(start / n, "comparing classes")
        stop = min(start + step, n)
        block = np.array(task.matrix.block(task.start + start, task.start + stop))
        number = np.arange(task.start + start, task.start + stop)
        kept = np.flatnonzero(task.own[start:stop] >= 0)
        own, depth, fold = (
            torch.from_numpy(each[kept].astype(np.int64)).to(device)
            for each in (
                task.own[start:stop],
                task.depth[start:stop],
                fold_of(number, task.folds),
            )
        )
        x = torch.from_numpy(block[kept]).to(device).double()
        top = x.amax(dim=1, keepdim=True)
        finite = torch.where(torch.isneginf(x), torch.inf, x).amin(dim=1, keepdim=True)
        below = 0.5 * torch.maximum(x, finite) - 0.5 * top
        row = fold * n_used + own
        steps = (below * task.factor(VALUE_STEPS)).round()
        values.view(-1, n_classes).index_add_(0, row, steps)
        some = depth < task.squared
        steps = (below[some][:, used] * task.factor(SQUARE_STEPS)).round()
        picked.index_add_(0, own[some], steps)
        squares += steps.T @ steps
        first = depth < task.ranked
        if n_used > 1:
            _add_ranks(x[first][:, used], own[first], row[first], share, ranks)
    return {name: table.cpu().numpy() for name, table in tables.items()}


def _add_ranks(x: Tensor, own: Tensor, row: Tensor, share: Tensor, ranks: Tensor) -> None:
    """Add 1 / rank of the other classes; equal ones get their mean."""
    import torch

    n, n_used = x.shape
    place = torch.arange(n_used - 1, device=x.device)
    others = place + (place >= own[:, None])
    value, order = x.gather(1, others).sort(dim=1, descending=True)
    new = torch.ones((n, n_used), dtype=torch.bool, device=x.device)
    new[:, 1:-1] = value[:, 1:] != value[:, :-1]
    at = torch.arange(n_used, device=x.device).expand(n, -1)
    first = torch.where(new, at, 0).cummax(dim=1).values[:, :-1]
    last = torch.where(new, at, n_used).flip(1).cummin(dim=1).values.flip(1)[:, 1:]
    each = (share[last] - share[first]) // (last - first)
    cell = row[:, None] * n_used + others.gather(1, order)
    ranks.view(-1).index_add_(0, cell.flatten(), each.flatten())
