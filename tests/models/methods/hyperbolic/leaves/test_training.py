"""Runs of rounds: schedules, the best tree, early ends, checkpoints.

The relaxed cost against its definition, its gradient against torch's own and against steps.

Triples: three different leaves, each first equally often, every third equally likely.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from models.method import Checkpoint, Run
from models.methods.hyperbolic.leaves import fit as module
from models.methods.hyperbolic.leaves import parameters
from models.methods.hyperbolic.leaves.decoding import Sphere, depth
from models.methods.hyperbolic.leaves.fit import (
    BestLeaves,
    LeafRun,
    draw_triples,
    train,
)
from models.methods.hyperbolic.leaves.parameters import LeafParams
from models.methods.hyperbolic.leaves.similarity import APART, DasguptaCost, FeatureSimilarity
from models.running.device import computing
from models.running.progress import Alone, silent
from tests.models.tensors_kit import assert_close
from umbel.testing.lost_worker import MemoryCheckpoint


@pytest.mark.parametrize("n_points", [3, 4, 50])
def test_three_different_leaves(n_points: int) -> None:
    triples = draw_triples(n_points, 1000, 0, torch.Generator().manual_seed(0)).numpy()
    assert triples.shape == (3, 1000)
    assert triples.min() >= 0
    assert triples.max() == n_points - 1
    assert (np.diff(np.sort(triples, axis=0), axis=0) > 0).all()


def test_every_leaf_is_first_in_turn() -> None:
    generator = torch.Generator().manual_seed(0)
    first = [draw_triples(7, 10, start, generator)[0] for start in (0, 10, 20, 30)]
    assert torch.cat(first).tolist() == [number % 7 for number in range(40)]


def test_all_triples_are_equally_likely() -> None:
    n_triples = 60_000
    triples = draw_triples(5, n_triples, 3, torch.Generator().manual_seed(0)).numpy()
    _, times = np.unique(triples, axis=1, return_counts=True)
    assert times.size == 60
    assert times == pytest.approx(n_triples / 60, rel=0.15)


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


def relaxed_cost(
    directions: torch.Tensor,
    triples: torch.Tensor,
    similarity: torch.Tensor,
    sphere: Sphere,
    temperature: float,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The mean loss, and its gradient."""
    signs = directions.new_tensor(APART)
    part, gradient = module.relaxed_cost(
        directions, triples, similarity, sphere, temperature, signs
    )
    return (similarity.sum() + part) / triples.shape[1], gradient


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
    assert_close(gradient, own)
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


pytestmark = pytest.mark.needs("torch")

PARAMS = LeafParams(
    dimension=2,
    n_init=2,
    max_iter=60,
    patience=100,
    batch_size=64,
    learning_rate=0.02,
    temperature=0.05,
    final_temperature=0.01,
    max_norm=0.99,
)
_rng = np.random.default_rng(0)
SIMILARITY = FeatureSimilarity(
    10 * np.eye(4)[np.arange(40) % 4] + _rng.normal(size=(40, 4)), "cosine", None
)
TREE_COST = DasguptaCost(SIMILARITY, _rng)


@pytest.fixture(autouse=True)
def rounds_of_ten_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parameters, "FEWEST_ROUNDS", 6)


def trained(params: LeafParams = PARAMS, checkpoint: Checkpoint | None = None) -> BestLeaves:
    run = Run(_rng, silent, 1, Alone(lambda piece, progress: {}), checkpoint or Checkpoint())
    with computing(1):
        return train(SIMILARITY, TREE_COST, params, 7, run)


def test_the_sphere_grows_and_the_temperature_falls() -> None:
    norms = [PARAMS.sphere(step).norm for step in range(61)]
    assert (np.diff(norms[:43]) > 0).all()
    assert norms[0] == pytest.approx(np.tanh(parameters.START / 2))
    assert norms[42:] == pytest.approx([0.99] * 19)
    heats = [PARAMS.temperature_at(step) for step in range(61)]
    assert (heats[0], heats[60]) == pytest.approx((0.05, 0.01))
    assert np.diff(np.log(heats)) == pytest.approx(np.log(0.2) / 60)
    assert PARAMS.model_copy(update={"max_norm": 0.02}).sphere(0).norm == pytest.approx(0.02)


def test_a_round_keeps_leaves_on_the_sphere_and_lowers_the_objective() -> None:
    with computing(1):
        moving = LeafRun(40, PARAMS.model_copy(update={"max_iter": 200}), 7, 0)
        objectives = [moving.round(SIMILARITY, silent) for _ in range(12)]
    assert moving.n_steps == 120
    assert moving.directions.norm(dim=1).numpy() == pytest.approx(1.0)
    assert objectives[-1] < objectives[0] - 0.05


def test_a_step_has_the_requested_length() -> None:
    """The first step of Adam is of length one in every leaf, whatever the gradient's."""
    with computing(1):
        moving = LeafRun(5, PARAMS, 7, 0)
        before = moving.directions.clone()
        gradient = torch.from_numpy(np.random.default_rng(1).normal(size=(5, 2)))
        moving._step(1e-9 * gradient, 1, 1e-3)
    turned = (moving.directions - before).norm(dim=1)
    assert turned.numpy() == pytest.approx(1e-3, rel=1e-3)
    # Downhill.
    along = ((moving.directions - before) * gradient).sum(dim=1)
    assert (along < 0).all()


@pytest.mark.parametrize("dimension", [2, 5])
def test_steps_are_riemannian_adam_leaf_by_leaf(dimension: int) -> None:
    """Gradients and means are projected onto the tangent space; leaves stay on the sphere."""
    rng = np.random.default_rng(dimension)
    gradients = rng.normal(size=(4, 6, dimension))
    with computing(1):
        moving = LeafRun(6, PARAMS.model_copy(update={"dimension": dimension}), 7, 0)
        leaves = moving.directions.numpy().copy()
        for number, gradient in enumerate(gradients, 1):
            moving._step(torch.from_numpy(gradient.copy()), number, 1e-2)
    for leaf, after, own in zip(
        leaves, moving.directions.numpy(), gradients.swapaxes(0, 1), strict=True
    ):
        mean, square = np.zeros(dimension), 0.0
        for number, gradient in enumerate(own, 1):
            along = gradient - (gradient @ leaf) * leaf
            mean = 0.9 * mean + 0.1 * along
            square = 0.99 * square + 0.01 * (along @ along)
            corrected = mean / (1 - 0.9**number) / math.sqrt(square / (1 - 0.99**number))
            leaf = leaf - 1e-2 * corrected
            leaf = leaf / np.linalg.norm(leaf)
            mean = mean - (mean @ leaf) * leaf
        assert after == pytest.approx(leaf, rel=1e-12, abs=1e-13)


def test_the_best_tree_of_all_runs_is_kept() -> None:
    kept = trained()
    runs = [trained(PARAMS.model_copy(update={"n_init": n})) for n in (1, 2)]
    assert kept.cost == min(cost for _, cost in kept.costs) == runs[1].cost
    assert kept.cost <= runs[0].cost
    assert dict(kept.costs)[kept.step] == kept.cost
    assert [step for step, _ in kept.objectives] == [10, 20, 30, 40, 50, 60]
    decoded = module.tree_of(module.decode(kept.directions))
    assert TREE_COST.of(decoded) == pytest.approx(kept.cost)


def test_a_run_that_gets_no_better_ends_early() -> None:
    whole, early = (
        trained(PARAMS.model_copy(update={"n_init": 1})),
        trained(PARAMS.model_copy(update={"n_init": 1, "patience": 1})),
    )
    steps = [step for step, _ in early.costs]
    costs = [cost for _, cost in whole.costs]
    first = next(n for n in range(1, 6) if costs[n] >= min(costs[:n]))
    assert steps == [10 * n for n in range(1, first + 2)]


@pytest.mark.parametrize("at", [0, 3, 5, 8])
def test_a_lost_fit_resumes_and_ends_the_same(at: int) -> None:
    saved = MemoryCheckpoint()
    whole = trained(checkpoint=saved)
    assert len(saved.states) == 12
    rest = MemoryCheckpoint(saved.states[at])
    again = trained(checkpoint=rest)
    assert len(rest.states) == 11 - at
    assert (again.directions == whole.directions).all()
    assert (again.cost, again.run, again.step) == (whole.cost, whole.run, whole.step)
    assert (again.costs, again.objectives) == (whole.costs, whole.objectives)


@pytest.mark.parametrize("dimension", [2, 3])
def test_without_steps_the_result_is_random_leaves(dimension: int) -> None:
    kept = trained(PARAMS.model_copy(update={"max_iter": 0, "dimension": dimension}))
    assert kept.directions.shape == (40, dimension)
    assert kept.cost > 0
    assert kept.costs == []
