"""Consensus of many trees, beside DendroPy on the same trees.

The trees are average linkages of points in groups with noise of their own, and random trees that
agree on nothing. CPU seconds on one thread from trees in memory to the consensus; DendroPy's are of
`TreeList.consensus` on trees that it has read, where that ends in `MOST_S`. `same` says whether
both have the same clusters.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, get_args

import numpy as np
from scipy.cluster.hierarchy import linkage
from threadpoolctl import threadpool_limits

from bench import Size
from bench.report import Report
from models.consensus.items import Rule, matched_items
from models.consensus.rules import consensus
from models.consensus.support import support_by
from models.tree import newick
from models.tree.build import from_merges
from models.tree.tree import Tree

_SIZES: dict[Size, tuple[tuple[int, int], ...]] = {
    "quick": ((200, 20),),
    "default": ((1000, 100), (10_000, 100)),
    "full": ((1000, 100), (10_000, 100), (10_000, 1000)),
}
MOST_LEAVES_OF_PEER = 1000
MOST_LEAVES_OF_TRANSFER = 1000


def table(report: Report, size: Size) -> None:
    for n_leaves, n_trees in _SIZES[size]:
        for kind, make in (("noisy", noisy), ("random", random)):
            trees = make(n_leaves, n_trees)
            _measure(report, f"{kind}, {n_trees} x {n_leaves}", trees)


def noisy(n_leaves: int, n_trees: int) -> list[Tree]:
    rng = np.random.default_rng(0)
    centres = 6.0 * rng.normal(size=(n_leaves // 10, 8))
    points = centres[rng.integers(len(centres), size=n_leaves)] + rng.normal(size=(n_leaves, 8))
    return [
        _tree(linkage(points + 0.1 * rng.normal(size=points.shape), "average"))
        for _ in range(n_trees)
    ]


def random(n_leaves: int, n_trees: int) -> list[Tree]:
    rng = np.random.default_rng(0)
    return [_joined_at_random(n_leaves, rng) for _ in range(n_trees)]


def _joined_at_random(n_leaves: int, rng: np.random.Generator) -> Tree:
    open_ids = list(range(n_leaves))
    merges = []
    for step in range(n_leaves - 1):
        left = open_ids.pop(int(rng.integers(len(open_ids))))
        right = open_ids.pop(int(rng.integers(len(open_ids))))
        merges.append((left, right, step + 1))
        open_ids.append(n_leaves + step)
    return _tree(np.array(merges, dtype=float))


def _tree(merges: Any) -> Tree:
    left, right, height = np.asarray(merges)[:, :3].T
    names = [f"leaf{leaf}" for leaf in range(len(merges) + 1)]
    return from_merges(left.astype(np.int64), right.astype(np.int64), height, names=names)


def _measure(report: Report, what: str, trees: Sequence[Tree]) -> None:
    n_leaves = trees[0].n_leaves
    with threadpool_limits(1):
        for rule in get_args(Rule):
            began = time.process_time()
            agreed = consensus(matched_items(trees), rule)
            own_s = time.process_time() - began
            peer_s = same = None
            if rule in ("strict", "majority") and n_leaves <= MOST_LEAVES_OF_PEER:
                peer_s, theirs = _peer(trees, 1.0 if rule == "strict" else 0.5 + 0.5 / len(trees))
                same = _names_under(agreed.tree) == theirs
            report.row(
                "consensus",
                what=f"{what}: {rule}",
                clusters=int((agreed.tree.n_children > 0).sum()),
                distance=float(agreed.normalized.mean()),
                cpu_s=own_s,
                dendropy_s=peer_s,
                ratio=None if peer_s is None else own_s / peer_s,
                same=same,
            )
        if n_leaves <= MOST_LEAVES_OF_TRANSFER:
            began = time.process_time()
            values = support_by(matched_items(trees), "transfer")
            report.row(
                "consensus",
                what=f"{what}: transfer support",
                clusters=int(np.isfinite(values).sum()),
                cpu_s=time.process_time() - began,
            )


def _peer(trees: Sequence[Tree], share: float) -> tuple[float, set[frozenset[str]]]:
    """DendroPy's seconds, and the names under each of its nodes. share : at least, of all trees."""
    import dendropy

    read = dendropy.TreeList.get(
        data="".join("".join(newick.write(tree)) for tree in trees),
        schema="newick",
        rooting="force-rooted",
        preserve_underscores=True,
    )
    began = time.process_time()
    agreed = read.consensus(min_freq=share)
    seconds = time.process_time() - began
    names = {
        frozenset(leaf.taxon.label for leaf in node.leaf_iter()) for node in agreed.internal_nodes()
    }
    return seconds, names


def _names_under(tree: Tree) -> set[frozenset[str]]:
    names: list[set[str]] = [set() for _ in range(tree.n_nodes)]
    for node in range(tree.n_nodes - 1, -1, -1):
        if tree.n_children[node] == 0:
            names[node].add(str(tree.name[node]))
        if node:
            names[int(tree.parent[node])] |= names[node]
    return {frozenset(names[node]) for node in np.flatnonzero(tree.n_children > 0)}
