"""Parents of nodes and leaves against loops over eq. 3 to 5."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from models.methods.hyperbolic.ball import decoding
from tests.models.methods.hyperbolic.ball import equations_kit as equations
from tests.models.methods.hyperbolic.ball.points_kit import scattered, sphere

pytestmark = pytest.mark.needs("torch")


@pytest.mark.parametrize("block", [1, 20, 1 << 21])
def test_each_node_selects_the_nearest_before_it(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoding, "BLOCK", block)
    nodes = scattered(12, 3, 0)
    order = decoding.norm_order(nodes)
    assert order.tolist() == sorted(range(12), key=lambda n: float(nodes[n].norm()))
    ordered = nodes[order]
    parents = decoding.parents(ordered, 3)
    values = ordered.numpy()
    assert parents.parent[:, 0].tolist() == [equations.parent(n, values) for n in range(12)]
    for child in range(1, 12):
        apart = [equations.dissimilarity(values[child], values[p]) for p in range(child)]
        likely = np.array(equations.softmax([-one for one in apart]))
        best = np.argsort(-likely)[:3]
        assert parents.parent[child].tolist() == [*best.tolist(), *[-1] * (3 - len(best))]
        assert np.exp(parents.log_probability[child, : len(best)]) == pytest.approx(likely[best])
    assert parents.parent[0].tolist() == [-1, -1, -1]
    assert parents.log_probability[0].tolist() == [0.0, -np.inf, -np.inf]


@pytest.mark.parametrize("block", [1, 20, 1 << 21])
@pytest.mark.parametrize("radius", [0.9, 0.3])
def test_leaves_may_select_any_node(
    radius: float, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With radius 0.3 most nodes lie further out than the leaves."""
    monkeypatch.setattr(decoding, "BLOCK", block)
    nodes, leaves = scattered(12, 3, 0), sphere((30, 3), radius, 1)
    parents = decoding.choices(leaves, nodes, 2)
    for leaf, (chosen, log_probability) in enumerate(
        zip(parents.parent, parents.log_probability, strict=True)
    ):
        x = leaves[leaf].numpy()
        apart = [equations.dissimilarity(x, node) for node in nodes.numpy()]
        likely = np.array(equations.softmax([-one for one in apart]))
        best = np.argsort(-likely)[:2]
        assert chosen.tolist() == best.tolist()
        assert np.exp(log_probability) == pytest.approx(likely[best], rel=1e-9)
    assert (decoding.choices(leaves, nodes).parent[:, 0] == parents.parent[:, 0]).all()


@given(st.integers(1, 12), st.integers(0, 50), st.booleans())
def test_there_is_one_root_and_no_cycle(n_nodes: int, seed: int, alike: bool) -> None:
    """Also where several nodes lie at one norm, or at one place."""
    nodes = scattered(n_nodes, 2, seed)
    if alike:
        nodes = (nodes * 4).round() / 8
    ordered = nodes[decoding.norm_order(nodes)]
    parent = decoding.parents(ordered).parent[:, 0]
    assert parent[0] == -1
    assert (parent[1:] >= 0).all()
    assert (parent < np.arange(n_nodes)).all()


def test_equal_norms_go_by_number() -> None:
    nodes = torch.tensor([[0.0, 0.5], [0.5, 0.0], [-0.5, 0.0], [0.1, 0.0]])
    assert decoding.norm_order(nodes).tolist() == [3, 0, 1, 2]


def test_parents_of_some_nodes_are_those_of_all() -> None:
    nodes = scattered(15, 3, 4)
    order = decoding.norm_order(nodes)
    place = torch.empty_like(order)
    place[order] = torch.arange(15)
    some = torch.tensor([3, 0, 14, 7, 7, int(order[0])])
    parents = decoding.parents_of(some, place[some], nodes, place)
    assert parents.tolist() == [equations.parent(int(n), nodes.numpy()) for n in some]


def test_near_the_boundary_nothing_is_lost() -> None:
    nodes = torch.cat([scattered(5, 3, 0), sphere((3, 3), 1 - 1e-9, 1)])
    leaves = sphere((4, 3), 1 - 1e-12, 2)
    chosen = decoding.choices(leaves, nodes, 8)
    assert np.isfinite(chosen.log_probability).all()
    assert np.exp(chosen.log_probability).sum(axis=1) == pytest.approx(1.0)
