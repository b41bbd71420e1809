"""Metrics compared by what they find of known leaves that are held out.

A share of the leaves is held out, with all their rows, and of the other labelled rows some are
treated as if they were not labelled. The tree without these is completed. A leaf held out scores
the F1 of the rows of a new node with its own, the best of the new children of its parent: a node in
another place finds nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from models.arrays import Array, Float, Int, Mask
from models.methods.labelled.hierarchy.completion import CompletedTree
from models.methods.labelled.hierarchy.known_tree import KnownTree
from models.running.progress import Progress, subprogress

HELD_OUT = 1 / 5
UNLABELLED = 1 / 4
N_SPLITS = 3
FEWEST_ROWS = 5
"""The fewest rows of a leaf that may be held out."""

FEWEST_LEAVES = 3
"""Leaves that can be held out, for a comparison to mean anything."""

MOST_ROWS = 2000

Completer = Callable[[KnownTree, Array, Progress], CompletedTree | None]
"""From a known tree and (n_rows, p) points to the completed one; None where no metric is left."""


@dataclass(frozen=True, slots=True)
class Split:
    """tree : without the leaves held out. parent : of each leaf held out, its node in `tree`.
    rows : of each leaf held out. hidden : (n_rows,) rows that are not labelled there."""

    tree: KnownTree
    parent: list[int]
    rows: list[Int]
    hidden: Mask


def candidates_for_hold_out(tree: KnownTree) -> Int:
    """Leaves of enough rows whose parent has three or more children."""
    size = np.bincount(tree.row_node, minlength=tree.n_nodes)
    n_children = np.bincount(tree.parent[1:], minlength=tree.n_nodes)
    fit = tree.is_leaf & (size >= FEWEST_ROWS) & (n_children[tree.parent] > 2)
    return np.flatnonzero(fit)


def scores(
    tree: KnownTree,
    points: Array,
    completers: list[Completer],
    rng: np.random.Generator,
    progress: Progress,
) -> Float:
    """(n_completers, n_splits) mean scores of the leaves held out, 0 where no tree was completed.

    Cost: each completer completes a tree of at most `MOST_ROWS` labelled rows `N_SPLITS` times.
    """
    labelled = np.flatnonzero(tree.row_node > 0)
    if labelled.size > MOST_ROWS:
        labelled = labelled[_sample(tree.row_node[labelled], rng)]
    mine = replace(tree, row_node=tree.row_node[labelled])
    rows = points[labelled]
    table = np.zeros((len(completers), N_SPLITS))
    for place in range(N_SPLITS):
        split = _split(mine, rng)
        for number, completer in enumerate(completers):
            done = (place * len(completers) + number) / table.size
            within = subprogress(progress, done, done, f"split {place + 1} of {N_SPLITS}")
            within(0.0, "validating")
            completed = completer(split.tree, rows, within)
            table[number, place] = 0.0 if completed is None else _score(split, completed)
    return table


def _sample(leaf: Int, rng: np.random.Generator) -> Int:
    """About `MOST_ROWS` rows, the same share of each leaf, but at least `FEWEST_ROWS` where it has
    them."""
    order = rng.permutation(leaf.size)
    order = order[np.argsort(leaf[order], kind="stable")]
    size = np.bincount(leaf)
    rank = np.empty(leaf.size, dtype=np.int64)
    rank[order] = np.arange(leaf.size) - (np.cumsum(size) - size)[leaf[order]]
    kept = np.maximum(size * (MOST_ROWS / leaf.size), FEWEST_ROWS)
    return np.flatnonzero(rank < kept[leaf])


def _split(tree: KnownTree, rng: np.random.Generator) -> Split:
    leaves = candidates_for_hold_out(tree)
    n_children = np.bincount(tree.parent[1:], minlength=tree.n_nodes)
    held_out: list[int] = []
    for leaf in rng.permutation(leaves).tolist():
        if len(held_out) >= max(1.0, HELD_OUT * tree.is_leaf.sum()):
            break
        if n_children[tree.parent[leaf]] > 2:
            n_children[tree.parent[leaf]] -= 1
            held_out.append(leaf)
    hidden = np.isin(tree.row_node, held_out)
    # The first row of each leaf stays labelled.
    first = np.zeros(tree.row_node.size, dtype=bool)
    first[np.unique(tree.row_node, return_index=True)[1]] = True
    hidden |= (rng.random(hidden.size) < UNLABELLED) & ~first
    rest, number = tree.without(hidden)
    rows = [np.flatnonzero(tree.row_node == leaf) for leaf in held_out]
    return Split(rest, number[tree.parent[held_out]].tolist(), rows, hidden)


def _score(split: Split, done: CompletedTree) -> float:
    """The mean F1, among rows that are not labelled, of the leaves held out."""
    place = {known: node for node, known in enumerate(done.known) if known >= 0}
    times = np.bincount(done.leaf[split.hidden], minlength=done.n_nodes).astype(np.float64)
    size = _with_below(done, times)
    total = 0.0
    for parent, rows in zip(split.parent, split.rows, strict=True):
        both = _with_below(done, np.bincount(done.leaf[rows], minlength=done.n_nodes).astype(float))
        own = place[parent]
        total += max(
            (
                2.0 * float(both[node]) / (float(size[node]) + rows.size)
                for node in range(done.n_nodes)
                if done.known[node] < 0 and done.parent[node] == own
            ),
            default=0.0,
        )
    return total / len(split.rows)


def _with_below(done: CompletedTree, values: Float) -> Float:
    """(n_nodes,) sums over each node and those below it."""
    sums = values.copy()
    for node in range(done.n_nodes - 1, 0, -1):
        sums[done.parent[node]] += sums[node]
    return sums
