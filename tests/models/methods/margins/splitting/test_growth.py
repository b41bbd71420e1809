"""Growth: which leaf is split, when it ends, and that threads and checkpoints change nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from models.errors import Cancelled, UsageError
from models.method import Checkpoint
from models.methods.margins.splitting import growth
from models.methods.margins.splitting.alternating import Terms
from models.methods.margins.splitting.growth import grow
from models.methods.margins.splitting.objective import Ancestors, Regularizer
from models.methods.margins.splitting.result import GrowthLimits, MarginTree
from models.methods.margins.splitting.split import (
    MarginSplit,
    NodeToSplit,
    SearchEffort,
    split_all,
    stacked,
    unstacked,
)
from models.running.progress import silent
from umbel.testing.lost_worker import MemoryCheckpoint

SEARCH = SearchEffort(("k-means", "random"), n_swaps=1)


def terms(k: int = 2, alpha: float = 0.1, least: float = 0.9) -> Terms:
    return Terms(k, Regularizer("group+exclusive", alpha, 1.0), least, 1.1, True, 100, 1e-3)


def points(n: int = 200, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 4)) + 3.0 * rng.normal(size=(6, 4))[rng.integers(6, size=n)]


def grown(
    rows: np.ndarray,
    limits: GrowthLimits,
    requirements: Terms | None = None,
    threads: int = 1,
    checkpoint: Checkpoint | None = None,
) -> MarginTree:
    own_checkpoint = checkpoint or Checkpoint()
    return grow(rows, requirements or terms(), SEARCH, limits, 7, threads, silent, own_checkpoint)


def assert_same(one: MarginTree, other: MarginTree) -> None:
    for name in ("parent", "step", "leaf_of_point", "margin"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert one.obstacle == other.obstacle
    for mine, its in zip(one.splits, other.splits, strict=True):
        np.testing.assert_array_equal(mine.weights, its.weights)
        np.testing.assert_array_equal(mine.price, its.price)
        assert (mine.score, mine.objective, mine.start) == (its.score, its.objective, its.start)


@pytest.mark.parametrize("k", [2, 3])
def test_each_step_splits_the_leaf_with_the_highest_score(k: int) -> None:
    """Algorithm 1 taken literally: at each step every leaf is split again and scored."""
    rows, requirements = points(), terms(k)
    tree = grown(rows, GrowthLimits(1 + 4 * (k - 1), 2, None), requirements)
    inside: dict[int, np.ndarray] = {0: np.arange(len(rows))}
    above: dict[int, Ancestors] = {0: Ancestors.root(4)}
    for step, split in enumerate(tree.splits):
        scores = {}
        for node, here in inside.items():
            (trial,) = split_all(
                [NodeToSplit(rows[here], above[node], (7, node))],
                requirements,
                SEARCH,
                1,
                lambda: None,
            )
            assert isinstance(trial, MarginSplit)
            scores[node] = trial.score
            if tree.step[node] == step:
                np.testing.assert_array_equal(trial.weights, split.weights)
                chosen, clusters = node, trial.cluster
        assert scores[chosen] == max(scores.values())
        here, over = inside.pop(chosen), above.pop(chosen)
        for number, child in enumerate(tree.children(chosen)):
            assert tree.parent[child] == chosen
            inside[child] = here[clusters == number]
            above[child] = over.extended_by(split.weights[number])
    for node, here in inside.items():
        assert (tree.leaf_of_point[here] == node).all()


def test_each_leaf_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []

    def counted(nodes: Any, *rest: Any) -> Any:
        tried.extend(node.seed[1] for node in nodes)
        return split_all(nodes, *rest)

    monkeypatch.setattr(growth, "split_all", counted)
    tree = grown(points(), GrowthLimits(8, 2, None))
    assert len(tried) == len(set(tried))
    last = set(tree.children(int(tree.step.argmax())))
    assert set(tried) == set(range(tree.parent.size)) - last


def test_the_balance_of_each_split() -> None:
    tree = grown(points(300), GrowthLimits(12, 2, None))
    size = tree.size
    for node in np.flatnonzero(tree.step >= 0):
        below = size[list(tree.children(node))]
        assert below.min() >= np.floor(0.9 * size[node] / 2)
        assert below.max() <= np.ceil(1.1 * size[node] / 2)


def test_it_ends_with_max_leaves_and_never_exceeds_it() -> None:
    limits = GrowthLimits(8, 2, None)
    assert (grown(points(), limits).step < 0).sum() == 8
    tree = grown(points(), limits, terms(3))
    assert (tree.step < 0).sum() == 7
    assert not tree.room
    assert tree.end_warnings(limits, 3) == (
        "The tree has 7 leaves, not max_leaves = 8: another split would exceed it.",
    )


def test_it_ends_when_every_leaf_is_small() -> None:
    limits = GrowthLimits(1000, 40, None)
    tree = grown(points(), limits)
    size, inner = tree.size, tree.step >= 0
    assert size[~inner].max() < 40 <= size[inner].min()
    (warning,) = tree.end_warnings(limits, 2)
    assert f"{(~inner).sum()} have fewer than 40 points" in warning


def test_it_ends_at_the_depth() -> None:
    limits = GrowthLimits(1000, 2, 3)
    tree = grown(points(), limits)
    assert (tree.step < 0).sum() == 8
    assert "8 lie at max_depth = 3" in tree.end_warnings(limits, 2)[0]


def test_leaves_smaller_than_the_branching_stay() -> None:
    limits = GrowthLimits(1000, 2, None)
    tree = grown(points(23), limits, terms(5))
    assert tree.size[tree.step < 0].max() < 5
    assert "have fewer than 5 points" in tree.end_warnings(limits, 5)[0]


def test_leaves_of_equal_points_stay() -> None:
    rows = np.repeat(points(2), 20, axis=0)
    limits = GrowthLimits(1000, 2, None)
    tree = grown(rows, limits)
    assert tree.size[tree.step < 0].tolist() == [20, 20]
    assert "2 hold fewer than 2 distinct points" in tree.end_warnings(limits, 2)[0]


def test_a_root_whose_weights_are_all_zero_is_refused() -> None:
    with pytest.raises(UsageError, match="Lower alpha, or scale the features up") as caught:
        grown(points() * 1e-6, GrowthLimits(4, 2, None))
    assert caught.value.where == {"parameter": "alpha"}


def test_leaves_whose_weights_would_be_zero_stay() -> None:
    # Two distant clumps, each far too small to be split with this alpha.
    rows = np.repeat([[-5.0, 0.0], [5.0, 0.0]], 30, axis=0)
    rows += 1e-4 * np.random.default_rng(0).normal(size=rows.shape)
    limits = GrowthLimits(10, 2, None)
    tree = grown(rows, limits)
    assert tree.size[tree.step < 0].tolist() == [30, 30]
    warnings = tree.end_warnings(limits, 2)
    assert "2 would be split by weights that are all 0" in warnings[0]
    assert warnings[1].startswith("Lower alpha or beta")


@pytest.mark.parametrize("threads", [2, 4])
def test_threads_change_nothing(threads: int) -> None:
    limits = GrowthLimits(9, 2, None)
    assert_same(grown(points(), limits), grown(points(), limits, threads=threads))


@pytest.mark.parametrize("k", [2, 3])
def test_any_checkpoint_leads_to_the_same_tree(k: int) -> None:
    rows = np.concatenate([points(120), np.repeat(points(1, seed=3), 40, axis=0)])
    limits, memory = GrowthLimits(16, 9, 4), MemoryCheckpoint()
    whole = grown(rows, limits, terms(k), checkpoint=memory)
    assert len(memory.states) == len(whole.splits) > 3
    for state in memory.states[::3]:
        assert all(isinstance(array, np.ndarray) for array in state.values())
        assert_same(grown(rows, limits, terms(k), checkpoint=MemoryCheckpoint(state)), whole)


def test_splits_come_back_from_arrays() -> None:
    tree = grown(points(), GrowthLimits(6, 2, None))
    again = unstacked(stacked(tree.splits, 2, 4))
    for mine, its in zip(tree.splits, again, strict=True):
        for name in MarginSplit.__slots__:
            np.testing.assert_array_equal(getattr(mine, name), getattr(its, name))
    assert unstacked(stacked([], 2, 4)) == []


@pytest.mark.parametrize("threads", [1, 2])
def test_cancel_ends_it(threads: int) -> None:
    calls = 0

    def cancel(fraction: float, stage: str, message: str = "") -> None:
        nonlocal calls
        calls += 1
        if calls == 10:
            raise Cancelled

    limits = GrowthLimits(500, 2, None)
    with pytest.raises(Cancelled):
        grow(points(3000), terms(), SEARCH, limits, 0, threads, cancel, Checkpoint())


def test_starts_of_many_points_use_a_sample() -> None:
    rows = points(6000)
    (split,) = split_all(
        [NodeToSplit(rows, Ancestors.root(4), (1,))],
        terms(),
        SearchEffort(("k-means", "features", "gaps"), n_swaps=2),
        1,
        lambda: None,
    )
    assert isinstance(split, MarginSplit)
    assert split.ended
    assert split.cluster.size == 6000
    assert 2700 <= (split.cluster == 0).sum() <= 3300
