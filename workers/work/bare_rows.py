"""Rows of features without any value: noise, which a fit leaves out and its tree has back.

A method never sees these rows. They come back as leaves of noise below the root, behind all other
nodes, so that what a model knows of its nodes stays true; a model that places new rows works on the
tree without them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from models.arrays import Arrays, Int
from models.errors import UsageError
from models.inputs.data import Value
from models.method import Fitted, Predictions
from models.preprocess.inputs import bare_rows
from models.registry import method
from models.tree.noise import noise_leaves, with_noise
from models.tree.tree import Tree, sizes
from workers.work.drawn_rows import drawn, n_points_of, numbered, pair_roles

MOST_NAMED = 5
"""Most rows that a warning names."""

_NO_STATE = (
    "missing: later jobs cannot grow from this one, since rows without a value are noise in it."
)

_OF_ROWS = ("labels", "targets", "tasks", "base")
"""Inputs that say where a row belongs whatever its features are."""


@dataclass(frozen=True, slots=True)
class BareRows:
    """rows : (n,) numbers of the rows without a value, ascending. n_nodes : the nodes of the tree
    without their leaves."""

    rows: Int
    n_nodes: int = 0

    def of(self, tree: Tree) -> Tree:
        """The tree as its fit made it, without these rows. O(n_nodes log depth + n_points)."""
        if not self.rows.size:
            return tree
        n = self.n_nodes
        leaf = np.delete(np.asarray(tree.leaf_of_point), self.rows)
        return replace(
            tree,
            parent=tree.parent[:n],
            height=tree.height[:n],
            size=sizes(tree.parent[:n], leaf),
            name=tree.name[:n],
            leaf_of_point=leaf,
            extra={key: column[:n] for key, column in tree.extra.items()},
        )

    def kept(self, n_rows: int) -> Int:
        """The numbers of the other rows, of n_rows."""
        return np.delete(np.arange(n_rows), self.rows)

    def with_names(self, tree: Tree, named: Tree) -> Tree:
        """The tree with names, and the column of terms, from the one without these rows."""
        if not self.rows.size:
            return named
        name = np.append(named.name, tree.name[self.n_nodes :])
        return self.with_column(replace(tree, name=name), named, "terms")

    def with_column(self, tree: Tree, described: Tree, column: str) -> Tree:
        """The tree with a column of objects, if there is one, from the one without these rows."""
        if not self.rows.size or column not in described.extra:
            return tree if self.rows.size else described
        rest = np.full(tree.n_nodes - self.n_nodes, None, dtype=object)
        whole = np.append(described.extra[column], rest)
        return replace(tree, extra={**tree.extra, column: whole})


NONE = BareRows(np.zeros(0, dtype=np.int64))


def left_out(
    method_id: str, steps: Sequence[Mapping[str, Any]], values: dict[str, Value]
) -> tuple[BareRows, dict[str, Value], list[str]]:
    """(the rows without a value, the inputs of all others, warnings); of steps that take empty
    values, and where nothing else says where a row belongs.

    Raises UsageError where no row has a value. One pass over the features.
    """
    if not values.keys().isdisjoint(_OF_ROWS):
        return NONE, values, []
    rows = bare_rows(steps, values)
    if not rows.size:
        return NONE, values, []
    edges = pair_roles(values)
    n_points = n_points_of(values, edges)
    if rows.size == n_points:
        raise UsageError(
            f"Input 'features' has no value at all in any of its {n_points:,} rows.",
            code="not-finite",
            role="features",
            row=0,
        )
    wanted = method(method_id).inputs.get("names")
    whole = {} if "names" not in values else {"names": values["names"]}
    by_row = dict(values)
    if wanted is not None and wanted.one_per == "row":
        by_row, whole = {**numbered(method_id, values), **whole}, {}
    by_row = {role: value for role, value in by_row.items() if role not in whole}
    kept = np.delete(np.arange(n_points), rows)
    others = {**drawn(by_row, kept, edges, n_points), **whole}
    return BareRows(rows), others, [_warning(rows), *_of_pairs(by_row, others, edges)]


def put_back(
    fitted: Fitted, bare: BareRows, names: Sequence[str] | None
) -> tuple[Fitted, tuple[str, ...]]:
    """(what a fit gives of all rows, warnings). names : of all rows, where they have any.

    No later job grows from rows without a value, so the state for these is left out, with a
    warning. Raises UsageError for a tree of a single node.
    """
    if not bare.rows.size:
        return fitted, ()
    n_points = fitted.tree.n_points + bare.rows.size
    whole = replace(
        fitted,
        tree=with_noise(fitted.tree, bare.rows, n_points, names),
        point_columns=_longer(fitted.point_columns, bare.rows, n_points),
        state=None,
        steps=tuple(
            replace(each, tree=with_noise(each.tree, bare.rows, n_points, names))
            for each in fitted.steps
        ),
    )
    return whole, () if fitted.state is None else (_NO_STATE,)


@contextmanager
def counting_without(bare: BareRows) -> Iterator[None]:
    """An error that names a row says that its method counted without these; `row` of its place is
    the number among all rows."""
    try:
        yield
    except UsageError as error:
        row = error.where.get("row")
        if not bare.rows.size or not isinstance(row, int):
            raise
        detail = (
            f"{error.detail} Rows are counted here without the {bare.rows.size:,} that have no "
            f"value at all: {_listed(bare.rows)}."
        )
        for other in bare.rows.tolist():
            row += other <= row
        raise type(error)(detail, code=error.code, **{**error.where, "row": row}) from error


def placed_as_noise(tree: Tree, rows: Int, others: Predictions) -> Predictions:
    """Predictions of all rows, from the predictions of the others.

    rows : numbers of the rows without a value, ascending; they go to the tree's leaf of noise.
    """
    leaf = int(noise_leaves(tree)[0])
    n_rows = len(others.leaf) + rows.size
    kept = np.delete(np.arange(n_rows), rows)
    path = np.array([0, leaf] if leaf else [0])
    lengths = np.full(n_rows, path.size)
    lengths[kept] = np.diff(others.start)
    start = np.concatenate([[0], np.cumsum(lengths)])
    is_other = np.repeat(np.isin(np.arange(n_rows), kept), lengths)
    node = np.empty(start[-1], dtype=np.int64)
    probability = np.ones(start[-1])
    node[is_other], node[~is_other] = others.node, np.tile(path, rows.size)
    probability[is_other] = others.probability
    leaves, noise = np.full(n_rows, leaf, dtype=np.int64), np.ones(n_rows, dtype=bool)
    leaves[kept] = others.leaf
    noise[kept] = False if others.noise is None else others.noise
    return replace(
        others,
        leaf=leaves,
        start=start,
        node=node,
        probability=probability,
        columns=_longer(others.columns, rows, n_rows),
        noise=noise,
        warnings=(_warning(rows), *others.warnings),
    )


def _warning(rows: Int) -> str:
    return (
        f"missing: {rows.size:,} row(s) of 'features' have no value at all and are noise, in no "
        f"cluster: {_listed(rows)} (counted from 0). Where the method names rows, it counts "
        "without them."
    )


def _listed(rows: Int) -> str:
    shown = ", ".join(str(row) for row in rows[:MOST_NAMED].tolist())
    return f"{shown} and {rows.size - MOST_NAMED:,} more" if rows.size > MOST_NAMED else shown


def _of_pairs(
    before: Mapping[str, Value], after: Mapping[str, Value], edges: set[str]
) -> list[str]:
    lost = {
        role: len(before[role]) - len(after[role])  # type: ignore[arg-type]
        for role in sorted(edges)
        if isinstance(before[role], np.ndarray)
    }
    return [
        f"missing: {n:,} pair(s) of {role!r} with a row that has no value were left out."
        for role, n in lost.items()
        if n
    ]


def _longer(columns: Arrays, rows: Int, n_rows: int) -> dict[str, Any]:
    """Columns of points with NaN for the rows left out."""
    longer = {}
    for name, column in columns.items():
        longer[name] = np.full(n_rows, np.nan)
        longer[name][np.delete(np.arange(n_rows), rows)] = column
    return longer
