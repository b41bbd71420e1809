"""Tables of labels for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from models.inputs.items import ItemColumn, ItemTable, ranked


def table(columns: Mapping[str, Sequence[Any]]) -> ItemTable:
    """Columns of texts as categories, of anything else as numbers; None is missing."""
    return ItemTable(tuple(column(name, values) for name, values in columns.items()))


def column(name: str, values: Sequence[Any]) -> ItemColumn:
    if any(isinstance(value, str) for value in values):
        return ItemColumn(name, "category", ranked(pa.array(list(values), pa.string())))
    numbers = [None if value is None else float(value) for value in values]
    return ItemColumn(name, "number", pa.array(numbers, pa.float64()))


def random_labels(rng: np.random.Generator, n_rows: int, n_levels: int) -> list[list[int]]:
    """(n_levels, n_rows) labels, some of them levels with one cluster or a cluster for each row."""
    most = rng.integers(1, n_rows + 1, size=n_levels)
    return [rng.integers(k, size=n_rows).tolist() for k in most]
