"""The tree over tasks that nodes of the ball represent."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from models.inputs.data import Data
from models.methods.tasks.regression import fit
from models.methods.tasks.regression.table import Table, table_of

pytestmark = pytest.mark.needs("torch")

TASKS = np.array([3, 0, 1, 2, 4, 4, 0, 2])


def table() -> Table:
    rng = np.random.default_rng(0)
    data = Data(
        {"features": rng.normal(size=(8, 2)), "targets": rng.normal(size=8), "tasks": TASKS}
    )
    return table_of(data, "regression")


# Nodes at 0, right and left; tasks 0 and 1 right, 2 and 3 left, 4 at the centre.
#
#          root
#        /   |   \
#    right  left   4
#    /  \   /  \
#   0    1 2    3
def test_the_drawn_tree() -> None:
    points = np.array([[0.8, 0.05], [0.8, -0.05], [-0.8, 0.05], [-0.8, -0.05], [0.01, 0.3]])
    nodes = torch.tensor([[0.0, 0.0], [0.6, 0.0], [-0.6, 0.0]])
    tree = fit.over_tasks(points.astype(np.float32), nodes, table())
    leaf = {tree.name[node]: int(node) for node in tree.leaves}
    assert sorted(map(str, leaf)) == ["0", "1", "2", "3", "4"]
    assert [tree.name[node] for node in tree.leaf_of_point] == [str(task) for task in TASKS]
    parent = {name: int(tree.parent[node]) for name, node in leaf.items()}
    assert parent["0"] == parent["1"] != parent["2"] == parent["3"]
    assert parent["4"] == 0
    assert tree.parent[parent["0"]] == tree.parent[parent["2"]] == 0
    assert tree.size[parent["0"]] == 3
    assert (tree.height[tree.leaves] == 0).all()
    assert 0 < tree.height[parent["0"]] < tree.height[0]
    np.testing.assert_allclose(
        tree.extra["norm"][leaf["0"]], 2 * np.arctanh(np.hypot(0.8, 0.05)), rtol=1e-5
    )
    assert 0.5 < tree.extra["parent_probability"][leaf["0"]] <= 1


def test_tasks_that_all_choose_one_node_lie_under_it() -> None:
    points = np.full((5, 2), 0.5) + np.arange(5)[:, None] * 1e-3
    tree = fit.over_tasks(points.astype(np.float32), torch.tensor([[0.4, 0.4]]), table())
    assert tree.parent.tolist() == [-1, 0, 0, 0, 0, 0]
    assert fit.star(table()).parent.tolist() == tree.parent.tolist()
    assert tree.n_points == 8
