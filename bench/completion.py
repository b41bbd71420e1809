"""Hierarchies completed: a fifth of the nodes is hidden, and what is found of them is counted.

A fifth of the inner nodes other than the root is hidden with all that is below them, and then a
fifth of all leaves, as long as their parent keeps two children; only nodes with enough rows, and no
subtree with more than a quarter of all; leaves of rows that stop at an inner node stay. Rows of
hidden nodes are not labelled, and half of the others are not either. A hidden node is found if
among the rows that are not labelled some new node's have an F1 of at least one half with its
own; it is placed if that node also hangs below the right parent: the known one, or the new one that
is found as its parent. Kinds are hidden leaves below a known parent, roots of hidden subtrees, and
nodes within these.

`identity` is the same discovery with the rows as they are. `ward` clusters the rows that are not
labelled without supervision: the nodes of Ward's tree are the new nodes, down to as many clusters
as there are leaves; one that is the best match of a node below a known parent hangs below that
inner known node whose mean, of the means of its leaves, is nearest, and one within another that is
the best match of its parent is taken to be placed, both of which favours it, since it need not
choose among the many nodes. `ward cut` is the same with only the uppermost nodes of Ward's tree, as
many as `auto` reports in that draw (one fewer where that is odd): the fair count.

`precise` is the share of the new nodes that match some hidden node with an F1 of at least one half.

Figures are mean and standard deviation over draws of hidden nodes.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy.cluster.hierarchy import linkage
from threadpoolctl import threadpool_limits

from bench import Size, truths
from bench.report import Report
from models.arrays import Array, Int, Mask
from models.inputs.data import Data
from models.inputs.label_sets import LabelSets
from models.method import Fitted
from models.methods.labelled.supervision.transformation import prepare
from models.registry import method
from models.tree import walk

Path: TypeAlias = tuple[str, ...]
Kind: TypeAlias = Literal["leaf", "subtree", "within"]
KINDS: tuple[Kind, ...] = ("leaf", "subtree", "within")

HIDDEN = 0.2
UNLABELLED = 0.5
FEWEST = 8
ENOUGH = 0.5
N_COMPONENTS = 30
_SETS = ("emoji", "wordnet12k")
_MOST_ROWS: dict[Size, int] = {"quick": 1000, "default": 2000, "full": 12_000}
_N_DRAWS: dict[Size, int] = {"quick": 2, "default": 3, "full": 10}


@dataclass(frozen=True, slots=True)
class Entry:
    """Parameters of `tcs-tree` under a name of the table; None for Ward's tree.

    cut : whether Ward's tree is cut to as many nodes as the first entry reports.
    """

    name: str
    params: Mapping[str, Any] | None = field(default_factory=dict)
    cut: bool = False


ENTRIES = (
    Entry("auto"),
    Entry("identity", {"regularizer": "identity", "gamma": 1e12}),
    Entry("untied", {"tie": 1e-2}),
    Entry("ward", None),
    Entry("ward cut", None, cut=True),
)


@dataclass(frozen=True, slots=True)
class Puzzle:
    """path_of : of each row. hidden : by path of a hidden node its kind. known : (n_rows,) rows
    that are labelled."""

    path_of: list[Path]
    hidden: Mapping[Path, Kind]
    known: Mask

    def below(self, path: Path) -> Mask:
        """(n_rows,) unlabelled rows of a node."""
        inside = np.array([own[: len(path)] == path for own in self.path_of])
        return np.asarray(inside & ~self.known)

    @property
    def labels(self) -> LabelSets:
        whole = LabelSets.of(np.array(["/".join(path) for path in self.path_of], dtype=object))
        start = np.concatenate([[0], np.cumsum(self.known)])
        return LabelSets(start, whole.code[self.known], whole.names, ~self.known)


@dataclass(frozen=True, slots=True)
class NewNodes:
    """New nodes. rows : (n, n_rows) of each. parent : of each, a known node's path or the number of
    a new node."""

    rows: Mask
    parent: list[Path | int]


def table(report: Report, size: Size) -> None:
    for name in _SETS:
        loaded = truths.loaded(name)
        if loaded is None:
            report.left_out("completion", name)
            continue
        rng = np.random.default_rng(0)
        n_rows = loaded.label.size
        rows = np.sort(rng.permutation(n_rows)[: _MOST_ROWS[size]])
        points = loaded.points[rows].astype(np.float32)
        path_of = path_of_rows(loaded, rows)
        n_new = [0] * _N_DRAWS[size]
        for entry in ENTRIES:
            n_nodes = n_new if entry.cut else [2 * len(set(path_of)) - 2] * len(n_new)
            reported = _measure(report, name, points, path_of, entry, n_nodes)
            n_new = reported if entry is ENTRIES[0] else n_new


def path_of_rows(loaded: truths.TrueSet, rows: Int) -> list[Path]:
    tree = loaded.hierarchy
    names = [
        tuple(str(tree.name[node]) for node in walk.path(tree, leaf)[1:])
        for leaf in tree.leaf_of_point.tolist()
    ]
    return [names[label] for label in loaded.label[rows].tolist()]


def _measure(
    report: Report,
    name: str,
    points: Array,
    path_of: list[Path],
    entry: Entry,
    n_nodes: Sequence[int],
) -> list[int]:
    """The number of new nodes of each draw; writes a row for each kind of hidden node.

    n_nodes : of each draw, the most nodes that are taken from Ward's tree.
    """
    began = time.perf_counter()
    scores: dict[Kind, list[tuple[float, float, float]]] = {kind: [] for kind in KINDS}
    counts: dict[Kind, int] = dict.fromkeys(KINDS, 0)
    n_new: list[int] = []
    precise: list[float] = []
    for seed, most in enumerate(n_nodes):
        puzzle = drawn(path_of, np.random.default_rng(seed))
        with threadpool_limits(1):
            new_nodes = _new_nodes(points, puzzle, entry, seed, most)
        n_new.append(len(new_nodes.parent))
        precise.append(precision(puzzle, new_nodes))
        outcomes = outcome(puzzle, new_nodes)
        for kind in KINDS:
            own = [value for path, value in outcomes.items() if puzzle.hidden[path] == kind]
            counts[kind] += len(own)
            if own:
                scores[kind].append(tuple(np.mean(own, axis=0).tolist()))
    seconds = (time.perf_counter() - began) / len(n_nodes)
    for kind in KINDS:
        f1, is_found, placed = (_spread(values) for values in zip(*scores[kind], strict=True))
        report.row(
            "completion",
            set=name.ljust(12),
            method=entry.name.ljust(9),
            hidden=kind.ljust(8),
            n_hidden=counts[kind],
            placed=placed,
            found=is_found,
            f1=f1,
            n_new=float(np.mean(n_new)),
            precise=_spread(precise),
            wall_s=seconds,
        )
    return n_new


def drawn(path_of: list[Path], rng: np.random.Generator) -> Puzzle:
    """Nodes hidden at random, and rows not labelled."""
    size: dict[Path, int] = {}
    for path in path_of:
        for end in range(1, len(path) + 1):
            size[path[:end]] = size.get(path[:end], 0) + 1
    n_children: dict[Path, int] = {}
    for path in size:
        n_children[path[:-1]] = n_children.get(path[:-1], 0) + 1
    inner = sorted(path for path in size if path in n_children)
    # Rows that stop at an inner node are all that is not elsewhere below it: no cluster.
    leaves = sorted(path for path in size if path not in n_children and path[-1:] != path[-2:-1])
    hidden: dict[Path, Kind] = {}

    def gone(path: Path) -> bool:
        return any(path[:end] in hidden for end in range(1, len(path) + 1))

    def hide(paths: list[Path], kind: Kind, least: int, most: float) -> None:
        left = round(HIDDEN * len(paths))
        for place in rng.permutation(len(paths)).tolist():
            path = paths[place]
            inside = any(other[: len(path)] == path for other in hidden)
            fits = least <= size[path] <= most and n_children[path[:-1]] > 2
            if left and fits and not gone(path) and not inside:
                hidden[path] = kind
                n_children[path[:-1]] -= 1
                left -= 1

    hide(inner, "subtree", 3 * FEWEST, 0.25 * len(path_of))
    hide(leaves, "leaf", FEWEST, len(path_of))
    ends = {*inner, *leaves}
    within = [path for path in ends if path not in hidden and gone(path) and size[path] >= FEWEST]
    is_hidden = np.array([gone(path) for path in path_of])
    known = ~is_hidden & (rng.random(len(path_of)) >= UNLABELLED)
    return Puzzle(path_of, {**hidden, **dict.fromkeys(within, "within")}, known)


def outcome(puzzle: Puzzle, new_nodes: NewNodes) -> dict[Path, tuple[float, float, float]]:
    """By hidden node: the best F1 of a new node, whether it is found, and also placed."""
    rows = new_nodes.rows & ~puzzle.known
    sizes = rows.sum(axis=1)
    best: dict[Path, tuple[int, float]] = {}
    for path in puzzle.hidden:
        own = puzzle.below(path)
        f1 = 2.0 * (rows & own).sum(axis=1) / (sizes + own.sum())
        best[path] = (int(f1.argmax()), float(f1.max())) if f1.size else (-1, 0.0)
    outcomes = {}
    for path in puzzle.hidden:
        number, f1 = best[path]
        parent: Path | int = path[:-1]
        parent_is_found = True
        if path[:-1] in puzzle.hidden:
            parent, of_parent = best[path[:-1]]
            parent_is_found = of_parent >= ENOUGH
        is_found = f1 >= ENOUGH
        placed = is_found and parent_is_found and new_nodes.parent[number] == parent
        outcomes[path] = (f1, float(is_found), float(placed))
    return outcomes


def precision(puzzle: Puzzle, new_nodes: NewNodes) -> float:
    """The share of the new nodes that match some hidden node; 0 where there is no new node."""
    rows = new_nodes.rows & ~puzzle.known
    matches = np.zeros(len(new_nodes.parent), dtype=bool)
    for path in puzzle.hidden:
        own = puzzle.below(path)
        matches |= 2.0 * (rows & own).sum(axis=1) >= ENOUGH * (rows.sum(axis=1) + own.sum())
    return float(matches.mean()) if matches.size else 0.0


def _new_nodes(points: Array, puzzle: Puzzle, entry: Entry, seed: int, n_nodes: int) -> NewNodes:
    if entry.params is None:
        return by_ward(points, puzzle, n_nodes)
    used = method("tcs-tree")
    params = used.Params(n_components=N_COMPONENTS, seed=seed, **entry.params)
    return of_tree(used.fit(Data({"features": points, "labels": puzzle.labels}), params), puzzle)


def of_tree(fitted: Fitted, puzzle: Puzzle) -> NewNodes:
    """The nodes whose names are new."""
    tree = fitted.tree
    names = {path[:end] for path in puzzle.path_of for end in range(len(path) + 1)}
    path_of: list[Path | int] = [()]
    new: list[int] = []
    for node in range(1, tree.n_nodes):
        above = path_of[tree.parent[node]]
        path = (*above, str(tree.name[node])) if isinstance(above, tuple) else None
        if path is not None and path in names:
            path_of.append(path)
        else:
            path_of.append(len(new))
            new.append(node)
    rows = np.zeros((tree.n_nodes, tree.n_points), dtype=bool)
    rows[tree.leaf_of_point, np.arange(tree.n_points)] = True
    for node in range(tree.n_nodes - 1, 0, -1):
        rows[tree.parent[node]] |= rows[node]
    return NewNodes(rows[new], [path_of[tree.parent[node]] for node in new])


def by_ward(points: Array, puzzle: Puzzle, n_nodes: int) -> NewNodes:
    """The uppermost nodes of Ward's tree over the rows that are not labelled, as described above:
    two for each of the last merges, `n_nodes` (one fewer where that is odd), and at least two."""
    _, prepared, _ = prepare(points, N_COMPONENTS, 0)
    free = np.flatnonzero(~puzzle.known)
    merges = linkage(prepared[free], "ward")[:, :2].astype(np.int64)
    n_free = free.size
    rows = np.zeros((2 * n_free - 1, len(puzzle.path_of)), dtype=bool)
    rows[np.arange(n_free), free] = True
    for place, (left, right) in enumerate(merges.tolist()):
        rows[n_free + place] = rows[left] | rows[right]
    kept = np.unique(merges[-max(n_nodes // 2, 1) :])
    rows = rows[kept]
    inner = sorted({path[:end] for path, known in zip(puzzle.path_of, puzzle.known, strict=True)
                    if known for end in range(len(path))})  # fmt: skip
    means = _means_of_leaves(prepared, puzzle, inner)
    own = np.array([prepared[some].mean(axis=0) for some in rows])
    nearest = np.square(own[:, None] - means).sum(axis=2).argmin(axis=1)
    parent: list[Path | int] = [inner[place] for place in nearest.tolist()]
    return _within_matches(puzzle, NewNodes(rows, parent))


def _means_of_leaves(points: Array, puzzle: Puzzle, inner: Sequence[Path]) -> Array:
    """(n_inner, p) the mean of the means of the known leaves below each."""
    leaves = sorted({puzzle.path_of[row] for row in np.flatnonzero(puzzle.known).tolist()})
    of_leaf = {
        leaf: points[
            [row for row in np.flatnonzero(puzzle.known) if puzzle.path_of[row] == leaf]
        ].mean(axis=0)
        for leaf in leaves
    }
    return np.array(
        [
            np.mean([of_leaf[leaf] for leaf in leaves if leaf[: len(path)] == path], axis=0)
            for path in inner
        ]
    )


def _within_matches(puzzle: Puzzle, new_nodes: NewNodes) -> NewNodes:
    """A node that best matches a node within a hidden one is below the match of its parent, where
    its rows are among that node's."""
    parent = list(new_nodes.parent)
    rows = new_nodes.rows & ~puzzle.known

    def match(path: Path) -> int:
        own = puzzle.below(path)
        return int((2.0 * (rows & own).sum(axis=1) / (rows.sum(axis=1) + own.sum())).argmax())

    for path, kind in puzzle.hidden.items():
        if kind == "within":
            number, above = match(path), match(path[:-1])
            if number != above and not (rows[number] & ~rows[above]).any():
                parent[number] = above
    return NewNodes(new_nodes.rows, parent)


def _spread(values: Sequence[float]) -> str:
    return f"{np.mean(values):.3f} +- {np.std(values):.3f}"
