"""Layers against the literal definition, and what must not change them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import linkage

from models.arrays import Float
from models.levels.layers import Layers, bars_of, layers
from models.tree.build import from_merges, from_parents
from models.tree.noise import noise_of
from models.tree.tree import Tree


def tree_by(points: Float, rule: str = "ward") -> Tree:
    merges = linkage(points, rule)
    return from_merges(merges[:, 0].astype(int), merges[:, 1].astype(int), merges[:, 2])


def planted(seed: int, k: int = 5, n: int = 40, d: int = 8) -> Float:
    rng = np.random.default_rng(seed)
    return np.repeat(30.0 * rng.normal(size=(k, d)), n, axis=0) + rng.normal(size=(k * n, d))


def candidates(tree: Tree, m: int) -> set[int]:
    """The literal definition: walk down through splits with two sides of m points or more."""
    found, waiting = set[int](), [0]
    while waiting:
        node = waiting.pop()
        top = node
        while True:
            below = np.flatnonzero(tree.parent == node)
            large = [int(v) for v in below if tree.size[v] >= m]
            if len(large) != 1:
                break
            (node,) = large
        if large:
            waiting += large
        else:
            found.add(top)
    return found - {0}


@given(st.integers(0, 2**32 - 1), st.integers(6, 60), st.sampled_from(["single", "ward"]))
@settings(max_examples=40, deadline=None)
def test_bars_are_the_literal_candidates(seed: int, n: int, rule: str) -> None:
    tree = tree_by(np.random.default_rng(seed).normal(size=(n, 3)), rule)
    bars = bars_of(tree, noise_of(tree), 2)
    for m in range(2, n + 1):
        bar = set(np.flatnonzero((bars.birth < m) & (m <= bars.death)).tolist())
        assert bar == candidates(tree, m)


def parts(tree: Tree, found: Layers) -> list[set[frozenset[int]]]:
    """The rows of each cluster of each layer."""
    answer = []
    for layer in found.layers:
        clusters = set()
        for node in layer.nodes.tolist():
            inside = np.zeros(tree.n_nodes, dtype=bool)
            inside[node] = True
            for row in range(node + 1, tree.n_nodes):
                inside[row] |= inside[tree.parent[row]]
            clusters.add(frozenset(np.flatnonzero(inside[tree.leaf_of_point]).tolist()))
        answer.append(clusters)
    return answer


@pytest.mark.parametrize("seed", range(3))
def test_planted_clusters_are_a_layer(seed: int) -> None:
    points = planted(seed)
    tree = tree_by(points)
    truth = {frozenset(range(40 * c, 40 * c + 40)) for c in range(5)}
    found = layers(tree)
    assert truth in parts(tree, found)
    layer = found.layers[parts(tree, found).index(truth)]
    assert layer.p_value <= 0.05
    assert layer.n_noise == 0
    assert 0 < layer.strength <= 1


@pytest.mark.parametrize("rule", ["average", "complete", "ward"])
def test_layers_are_nested(rule: str) -> None:
    tree = tree_by(np.random.default_rng(3).normal(size=(300, 3)), rule)
    found = parts(tree, layers(tree, 3, largest_p=1.0))
    assert len(found) > 1
    for fine, coarse in pairwise(found):
        for cluster in fine:
            over = [other for other in coarse if cluster & other]
            assert not over or (len(over) == 1 and cluster <= over[0])


def test_order_scale_and_offset_change_nothing() -> None:
    points = planted(1)
    tree = tree_by(points)
    found = layers(tree, largest_p=1.0)
    clusters = parts(tree, found)
    for scale, offset in ((1e-6, 0.0), (1e6, 5.0), (2.0, -3.0)):
        other = tree_by(scale * points + offset)
        assert parts(other, layers(other, largest_p=1.0)) == clusters
    order = np.random.default_rng(0).permutation(len(points))
    other = tree_by(points[order])
    again = layers(other, largest_p=1.0)
    assert [
        {frozenset(order[list(cluster)].tolist()) for cluster in layer}
        for layer in parts(other, again)
    ] == clusters
    strengths = [layer.strength for layer in found.layers]
    assert [layer.strength for layer in again.layers] == pytest.approx(strengths)


def test_data_without_structure_have_no_layer() -> None:
    rng = np.random.default_rng(5)
    n_found = 0
    for draw in range(40):
        points = rng.normal(size=(120, 4)) if draw % 2 else rng.random((120, 4))
        rule = ("average", "complete", "ward", "single")[draw % 4]
        n_found += bool(layers(tree_by(points, rule)).layers)
    assert n_found <= 2


def test_splits_at_one_height_are_made_at_once() -> None:
    #        0            height 2
    #      1   2          height 2, 1
    #    3  4             height 1: three clusters split off at once
    parent = np.array([-1, 0, 0, 1, 1])
    leaf = np.repeat([2, 3, 4], 20)
    tree = from_parents(parent, np.array([2.0, 2.0, 0.0, 0.0, 0.0]), [None] * 5, leaf)
    bars = bars_of(tree, noise_of(tree), 10)
    assert bars.death.tolist() == [0, 0, 20, 20, 20]
    found = layers(tree, largest_p=1.0)
    assert [sorted(layer.nodes.tolist()) for layer in found.layers] == [[2, 3, 4]]
    assert "at one height" in found.warnings[0]


def test_noise_is_no_cluster() -> None:
    # 0: leaves 1 and 2 are clusters, 3 is noise.
    parent = np.array([-1, 0, 0, 0])
    leaf = np.repeat([1, 2, 3], [20, 15, 50])
    noise = np.array([False, False, False, True])
    tree = from_parents(parent, np.array([1.0, 0, 0, 0]), [None] * 4, leaf, extra={"noise": noise})
    found = layers(tree, largest_p=1.0)
    assert [(layer.nodes.tolist(), layer.n_noise) for layer in found.layers] == [([1, 2], 50)]
    assert layers(tree, 18).reason is not None


def test_why_there_is_none() -> None:
    equal = tree_by(np.zeros((5, 2)))
    assert "the tree has 5 points" in str(layers(equal).reason)
    far = tree_by(np.r_[np.zeros((40, 1)), [[1e9]]])
    assert layers(far).reason == "No split has two sides of at least 10 points."
