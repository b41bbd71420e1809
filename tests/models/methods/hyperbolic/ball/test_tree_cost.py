"""The cost of a tree against a walk up from every pair."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from models.methods.hyperbolic.ball import decoding
from models.methods.hyperbolic.ball import decoding as module
from models.methods.hyperbolic.ball.decoding import PoolTreeCost, cost_of_choices
from models.methods.hyperbolic.ball.points import Pool
from tests.models.methods.hyperbolic.ball import equations_kit as equations
from tests.models.methods.hyperbolic.ball.points_kit import scattered, sphere

pytestmark = pytest.mark.needs("torch")


@given(st.integers(1, 9), st.integers(2, 12), st.integers(0, 1000))
def test_the_cost_is_the_mean_share_under_common_ancestors(
    n_nodes: int, n_points: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    parents = [-1, *(int(rng.integers(node)) for node in range(1, n_nodes))]
    chosen = rng.integers(n_nodes, size=n_points)
    first, second = rng.integers(n_points, size=(2, 7))
    cost = cost_of_choices(np.array(parents), chosen, chosen[first], chosen[second])
    expected = equations.cost(
        parents, chosen.tolist(), list(zip(first.tolist(), second.tolist(), strict=True)), n_points
    )
    assert cost == pytest.approx(expected)


def pool_of(points: torch.Tensor, n_near: int) -> Pool:
    apart = torch.cdist(points, points).fill_diagonal_(torch.inf)
    near = apart.argsort(dim=1)[:, :n_near].numpy().astype(np.int32)
    return Pool(points.float(), near, np.arange(len(points)))


def test_a_cost_is_over_all_pairs_of_neighbours() -> None:
    pool = pool_of(sphere((20, 3), 0.9, 0), 4)
    nodes = scattered(6, 3, 1)
    ordered = nodes[decoding.norm_order(nodes)]
    parents = decoding.parents(ordered).parent[:, 0].tolist()
    chosen = decoding.choices(pool.points, ordered).parent[:, 0].tolist()
    pairs = [(point, int(near)) for point in range(20) for near in pool.near[point]]
    tree_cost = PoolTreeCost(pool, np.random.default_rng(0))
    assert tree_cost.n_pairs == 80
    assert tree_cost.of(nodes) == pytest.approx(equations.cost(parents, chosen, pairs, 20))
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    assert tree_cost.of(nodes[order]) == tree_cost.of(nodes)


def test_one_node_costs_everything_and_none_for_each_pair_little() -> None:
    points = sphere((6, 2), 0.9, 0)
    tree_cost = PoolTreeCost(pool_of(points, 1), np.random.default_rng(0))
    assert tree_cost.of(torch.zeros(1, 2)) == 1.0
    # Nodes at the points: each pair of neighbours is apart from what does not lie between.
    assert tree_cost.of(torch.cat([torch.zeros(1, 2), 0.8 * points.float()])) < 1.0


def test_a_sample_comes_near_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = pool_of(sphere((2000, 3), 0.9, 0), 5)
    nodes = scattered(30, 3, 1)
    whole = PoolTreeCost(pool, np.random.default_rng(0)).of(nodes)
    for name, value in (("WHOLE", 100), ("_N_COUNTED", 800), ("_N_PAIRED", 400)):
        monkeypatch.setattr(module, name, value)
    sampled = [PoolTreeCost(pool, np.random.default_rng(seed)) for seed in (0, 0, 1)]
    assert sampled[0].n_pairs == 2000
    costs = [one.of(nodes) for one in sampled]
    assert costs[0] == costs[1] != costs[2]
    assert np.mean(costs) == pytest.approx(whole, rel=0.1)
