"""A leaf of its own for each point of a shared leaf."""

from __future__ import annotations

import numpy as np

from models.methods.hyperbolic.ball.extraction import BallTree
from models.methods.hyperbolic.ball.point_leaves import point_leaves
from models.tree.build import from_parents


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
