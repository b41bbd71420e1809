"""Both objectives against loops over the paper's equations, and their gradients."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from models.methods.hyperbolic.ball import losses, ranking_torch
from models.methods.hyperbolic.ball.effort import BallObjective, MaskForm, StructureForm, TreeLoss
from models.methods.hyperbolic.ball.noise import GumbelNoise, NoiseStream
from tests.models.methods.hyperbolic.ball import equations_kit as equations
from tests.models.methods.hyperbolic.ball.points_kit import scattered, sphere

pytestmark = pytest.mark.needs("torch")


def noise(seed: int, n_triples: int, n_nodes: int) -> GumbelNoise:
    rng = np.random.default_rng(seed)
    return NoiseStream(rng, n_nodes, torch.device("cpu")).next(n_triples)


WAYS = [
    BallObjective(noise=0.0, form=form, margin=margin, temperature=temperature)
    for form, margin, temperature in itertools.product(
        ("sigmoid", "softplus"), (0.0, 0.25, 2.0), (1.0, 0.1)
    )
]


@pytest.mark.parametrize("objective", WAYS)
@pytest.mark.parametrize("radius", [0.9, 0.4])
def test_the_ranking_objective_is_the_papers(objective: BallObjective, radius: float) -> None:
    triples, nodes = sphere((3, 6, 4), radius, 1), scattered(9, 4, 2)
    expected = equations.ranking(triples.numpy(), nodes.numpy(), objective)
    assert float(losses.ranking(triples, nodes, objective)) == pytest.approx(expected, rel=1e-10)
    single = losses.ranking(triples.float(), nodes.float(), objective)
    assert single.dtype == torch.float32
    assert float(single) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("objective", WAYS)
@pytest.mark.parametrize("radius", [0.9, 0.4])
def test_its_gradients_are_those_of_finite_differences(
    objective: BallObjective, radius: float
) -> None:
    triples = sphere((3, 3, 3), radius, 3).requires_grad_()
    nodes = scattered(5, 3, 4).requires_grad_()
    assert torch.autograd.gradcheck(
        lambda x, z: losses.ranking(x, z, objective), (triples, nodes), eps=1e-7, atol=1e-5
    )


def test_with_noise_its_gradient_is_that_of_the_same_noise() -> None:
    triples, nodes = sphere((3, 3, 3), 0.9, 3), scattered(5, 3, 4).requires_grad_()
    for mask in ("likeliest", "nearest"):
        objective = BallObjective(noise=0.7, temperature=0.5, mask=mask)
        assert torch.autograd.gradcheck(
            lambda z, objective=objective: losses.ranking(triples, z, objective, noise(5, 3, 5)),
            (nodes,),
            eps=1e-7,
            atol=1e-5,
        )


def test_batches_of_triples_give_the_same_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    triples, nodes = sphere((3, 11, 4), 0.9, 1), scattered(9, 4, 2)
    losses_of_batches = []
    for chunk, fewest in ((1, 1), (3 * 9 * 4, 1), (1, 5), (1 << 20, 16)):
        monkeypatch.setattr(ranking_torch, "CHUNK", chunk)
        monkeypatch.setattr(ranking_torch, "FEWEST", fewest)
        at = nodes.clone().requires_grad_()
        value = losses.ranking(triples, at, BallObjective(), noise(0, 11, 9))
        (slope,) = torch.autograd.grad(value, at)
        losses_of_batches.append((float(value.detach()), slope.numpy()))
    for value, slope in losses_of_batches[1:]:
        assert value == pytest.approx(losses_of_batches[0][0], rel=1e-12)
        assert slope == pytest.approx(losses_of_batches[0][1], rel=1e-9)


def test_noise_sometimes_makes_other_nodes_likely() -> None:
    triples, nodes = sphere((3, 200, 4), 0.9, 1), scattered(9, 4, 2)
    still = losses.ranking(triples, nodes, BallObjective(noise=0.0))
    chosen = [
        float(losses.ranking(triples, nodes, BallObjective(noise=1.0), noise(seed, 200, 9)))
        for seed in range(3)
    ]
    assert len({*chosen, float(still)}) == 4


def test_the_masks_differ_with_noise_alone() -> None:
    triples, nodes = sphere((3, 50, 4), 0.9, 1), scattered(9, 4, 2)

    def value(much: float, mask: MaskForm) -> float:
        objective = BallObjective(noise=much, mask=mask)
        return float(losses.ranking(triples, nodes, objective, noise(1, 50, 9)))

    assert value(0.0, "nearest") == value(0.0, "likeliest")
    assert value(1.0, "nearest") != value(1.0, "likeliest")


@pytest.mark.parametrize("form", ["sigmoid", "softplus"])
def test_points_on_nodes_and_nodes_at_one_place_have_gradients(form: TreeLoss) -> None:
    nodes = torch.tensor([[0.0, 0.0], [0.5, 0.0], [0.5, 0.0], [0.0, 0.9]], requires_grad=True)
    triples = torch.tensor([[[0.5, 0.0]], [[0.5, 0.0]], [[0.0, 0.9]]], requires_grad=True)
    for margin in (0.0, 0.25):
        value = losses.ranking(triples, nodes, BallObjective(form=form, margin=margin, noise=0.0))
        for slope in torch.autograd.grad(value, [nodes, triples]):
            assert torch.isfinite(slope).all()


def test_a_step_down_brings_two_together_and_the_third_apart() -> None:
    """Node 1 is nearest to i and j, node 2 to k; node 0 lies between."""
    nodes = torch.tensor([[0.05, 0.05], [0.5, 0.1], [0.1, 0.5]], dtype=torch.float64)
    triples = torch.tensor([[[0.9, 0.0]], [[0.88, 0.1]], [[0.0, 0.9]]], dtype=torch.float64)
    at = nodes.clone().requires_grad_()
    objective = BallObjective(noise=0.0, temperature=0.1)
    (slope,) = torch.autograd.grad(losses.ranking(triples, at, objective), at)
    moved = (nodes - 1e-3 * slope).numpy()
    i, _, k = triples[:, 0].numpy()
    assert equations.distance(i, moved[1]) < equations.distance(i, nodes[1].numpy())
    assert equations.distance(k, moved[1]) > equations.distance(k, nodes[1].numpy())


@pytest.mark.parametrize("margin", [0.0, 0.25, 3.0])
@pytest.mark.parametrize("structure", ["distance", "norms"])
def test_the_child_parent_objective_is_the_papers(margin: float, structure: StructureForm) -> None:
    nodes = scattered(20, 3, 5)
    children = torch.tensor([1, 2, 3, 5, 5, 19])
    parents = torch.tensor([0, 0, 4, 6, 1, 3])
    objective = BallObjective(structure_margin=margin, structure=structure)
    pairs = [(nodes[c].numpy(), nodes[p].numpy()) for c, p in zip(children, parents, strict=True)]
    expected = [equations.dissimilarity(child, parent, margin) for child, parent in pairs]
    if structure == "norms":
        expected = [
            max(equations.norm(parent) - equations.norm(child) + margin, 0)
            for child, parent in pairs
        ]
    loss, _ = losses.child_parent(nodes, children, parents, objective)
    assert float(loss) == pytest.approx(np.mean(expected), rel=1e-10)

    def value(at: np.ndarray) -> float:
        loss_of_one, _ = losses.child_parent(torch.from_numpy(at), children, parents, objective)
        return float(loss_of_one)

    _, gradient = losses.child_parent(nodes, children, parents, objective)
    for node in range(20):
        for column in range(3):
            more, less = nodes.numpy().copy(), nodes.numpy().copy()
            more[node, column] += 1e-6
            less[node, column] -= 1e-6
            slope = (value(more) - value(less)) / 2e-6
            assert float(gradient[node, column]) == pytest.approx(slope, abs=1e-7, rel=1e-6)


def test_where_child_and_parent_coincide_it_is_zero_so_it_keeps_no_margin() -> None:
    """Eq. 17 has the distance as a factor, so nodes at one place break any margin at no cost."""
    nodes = torch.tensor([[0.3, 0.2], [0.3, 0.2]], dtype=torch.float64)
    pair = torch.tensor([0]), torch.tensor([1])
    loss, gradient = losses.child_parent(nodes, *pair, BallObjective(structure_margin=5.0))
    assert float(loss) == 0.0
    assert (gradient == 0).all()
    norms = BallObjective(structure_margin=5.0, structure="norms")
    loss, gradient = losses.child_parent(nodes, *pair, norms)
    assert float(loss) == pytest.approx(5.0)
    assert torch.isfinite(gradient).all()
    assert not (gradient == 0).all()
