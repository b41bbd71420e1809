"""The curve of merges against all sets of nodes, tried one by one."""

from __future__ import annotations

import time
from itertools import pairwise, product
from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models import registry
from models.answers.confusions import Confusions, Merges, merges, ordered
from models.arrays import Arrays, Float
from models.inputs.data import Data
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
        assert curve.accuracy_low[step] == curve.accuracy_high[step] == curve.accuracy[step]
        assert curve.bits[step] == pytest.approx(bits, abs=1e-12)
    assert curve.n_classes[-1] == 1
    assert curve.bits[-1] == pytest.approx(0.0, abs=1e-12)
    assert curve.accuracy[-1] == 1.0
    assert curve.warnings == ()
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


def test_a_chain_of_many_classes_takes_no_longer_than_a_wide_tree() -> None:
    #         /\
    #        /\ 20000
    #       .. 19999      each class is taken for the next one, by 1 of its 2 rows
    #      /\
    #     0  1
    n = 20_000
    tree = newick.read("(" * n + "a" + "".join(f",b{each})" for each in range(n)) + ";")
    leaves = tree.leaves
    total = np.where(tree.n_children == 0, 2.0, 0.0)
    began = time.process_time()
    curve = merges(tree, ordered(leaves[1:], leaves[:-1], np.ones(n), total / 2, total))
    assert time.process_time() - began < 5.0
    assert curve.n_classes[-1] == 1
    assert curve.accuracy[-1] == 1.0
    assert np.all(np.diff(curve.bits) <= 1e-12)
    assert np.all(np.diff(curve.ratio[1:]) <= 1e-9)


def test_classes_without_rows_come_with_the_step_beside_them() -> None:
    #      /\
    #     /\ c
    #    a  b      of 4 rows of `a` and of `b` one is taken for the other; `c` has none
    tree = newick.read("((a,b),c);")
    leaf, taken_for = tree.leaves[:2], tree.leaves[1::-1]
    total = np.zeros(tree.n_nodes)
    total[leaf] = 4.0
    curve = merges(tree, ordered(leaf, taken_for, np.ones(2), total * 0.75, total))
    assert curve.node.tolist() == [-1, 0]
    assert curve.accuracy.tolist() == [0.75, 1.0]
    assert curve.ratio[1] == 0.25


def test_nothing_confused_gains_nothing() -> None:
    tree = newick.read("((a,b),c);")
    none = np.empty(0, dtype=np.int64)
    total = np.where(tree.n_children == 0, 5.0, 0.0)
    curve = merges(tree, ordered(none, none, np.empty(0), total, total))
    assert curve.accuracy.tolist() == [1.0, 1.0, 1.0]
    assert curve.n_classes.tolist() == [3, 2, 1]
    assert curve.bits[0] == pytest.approx(log2(3))
    assert curve.ratio[1:].tolist() == [0.0, 0.0]


def softmax(logits: Float) -> Float:
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def true_accuracies(p: Float, tree: Tree, curve: Merges) -> list[float]:
    """The share of the probability that lies in the merged class of each row's best class."""
    accuracies = []
    for merged in applied(curve):
        group = [
            next((node for node in reversed(path(tree, leaf)) if node in merged), leaf)
            for leaf in tree.leaves.tolist()
        ]
        own = np.array(group)[p.argmax(axis=1)]
        accuracies.append(float(p[own[:, None] == np.array(group)[None, :]].sum() / len(p)))
    return accuracies


def true_gains(p: Float, tree: Tree) -> list[float]:
    """The probability that the best classes under each node give to others under it."""
    best, gains = p.argmax(axis=1), []
    for node in range(tree.n_nodes):
        under = np.array([node in path(tree, leaf) for leaf in tree.leaves.tolist()])
        rows = under[best]
        own = p[rows, best[rows]].sum()
        gains.append(float((p[rows][:, under].sum() - own) / len(p)))
    return gains


@pytest.mark.parametrize(
    ("n_classes", "spread", "kept"),
    [
        *((2, 1.0, 0), (9, 0.3, 0), (10, 0.3, 0), (12, 3.0, 0), (25, 0.0, 0)),
        *((40, 0.1, 0), (40, 2.0, 4), (30, 1.0, 9)),
    ],
)
@pytest.mark.parametrize("kind", ["float64", "float16", "probs"])
def test_accuracies_are_those_of_the_whole_logits(
    n_classes: int, spread: float, kept: int, kind: str
) -> None:
    rng = np.random.default_rng(n_classes)
    logits = rng.normal(size=(300, n_classes)) * spread + 1e-3 * rng.random((300, n_classes))
    logits = logits.astype(np.float16).astype(float) if kind == "float16" else logits
    method, params = registry.method("l2h"), {"input": "probs"} if kind == "probs" else {}
    p = softmax(logits)
    shown = p if kind == "probs" else logits.astype(kind)
    inputs: Arrays = {"logits": shown}
    if kept:
        top = np.argsort(-logits, axis=1)[:, :kept].astype(np.int32)
        inputs = {"logits": np.take_along_axis(shown, top, axis=1), "top_classes": top}
        params = {**params, "n_classes": n_classes}
    fit = method.fit(Data(inputs), method.Params.model_validate(params))
    confusions = method.confusions(fit.model, fit.tree)
    assert confusions is not None
    curve = merges(fit.tree, confusions)
    true = np.array(true_accuracies(p, fit.tree, curve))
    assert curve.accuracy[-1] == curve.accuracy_low[-1] == curve.accuracy_high[-1] == 1.0
    assert (curve.accuracy_low <= true + 1e-12).all()
    assert (true <= curve.accuracy_high + 1e-12).all()
    assert (curve.accuracy_low <= curve.accuracy).all()
    assert (curve.accuracy <= curve.accuracy_high).all()
    gains = np.array(true_gains(p, fit.tree))
    assert (curve.gain_low <= gains + 1e-12).all()
    assert (gains <= curve.gain_high + 1e-12).all()
    if n_classes <= 9:
        assert curve.accuracy == pytest.approx(true, abs=1e-6)
    # Where the classes that are not listed are alike, the estimate is the truth.
    if not spread:
        assert curve.accuracy == pytest.approx(true, abs=1e-3)
        assert curve.accuracy[1] - curve.accuracy[0] > 0.01
    assert ("estimates" in "".join(curve.warnings)) == (n_classes > 9)


def test_pairs_that_are_not_kept_are_within_the_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    from models.methods.logits.merging import class_pairs

    whole = class_pairs.class_pairs
    monkeypatch.setattr(class_pairs, "class_pairs", lambda digest: whole(digest, 50))
    logits = np.random.default_rng(4).normal(size=(200, 20))
    method = registry.method("l2h")
    fit = method.fit(Data({"logits": logits}), method.Params())
    confusions = method.confusions(fit.model, fit.tree)
    assert confusions is not None
    curve = merges(fit.tree, confusions)
    true = np.array(true_accuracies(softmax(logits), fit.tree, curve))
    assert len(confusions.mass) == 50
    assert curve.accuracy[-1] == 1.0
    assert (curve.accuracy_low <= true + 1e-12).all()
    assert (true <= curve.accuracy_high + 1e-12).all()
