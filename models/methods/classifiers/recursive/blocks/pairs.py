"""Values of inner nodes at the columns that tell of them.

In a column where no class below a node has a weight of its own, nor the node, the node only follows
its parent, and so does all below it: what it adds there is 0, and its gradient too. So for a tree
of thousands of nodes over many words only some pairs of node and column are worked with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from models.arrays import Array, Int
from models.methods.classifiers.classes.compressed import NEGLIGIBLE, CompressedRows
from models.methods.classifiers.recursive.blocks import loops


@dataclass(frozen=True, eq=False)
class Pairs:
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
    def of(cls, parent: Int, matrices: Sequence[sp.csr_array]) -> Pairs:
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
        """Those of a matrix, which has values only at pairs."""
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
