"""The expected cost against the mean over all trees, one by one; its gradients and its limit."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from models.methods.hyperbolic.ball import decoding, expected_cost_torch
from models.methods.hyperbolic.ball import decoding as tree_cost
from models.methods.hyperbolic.ball.expected_cost_torch import (
    LEAST_TEMPERATURE,
    MOST_TEMPERATURE,
    expected_cost,
    reached,
    temperature_for,
)
from tests.models.methods.hyperbolic.ball import equations_kit as equations
from tests.models.methods.hyperbolic.ball.points_kit import scattered, sphere

pytestmark = pytest.mark.needs("torch")


def selection(children: np.ndarray, nodes: np.ndarray, temperature: float) -> np.ndarray:
    """(n, M) probabilities of the nodes that points select, eq. 5."""
    return np.array(
        [
            equations.softmax(
                [-equations.dissimilarity(child, node) / temperature for node in nodes]
            )
            for child in children
        ]
    )


def parents_of(ordered: np.ndarray, temperature: float) -> list[list[float]]:
    """For each node but the first the probabilities of those before it, eq. 5."""
    return [
        equations.softmax(
            [-equations.dissimilarity(ordered[child], p) / temperature for p in ordered[:child]]
        )
        for child in range(1, len(ordered))
    ]


def by_all_trees(triples: np.ndarray, nodes: np.ndarray, temperature: float) -> float:
    """The mean over every tree and every selection of the two points of a pair; third points are
    below a node as often as they are over all trees."""
    ordered = nodes[np.argsort((nodes**2).sum(axis=1), kind="stable")]
    n_nodes, n_triples = len(nodes), triples.shape[1]
    selected = selection(triples.reshape(-1, nodes.shape[1]), ordered, temperature)
    parents = parents_of(ordered, temperature)
    trees = []
    for parent in itertools.product(*(range(child) for child in range(1, n_nodes))):
        probability = np.prod([parents[n][parent[n]] for n in range(n_nodes - 1)])
        paths = []
        for node in range(n_nodes):
            path = [node]
            while path[-1]:
                path.append(parent[path[-1] - 1])
            paths.append(path)
        trees.append((float(probability), paths))
    below = np.zeros(n_nodes)
    for probability, paths in trees:
        for node, path in enumerate(paths):
            below[path] += probability * selected[:, node].mean()
    inside = selected.mean(axis=0)
    total = 0.0
    for i in range(n_triples):
        first, second = selected[i], selected[n_triples + i]
        for (probability, paths), a, b in itertools.product(trees, range(n_nodes), range(n_nodes)):
            meet = next(node for node in paths[a] if node in paths[b])
            size = inside[a] if a == b else below[meet]
            total += probability * first[a] * second[b] * size
    return total / n_triples


@pytest.mark.parametrize("temperature", [1.0, 0.3, 0.05])
@pytest.mark.parametrize("n_nodes", [1, 2, 3, 5])
def test_it_is_the_mean_over_all_trees(n_nodes: int, temperature: float) -> None:
    triples, nodes = sphere((3, 4, 3), 0.9, 1), scattered(n_nodes, 3, 2)
    expected = by_all_trees(triples.numpy(), nodes.numpy(), temperature)
    assert float(expected_cost(triples, nodes, temperature)) == pytest.approx(expected, rel=1e-5)
    single = expected_cost(triples.float(), nodes.float(), temperature)
    assert float(single) == pytest.approx(expected, rel=1e-4)


def test_nodes_further_out_than_points_are_penalized_as_in_eq_3() -> None:
    triples, nodes = sphere((3, 3, 3), 0.4, 1), scattered(4, 3, 2)
    expected = by_all_trees(triples.numpy(), nodes.numpy(), 0.4)
    assert float(expected_cost(triples, nodes, 0.4)) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("radius", [0.9, 0.4])
@pytest.mark.parametrize("temperature", [1.0, 0.2])
def test_its_gradients_are_those_of_finite_differences(radius: float, temperature: float) -> None:
    triples = sphere((3, 3, 3), radius, 3).requires_grad_()
    nodes = scattered(6, 3, 4).requires_grad_()
    assert torch.autograd.gradcheck(
        lambda x, z: expected_cost(x, z, temperature), (triples, nodes), eps=1e-7, atol=1e-5
    )


def test_without_temperature_it_is_the_cost_of_the_tree() -> None:
    triples, nodes = sphere((3, 40, 4), 0.9, 1), scattered(12, 4, 2)
    ordered = nodes[decoding.norm_order(nodes)]
    parent = decoding.parents(ordered).parent[:, 0]
    chosen = decoding.choices(triples.reshape(-1, 4), ordered).parent[:, 0]
    cost = tree_cost.cost_of_choices(parent, chosen, chosen[:40], chosen[40:80])
    assert float(expected_cost(triples, nodes, 1e-4)) == pytest.approx(cost, rel=1e-6)
    assert abs(float(expected_cost(triples, nodes, 1.0)) - cost) > 0.01


def test_points_on_nodes_and_nodes_at_one_place_have_gradients() -> None:
    nodes = torch.tensor([[0.0, 0.0], [0.5, 0.0], [0.5, 0.0], [0.0, 0.9]], requires_grad=True)
    triples = torch.tensor([[[0.5, 0.0]], [[0.5, 0.0]], [[0.0, 0.9]]], requires_grad=True)
    for temperature in (1.0, 1e-3):
        value = expected_cost(triples, nodes, temperature)
        for slope in torch.autograd.grad(value, [nodes, triples]):
            assert torch.isfinite(slope).all()


@pytest.mark.parametrize("perplexity", [1.05, 1.2, 2.0, 6.0])
def test_a_temperature_has_the_perplexity_requested(perplexity: float) -> None:
    points, nodes = sphere((60, 4), 0.9, 1), scattered(12, 4, 2)
    temperature = temperature_for(points, nodes, perplexity)
    probability = selection(points.numpy(), nodes.numpy(), temperature)
    entropy = -(probability * np.log(probability)).sum(axis=1).mean()
    assert np.exp(entropy) == pytest.approx(perplexity, rel=1e-4)


def test_a_perplexity_out_of_reach_has_the_nearest_temperature() -> None:
    points, nodes = sphere((60, 4), 0.9, 1), scattered(12, 4, 2)
    assert temperature_for(points, nodes, 13.0) == pytest.approx(MOST_TEMPERATURE, rel=1e-3)
    # All points have two nodes at the same distance.
    twice = torch.cat([nodes, nodes])
    assert temperature_for(points, twice, 1.5) == pytest.approx(LEAST_TEMPERATURE, rel=1e-3)


def many_nodes() -> tuple[torch.Tensor, torch.Tensor]:
    """12 points near each other, in three parts of 4, and 40 nodes in order of norm."""
    points = sphere((1, 3), 0.9, 1) + 0.1 * torch.randn(
        12, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64
    )
    points *= 0.9 / points.norm(dim=1, keepdim=True)
    nodes = scattered(40, 3, 0)
    return points.view(3, 4, 3), nodes[decoding.norm_order(nodes)]


@pytest.mark.parametrize("temperature", [0.02, 0.1, 0.5])
def test_reached_nodes_are_likely_choices_and_likely_parents_of_these(temperature: float) -> None:
    triples, nodes = many_nodes()
    selected = selection(triples.flatten(0, 1).numpy(), nodes.numpy(), temperature)
    parents = [[], *parents_of(nodes.numpy(), temperature)]
    expected = {0} | set(np.flatnonzero((selected > 1e-4).any(axis=0)).tolist())
    while True:
        more = {int(p) for n in expected for p in np.flatnonzero(np.array(parents[n]) > 1e-4)}
        if more <= expected:
            break
        expected |= more
    numbers = reached(triples.flatten(0, 1), nodes, temperature)
    assert numbers.tolist() == sorted(expected)
    assert len(expected) < 40 or temperature == 0.5


@pytest.mark.parametrize("temperature", [0.02, 0.1])
def test_unreached_nodes_hardly_change_the_cost(
    temperature: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    triples, nodes = many_nodes()
    nodes = nodes[torch.randperm(40, generator=torch.Generator().manual_seed(1))].requires_grad_()
    whole = expected_cost(triples, nodes, temperature)
    (whole_gradient,) = torch.autograd.grad(whole, nodes)
    monkeypatch.setattr(expected_cost_torch, "MOST_WHOLE", 0)
    cost = expected_cost(triples, nodes, temperature)
    (gradient,) = torch.autograd.grad(cost, nodes)
    assert (gradient.abs().sum(dim=1) == 0).any()
    assert cost.item() == pytest.approx(whole.item(), abs=2e-3)
    assert float((gradient - whole_gradient).norm()) < 0.02 * float(whole_gradient.norm())


def test_with_all_nodes_reached_the_cost_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    triples, nodes = many_nodes()
    whole = expected_cost(triples, nodes, 2.0)
    monkeypatch.setattr(expected_cost_torch, "MOST_WHOLE", 0)
    assert float(expected_cost(triples, nodes, 2.0)) == pytest.approx(float(whole), rel=1e-12)
