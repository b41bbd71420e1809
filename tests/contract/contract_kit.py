"""Small inputs for every role, so that each method can be run on something it takes.

A new role needs one entry in `ROLES`; a new method of known roles needs nothing here.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from models import registry
from models.arrays import Arrays
from models.data import Data
from models.method import Fitted, Method
from models.tree import paths
from models.tree.tree import Tree
from tests.checkpoint_kit import MemoryCheckpoint

N_POINTS = 60
N_GROUPS = 3

_rng = np.random.default_rng(20261121)
_group = _rng.permutation(np.arange(N_POINTS) % N_GROUPS)
_features = _rng.normal(size=(N_POINTS, 4)) + 25.0 * np.eye(N_GROUPS, 4)[_group]
_unit = _features / np.linalg.norm(_features, axis=1, keepdims=True)
_logits = _rng.normal(size=(N_POINTS, 6)) + 4.0 * np.eye(6)[_group + 3 * _rng.integers(2, size=60)]
_topics = np.kron(np.eye(N_GROUPS), np.full(3, 0.3)) + 1 / 90
_counts = np.array([_rng.multinomial(80, _topics[group]) for group in _group]).astype(np.float64)
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
    "hierarchy": paths.read("near/0\nnear/1\n2"),
    "timestamps": np.arange(N_POINTS) % 4 + 2000.5,
}
"""Well separated groups and no ties, so that no result depends on a last digit."""

SQUARE = frozenset({"distances", "similarity", "graph"})
"""Roles whose columns are the points as well."""

OWN: Mapping[str, Mapping[str, Any]] = {
    **{
        name: {"graph": np.array([["0", "1"], ["1", "2"]], dtype=object)}
        for name in ("rr-svm", "rr-lr")
    },
    **{
        name: {"labels": np.where(_group == N_GROUPS - 1, -1, _group)}
        for name, method in registry.methods().items()
        if method.family == "labelled"
    },
    "bvmf": {"features": _unit},
    "hvmf": {"features": _unit},
    "lda": {"features": _counts},
    "multinomial": {"features": _counts},
    "tvmf": {"features": _unit},
    "vmf": {"features": _unit},
}
"""Examples for methods that accept only a kind of values: counts, unit rows, edges of classes,
labels of some rows."""


def ways(method: Method[Any]) -> list[tuple[str, ...]]:
    """The smallest sets of roles the method runs on: the required ones and the first of those of
    which it needs some, else each matrix alone."""
    required = tuple(role for role, accepted in method.inputs.items() if accepted.required)
    if required:
        required = (*required, *method.some_of[:1])
        return [(*required, role) for role in method.one_of] or [required]
    return [(role,) for role in method.inputs if role in ROLES]


def example(method: Method[Any], roles: tuple[str, ...]) -> Data:
    """Data of the given roles; fails where a role has no example yet."""
    values = {**ROLES, **OWN.get(method.id, {})}
    missing = [role for role in roles if role not in values]
    assert not missing, f"add an example of role {missing[0]!r} to {__name__}.ROLES"
    return Data({role: copy.deepcopy(values[role]) for role in roles})


def by_point(value: Any) -> bool:
    """Whether an input has a row for each point."""
    return isinstance(value, np.ndarray) and len(value) == N_POINTS


def spoil(value: Any, bad: float) -> dict[str, int] | None:
    """The place where `bad` was put into a matrix or column; None if it holds no floats."""
    if not by_point(value) or value.dtype.kind != "f":
        return None
    place = (7, 1)[: value.ndim]
    value[place] = bad
    return dict(zip(("row", "column"), place, strict=False))


def permuted(data: Data, order: np.ndarray) -> Data:
    """The same points in another order."""
    values: dict[str, Any] = {}
    for role, value in data.values.items():
        if by_point(value):
            value = value[np.ix_(order, order)] if role in SQUARE else value[order]
        values[role] = value
    return replace(data, values=values)


def clades(tree: Tree, point_of_row: np.ndarray) -> set[tuple[frozenset[int], float]]:
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
    assert_same_arrays(result.tree.extra, expected.tree.extra)
    assert (result.model is None) == (expected.model is None)
    if result.model is not None and expected.model is not None:
        assert result.model.facts == expected.model.facts
        assert_same_arrays(result.model.arrays, expected.model.arrays)
    assert (result.logits is None) == (expected.logits is None)
    if result.logits is not None:
        np.testing.assert_array_equal(result.logits, expected.logits)
    assert (result.features is None) == (expected.features is None)
    if result.features is not None:
        np.testing.assert_array_equal(result.features, expected.features)
    assert result.metrics == expected.metrics
    assert result.curves == expected.curves
    assert result.warnings == expected.warnings


def assert_same_arrays(arrays: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    assert arrays.keys() == expected.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, expected[name])


METHODS = list(registry.methods().values())
RUNS = [
    pytest.param(
        method,
        roles,
        id=f"{method.id}-{'+'.join(roles)}",
        marks=pytest.mark.needs(*method.needs),
    )
    for method in METHODS
    for roles in ways(method)
]
"""Each method with each set of roles that it takes; skipped where a package that it needs is not
installed."""

every_method = pytest.mark.parametrize("method", METHODS, ids=lambda method: method.id)
every_run = pytest.mark.parametrize(("method", "roles"), RUNS)


def fit(method: Method[Any], data: Data, threads: int = 1, **params: Any) -> Fitted:
    """The fit with the method's example parameters and these."""
    return method.fit(data, method.Params(**{**method.example, **params}), threads=threads)


@dataclass(frozen=True)
class Observed:
    """A fit on the example, whose arrays could not be written, and what was seen of it.

    data : the inputs afterwards. fractions, stages : of its progress. states : its checkpoints.
    """

    fitted: Fitted
    data: Data
    fractions: list[float]
    stages: set[str]
    states: list[Arrays]


@functools.cache
def observed(method: Method[Any], roles: tuple[str, ...]) -> Observed:
    """Computed once for all tests that only read it."""
    data = example(method, roles)
    for value in data.values.values():
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
    fractions: list[float] = []
    stages: set[str] = set()

    def watch(fraction: float, stage: str, message: str = "") -> None:
        fractions.append(fraction)
        stages.add(stage)

    checkpoint = MemoryCheckpoint()
    params = method.Params(**method.example)
    fitted = method.fit(data, params, watch, checkpoint=checkpoint)
    return Observed(fitted, data, fractions, stages, checkpoint.states)


def fitted_example(method: Method[Any], roles: tuple[str, ...]) -> Fitted:
    """The fit on the example."""
    return observed(method, roles).fitted
