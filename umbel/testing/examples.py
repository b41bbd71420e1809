"""Small inputs for every role, so that each method can be run on something it takes.

A new role needs one entry in `ROLES`; a new method of known roles needs nothing here.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.spatial.distance import pdist, squareform

from models.arrays import Arrays, Int
from models.inputs.data import Data
from models.inputs.items import ItemColumn, ItemTable
from models.method import Fitted, Method
from models.tree import class_paths
from models.tree.tree import Tree
from umbel.testing.lost_worker import MemoryCheckpoint

N_POINTS = 60
N_GROUPS = 3

_rng = np.random.default_rng(20261121)
_group = _rng.permutation(np.arange(N_POINTS) % N_GROUPS)
_features = _rng.normal(size=(N_POINTS, 4)) + 25.0 * np.eye(N_GROUPS, 4)[_group]
UNIT_ROWS = _features / np.linalg.norm(_features, axis=1, keepdims=True)
_logits = _rng.normal(size=(N_POINTS, 6)) + 4.0 * np.eye(6)[_group + 3 * _rng.integers(2, size=60)]
_topics = np.kron(np.eye(N_GROUPS), np.full(3, 0.3)) + 1 / 90
COUNTS = np.array([_rng.multinomial(80, _topics[group]) for group in _group]).astype(np.float64)
_task = _rng.permutation(np.arange(N_POINTS) % 6)
_targets = (_features * _rng.normal(size=(6, 4))[_task]).sum(axis=1) + _rng.normal(size=N_POINTS)
_near = np.random.default_rng(1).normal(size=(N_POINTS, N_POINTS)) / 4
_near += 2.0 * (_group[:, None] == _group)

ROLES: Mapping[str, Any] = {
    "features": _features,
    "logits": _logits,
    "distances": squareform(pdist(_features)),
    "similarity": np.exp(-squareform(pdist(_features, "sqeuclidean")) / 500.0),
    "graph": 10.0 * np.exp(_near + _near.T),
    "tasks": _task,
    "targets": _targets,
    "labels": _group,
    "hierarchy": class_paths.read("near/0\nnear/1\n2"),
    "timestamps": np.arange(N_POINTS) % 4 + 2000.5,
    "sample_weight": np.arange(N_POINTS) % 3 + 0.5,
    "items": ItemTable(
        tuple(
            ItemColumn(name, "number", pa.array(column.astype(np.float64)))
            for name, column in (
                ("K3", _group),
                ("K6", _task),
                ("K9", (_group * 3 + _task % 3)),
                ("target", _targets),
            )
        )
    ),
}
"""Well separated groups and no ties, so that no result depends on a last digit. `UNIT_ROWS` and
`COUNTS` are features for methods that accept no others."""

SQUARE = frozenset({"distances", "similarity", "graph"})
"""Roles whose columns are the points as well."""


def ways(method: Method[Any], values: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """The smallest sets of roles the method runs on: the required ones and the first of the roles
    of which it needs some, else each matrix alone that has a value."""
    required = tuple(role for role, accepted in method.inputs.items() if accepted.required)
    if required:
        required = (*required, *method.some_of[:1])
        return [(*required, role) for role in method.one_of] or [required]
    return [(role,) for role in method.one_of or method.inputs if role in values]


@dataclass(frozen=True, slots=True)
class Observed:
    """A fit on the example, whose arrays could not be written, and what was seen of it.

    data : the inputs afterwards. fractions, stages : of its progress. states : what it saved as
    checkpoints.
    """

    fitted: Fitted
    data: Data
    fractions: list[float]
    stages: set[str]
    states: list[Arrays]


class Example:
    """A method with small inputs of one set of roles.

    number : which of the method's sets it is; 0 is the first.
    """

    def __init__(
        self, method: Method[Any], roles: tuple[str, ...], values: Mapping[str, Any], number: int
    ) -> None:
        self.method, self.roles, self.number = method, roles, number
        self._values = values

    def __str__(self) -> str:
        return f"{self.method.id}-{'+'.join(self.roles)}"

    def data(self) -> Data:
        """A copy of the inputs; fails where a role has no example."""
        missing = [role for role in self.roles if role not in self._values]
        assert not missing, f"give an example of the role {missing[0]!r}"
        return Data({role: copy.deepcopy(self._values[role]) for role in self.roles})

    def params(self, **params: Any) -> Any:
        """The method's example parameters and these."""
        return self.method.Params(**{**self.method.example, **params})

    def fit(self, data: Data | None = None, threads: int = 1, **params: Any) -> Fitted:
        """A fit, by default on the inputs of the example."""
        data = self.data() if data is None else data
        return self.method.fit(data, self.params(**params), threads=threads)

    @property
    def fitted(self) -> Fitted:
        """The fit on the example, to be read only."""
        return self.observed.fitted

    @cached_property
    def observed(self) -> Observed:
        """Computed once for all tests that only read it."""
        data = self.data()
        for value in data.values.values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
        fractions: list[float] = []
        stages: set[str] = set()

        def watch(fraction: float, stage: str, message: str = "") -> None:
            fractions.append(fraction)
            stages.add(stage)

        checkpoint = MemoryCheckpoint()
        fitted = self.method.fit(data, self.params(), watch, checkpoint=checkpoint)
        return Observed(fitted, data, fractions, stages, checkpoint.states)


def examples_of(*methods: Method[Any], **values: Any) -> list[Example]:
    """Each method with each of its smallest sets of roles.

    values : inputs by role where the values of `ROLES` will not do, say for a method that takes
    unit rows or a new role; an input of points has `N_POINTS` rows.

    Raises ValueError for a method of which no input has a value.
    """
    values = {**ROLES, **values}
    examples = []
    for method in methods:
        every = ways(method, values)
        if not every:
            raise ValueError(
                f"give a value of an input of {method.id!r}: {', '.join(method.inputs)}"
            )
        examples += [Example(method, roles, values, number) for number, roles in enumerate(every)]
    return examples


def by_point(value: Any) -> bool:
    """Whether an input has a row for each point."""
    if isinstance(value, ItemTable):
        return value.n_items == N_POINTS
    return isinstance(value, np.ndarray) and len(value) == N_POINTS


def some_rows(value: Any, rows: Int) -> Any:
    """These rows of an input that has one for each point."""
    return value.take(rows) if isinstance(value, ItemTable) else value[rows]


def spoil(value: Any, bad: float) -> dict[str, int] | None:
    """The place where `bad` was put into a matrix or column; None if it holds no floats."""
    if not by_point(value) or isinstance(value, ItemTable) or value.dtype.kind != "f":
        return None
    place = (7, 1)[: value.ndim]
    value[place] = bad
    return dict(zip(("row", "column"), place, strict=False))


def permuted(data: Data, order: Int) -> Data:
    """The same points in another order."""
    values: dict[str, Any] = dict(data.values)
    for role, value in values.items():
        if by_point(value):
            values[role] = (
                value[np.ix_(order, order)] if role in SQUARE else some_rows(value, order)
            )
    return replace(data, values=values)


def clades(tree: Tree, point_of_row: Int) -> set[tuple[frozenset[int], float]]:
    """The points under each node and the node's height to nine digits."""
    under: list[set[int]] = [set() for _ in range(tree.n_nodes)]
    for row, leaf in enumerate(tree.leaf_of_point):
        under[leaf].add(int(point_of_row[row]))
    for node in range(tree.n_nodes - 1, 0, -1):
        under[tree.parent[node]] |= under[node]
    return {
        (frozenset(points), float(f"{height:.9g}"))
        for points, height in zip(under, tree.height, strict=True)
    }


def assert_same(result: Fitted, expected: Fitted) -> None:
    """Equal to the last bit."""
    for column in ("parent", "height", "size", "name", "leaf_of_point"):
        assert (getattr(result.tree, column) == getattr(expected.tree, column)).all(), column
    assert (result.tree.kind, result.tree.monotone) == (expected.tree.kind, expected.tree.monotone)
    assert result.tree.extra.keys() == expected.tree.extra.keys()
    for key, extra in result.tree.extra.items():
        np.testing.assert_array_equal(extra, expected.tree.extra[key])
    assert (result.model is None) == (expected.model is None)
    if result.model is not None and expected.model is not None:
        assert result.model.facts == expected.model.facts
        assert result.model.arrays.keys() == expected.model.arrays.keys()
        for key, array in result.model.arrays.items():
            np.testing.assert_array_equal(array, expected.model.arrays[key])
    assert (result.logits is None) == (expected.logits is None)
    if result.logits is not None:
        np.testing.assert_array_equal(result.logits, expected.logits)
    assert (result.features is None) == (expected.features is None)
    if result.features is not None:
        np.testing.assert_array_equal(result.features, expected.features)
    assert result.metrics == expected.metrics
    assert result.curves == expected.curves
    assert result.warnings == expected.warnings
