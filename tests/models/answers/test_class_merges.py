"""The curve of merges against all sets of nodes, tried one by one."""

from __future__ import annotations

from itertools import pairwise, product
from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.answers.class_merges import Merges, merges
from models.answers.confusions import Confusions, ordered
from models.tree import newick
from models.tree.tree import Tree


def drawn(seed: int) -> tuple[Tree, Confusions]:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    nested = [str(leaf) for leaf in range(n)]
    while len(nested) > 1:
        k = min(len(nested), int(rng.integers(2, 4)))
        joined = [nested.pop(int(rng.integers(len(nested)))) for _ in range(k)]
        nested.append(f"({','.join(joined)})")
    tree = newick.read(f"{nested[0]};")
    counts = rng.integers(0, 6, (n, n)) * (rng.random((n, n)) < 0.6)
    counts[np.diag_indices(n)] += rng.integers(0, 9, n)
    leaves = tree.leaves
    row, column = np.nonzero(counts * (1 - np.eye(n, dtype=int)))
    right, total = np.zeros(tree.n_nodes), np.zeros(tree.n_nodes)
    right[leaves], total[leaves] = np.diag(counts), counts.sum(axis=1)
    mass = counts[row, column].astype(float)
    return tree, ordered(leaves[row], leaves[column], mass, right, total)


def path(tree: Tree, node: int) -> list[int]:
    nodes = [node]
    while tree.parent[nodes[-1]] >= 0:
        nodes.append(int(tree.parent[nodes[-1]]))
    return nodes


def literal(tree: Tree, confusions: Confusions, merged: tuple[int, ...]) -> tuple[float, float]:
    """Accuracy and bits of the classes in which the leaves under each outermost node are one."""
    n_rows = confusions.total.sum()
    name = {
        leaf: next((node for node in reversed(path(tree, leaf)) if node in merged), leaf)
        for leaf in tree.leaves.tolist()
    }
    right = confusions.right.sum() + sum(
        mass
        for leaf, other, mass in zip(
            confusions.leaf.tolist(), confusions.taken_for.tolist(), confusions.mass, strict=True
        )
        if name[leaf] == name[other]
    )
    sizes: dict[int, float] = {}
    for leaf, own in name.items():
        sizes[own] = sizes.get(own, 0.0) + confusions.total[leaf]
    shares = [size / n_rows for size in sizes.values() if size]
    return right / n_rows, -sum(share * log2(share) for share in shares)


def applied(curve: Merges) -> list[tuple[int, ...]]:
    return [tuple(curve.node[1 : step + 1].tolist()) for step in range(len(curve.node))]


@given(st.integers(0, 10**6))
def test_each_step_is_what_it_says(seed: int) -> None:
    tree, confusions = drawn(seed)
    if not confusions.total.any():
        return
    curve = merges(tree, confusions)
    for step, merged in enumerate(applied(curve)):
        accuracy, bits = literal(tree, confusions, merged)
        assert curve.accuracy[step] == pytest.approx(accuracy)
        assert curve.bits[step] == pytest.approx(bits, abs=1e-12)
    assert curve.n_classes[-1] == 1
    assert curve.bits[-1] == pytest.approx(0.0, abs=1e-12)
    assert curve.accuracy[-1] == pytest.approx(1.0)
    assert all(later <= earlier + 1e-9 for earlier, later in pairwise(curve.ratio[1:]))


@given(st.integers(0, 10**6))
def test_no_set_of_merges_is_better_at_any_price(seed: int) -> None:
    tree, confusions = drawn(seed)
    if not confusions.total.any():
        return
    curve = merges(tree, confusions)
    inner = np.flatnonzero(tree.n_children > 0).tolist()
    every = [
        literal(
            tree, confusions, tuple(node for node, used in zip(inner, chosen, strict=True) if used)
        )
        for chosen in product([False, True], repeat=len(inner))
    ]
    for price in (0.0, 0.01, 0.1, 0.3, 1.0, 3.0):
        best = max(accuracy + price * bits for accuracy, bits in every)
        own = max(curve.accuracy + price * curve.bits)
        assert own == pytest.approx(best)


def test_nothing_confused_gains_nothing() -> None:
    tree = newick.read("((a,b),c);")
    none = np.empty(0, dtype=np.int64)
    total = np.where(tree.n_children == 0, 5.0, 0.0)
    curve = merges(tree, ordered(none, none, np.empty(0), total, total))
    assert curve.accuracy.tolist() == [1.0, 1.0, 1.0]
    assert curve.n_classes.tolist() == [3, 2, 1]
    assert curve.bits[0] == pytest.approx(log2(3))
    assert curve.ratio[1:].tolist() == [0.0, 0.0]
