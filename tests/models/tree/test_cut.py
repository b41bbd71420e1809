"""Cuts against literal openings and SciPy, and impossible cuts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster
from scipy.cluster.hierarchy import linkage as scipy_linkage
from sklearn.metrics import adjusted_rand_score

from models.errors import UsageError
from models.tree.build import from_parents, from_partition
from models.tree.cut import Cut, cut
from models.tree.linkage import from_scipy
from models.tree.tree import Tree
from tests.models.tree.strategies_kit import SMALL_TREES, chain, random_tree, under


@pytest.fixture
def tree() -> Tree:
    #         0 (h 9)
    #       /   \
    #   1 (5)   2 (5)         one point at each leaf, 3 to 7
    #   / \    / | \
    #  3   4  5  6  7
    return from_parents([-1, 0, 0, 1, 1, 2, 2, 2], [9, 5, 5, 0, 0, 0, 0, 0], [None] * 8)


def test_k_opens_the_highest_first_ties_by_lower_id(tree: Tree) -> None:
    assert cut(tree, k=1).nodes.tolist() == [0]
    assert cut(tree, k=2).nodes.tolist() == [1, 2]
    assert cut(tree, k=3).nodes.tolist() == [2, 3, 4]
    assert cut(tree, k=3).cluster_of_point.tolist() == [1, 2, 0, 0, 0]
    assert cut(tree, k=3).sizes.tolist() == [3, 1, 1]
    assert cut(tree, k=5).nodes.tolist() == [3, 4, 5, 6, 7]


def test_an_impossible_k_gives_fewer_clusters_with_a_warning(tree: Tree) -> None:
    partition = cut(tree, k=4)
    assert partition.nodes.tolist() == [2, 3, 4]
    assert partition.warning is not None
    assert "k = 4" in partition.warning
    assert "has 3, the next 5" in partition.warning
    assert cut(from_partition([0, 1, 2], 3), k=2).n_clusters == 1


def test_height_and_level(tree: Tree) -> None:
    assert cut(tree, height=9).nodes.tolist() == [0]
    assert cut(tree, height=8.9).nodes.tolist() == [1, 2]
    assert cut(tree, height=5).nodes.tolist() == [1, 2]
    assert cut(tree, height=4).nodes.tolist() == [3, 4, 5, 6, 7]
    assert cut(tree, height=-1).nodes.tolist() == [3, 4, 5, 6, 7]
    assert cut(tree, level=0).nodes.tolist() == [0]
    assert cut(tree, level=1).nodes.tolist() == [1, 2]
    assert cut(tree, level=99).nodes.tolist() == cut(tree).nodes.tolist() == [3, 4, 5, 6, 7]


def test_unary_nodes_are_not_opened_in_vain() -> None:
    # 0 (h 4) - 1 (h 3) - 2 (h 2) < 3, 4
    tree = from_parents([-1, 0, 1, 2, 2], [4, 3, 2, 0, 0], [None] * 5)
    assert cut(tree, k=1).nodes.tolist() == [0]
    assert cut(tree, k=2).nodes.tolist() == [3, 4]


@pytest.mark.parametrize(
    ("requested", "says", "parameter"),
    [
        ({"k": 0}, "k must be 1 to 5", "k"),
        ({"k": 6}, "k = 6 clusters; the tree has 5 leaves", "k"),
        ({"height": float("nan")}, "finite", "height"),
        ({"height": float("inf")}, "finite", "height"),
        ({"level": -1}, "level is -1", "level"),
        ({"k": 2, "level": 1}, "k and level were given", "level"),
    ],
)
def test_wrong_cuts_are_refused(
    tree: Tree, requested: dict[str, Any], says: str, parameter: str
) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        cut(tree, **requested)
    assert caught.value.code == "wrong-cut"
    assert caught.value.where == {"parameter": parameter}


def _is_a_clustering(tree: Tree, partition: Cut) -> None:
    inside = under(tree)
    assert sorted(leaf for node in partition.nodes for leaf in inside[node]) == tree.leaves.tolist()
    for point, cluster in enumerate(partition.cluster_of_point.tolist()):
        assert tree.leaf_of_point[point] in inside[partition.nodes[cluster]]
    assert (
        partition.sizes.tolist()
        == np.bincount(partition.cluster_of_point, minlength=partition.n_clusters).tolist()
    )


def _opened_one_by_one(tree: Tree, k: int) -> list[int]:
    """The nodes after each opening, literally, as long as they are at most k; fewest openings."""
    front = [0]
    best = front
    while True:
        inner = [v for v in front if tree.n_children[v]]
        if not inner:
            return best
        highest = min(inner, key=lambda v: (-tree.height[v], v))
        front = [v for v in front if v != highest] + np.flatnonzero(tree.parent == highest).tolist()
        if len(front) > k:
            return best
        if len(front) > len(best):
            best = sorted(front)


def test_k_in_all_small_trees() -> None:
    for tree in SMALL_TREES:
        for k in range(1, tree.n_leaves + 1):
            partition = cut(tree, k=k)
            assert partition.nodes.tolist() == _opened_one_by_one(tree, k)
            assert (partition.warning is None) == (partition.n_clusters == k)


@given(random_tree(whole_heights=True), st.data())
def test_cuts_are_clusterings_by_their_definitions(tree: Tree, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, tree.n_leaves))
    by_k = cut(tree, k=k)
    _is_a_clustering(tree, by_k)
    assert by_k.nodes.tolist() == _opened_one_by_one(tree, k)

    height = data.draw(st.integers(-1, 4))
    by_height = cut(tree, height=height)
    _is_a_clustering(tree, by_height)
    for node in by_height.nodes.tolist():
        assert tree.height[node] <= height or not tree.n_children[node]
        assert node == 0 or tree.height[tree.parent[node]] > height

    level = data.draw(st.integers(0, 4))
    by_level = cut(tree, level=level)
    _is_a_clustering(tree, by_level)
    for node in by_level.nodes.tolist():
        assert tree.depth[node] == level or (tree.depth[node] < level and not tree.n_children[node])
    _is_a_clustering(tree, cut(tree))
    assert cut(tree).nodes.tolist() == tree.leaves.tolist()


@given(random_tree(monotone=False), st.data())
def test_cuts_of_trees_whose_heights_fall_are_clusterings(tree: Tree, data: st.DataObject) -> None:
    _is_a_clustering(tree, cut(tree, k=data.draw(st.integers(1, tree.n_leaves))))
    _is_a_clustering(tree, cut(tree, height=data.draw(st.floats(-1, 1e6))))


@pytest.mark.parametrize("linkage", ["average", "complete", "single", "centroid", "median"])
def test_cuts_are_those_of_scipy(linkage: str) -> None:
    points = np.random.default_rng(3).random((60, 8))
    matrix = scipy_linkage(points, linkage)
    tree = from_scipy(matrix)
    assert tree.monotone == (linkage not in ("centroid", "median"))
    for height in np.quantile(matrix[:, 2], [0.1, 0.5, 0.9]):
        theirs = fcluster(matrix, height, "distance")
        assert adjusted_rand_score(theirs, cut(tree, height=height).cluster_of_point) == 1
    if tree.monotone:
        for k in (1, 2, 7, 59, 60):
            theirs = fcluster(matrix, k, "maxclust")
            assert adjusted_rand_score(theirs, cut(tree, k=k).cluster_of_point) == 1


def test_a_chain_of_a_hundred_thousand() -> None:
    tree = chain(100_000)
    partition = cut(tree, k=50_000)
    assert partition.n_clusters == 50_000
    # The first 50,001 leaves stay one cluster.
    assert (partition.cluster_of_point[:50_001] == partition.cluster_of_point[0]).all()
    assert np.unique(partition.cluster_of_point).size == 50_000
    assert cut(tree, level=99_999).n_clusters == 100_000
    assert cut(tree, height=10).n_clusters == 100_000 - 10
