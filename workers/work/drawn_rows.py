"""Some rows of the inputs of a fit, by number: what has a value for each row goes with them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from models.inputs.data import Data, Value
from models.inputs.label_sets import LabelSets
from models.inputs.pairs import read_pairs
from models.inputs.rows import Rows
from models.registry import method
from models.roles import role_of


def drawn(
    values: Mapping[str, Value], row: npt.NDArray[np.int64], edges: Collection[str], n_points: int
) -> dict[str, Value]:
    """The inputs of the given rows, ascending and maybe repeated, as `numbered` gives them.

    edges, n_points : as `pair_roles` and `n_points_of` give them. Pairs of which a row is left out
    are left out.
    """
    found: dict[str, Any] = {}
    for role, value in values.items():
        if role in edges and isinstance(value, np.ndarray):
            of_labels = role == "graph" and "labels" in values
            found[role] = value if of_labels else _links(value, row, n_points)
        elif role == "names" and isinstance(value, list):
            found[role] = [value[point] for point in row.tolist()]
        elif isinstance(value, tuple):
            found[role] = tuple(_rows(matrix, row) for matrix in value)
        elif role_of(role).square and isinstance(value, (np.ndarray, sp.csr_array)):
            found[role] = value[row][:, row]
        else:
            found[role] = _rows(value, row)
    return found


def numbered(method_id: str, values: Mapping[str, Value]) -> dict[str, Value]:
    """The values, where names of points are no longer needed: pairs by name are by number. Beside
    a known tree, whose leaves bear them, names stay, for each copy of a point that is drawn."""
    wanted = method(method_id).inputs.get("names")
    kept = {role: value for role, value in values.items() if role != "names"}
    if wanted is None or wanted.one_per != "row" or "labels" in values:
        return kept
    n_points = n_points_of(values, pair_roles(values))
    names = Data(values).leaf_names(n_points, "point")
    for role in pair_roles(values):
        value = values[role]
        if isinstance(value, np.ndarray) and value.dtype == object:
            kept[role] = read_pairs(Data(values), role, n_points, names)
    return {**kept, "names": names} if "hierarchy" in values else kept


def pair_roles(values: Mapping[str, Value]) -> set[str]:
    """The roles that are pairs, of rows or of labels."""
    return {role for role in values if role_of(role).links} | (
        {"graph"} if _has_edges(values) else set()
    )


def n_points_of(values: Mapping[str, Value], pairs: Collection[str]) -> int:
    return next(
        matrix.shape[0]
        for role, value in values.items()
        if role not in pairs
        for matrix in (value if isinstance(value, tuple) else (value,))
        if isinstance(matrix, (np.ndarray, sp.csr_array, Rows))
    )


def _has_edges(values: Mapping[str, Value]) -> bool:
    """Whether the graph is edges, between labels or, without labels, between points."""
    graph = values.get("graph")
    if not isinstance(graph, np.ndarray):
        return False
    # Two edges have the shape of a matrix of two points, but points have no labels beside a graph.
    return graph.dtype == object or graph.shape[0] != graph.shape[1] or "labels" in values


def _links(
    pairs: npt.NDArray[Any], row: npt.NDArray[np.int64], n_points: int
) -> npt.NDArray[np.int64]:
    """(n, 2) the pairs among drawn rows: every copy of one row with every copy of the other."""
    ends = pairs.astype(np.int64)
    times = np.bincount(row, minlength=n_points)
    start = np.cumsum(times) - times
    n_copies = times[ends]
    n = n_copies.prod(axis=1)
    pair = np.repeat(np.arange(len(ends)), n)
    number = np.arange(pair.size) - np.repeat(np.cumsum(n) - n, n)
    first, second = np.divmod(number, n_copies[pair, 1])
    return np.stack([start[ends[pair, 0]] + first, start[ends[pair, 1]] + second], axis=1)


def _rows(value: Any, row: npt.NDArray[np.int64]) -> Any:
    if isinstance(value, Rows):
        return _Drawn(value, row)
    if isinstance(value, (np.ndarray, sp.csr_array)):
        return value[row]
    if isinstance(value, LabelSets):
        member = sp.csr_array(
            (np.ones(value.code.size), value.code, value.start), (value.n_rows, len(value.names))
        )[row]
        return replace(
            value,
            start=member.indptr.astype(np.int64),
            code=member.indices.astype(np.int64),
            unlabelled=value.unlabelled[row],
        )
    return value


class _Drawn(Rows):
    """Rows of another matrix by ascending number, with repetitions."""

    def __init__(self, rows: Rows, row: npt.NDArray[np.int64]) -> None:
        self._rows, self._row = rows, row
        self.shape = (len(row), rows.shape[1])
        self.dtype, self.bfloat16, self.far = rows.dtype, rows.bfloat16, rows.far

    def read(self, start: int, stop: int) -> npt.NDArray[Any]:
        return self._of(self._row[start:stop])

    def take(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        return self._of(self._row[rows])

    def _of(self, row: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        distinct, times = np.unique(row, return_counts=True)
        return np.repeat(self._rows.take(distinct), times, axis=0)
