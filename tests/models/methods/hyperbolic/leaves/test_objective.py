"""The relaxed cost against its definition, its gradient against torch's own and against steps."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from models.methods.hyperbolic.leaves.ancestors import Sphere, depth
from models.methods.hyperbolic.leaves.objective import relaxed_cost
from models.methods.hyperbolic.leaves.triples import draw_triples

pytestmark = pytest.mark.needs("torch")


def literal(
    leaves: np.ndarray, triples: np.ndarray, similarity: np.ndarray, temperature: float
) -> float:
    """Triple by triple, with ancestors anywhere in the ball; leaves are points of it."""
    total = 0.0
    for (i, j, k), kept in zip(triples.T, similarity.T, strict=True):
        pairs = ((i, j), (i, k), (j, k))
        deep = [
            float(depth(torch.from_numpy(leaves[a]), torch.from_numpy(leaves[b]))) for a, b in pairs
        ]
        weights = [math.exp((one - max(deep)) / temperature) for one in deep]
        merged = sum(w * s for w, s in zip(weights, kept, strict=True)) / sum(weights)
        total += sum(kept) - merged
    return total / triples.shape[1]


def some(n_points: int = 9, dimension: int = 2, n_triples: int = 25) -> tuple[torch.Tensor, ...]:
    rng = np.random.default_rng(dimension)
    directions = rng.normal(size=(n_points, dimension))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    triples = draw_triples(n_points, n_triples, 0, torch.Generator().manual_seed(1))
    similarity = rng.random((3, n_triples))
    return torch.from_numpy(directions), triples, torch.from_numpy(similarity)


@pytest.mark.parametrize("dimension", [2, 3, 6])
@pytest.mark.parametrize(("radius", "temperature"), [(0.1, 0.05), (2.0, 0.3), (7.6, 0.05)])
def test_the_loss_is_its_definition(dimension: int, radius: float, temperature: float) -> None:
    directions, triples, similarity = some(dimension=dimension)
    sphere = Sphere(radius)
    loss, _ = relaxed_cost(directions, triples, similarity, sphere, temperature)
    leaves = sphere.norm * directions.numpy()
    expected = literal(leaves, triples.numpy(), similarity.numpy(), temperature)
    assert float(loss) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("dimension", [2, 4])
@pytest.mark.parametrize(("radius", "temperature"), [(0.1, 0.05), (2.0, 0.3), (7.6, 0.05)])
def test_the_gradient_is_that_of_the_loss(
    dimension: int, radius: float, temperature: float
) -> None:
    directions, triples, similarity = some(dimension=dimension)
    sphere = Sphere(radius)
    _, gradient = relaxed_cost(directions, triples, similarity, sphere, temperature)
    at = directions.clone().requires_grad_()
    loss, _ = relaxed_cost(at, triples, similarity, sphere, temperature)
    (own,) = torch.autograd.grad(loss, at)
    torch.testing.assert_close(gradient, own)
    # And along the sphere by differences of the definition.
    rng = np.random.default_rng(0)
    way = rng.normal(size=directions.shape)
    way -= (way * directions.numpy()).sum(axis=1, keepdims=True) * directions.numpy()
    step = 1e-5

    def moved(far: float) -> float:
        leaves = directions.numpy() + far * way
        leaves *= sphere.norm / np.linalg.norm(leaves, axis=1, keepdims=True)
        return literal(leaves, triples.numpy(), similarity.numpy(), temperature)

    slope = (moved(step) - moved(-step)) / (2 * step)
    assert float((gradient.numpy() * way).sum()) == pytest.approx(slope, rel=1e-3, abs=1e-6)


def test_at_temperature_zero_it_is_the_cost_of_the_tree() -> None:
    """Leaves 0 and 1 share the deepest ancestor: the cost is all but their similarity."""
    directions = torch.tensor([[1.0, 0.0], [0.99, 0.141], [-1.0, 0.0]]).double()
    directions /= directions.norm(dim=1, keepdim=True)
    similarity = torch.tensor([[0.7], [0.2], [0.1]]).double()
    triple = torch.tensor([[0], [1], [2]])
    loss, _ = relaxed_cost(directions, triple, similarity, Sphere(7.6), 1e-3)
    assert float(loss) == pytest.approx(0.3)
    # At a high temperature no pair is preferred.
    loss, _ = relaxed_cost(directions, triple, similarity, Sphere(7.6), 1e6)
    assert float(loss) == pytest.approx(2 / 3)


def test_leaves_at_one_place_and_opposite_have_finite_gradients() -> None:
    directions = torch.tensor([[1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]]).double()
    similarity = torch.tensor([[0.7], [0.2], [0.1]]).double()
    _, gradient = relaxed_cost(
        directions, torch.tensor([[0], [1], [2]]), similarity, Sphere(7.6), 0.05
    )
    along = gradient - (gradient * directions).sum(dim=1, keepdim=True) * directions
    assert along.isfinite().all()
    assert along.abs().max() < 1e-6
