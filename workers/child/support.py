"""Bootstrap support: the fit again on resampled inputs, or with other seeds.

Every replicate is a piece of the job, so several workers share them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from pydantic import ConfigDict, Field

from models.arrays import Arrays
from models.data import Value
from models.errors import UsageError
from models.label_sets import LabelSets
from models.method import Crew, Piece
from models.parameters import Exact
from models.progress import Progress
from models.rows import Rows
from models.tree.support import support
from models.tree.tree import Tree, sizes
from workers.child.fit import Plan, run_plan
from workers.model import MethodStep

BY_PAIRS = ("distances", "similarity", "graph")
"""Inputs with a row and a column for each point."""
LINKS = ("must_link", "cannot_link")
"""Inputs of pairs of row numbers."""


class Support(Exact):
    """How the support of a tree's nodes is measured."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    replicates: int = Field(100, ge=1, le=1000, description="How often the method is run again.")
    resample: Literal["rows", "columns", "seeds"] = Field(
        "rows",
        description="What varies: `rows` or `columns` of the features are drawn with replacement, "
        "or only the `seeds` of the methods differ.",
    )
    seed: int = Field(0, ge=0, le=2**32 - 1, description="Seed of the draws.")


class Replicates:
    """The replicates of one fit."""

    def __init__(
        self, options: Support, plan: Plan, values: Mapping[str, Value], threads: int
    ) -> None:
        if "base" in values:
            raise UsageError(
                "Support cannot be found for a job that goes on from an earlier one.",
                code="wrong-input",
                role="base",
            )
        if "documents" in values:
            raise UsageError(
                "Support cannot be found from documents, whose words change with them; it can from "
                "counts, given as 'graph' or 'features'.",
                code="wrong-input",
                role="documents",
            )
        self._options, self._plan, self._threads = options, plan, threads
        self._values = {role: value for role, value in values.items() if role != "names"}

    def pieces(self) -> list[Piece]:
        return [{"replicate": number} for number in range(self._options.replicates)]

    def compute(self, piece: Piece, progress: Progress) -> Arrays:
        """The tree of one replicate, and the row of each of its points.

        No rows if the fit failed.
        """
        number = int(piece["replicate"])
        rng = np.random.default_rng([self._options.seed, number])
        values, row = _resampled(self._values, self._options.resample, rng)
        plan = self._plan
        if self._options.resample == "seeds":
            plan = _seeded(plan, number + 1)
        try:
            tree = run_plan(plan, values, progress, self._threads).fitted.tree
        except UsageError:
            none = np.empty(0, dtype=np.int32)
            return {"parent": none, "leaf_of_point": none, "row": none.astype(np.int64)}
        return {"parent": tree.parent, "leaf_of_point": tree.leaf_of_point, "row": row}

    def supported(self, tree: Tree, crew: Crew) -> tuple[Tree, list[str]]:
        """The tree with a column `support`, and warnings."""
        n_failed = 0

        def replicates() -> Iterator[tuple[Tree, npt.NDArray[np.int64]]]:
            nonlocal n_failed
            for _, arrays in crew.compute(self.pieces()):
                if not arrays["row"].size:
                    n_failed += 1
                    continue
                yield _bare(arrays, tree.kind), arrays["row"]

        column = support(tree, replicates())
        warnings = []
        if n_failed:
            warnings.append(
                f"{n_failed} of {self._options.replicates} replicates could not be fitted and do "
                "not count in the support."
            )
        return replace(tree, extra={**tree.extra, "support": column}), warnings


def _bare(arrays: Arrays, kind: Literal["hierarchy", "partition"]) -> Tree:
    """A tree with only its shape and its points."""
    parent, leaf = arrays["parent"], arrays["leaf_of_point"]
    n = len(parent)
    return Tree(
        parent=parent,
        height=np.zeros(n),
        size=sizes(parent, leaf),
        name=np.full(n, None, dtype=object),
        leaf_of_point=leaf,
        kind=kind,
    )


def _seeded(plan: Plan, by: int) -> Plan:
    """The plan with `by` added to each step's seed. Raises UsageError if no step has one."""

    def moved(params: Mapping[str, Any]) -> dict[str, Any]:
        return {**params, "seed": params["seed"] + by} if "seed" in params else dict(params)

    if not any("seed" in step.params for step in plan.steps):
        raise UsageError(
            f"Method {plan.method!r} draws nothing, so other seeds give the same tree; resample "
            "rows or columns.",
            code="wrong-parameter",
            parameter="support",
        )
    then = None
    if plan.then is not None:
        then = MethodStep(method=plan.then.method, params=moved(plan.then.params))
    return Plan(plan.method, moved(plan.params), plan.preprocess, then)


def _resampled(
    values: Mapping[str, Value], how: str, rng: np.random.Generator
) -> tuple[dict[str, Value], npt.NDArray[np.int64]]:
    """The values with rows or columns drawn anew, and the row of each point."""
    edges = {"graph", *LINKS} if _has_edges(values) else set(LINKS)
    n_points = next(
        matrix.shape[0]
        for role, value in values.items()
        if role not in edges
        for matrix in (value if isinstance(value, tuple) else (value,))
        if isinstance(matrix, (np.ndarray, sp.csr_array, Rows))
    )
    if how == "seeds":
        return dict(values), np.arange(n_points)
    if how == "columns":
        return _columns(values, rng), np.arange(n_points)
    row = np.sort(rng.integers(0, n_points, n_points))
    drawn: dict[str, Any] = {}
    for role, value in values.items():
        if role in LINKS and isinstance(value, np.ndarray):
            drawn[role] = _links(value, row, n_points)
        elif role in edges:
            drawn[role] = value
        elif isinstance(value, tuple):
            drawn[role] = tuple(_rows(matrix, row) for matrix in value)
        elif role in BY_PAIRS and isinstance(value, (np.ndarray, sp.csr_array)):
            drawn[role] = value[row][:, row]
        else:
            drawn[role] = _rows(value, row)
    return drawn, row


def _has_edges(values: Mapping[str, Value]) -> bool:
    """Whether the graph is edges between labels, of which points are not drawn."""
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


def _columns(values: Mapping[str, Value], rng: np.random.Generator) -> dict[str, Value]:
    features = values.get("features")
    if not isinstance(features, (np.ndarray, sp.csr_array)) or features.ndim != 2:
        raise UsageError(
            "Columns can only be drawn from a single matrix of features held in memory.",
            code="wrong-parameter",
            parameter="support",
        )
    n = features.shape[1]
    return {**values, "features": features[:, np.sort(rng.integers(0, n, n))]}


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
