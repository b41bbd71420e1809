"""The inner nodes' weights between the turns of the classes.

Where classes tell nothing but their weights, the inner nodes get the best ones for these. But then
they move slowly: with little loss a family of n children and their parent would move together, and
turns take it a share of about 1 / n of the way. On a tree with the logistic loss a block therefore
tells how much its classes hold to their places (`held`), by a bound of their curvature, and inner
nodes move by conjugate gradients of what remains when classes follow.

With the classes at their best for given inner nodes, the objective is a function of the inner nodes
alone, which `moved` lowers. Each sweep of the classes gives its gradient where the inner nodes are;
a diagonal bound of the classes' curvature gives a preconditioner, the bound's Hessian matrix, in
which a tree is eliminated at once. Two gradients along a direction also give the best step there,
as of a quadratic function, so the step that a sweep tries need not be right: the next move begins
where it should have ended, with the gradient there by interpolation. The directions are Polak and
Ribiere's.

`NodeColumnPairs` are the values of inner nodes at the columns that tell of them. In a column where
neither a node nor any class below it has a separate weight, the node only follows its parent, and
so does all below it: what it adds there is 0, and its gradient too. So for a tree of thousands of
nodes over many words only some pairs of node and column are worked with.

Source: Nocedal and Wright, "Numerical Optimization" (2006), §5.2. The interpolation is ours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from models.arrays import Array, Arrays, Float, Int, row_blocks
from models.methods.classifiers.classes.compressed import NEGLIGIBLE, CompressedRows
from models.methods.classifiers.classes.structure import PathSums
from models.methods.classifiers.recursive.blocks import loops
from models.methods.classifiers.recursive.blocks.block import BlockedClasses
from models.methods.classifiers.recursive.blocks.loops import product


@dataclass(frozen=True, eq=False)
class NodeColumnPairs:
    """Pairs of node and column; where a node is in one, those above it are.

    start, index : the columns of node i are `index[start[i]:start[i + 1]]`, ascending.
    above : (n_pairs,) the pair of the parent in the same column, -1 at a root.

    Values of pairs are (n_pairs,) float32. Cost of each method: O(n_pairs).
    """

    n_columns: int
    start: Int
    index: Int
    above: Int

    @classmethod
    def of(cls, parent: Int, matrices: Sequence[sp.csr_array]) -> NodeColumnPairs:
        """Those where a matrix (n_nodes, n_columns) has a value, and those above them.

        parent : (n_nodes,) -1 for none; parents come first. O(depth) for each value.
        """
        above = sp.csr_array(_to_above(parent))
        union = sp.csr_array(matrices[0].shape, dtype=bool)
        for matrix in matrices:
            stored = np.ones(matrix.nnz, dtype=bool)
            union = union + sp.csr_array(
                (stored, matrix.indices, matrix.indptr), shape=matrix.shape
            )
        closed = sp.csr_array(above @ union)
        closed.sort_indices()
        start, index = closed.indptr.astype(np.int64), closed.indices
        small = index.size <= np.iinfo(np.int32).max
        places = np.empty(index.size, dtype=np.int32 if small else np.int64)
        loops.find_above(start, index, parent, places)
        return cls(int(closed.shape[1]), start, index, places)

    def values(self, matrix: sp.csr_array) -> Array:
        """The values of a matrix, which has values only at pairs."""
        values = np.zeros(self.index.size, dtype=np.float32)
        if not matrix.has_sorted_indices:
            matrix = matrix.sorted_indices()
        loops.spread(self.start, self.index, matrix.indptr, matrix.indices, matrix.data, values)
        return values

    def compressed(self, values: Array, least: float = NEGLIGIBLE) -> CompressedRows:
        """The values as rows, without those up to `least` times the largest of a node."""
        filled = np.flatnonzero(np.diff(self.start))
        largest = np.zeros(self.start.size - 1, dtype=np.float32)
        if filled.size:
            largest[filled] = np.maximum.reduceat(np.abs(values), self.start[:-1][filled])
        kept = np.abs(values) > np.repeat(np.float32(least) * largest, np.diff(self.start))
        counted = np.concatenate([[0], np.cumsum(kept)])
        return CompressedRows.of_matrix(
            sp.csr_array(
                (values[kept], self.index[kept], counted[self.start]),
                shape=(self.start.size - 1, self.n_columns),
            )
        )

    def summed(self, own: Array) -> Array:
        """The sums along the paths from the roots, of what nodes add to their parents."""
        values = own.copy()
        loops.add_down(self.above, values)
        return values

    def own(self, summed: Array) -> Array:
        """What nodes add to their parents, of values that are such sums."""
        values = summed.copy()
        loops.take_from_above(self.above, values)
        return values

    def gradient(self, own: Array, sums: Array) -> Array:
        """That of half the squares of what inner nodes and classes add to their parents.

        own : of the inner nodes. sums : over the classes of each.
        """
        gradient = own - sums
        loops.subtract_below(self.above, own, gradient)
        return gradient

    def solved(self, right: Array, held: Array) -> Array:
        """x with (L + diag(held)) x = right, where x' L x are the squares of what the nodes add to
        their parents."""
        pivot, values = 1.0 + held, right.copy()
        loops.eliminate(self.above, pivot, values)
        return values


def _to_above(parent: Int) -> sp.csr_array:
    """(n_nodes, n_nodes) whether a node is another, or above it."""
    ancestor, node = [], []
    for below in range(parent.size):
        at = below
        while at >= 0:
            ancestor.append(at)
            node.append(below)
            at = int(parent[at])
    shape = parent.size, parent.size
    return sp.csr_array((np.ones(len(node), dtype=bool), (ancestor, node)), shape=shape)


MOST = 10.0
"""The longest best step, in steps tried."""

KEPT = 1e-6
"""Values of the search below this share of their row's largest are left out."""


@dataclass(frozen=True, eq=False)
class LastMove:
    """Where the last move began.

    start : what nodes add to their parents there. slope : the gradient there.
    step : how much of the direction was tried. decrease : the slope times itself, preconditioned.
    """

    start: CompressedRows
    slope: CompressedRows
    step: float
    decrease: float

    def arrays(self, prefix: str) -> Arrays:
        return {
            **self.start.arrays(f"{prefix}start."),
            **self.slope.arrays(f"{prefix}slope."),
            f"{prefix}numbers": np.array([self.step, self.decrease]),
        }

    @classmethod
    def of_arrays(cls, arrays: Arrays, n_columns: int, prefix: str) -> LastMove:
        start, slope = (
            CompressedRows.of_arrays(arrays, n_columns, f"{prefix}{name}.")
            for name in ("start", "slope")
        )
        return cls(start, slope, *arrays[f"{prefix}numbers"].tolist())


def moved(
    parent: Int,
    own: CompressedRows,
    sums: sp.csr_array,
    held: sp.csr_array,
    last: LastMove | None,
) -> tuple[CompressedRows, LastMove]:
    """What the nodes add to their parents next, and the move that leads there.

    parent : (n_nodes,) -1 for none; parents come first. own : what nodes add to their parents.
    sums : (n_nodes, n_columns) of what each one's classes add to it, at their best for `own`.
    held : of how stiffly they hold to their places. last : None at first.

    O(depth) for each pair of a node and a column that tells of it; about 50 bytes for each.
    """
    matrices = [own.matrix(), sums, held]
    if last is not None:
        matrices += [last.start.matrix(), last.slope.matrix()]
    pairs = NodeColumnPairs.of(parent, matrices)
    here = pairs.values(matrices[0])
    slope = pairs.gradient(here, pairs.values(sums))
    stiff = pairs.values(held)
    way, length, change = None, 1.0, slope
    if last is not None:
        before, begun = pairs.values(matrices[4]), pairs.values(matrices[3])
        way = here - begun
        along = pairs.summed(way)
        change = slope - before
        falls, bends = -product(before, along), product(change, along)
        del along
        if falls > 0.0 and bends > 0.0:
            length = min(falls / bends, MOST)
            here = begun + np.float32(length) * way
            slope = before + np.float32(length) * change
        else:
            way = None
        del before, begun
    del matrices
    conditioned = pairs.solved(slope, stiff)
    decrease, step = product(conditioned, slope), 1.0
    direction = -pairs.own(conditioned)
    if way is not None and last is not None:
        # The share of the last direction, by the change of the slope.
        turned = length * product(conditioned, change)
        kept = max(0.0, turned / last.decrease) if last.decrease > 0.0 else 0.0
        direction += np.float32(kept / last.step) * way
        step = max(1.0, length * last.step)
    move = LastMove(pairs.compressed(here, KEPT), pairs.compressed(slope, KEPT), step, decrease)
    return pairs.compressed(here + np.float32(step) * direction), move


MOST_VALUES = 1 << 23
"""Weights of inner nodes that are solved for at a time (64 MiB)."""


Columns = Callable[[slice], Float]
"""From some columns to the weights of the inner nodes there."""


@dataclass
class InnerNodes:
    """weights : what classes are trained with. last : where the last move began; None before the
    first, and where classes do not tell how they hold.
    """

    blocked: BlockedClasses
    weights: PathSums
    last: LastMove | None = None
    _sums: dict[int, tuple[Int, CompressedRows]] = field(default_factory=dict)
    _held: dict[int, tuple[Int, CompressedRows]] = field(default_factory=dict)

    @classmethod
    def equal(cls, blocked: BlockedClasses, row: Float) -> InnerNodes:
        """All with the same weights, (n_columns,)."""
        parent = blocked.inner_parent
        rows = (row if above < 0 else np.zeros_like(row) for above in parent.tolist())
        own = CompressedRows.of(rows, row.size)
        return cls(blocked, PathSums(own, parent, np.arange(parent.size)))

    @classmethod
    def of_arrays(cls, blocked: BlockedClasses, arrays: Arrays, n_columns: int) -> InnerNodes:
        weights = PathSums.of_arrays(arrays, n_columns, "inner.")
        searched = "search.numbers" in arrays
        last = LastMove.of_arrays(arrays, n_columns, "search.") if searched else None
        return cls(blocked, weights, last)

    def arrays(self) -> Arrays:
        """The arrays of the weights and of the last move."""
        last = {} if self.last is None else self.last.arrays("search.")
        return {**self.weights.arrays("inner."), **last}

    def keep(self, block: int, arrays: Arrays) -> None:
        """Take what a piece tells of its classes by parent."""
        for name, kept in (("sums.", self._sums), ("held.", self._held)):
            if f"{name}start" in arrays:
                rows = CompressedRows.of_arrays(arrays, self.weights.n_columns, name)
                kept[block] = np.asarray(arrays["parent"]), rows

    @property
    def penalty(self) -> float:
        """The part of the objective that classes do not count: on a tree, half the squares of what
        nodes add to their parents."""
        if self.blocked.nested:
            own = self.weights.own
            sizes = np.repeat(own.scale.astype(np.float64), np.diff(own.start))
            return 0.5 * float(np.square(own.value.astype(np.float64) * sizes).sum())
        total = 0.0
        for columns in self._blocks():
            weights = self.weights.columns(columns)
            total += float((weights * (self._form @ weights)).sum())
        return 0.5 * total

    def move(self, classes: CompressedRows | None) -> None:
        """Move to where the classes draw them. O(n_inner D), or as `moved`.

        classes : the classes' weights, on a graph.
        """
        if classes is not None:
            pull = sp.csc_array(-(self.blocked.to_inner @ classes.matrix()))
            self.weights = self._compressed(lambda columns: self._best(pull[:, columns].toarray()))
            return
        sums, parent = self._by_parent(self._sums), self.blocked.inner_parent
        if not self._held:
            added = sp.csc_array(sums)
            self.weights = self._compressed(lambda columns: self._drawn(added, columns))
            return
        own, self.last = moved(
            parent, self.weights.own, sums, self._by_parent(self._held), self.last
        )
        self.weights = PathSums(own, parent, self.weights.node)

    def _best(self, pull: Float) -> Float:
        return self.blocked.penalty.solve_inner(pull)

    def _drawn(self, added: sp.csc_array, columns: slice) -> Float:
        """The best weights for classes that stay where they are."""
        before = self.weights.columns(columns)
        return self._best(added[:, columns].toarray() + self._n_classes[:, None] * before)

    @cached_property
    def _form(self) -> sp.csr_array:
        """(n_inner, n_inner) the penalty's matrix."""
        penalty = self.blocked.penalty
        return sp.csr_array(penalty.matrix[penalty.inner][:, penalty.inner])

    @cached_property
    def _n_classes(self) -> Float:
        """(n_inner,) of which each is the parent."""
        n_inner = self.blocked.penalty.inner.size
        return np.bincount(self.blocked.class_parent, minlength=n_inner).astype(np.float64)

    def _by_parent(self, kept: dict[int, tuple[Int, CompressedRows]]) -> sp.csr_array:
        """(n_inner, n_columns) the sums of what blocks reported."""
        parents, sums = zip(*(kept[block] for block in sorted(kept)), strict=True)
        parent = np.concatenate(parents)
        place = sp.csr_array(
            (np.ones(parent.size, dtype=np.float32), (parent, np.arange(parent.size))),
            shape=(self.weights.n_rows, parent.size),
        )
        rows = CompressedRows.stacked(list(sums), self.weights.n_columns)
        return sp.csr_array(place @ rows.matrix())

    def _blocks(self) -> list[slice]:
        return list(row_blocks(self.weights.n_columns, self.weights.n_rows, MOST_VALUES))

    def _compressed(self, solved: Columns) -> PathSums:
        """Weights that are computed for some columns at a time."""
        parent = self.blocked.inner_parent
        below = np.flatnonzero(parent >= 0)
        largest, parts = np.zeros((parent.size, 1)), []
        # From the constant on, whose weights are large, so that little is kept that will go.
        for columns in reversed(self._blocks()):
            weights = solved(columns)
            own = weights.copy()
            own[below] -= weights[parent[below]]
            size = np.abs(own)
            np.maximum(largest, size.max(axis=1, keepdims=True), out=largest)
            own[size <= NEGLIGIBLE * largest] = 0.0
            parts.append(sp.csr_array(own.astype(np.float32)))
        whole = sp.csr_array(sp.hstack(parts[::-1], format="csr"))
        whole.data[np.abs(whole.data) <= NEGLIGIBLE * np.repeat(largest, np.diff(whole.indptr))] = 0
        whole.eliminate_zeros()
        return PathSums(CompressedRows.of_matrix(whole), parent, np.arange(parent.size))
