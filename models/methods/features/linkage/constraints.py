"""What a user knows of an agglomeration: which rows may merge, must, and may not; a known tree.

Rows that must link, directly or through others, are one group from the start. Groups then merge two
at a time, always two whose union keeps the clades of the known tree (`clades`): two at the lowest
level, and where several are at that level, the two at the least distance:

0. the graph joins them, or there is no graph, and no pair keeps them apart;
1. they have rows in different parts of the graph, and no pair keeps them apart;
2. as 0 and 1, but a pair keeps them apart;
3. any other two. Only a known tree can leave nothing else.

So the graph and the pairs that cannot link hold as long as anything may merge. A merge at level 1
or above lies no lower than all merges before it, and above the highest of level 0: a cut below it
does not break what it breaks.

In the tree of the merges (`grouped_tree`) a group of rows that must link is a node at height 0 with
its rows for children, unless a known tree has clades within the group: these are nodes at height 0,
too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from models.arrays import Array, Float, Int, row_blocks
from models.errors import UsageError
from models.inputs.data import Data, require_finite
from models.inputs.pairs import CANNOT, MUST, join, read_pairs
from models.method import Input
from models.methods.features.linkage.clades import ROLE as TREE
from models.methods.features.linkage.clades import Clades, known_clades
from models.tree.build import from_merges, from_parents
from models.tree.tree import Tree

GRAPH = "graph"
CONSTRAINTS = (GRAPH, MUST, CANNOT, TREE)
"""The roles of constraints."""

CONSTRAINT_INPUTS = {
    GRAPH: Input(
        required=False,
        sparse=True,
        fit_only=True,
        description=(
            "Which points are neighbours, of which only groups that an edge joins merge: a square "
            "matrix, dense or sparse, whose values other than 0 are edges, or pairs of points, by "
            "their numbers from 0 or, as text, by their names."
        ),
    ),
    MUST: Input(
        required=False,
        fit_only=True,
        description=(
            "Pairs of points, by number or name, that are one group from the start, together with "
            "all that other pairs link to them."
        ),
    ),
    CANNOT: Input(
        required=False,
        fit_only=True,
        description=(
            "Pairs of points, by number or name, of which groups merge only where nothing else may."
        ),
    ),
    TREE: Input(
        required=False,
        fit_only=True,
        description=(
            "A known tree that the result refines. Each leaf bears the name of one or several "
            "points, without the input 'names' a point's number; points that it does not name may "
            "be anywhere."
        ),
    ),
}
"""The inputs of constraints."""

EDGE, ACROSS, APART = 1, 2, 4
"""The kinds of a pair: the graph joins it; it has rows in different parts; it cannot link."""

FREELY, BETWEEN_PARTS, THOUGH_APART, NEITHER = range(4)
"""Levels of merges."""


@dataclass(frozen=True, slots=True, eq=False)
class Constraints:
    """group : (N,) the group 0 .. n_groups - 1 of each row, in order of first rows.

    apart : (n, 2) groups that cannot link, each pair once, the lower first.
    edges : (E, 2) rows that the graph joins, each pair once, the lower first; None without a graph.
    part : (N,) the part of the graph of each row; None without a graph.
    clades : of the known tree; None without one.
    """

    group: Int
    n_groups: int
    apart: Int
    edges: Int | None = None
    part: Int | None = None
    clades: Clades | None = None
    warnings: tuple[str, ...] = ()

    @property
    def size(self) -> Float:
        """(n_groups,) the number of rows of each group."""
        return np.bincount(self.group, minlength=self.n_groups).astype(np.float64)

    @property
    def links_alone(self) -> bool:
        """Whether nothing matters but which rows must link."""
        return self.edges is None and self.clades is None and not self.apart.size

    def with_graph(self, edges: Int) -> Constraints:
        """These, with the edges of a graph that the user did not give."""
        return replace(self, edges=edges, part=parts(self.group.size, edges))

    def open_nodes(self) -> tuple[Int, Int, Int, Int]:
        """The open node of each group and how many rows of the known tree it has, both (n_groups,);
        the parent of each node and how many rows it has, both (n_nodes + 1,)."""
        if self.clades is None:
            free, none = np.full(self.n_groups, -1, np.int64), np.zeros(self.n_groups, np.int64)
            return free, none, np.zeros(1, np.int64), np.ones(1, np.int64)
        nodes = self.clades.open_nodes(self.group, self.n_groups)
        return *nodes, self.clades.above, self.clades.n_rows


def read_constraints(data: Data, names: list[str]) -> Constraints | None:
    """The constraints among the inputs; None where there are none.

    names : of the rows; pairs and edges of text are of these names.

    Raises UsageError for constraints that contradict each other, with the rows and the pairs that
    lead there, and for inputs of another form.
    """
    if not any(role in data for role in CONSTRAINTS):
        return None
    return data.once("constraints", lambda: _read(data, names))


def _read(data: Data, names: list[str]) -> Constraints:
    n_rows = len(names)
    must, cannot = (read_pairs(data, role, n_rows, names) for role in (MUST, CANNOT))
    known = join(np.full(n_rows, -1, dtype=np.int64), [], must, cannot).code
    # Rows without pairs are groups by themselves.
    alone = np.where(known < 0, known.max(initial=-1) + 1 + np.arange(n_rows), known)
    _, first, group = np.unique(alone, return_index=True, return_inverse=True)
    rank = np.empty(first.size, dtype=np.int64)
    rank[np.argsort(first)] = np.arange(first.size)
    group = rank[group]
    apart = np.unique(np.sort(group[cannot], axis=1), axis=0)
    clades, notes = known_clades(data, names)
    if clades is not None:
        clades.require_uncrossed(group, first.size)
    constraints = Constraints(group, first.size, apart, clades=clades, warnings=notes)
    if GRAPH not in data:
        return constraints
    edges, graph_notes = read_edges(data, names)
    constraints = constraints.with_graph(edges)
    return replace(constraints, warnings=notes + graph_notes + _require_joined(constraints, must))


def read_edges(data: Data, names: list[str]) -> tuple[Int, tuple[str, ...]]:
    """(E, 2) rows that the input `graph` joins, each pair once, the lower first; and warnings.

    Raises UsageError unless it is a matrix with a row and a column for each row, or pairs of rows.
    """
    n_rows, graph = len(names), data.values[GRAPH]
    pairs = isinstance(graph, np.ndarray) and (
        graph.dtype == object or (graph.shape != (n_rows, n_rows) and graph.shape[1] == 2)
    )
    notes: tuple[str, ...] = ()
    if pairs:
        ends = read_pairs(data, GRAPH, n_rows, names)
    else:
        matrix = data.matrix(GRAPH)
        if matrix.shape != (n_rows, n_rows):
            raise UsageError(
                f"Input {GRAPH!r} has {matrix.shape[0]} rows and {matrix.shape[1]} columns; it "
                f"must have one of each for each of {n_rows} rows, or be pairs of rows.",
                code="wrong-shape",
                role=GRAPH,
            )
        require_finite(matrix, GRAPH)
        ends, notes = _of_matrix(matrix)
    low, high = ends.min(axis=1), ends.max(axis=1)
    low, high = np.divmod(np.unique(low * n_rows + high), n_rows)
    return np.stack([low, high], axis=1), notes


def _of_matrix(matrix: Array | sp.csr_array) -> tuple[Int, tuple[str, ...]]:
    """The places off the diagonal that are not 0, and warnings."""
    found, values = [], []
    whole = [slice(0, matrix.shape[0])]
    for block in whole if sp.issparse(matrix) else row_blocks(*matrix.shape):
        part = sp.coo_array(matrix[block])
        row, column = (axis.astype(np.int64) for axis in part.coords)
        row += block.start
        kept = (part.data != 0) & (row != column)
        found.append(np.stack([row[kept], column[kept]], axis=1))
        values.append(np.unique(part.data[kept]))
    ends = np.concatenate(found)
    notes = []
    if np.unique(np.concatenate(values)).size > 1:
        notes.append(
            f"The values in input {GRAPH!r} differ; they say only which rows are joined. Distances "
            "come from the other input."
        )
    n_rows = matrix.shape[0]
    there = ends[:, 0] * n_rows + ends[:, 1]
    n_single = int((~np.isin(ends[:, 1] * n_rows + ends[:, 0], there)).sum())
    if n_single:
        notes.append(
            f"{n_single} edge(s) of input {GRAPH!r} are given in one direction; they join both "
            "ways."
        )
    return ends, tuple(notes)


def parts(n_rows: int, edges: Int) -> Int:
    """(n_rows,) the connected part of each row."""
    ones = np.ones(len(edges), dtype=np.int8)
    graph = sp.coo_array((ones, (edges[:, 0], edges[:, 1])), shape=(n_rows, n_rows))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)


def _require_joined(constraints: Constraints, must: Int) -> tuple[str, ...]:
    """Warns of linked rows that no path of linked rows joins. Raises UsageError for a pair in
    different parts of the graph."""
    part, edges, group = constraints.part, constraints.edges, constraints.group
    assert part is not None
    assert edges is not None
    separate = np.flatnonzero(part[must[:, 0]] != part[must[:, 1]])
    if separate.size:
        pair = int(separate[0])
        rows = must[pair].tolist()
        raise UsageError(
            f"Inputs {MUST!r} and {GRAPH!r} contradict each other: pair {pair} links rows "
            f"{rows[0]} and {rows[1]} (counted from 0), which are in different parts of the graph: "
            f"no path of edges joins them. There are {separate.size} such pair(s).",
            code="contradiction",
            role=MUST,
            rows=rows,
        )
    own = edges[group[edges[:, 0]] == group[edges[:, 1]]]
    within = parts(group.size, own)
    n_pieces = np.bincount(group[np.unique(within, return_index=True)[1]])
    n_split = int((n_pieces > 1).sum())
    if not n_split:
        return ()
    return (
        f"{n_split} group(s) of rows that must link are not joined by edges among them; they are "
        "one from the start nevertheless.",
    )


def raised(height: Float, level: npt.NDArray[np.int8]) -> Float:
    """The heights, where a merge above level 0 lies no lower than any before it, and above all
    before it that are at level 0."""
    free = np.maximum.accumulate(np.where(level > FREELY, 0.0, height))
    least = np.maximum(np.maximum.accumulate(height), np.nextafter(free, np.inf))
    return np.where(level > FREELY, least, height)


def merge_warnings(
    level: npt.NDArray[np.int8], height: Float, constraints: Constraints
) -> tuple[str, ...]:
    """Warnings of the merges above level 0."""
    notes = []
    if constraints.part is not None and (n_parts := int(constraints.part.max()) + 1) > 1:
        notes.append(f"The graph has {n_parts} parts that no edge joins.")
    reasons = (
        (BETWEEN_PARTS, "join parts of the graph"),
        (THOUGH_APART, f"join rows that {CANNOT!r} keeps apart"),
        (NEITHER, "join what the graph does not, since the known tree left nothing else"),
    )
    for number, what in reasons:
        at = np.flatnonzero(level == number)
        if at.size:
            left = level.size + 1 - int(at[0])
            notes.append(
                f"{at.size} merge(s) {what}: nothing else could merge. The first joins two of "
                f"{left} clusters, at height {height[at[0]]:g}; it is raised to that of the merges "
                "before it where it would lie lower."
            )
    return tuple(notes)


def grouped_tree(
    merges: Int, height: Float, constraints: Constraints, names: list[str], *, monotone: bool
) -> Tree:
    """The tree of all rows, whose leaves are the rows.

    merges, height : (n_groups - 1, 2) in SciPy's numbering, and (n_groups - 1,).
    """
    group, n_groups, n_rows = constraints.group, constraints.n_groups, len(names)
    if n_groups == n_rows:
        return from_merges(merges[:, 0], merges[:, 1], height, names=names, monotone=monotone)
    # The rows, then a node for each group of several, for each clade within one, for each merge.
    several = np.flatnonzero(constraints.size > 1)
    first = np.unique(group, return_index=True)[1]
    of_group = first.copy()
    of_group[several] = n_rows + np.arange(several.size)
    above = np.where(constraints.size[group] > 1, of_group[group], -1)
    inner, leaf = clades_within(constraints, n_rows + several.size, of_group)
    row = np.flatnonzero(leaf >= 0)
    above[row] = leaf[row]
    begin = n_rows + several.size + inner.size
    node_of = np.concatenate([of_group, begin + np.arange(len(merges))])
    parent = np.concatenate(
        [above, np.full(several.size, -1), inner, np.full(len(merges), -1)]
    )  # fmt: skip
    parent[node_of[merges]] = begin + np.arange(len(merges))[:, None]
    heights = np.zeros(parent.size)
    heights[begin:] = height
    name = np.full(parent.size, None, dtype=object)
    name[:n_rows] = names
    return from_parents(parent, heights, name, np.arange(n_rows), monotone=monotone)


def clades_within(constraints: Constraints, begin: int, of_group: Int) -> tuple[Int, Int]:
    """The parent of each clade within a group, the clades being nodes from `begin` on; the parent
    of each row that is in one, -1 for others."""
    clades, leaf = constraints.clades, np.full(constraints.group.size, -1, dtype=np.int64)
    if clades is None:
        return np.empty(0, dtype=np.int64), leaf
    within = clades.within(constraints.group, constraints.n_groups)
    n_rows = clades.n_rows[:-1]
    # Single rows are no clades, and all rows of a group are the group's node.
    is_node = (within >= 0) & (n_rows > 1) & (n_rows < constraints.size[within])
    node = np.flatnonzero(is_node)
    number = np.full(clades.n_nodes + 1, -1, dtype=np.int64)
    number[node] = begin + np.arange(node.size)
    above = number[clades.above[node]]
    held = number[clades.node]
    # The node of a single row stands below the clade of its parent.
    single = clades.n_rows[clades.node] == 1
    held[single] = number[clades.above[clades.node[single]]]
    leaf[clades.row] = held
    return np.where(above >= 0, above, of_group[within[node]]), leaf
