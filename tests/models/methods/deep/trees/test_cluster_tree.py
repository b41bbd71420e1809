"""A tree of centres: how it grows, weighs its nodes, and is pruned.

Shapes of trees against a tree of nested pairs.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from models.methods.deep.trees import cluster_tree
from models.methods.deep.trees.cluster_tree import ClusterTree, TreeShape
from models.numerics.descent import step_together
from models.running.progress import silent

#       0
#     1   2
#        3  4
#       5 6
SMALL = TreeShape.root().split(0).split(2).split(3)


def test_a_small_tree() -> None:
    assert SMALL.parent.tolist() == [-1, 0, 0, 2, 2, 3, 3]
    assert SMALL.leaves.tolist() == [1, 4, 5, 6]
    assert SMALL.sibling.tolist() == [0, 2, 1, 4, 3, 6, 5]
    assert SMALL.pairs.tolist() == [1, 2, 3, 4, 5, 6]
    assert SMALL.below.astype(int).tolist() == [
        [1, 1, 1, 1],
        [1, 0, 0, 0],
        [0, 1, 1, 1],
        [0, 0, 1, 1],
        [0, 1, 0, 0],
        [0, 0, 1, 0],
        [0, 0, 0, 1],
    ]


def test_one_node_is_a_tree() -> None:
    root = TreeShape.root()
    assert root.leaves.tolist() == [0]
    assert root.pairs.size == 0
    assert root.below.tolist() == [[True]]


def test_a_sibling_takes_the_place_of_the_parent() -> None:
    shape, left = SMALL.pruned(4)  # 3 takes the place of 2
    assert left.tolist() == [0, 1, 3, 5, 6]
    assert shape.parent.tolist() == [-1, 0, 0, 2, 2]
    shape, left = SMALL.pruned(1)  # 2 becomes the root
    assert left.tolist() == [2, 3, 4, 5, 6]
    assert shape.parent.tolist() == [-1, 0, 0, 1, 1]


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 1000)), max_size=40))
def test_splits_and_prunings_are_those_of_nested_pairs(
    changes: list[tuple[bool, int]],
) -> None:
    shape, names, count = TreeShape.root(), ["0"], 1
    above: dict[str, str] = {}
    for splits, draw in changes:
        leaf = int(shape.leaves[draw % shape.n_leaves])
        name = names[leaf]
        if splits:
            shape = shape.split(leaf)
            children = [str(count), str(count + 1)]
            count += 2
            names += children
            above |= dict.fromkeys(children, name)
        elif shape.n_leaves > 1:
            parent = above.pop(name)
            other = next(child for child, over in above.items() if over == parent)
            del above[other]
            if parent in above:
                above[other] = above.pop(parent)
            shape, left = shape.pruned(leaf)
            names = [names[node] for node in left]
        assert shape.parent[0] == -1
        assert (shape.parent[1:] < np.arange(1, shape.n_nodes)).all()
        edges = {names[node]: names[shape.parent[node]] for node in range(1, shape.n_nodes)}
        assert edges == above


pytestmark = pytest.mark.needs("torch")

PLACES = np.array([[-20.0, 0.0], [20.0, -4.0], [20.0, 4.0], [20.0, 5.0]])
"""Where groups of points lie: grown to four leaves, the tree is

        0
      a   b         a: group 0
         c  d       c: group 1
           e  f     e, f: groups 2 and 3
"""


def points(n_each: int = 30) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(4), n_each)
    return (PLACES[group] + 0.01 * rng.normal(size=(4 * n_each, 2))).astype(np.float32), group


def tree(threshold: float = 0.1, batch_size: float = 100.0) -> ClusterTree:
    with torch.no_grad():
        return ClusterTree(np.zeros(2, np.float32), 0.01, 4, batch_size, threshold, "cpu")


def grown(n_leaves: int = 4, **params: float) -> ClusterTree:
    with torch.no_grad():
        grown_tree = tree(**params)
        grown_tree.grow(points()[0], n_leaves, np.random.default_rng(1), silent)
    return grown_tree


def groups_below(cluster: ClusterTree) -> set[frozenset[int]]:
    """The groups below each node."""
    rows, group = points()
    away = np.linalg.norm(rows[:, None] - cluster.leaf_centres, axis=2)
    leaf = away.argmin(axis=1)
    return {frozenset(group[below[leaf]].tolist()) for below in cluster.shape.below}


def test_the_widest_leaf_is_split_first() -> None:
    assert groups_below(grown(2)) == {
        frozenset({0, 1, 2, 3}), frozenset({0}), frozenset({1, 2, 3})
    }  # fmt: skip
    assert groups_below(grown(3)) >= {frozenset({1}), frozenset({2, 3})}
    assert groups_below(grown(4)) >= {frozenset({1}), frozenset({2}), frozenset({3})}


@pytest.mark.parametrize(
    ("n_each", "spans", "split"),
    [
        ((60, 10), (0.1, 3.0), 1),  # sums of squares .6 and 90: not the leaf with the most points
        ((50, 5), (1.0, 2.0), 0),  # 50 and 20: not the leaf that is the widest on average
    ],
)
def test_the_leaf_to_split_has_the_largest_sum_of_squares(
    n_each: tuple[int, int], spans: tuple[float, float], split: int
) -> None:
    rows = np.zeros((sum(n_each), 2), dtype=np.float32)
    group = np.repeat([0, 1], n_each)
    rows[:, 0] = 50.0 * group
    rows[:, 1] = np.array(spans)[group] * np.where(np.arange(len(rows)) % 2, 1, -1)
    with torch.no_grad():
        cluster = tree()
        cluster.grow(rows, 3, np.random.default_rng(0), silent)
    places = np.round(cluster.leaf_centres[:, 0] / 50.0).astype(int)
    assert np.bincount(places).tolist() == [1 + (split == 0), 1 + (split == 1)]


def test_centres_of_leaves_are_the_means_of_their_points() -> None:
    centres = grown().leaf_centres
    rows, group = points()
    means = np.stack([rows[group == number].mean(axis=0) for number in range(4)])
    np.testing.assert_allclose(
        centres[np.lexsort(centres.T)], means[np.lexsort(means.T)], atol=1e-4
    )


def test_growing_again_keeps_the_nodes_that_there_are() -> None:
    with torch.no_grad():
        cluster = grown(2)
        before = cluster.shape.parent
        cluster.grow(points()[0], 4, np.random.default_rng(1), silent)
    assert cluster.shape.parent[:3].tolist() == before.tolist()
    assert groups_below(cluster) == groups_below(grown(4))


def test_points_that_coincide_are_not_split() -> None:
    with torch.no_grad():
        cluster = tree()
        two = np.repeat(np.array([[1.0, 0.0], [0.0, 1.0]], np.float32), 5, axis=0)
        cluster.grow(two, 4, np.random.default_rng(0), silent)
    assert cluster.shape.n_leaves == 2


def test_a_large_leaf_is_split_by_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_tree, "MOST_SPLIT_BY", 40)
    assert groups_below(grown(4)) >= {frozenset({number}) for number in range(4)}


def test_inner_centres_are_the_weighted_means_of_their_childrens() -> None:
    with torch.no_grad():
        cluster = grown()
        for counts in ([40, 1, 7, 2], [3, 3, 90, 4]):
            cluster.steps.weigh(torch.tensor(counts, dtype=torch.float32))
        centre, shape = cluster.node_centres(), cluster.shape
    weight = np.zeros(shape.n_nodes)
    weight[shape.leaves] = cluster.weights
    expected = np.zeros_like(centre)
    expected[shape.leaves] = cluster.leaf_centres
    for node in range(shape.n_nodes - 1, -1, -1):
        children = np.flatnonzero(shape.parent == node)
        if children.size:
            first, second = children
            weight[node] = weight[first] + weight[second]
            expected[node] = (
                weight[first] * expected[first] + weight[second] * expected[second]
            ) / weight[node]
    np.testing.assert_allclose(centre, expected, rtol=1e-5, atol=1e-5)


def test_weights_are_moving_averages_of_counts() -> None:
    with torch.no_grad():
        cluster = grown(batch_size=1000.0)
        weights = cluster.weights.astype(float)
        assert weights.tolist() == pytest.approx([250.0] * 4)  # of a batch, by points
        for counts in ([40, 1, 7, 2], [3, 3, 90, 4]):
            cluster.steps.weigh(torch.tensor(counts, dtype=torch.float32))
            weights = 0.5 * weights + 0.5 * np.array(counts)
    np.testing.assert_allclose(cluster.weights, weights, rtol=1e-6)


def test_with_few_points_a_leaf_the_average_spans_more_batches() -> None:
    with torch.no_grad():
        cluster = grown(batch_size=10.0)  # 25 points a leaf take ten batches
        cluster.steps.weigh(torch.tensor([10.0, 0.0, 0.0, 0.0]))
    np.testing.assert_allclose(cluster.weights, [0.9 * 2.5 + 1.0, 2.25, 2.25, 2.25], rtol=1e-6)


def test_a_leaf_without_points_is_pruned_and_its_sibling_takes_the_parents_place() -> None:
    with torch.no_grad():
        cluster = grown()
        lost = int(np.argmin(np.linalg.norm(cluster.leaf_centres - PLACES[1], axis=1)))
        counts = torch.full((4,), 25.0)
        counts[lost] = 0
        n_steps = 0
        while not cluster.steps.stopped:
            cluster.steps.weigh(counts)
            n_steps += 1
        assert n_steps == 8  # 25 / 2^8 is the first below 0.1
        before = cluster.weights
        cluster.steps.weigh(counts)
        assert (cluster.weights == before).all(), "nothing changes until it is pruned"
        cluster.prune_light()
    assert (cluster.n_pruned, float(cluster.steps.stopped)) == (1, 0.0)
    assert cluster.shape.n_leaves == 3
    assert groups_below(cluster) >= {frozenset({0}), frozenset({1, 2}), frozenset({3})}


def test_the_last_leaf_is_never_pruned() -> None:
    with torch.no_grad():
        cluster = grown()
        cluster.prune(np.ones(4, dtype=bool))
    assert cluster.shape.n_leaves == 1
    assert cluster.n_pruned == 3


def test_restored_it_goes_on_the_same() -> None:
    rows = torch.from_numpy(np.pad(points()[0], ((0, 0), (0, 1)), constant_values=1.0))

    def train(cluster: ClusterTree) -> None:
        steps = cluster.steps
        for _ in range(3):
            counts = steps.press(rows, torch.zeros(len(rows), 2), torch.zeros(2))
            step_together([steps.adam], [steps.gradient], steps.going, steps.stopped)
            steps.weigh(counts)

    with torch.no_grad():
        cluster, restored = grown(), tree()
        train(cluster)
        restored.restore(cluster.arrays())
        train(cluster)
        train(restored)
    assert (cluster.leaf_centres == restored.leaf_centres).all()
    assert (cluster.weights == restored.weights).all()
    assert (cluster.shape.parent == restored.shape.parent).all()
