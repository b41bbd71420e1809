"""Trees of nodes of the ball: the nodes that stay, their points, and their columns.

Each point of a shared leaf gets its own leaf.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

from models.inputs.rows import ArrayRows
from models.methods.hyperbolic.ball.extraction import BallTree, extract, point_leaves
from models.methods.hyperbolic.ball.points import BallScaling
from models.running.progress import silent
from models.tree.build import from_parents
from tests.models.methods.hyperbolic.ball import equations_kit as equations
from tests.models.methods.hyperbolic.ball.points_kit import scattered, sphere


# Before: node 1 is the leaf of points 0 and 2, node 2 that of point 1.
#
#      0            0
#     / \          / \
#    1   2   ->   1   2
#                / \
#               3   4
def test_points_of_a_shared_leaf_have_leaves_below_it() -> None:
    columns = {
        "norm": np.array([0.1, 1.0, 2.0]),
        "parent_probability": np.array([np.nan, 0.5, 0.6]),
        "alternative_1": np.array([-1, -1, 0]),
        "alternative_1_probability": np.array([np.nan, np.nan, 0.2]),
    }
    names = [None, "0", "1"]
    tree = from_parents(
        np.array([-1, 0, 0]), np.array([1.0, 0.0, 0.0]), names, np.array([1, 2, 1]), extra=columns
    )
    nodes, probability = np.zeros((3, 2), dtype=np.float32), np.array([0.7, 0.8, 0.9])
    ball_tree = BallTree(tree, nodes, np.array([-1, 1, 2]), probability, 0.0, 0)
    leaves = point_leaves(ball_tree, norm=np.array([3.0, 4.0, 5.0]))
    assert leaves.leaf.tolist() == [3, 2, 4]
    assert leaves.shared.tolist() == [True, False, True]
    assert leaves.parent.tolist() == [-1, 0, 0, 1, 1]
    assert leaves.columns["norm"].tolist() == [0.1, 1.0, 2.0, 3.0, 5.0]
    assert leaves.columns["parent_probability"][1:].tolist() == [0.5, 0.6, 0.7, 0.9]
    assert leaves.columns["alternative_1"].tolist() == [-1, -1, 0, -1, -1]
    assert np.isnan(leaves.columns["alternative_1_probability"][3:]).all()
    assert tree.extra["norm"].tolist() == [0.1, 1.0, 2.0]


pytestmark = pytest.mark.needs("torch")


def extracted(points: np.ndarray, nodes: torch.Tensor):
    scaling = BallScaling("none", np.zeros(points.shape[1]), 1.0, 0.9)
    return extract(ArrayRows(points), scaling, nodes, silent)


def at(degrees: float, radius: float) -> list[float]:
    angle = np.deg2rad(degrees)
    return [radius * float(np.cos(angle)), radius * float(np.sin(angle))]


def test_a_tree_of_two_branches() -> None:
    # node 0 (centre): node 1 (points 0, 1): node 3 (points 2, 3)
    #                  node 2 (points 4, 5)
    # and a node without points, further out than all others.
    nodes = torch.tensor([at(0, 0.5), at(180, 0.55), [0.0, 0.01], at(30, 0.7), at(90, 0.8)])
    points = np.array(
        [at(-30, 0.9), at(-31, 0.9), at(30, 0.9), at(31, 0.9), at(180, 0.9), at(181, 0.9)]
    )
    extraction = extracted(points, nodes)
    tree = extraction.tree
    # 0 - 1 - 3, 4 (points 0, 1)
    #   - 2
    assert tree.parent.tolist() == [-1, 0, 0, 1, 1]
    assert tree.leaf_of_point.tolist() == [4, 4, 3, 3, 2, 2]
    assert extraction.leaf_of_node.tolist() == [-1, 4, 2, 3]
    assert extraction.nodes == pytest.approx(nodes[[2, 0, 1, 3]].numpy())
    norm = [equations.norm(node.astype(np.float64)) for node in extraction.nodes]
    assert tree.extra["norm"] == pytest.approx([*norm, norm[1]])
    outermost = equations.norm(points[0])
    expected = [outermost - norm[0], outermost - norm[1], 0.0, 0.0, 0.0]
    assert tree.height == pytest.approx(expected)
    assert tree.name[tree.leaves].tolist() == ["0", "1", "2"]


def test_nodes_with_one_child_and_no_points_go() -> None:
    # centre - 1 - 2 - 3 in a row; points at 3 and on the other side: node 3 and a node there stay.
    nodes = torch.tensor([[0.0, 0.01], at(0, 0.3), at(0, 0.5), at(0, 0.7), at(180, 0.6)])
    points = np.array([at(0, 0.95), at(1, 0.95), at(180, 0.95)])
    extraction = extracted(points, nodes)
    assert extraction.tree.parent.tolist() == [-1, 0, 0]
    assert extraction.nodes == pytest.approx(nodes[[0, 4, 3]].numpy())
    assert extraction.tree.leaf_of_point.tolist() == [2, 2, 1]


def test_all_points_at_one_node_are_one_leaf() -> None:
    extraction = extracted(
        np.array([at(0, 0.9), at(2, 0.9)]), torch.tensor([[0.0, 0.0], at(1, 0.7)])
    )
    assert extraction.tree.n_nodes == 1
    assert extraction.tree.leaf_of_point.tolist() == [0, 0]
    assert extraction.log_probability == pytest.approx(0.0)
    assert np.isnan(extraction.tree.extra["parent_probability"]).all()


def test_points_at_the_centre_are_counted() -> None:
    extraction = extracted(
        np.array([[0.0, 0.0], at(0, 0.9)]), torch.tensor([[0.1, 0.0], at(0, 0.7)])
    )
    assert extraction.n_central == 1


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("radius", [0.9, 0.3])
def test_random_trees_keep_the_rules(seed: int, radius: float) -> None:
    nodes = scattered(25, 3, seed)
    points = sphere((60, 3), radius, seed + 50).numpy()
    extraction = extracted(points, nodes)
    tree, kept = extraction.tree, extraction.nodes.astype(np.float64)
    n_kept = len(kept)
    tree.validate()
    assert (tree.n_children != 1).all()
    assert (tree.size[tree.leaves] > 0).all()
    # Every parent is that of eq. 4 among the nodes of the tree, with its probability by eq. 5.
    total = 0.0
    for child in range(1, n_kept):
        apart = [equations.dissimilarity(kept[child], kept[p]) for p in range(child)]
        likely = equations.softmax([-one for one in apart])
        best = np.argsort(-np.array(likely), kind="stable").tolist()
        assert tree.parent[child] == equations.parent(child, kept) == best[0]
        columns = tree.extra
        assert columns["parent_probability"][child] == pytest.approx(likely[best[0]])
        assert columns["alternative_1"][child] == (best[1] if child > 1 else -1)
        if child > 2:
            assert columns["alternative_2"][child] == best[2]
            assert columns["alternative_2_probability"][child] == pytest.approx(likely[best[2]])
        total += np.log(likely[best[0]])
    of_points = []
    for point, leaf in zip(points, tree.leaf_of_point, strict=True):
        likely = equations.softmax([-equations.dissimilarity(point, node) for node in kept])
        node = int(np.argmax(likely))
        assert leaf == extraction.leaf_of_node[node]
        assert leaf == node or (leaf >= n_kept and tree.parent[leaf] == node)
        of_points.append(likely[node])
    assert extraction.probability == pytest.approx(of_points)
    # Eq. 6.
    assert extraction.log_probability == pytest.approx(total + np.log(of_points).sum())
    for leaf in range(n_kept, tree.n_nodes):
        own = np.array(of_points)[tree.leaf_of_point == leaf]
        assert tree.extra["parent_probability"][leaf] == pytest.approx(own.mean())
        assert tree.extra["alternative_1"][leaf] == -1


def test_nodes_at_one_place_share_no_points() -> None:
    nodes = torch.tensor([[0.0, 0.0], at(0, 0.5), at(0, 0.5), at(90, 0.5)])
    points = np.array([at(0, 0.9), at(5, 0.9), at(90, 0.9)])
    extraction = extracted(points, nodes)
    assert extraction.tree.n_nodes == 3
    assert extraction.tree.size.tolist() == [3, 2, 1]
