"""Rows held out from a fit: a share of each task's rows for measuring, and folds for choosing."""

from __future__ import annotations

import numpy as np

from models.arrays import Int, Mask
from models.methods.tasks.regression.table import Table


def held_out(table: Table, share: float, rng: np.random.Generator) -> Mask:
    """(N,) which rows are held out: a random, rounded `share` of each task.

    Every task keeps at least one row. If the share is not 0, every task of two or more rows has at
    least one held out.
    """
    out = np.zeros(len(table.row), dtype=bool)
    if share == 0.0:
        return out
    for begin, end in zip(table.start[:-1].tolist(), table.start[1:].tolist(), strict=True):
        n_rows = end - begin
        n_out = min(max(1, round(share * n_rows)), n_rows - 1)
        out[begin + rng.choice(n_rows, n_out, replace=False)] = True
    return out


def folds(table: Table, n_folds: int, rng: np.random.Generator) -> Int:
    """(N,) the fold of each row; -1, no fold, for the only row of a task.

    The rows of a task, and those of each class within it, are spread over all folds as evenly as
    possible.
    """
    fold = np.full(len(table.row), -1)
    for begin, end in zip(table.start[:-1].tolist(), table.start[1:].tolist(), strict=True):
        n_rows = end - begin
        order = rng.permutation(n_rows)
        first = int(rng.integers(n_folds))
        if n_rows < 2:
            continue
        if table.classes:
            order = order[np.argsort(table.targets[begin:end][order], kind="stable")]
        fold[begin + order] = (first + np.arange(n_rows)) % n_folds
    return fold
