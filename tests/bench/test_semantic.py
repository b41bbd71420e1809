"""The parts of SP: they add up to the metric, and predict the SP of shuffled points."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bench.semantic import similarity_terms
from bench.truths import TrueSet
from models.metrics.agreement import shortest_path_similarity
from models.tree import class_paths
from models.tree.build import from_parents, from_partition
from models.tree.tree import Tree

HIERARCHY = class_paths.read("a/x/1\na/x/2\na/y\nb\nc/1\nc/2\nc/3/1\nc/3/2")


def planted(n_points: int, seed: int) -> TrueSet:
    label = np.random.default_rng(seed).integers(8, size=n_points)
    return TrueSet(np.zeros((n_points, 1)), HIERARCHY, label)


def grown(truth: TrueSet, seed: int) -> Tree:
    """A tree that follows the classes for half of the points."""
    rng = np.random.default_rng(seed)
    cluster = np.where(rng.random(truth.label.size) < 0.5, truth.label, rng.integers(8))
    parent = np.array([-1, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 7, 7])
    leaves = np.setdiff1d(np.arange(15), parent)
    return from_parents(parent, np.zeros(15), np.full(15, None, dtype=object), leaves[cluster])


def over_points(truth: TrueSet) -> Tree:
    return replace(truth.hierarchy, leaf_of_point=truth.hierarchy.leaf_of_point[truth.label])


@pytest.mark.parametrize("seed", range(3))
def test_the_parts_add_up(seed: int) -> None:
    true_set = planted(300, seed)
    tree, truth = grown(true_set, seed), over_points(true_set)
    sp = similarity_terms(tree, true_set)
    pairs = np.triu_indices(300, 1)
    similarity = {}
    for name, which in (("own", tree), ("true", truth)):
        chain = []
        for leaf in which.leaf_of_point.tolist():
            above = set()
            while leaf >= 0:
                above.add(leaf)
                leaf = int(which.parent[leaf])
            chain.append(above)
        edges = np.array([len(chain[i] ^ chain[j]) for i, j in zip(*pairs, strict=True)])
        similarity[name] = 1 - edges / edges.max()
    assert sp.level == pytest.approx(similarity["own"].mean())
    assert sp.true_level == pytest.approx(similarity["true"].mean())
    assert sp.correlation == pytest.approx(np.corrcoef(similarity["own"], similarity["true"])[0, 1])
    assert sp.alike == pytest.approx(1 - similarity["true"].var())
    rest = 2 * sp.correlation * similarity["own"].std() * similarity["true"].std()
    assert sp.shuffled + rest == pytest.approx(shortest_path_similarity(tree, truth).value)


def test_shuffled_points_have_the_predicted_score() -> None:
    truth = planted(2000, 0)
    tree = grown(truth, 0)
    rng = np.random.default_rng(1)
    scores = []
    for _ in range(10):
        shuffled = replace(tree, leaf_of_point=rng.permutation(tree.leaf_of_point))
        scores.append(shortest_path_similarity(shuffled, over_points(truth)).value)
    assert similarity_terms(tree, truth).shuffled == pytest.approx(np.mean(scores), abs=1e-3)


def test_the_hierarchy_itself_and_one_cluster() -> None:
    truth = planted(100, 0)
    assert similarity_terms(over_points(truth), truth).correlation == pytest.approx(1.0)
    single = from_partition(np.zeros(100, dtype=np.int64), 1)
    sp = similarity_terms(single, truth)
    assert (sp.correlation, sp.level) == (0.0, 1.0)
