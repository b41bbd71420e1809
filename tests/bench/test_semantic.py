"""SP in parts: they add up to what the metric says, and shuffled points have what is foretold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bench.semantic import parts
from bench.truths import TrueSet
from models.metrics.agreement import shortest_path_similarity
from models.tree import paths
from models.tree.build import from_parents, from_partition
from models.tree.tree import Tree

HIERARCHY = paths.read("a/x/1\na/x/2\na/y\nb\nc/1\nc/2\nc/3/1\nc/3/2")


def given(n_points: int, seed: int) -> TrueSet:
    label = np.random.default_rng(seed).integers(8, size=n_points)
    return TrueSet(np.zeros((n_points, 1)), HIERARCHY, label)


def grown(given: TrueSet, seed: int) -> Tree:
    """A tree that follows the classes for half of the points."""
    rng = np.random.default_rng(seed)
    cluster = np.where(rng.random(given.label.size) < 0.5, given.label, rng.integers(8))
    parent = np.array([-1, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 7, 7])
    leaves = np.setdiff1d(np.arange(15), parent)
    return from_parents(parent, np.zeros(15), np.full(15, None, dtype=object), leaves[cluster])


def over_points(given: TrueSet) -> Tree:
    return replace(given.hierarchy, leaf_of_point=given.hierarchy.leaf_of_point[given.label])


@pytest.mark.parametrize("seed", range(3))
def test_the_parts_add_up(seed: int) -> None:
    one = given(300, seed)
    tree, truth = grown(one, seed), over_points(one)
    found = parts(tree, one)
    pairs = np.triu_indices(300, 1)
    said = {}
    for name, which in (("own", tree), ("true", truth)):
        chain = []
        for leaf in which.leaf_of_point.tolist():
            above = set()
            while leaf >= 0:
                above.add(leaf)
                leaf = int(which.parent[leaf])
            chain.append(above)
        edges = np.array([len(chain[i] ^ chain[j]) for i, j in zip(*pairs, strict=True)])
        said[name] = 1 - edges / edges.max()
    assert found.level == pytest.approx(said["own"].mean())
    assert found.true_level == pytest.approx(said["true"].mean())
    assert found.correlation == pytest.approx(np.corrcoef(said["own"], said["true"])[0, 1])
    assert found.alike == pytest.approx(1 - said["true"].var())
    rest = 2 * found.correlation * said["own"].std() * said["true"].std()
    assert found.shuffled + rest == pytest.approx(shortest_path_similarity(tree, truth).value)


def test_points_that_change_places_have_the_score_foretold() -> None:
    one = given(2000, 0)
    tree = grown(one, 0)
    rng = np.random.default_rng(1)
    scores = []
    for _ in range(10):
        shuffled = replace(tree, leaf_of_point=rng.permutation(tree.leaf_of_point))
        scores.append(shortest_path_similarity(shuffled, over_points(one)).value)
    assert parts(tree, one).shuffled == pytest.approx(np.mean(scores), abs=1e-3)


def test_the_hierarchy_itself_and_one_cluster() -> None:
    one = given(100, 0)
    assert parts(over_points(one), one).correlation == pytest.approx(1.0)
    single = from_partition(np.zeros(100, dtype=np.int64), 1)
    found = parts(single, one)
    assert (found.correlation, found.level) == (0.0, 1.0)
