"""Rounds of steps: the result, checkpoints, early ends.

Both objectives against loops over the paper's equations, and their gradients.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from models.arrays import Arrays
from models.method import Checkpoint
from models.methods.hyperbolic.ball import ranking_torch, training
from models.methods.hyperbolic.ball.decoding import PoolTreeCost
from models.methods.hyperbolic.ball.parameters import (
    BallEffort,
    BallObjective,
    MaskForm,
    StructureForm,
    TreeLoss,
)
from models.methods.hyperbolic.ball.training import TrainedNodes, train
from models.methods.hyperbolic.ball.triples import GumbelNoise, NoiseStream, PoolTriples
from models.running.progress import Progress, silent
from tests.models.methods.hyperbolic.ball import equations_kit as equations
from tests.models.methods.hyperbolic.ball.points_kit import scattered, sphere
from tests.models.methods.hyperbolic.ball.training_kit import EFFORT, source_and_cost
from umbel.testing.lost_worker import MemoryCheckpoint


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
    assert float(training.ranking(triples, nodes, objective)) == pytest.approx(expected, rel=1e-10)
    single = training.ranking(triples.float(), nodes.float(), objective)
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
        lambda x, z: training.ranking(x, z, objective), (triples, nodes), eps=1e-7, atol=1e-5
    )


def test_with_noise_its_gradient_is_that_of_the_same_noise() -> None:
    triples, nodes = sphere((3, 3, 3), 0.9, 3), scattered(5, 3, 4).requires_grad_()
    for mask in ("likeliest", "nearest"):
        objective = BallObjective(noise=0.7, temperature=0.5, mask=mask)
        assert torch.autograd.gradcheck(
            lambda z, objective=objective: training.ranking(triples, z, objective, noise(5, 3, 5)),
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
        value = training.ranking(triples, at, BallObjective(), noise(0, 11, 9))
        (slope,) = torch.autograd.grad(value, at)
        losses_of_batches.append((float(value.detach()), slope.numpy()))
    for value, slope in losses_of_batches[1:]:
        assert value == pytest.approx(losses_of_batches[0][0], rel=1e-12)
        assert slope == pytest.approx(losses_of_batches[0][1], rel=1e-9)


def test_noise_sometimes_makes_other_nodes_likely() -> None:
    triples, nodes = sphere((3, 200, 4), 0.9, 1), scattered(9, 4, 2)
    still = training.ranking(triples, nodes, BallObjective(noise=0.0))
    chosen = [
        float(training.ranking(triples, nodes, BallObjective(noise=1.0), noise(seed, 200, 9)))
        for seed in range(3)
    ]
    assert len({*chosen, float(still)}) == 4


def test_the_masks_differ_with_noise_alone() -> None:
    triples, nodes = sphere((3, 50, 4), 0.9, 1), scattered(9, 4, 2)

    def value(much: float, mask: MaskForm) -> float:
        objective = BallObjective(noise=much, mask=mask)
        return float(training.ranking(triples, nodes, objective, noise(1, 50, 9)))

    assert value(0.0, "nearest") == value(0.0, "likeliest")
    assert value(1.0, "nearest") != value(1.0, "likeliest")


@pytest.mark.parametrize("form", ["sigmoid", "softplus"])
def test_points_on_nodes_and_nodes_at_one_place_have_gradients(form: TreeLoss) -> None:
    nodes = torch.tensor([[0.0, 0.0], [0.5, 0.0], [0.5, 0.0], [0.0, 0.9]], requires_grad=True)
    triples = torch.tensor([[[0.5, 0.0]], [[0.5, 0.0]], [[0.0, 0.9]]], requires_grad=True)
    for margin in (0.0, 0.25):
        value = training.ranking(triples, nodes, BallObjective(form=form, margin=margin, noise=0.0))
        for slope in torch.autograd.grad(value, [nodes, triples]):
            assert torch.isfinite(slope).all()


def test_a_step_down_brings_two_together_and_the_third_apart() -> None:
    """Node 1 is nearest to i and j, node 2 to k; node 0 lies between."""
    nodes = torch.tensor([[0.05, 0.05], [0.5, 0.1], [0.1, 0.5]], dtype=torch.float64)
    triples = torch.tensor([[[0.9, 0.0]], [[0.88, 0.1]], [[0.0, 0.9]]], dtype=torch.float64)
    at = nodes.clone().requires_grad_()
    objective = BallObjective(noise=0.0, temperature=0.1)
    (slope,) = torch.autograd.grad(training.ranking(triples, at, objective), at)
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
    loss, _ = training.child_parent(nodes, children, parents, objective)
    assert float(loss) == pytest.approx(np.mean(expected), rel=1e-10)

    def value(at: np.ndarray) -> float:
        loss_of_one, _ = training.child_parent(torch.from_numpy(at), children, parents, objective)
        return float(loss_of_one)

    _, gradient = training.child_parent(nodes, children, parents, objective)
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
    loss, gradient = training.child_parent(nodes, *pair, BallObjective(structure_margin=5.0))
    assert float(loss) == 0.0
    assert (gradient == 0).all()
    norms = BallObjective(structure_margin=5.0, structure="norms")
    loss, gradient = training.child_parent(nodes, *pair, norms)
    assert float(loss) == pytest.approx(5.0)
    assert torch.isfinite(gradient).all()
    assert not (gradient == 0).all()


pytestmark = pytest.mark.needs("torch")


def trained(effort: BallEffort = EFFORT, checkpoint: Checkpoint | None = None) -> TrainedNodes:
    triples, tree_cost = source_and_cost()
    nodes = scattered(11, 4, 0).float()
    before = nodes.clone()
    torch.set_num_threads(1)
    result = train(triples, nodes, tree_cost, effort, 7, checkpoint or Checkpoint(), silent)
    assert (nodes == before).all()
    return result


def test_the_objective_falls() -> None:
    result = trained(replace(EFFORT, max_iter=400, structure_every=0, learning_rate=0.1))
    values = [value for _, value in result.objectives]
    assert [step for step, _ in result.objectives] == list(range(20, 401, 20))
    assert np.mean(values[-5:]) < np.mean(values[:3])


def test_the_child_parent_objective_falls_where_it_alone_is_lowered() -> None:
    from models.methods.hyperbolic.ball import decoding, training

    def value(nodes: torch.Tensor) -> float:
        ordered = nodes[decoding.norm_order(nodes)]
        parent = decoding.parents(ordered).parent[1:, 0]
        children = torch.arange(1, len(ordered))
        return float(
            training.child_parent(ordered, children, torch.from_numpy(parent), BallObjective())[0]
        )

    none = replace(EFFORT, objective=BallObjective(temperature=0.1, margin=0.0))
    before = scattered(11, 4, 0).float()
    result = trained(replace(none, max_iter=400, learning_rate=0.05, keep="last"))
    without = trained(
        replace(none, max_iter=400, learning_rate=0.05, keep="last", structure_every=0)
    )
    assert value(result.nodes) < value(without.nodes)
    assert value(result.nodes) < value(before)


def test_the_best_or_the_last_nodes_are_kept() -> None:
    _, tree_cost = source_and_cost()
    best = trained(replace(EFFORT, max_iter=200, learning_rate=0.1))
    last = trained(replace(EFFORT, max_iter=200, learning_rate=0.1, keep="last"))
    assert best.costs == last.costs
    assert best.objectives == last.objectives
    assert tree_cost.of(best.nodes) == best.best_cost == min(cost for _, cost in best.costs)
    assert last.best_step == 200
    assert tree_cost.of(last.nodes) == last.costs[-1][1]


def test_a_last_round_may_be_shorter() -> None:
    result = trained(replace(EFFORT, max_iter=50))
    assert [step for step, _ in result.objectives] == [20, 40, 50]
    assert [step for step, _ in result.costs] == [0, 20, 40, 50]
    assert trained(replace(EFFORT, max_iter=0)).costs == result.costs[:1]


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_a_fit_resumed_from_a_checkpoint_ends_the_same(optimizer: Any) -> None:
    effort = replace(EFFORT, optimizer=optimizer, max_iter=100)
    kept = MemoryCheckpoint()
    whole = trained(effort, kept)
    assert len(kept.states) == 5
    for state in (kept.states[0], kept.states[3]):
        rest = MemoryCheckpoint(state)
        again = trained(effort, rest)
        assert (again.nodes == whole.nodes).all()
        assert (again.costs, again.objectives) == (whole.costs, whole.objectives)
        assert again.best_step == whole.best_step
        assert len(rest.states) == 5 - int(state["n_rounds"])


class Poisoned(PoolTriples):
    """From round 2 on a point is not a number."""

    def begin_round(self, number: int, progress: Progress) -> None:
        super().begin_round(number, progress)
        self.bad = number >= 2

    def ahead(self, n_steps: int) -> torch.Tensor:
        drawn = super().ahead(n_steps)
        if self.bad:
            drawn[:, 0, 0] = torch.nan
        return drawn


def test_a_loss_that_is_not_finite_ends_the_fit_at_the_last_good_round() -> None:
    triples, tree_cost = source_and_cost()
    triples.__class__ = Poisoned
    kept = MemoryCheckpoint()
    nodes = scattered(11, 4, 0).float()
    result = train(triples, nodes, tree_cost, EFFORT, 7, kept, silent)
    assert result.diverged == "after 40 to 60 steps some numbers were not finite"
    assert torch.isfinite(result.nodes).all()
    assert [step for step, _ in result.costs] == [0, 20, 40]
    assert len(kept.states) == 2


def test_three_bad_rounds_in_a_row_end_the_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "WORSE", 1.0)
    # Steps that do not help: the cost is the same or worse for three rounds.
    result = trained(replace(EFFORT, max_iter=2000, learning_rate=5.0))
    assert result.diverged.startswith("after ")
    assert "the tree's cost was" in result.diverged
    assert result.costs[-1][0] < 2000


def test_nodes_thrown_to_the_edge_end_a_fit_that_resumes_too() -> None:
    effort = replace(EFFORT, max_iter=2000, learning_rate=1e4)
    kept = MemoryCheckpoint()
    result = trained(effort, kept)
    assert result.diverged == "after 60 steps all nodes lay at the edge of the ball"
    assert [int(state["n_bad"]) for state in kept.states] == [1, 2]
    assert trained(effort, MemoryCheckpoint(kept.states[1])).diverged == result.diverged
    assert (trained(replace(effort, keep="last")).diverged) == result.diverged


def test_nodes_that_begin_at_the_edge_are_not_taken_for_thrown_there() -> None:
    effort = replace(EFFORT, max_iter=100, learning_rate=1e-9, max_norm=0.05, structure_every=0)
    triples, tree_cost = source_and_cost()
    nodes = scattered(11, 4, 0).float()
    nodes *= 0.05 / nodes.norm(dim=1, keepdim=True)
    result = train(triples, nodes, tree_cost, effort, 7, Checkpoint(), silent)
    assert result.diverged == ""


class Learned:
    """Six leaves that are learned: each is drawn to its own corner by the problem's loss."""

    def __init__(self) -> None:
        self.corner = 0.8 * torch.eye(3).repeat(2, 1)
        self.at = (0.01 * scattered(6, 3, 1).float()).requires_grad_()
        self.learned: Sequence[torch.Tensor] = (self.at,)
        self.kept = self.at.detach().clone()
        self.n_kept = 0

    def begin_round(self, number: int, progress: Progress) -> None:
        self.rng = np.random.default_rng(number)

    def draw(self) -> torch.Tensor:
        chosen = self.rng.integers(6, size=4)
        numbers = np.stack([chosen, (chosen + 3) % 6, (chosen + 1) % 6])
        return self.at[torch.from_numpy(numbers)]

    def own_loss(self) -> torch.Tensor | None:
        return ((self.at - self.corner) ** 2).sum()

    def learn(self, gradients: Sequence[torch.Tensor]) -> None:
        with torch.no_grad():
            self.at -= 0.05 * gradients[0]

    def keep(self) -> None:
        self.kept = self.at.detach().clone()
        self.n_kept += 1

    def arrays(self) -> Arrays:
        return {"at": self.at.detach().numpy()}

    def restore(self, arrays: Arrays) -> None:
        with torch.no_grad():
            self.at.copy_(torch.from_numpy(arrays["at"].copy()))


def test_leaves_may_be_learned_along_by_a_loss_of_their_own() -> None:
    class Steady(PoolTreeCost):
        def __init__(self) -> None:
            self.n = 0

        def of(self, nodes: torch.Tensor) -> float:
            self.n -= 1
            return 100.0 + self.n

    leaves, kept = Learned(), MemoryCheckpoint()
    nodes = scattered(5, 3, 0).float()
    result = train(leaves, nodes, Steady(), EFFORT, 7, kept, silent)
    assert not (result.nodes == nodes).all()
    assert leaves.n_kept == 3
    assert (leaves.at.detach() - leaves.corner).norm(dim=1).max() < 0.2
    again = Learned()
    rest = train(again, nodes, Steady(), EFFORT, 7, MemoryCheckpoint(kept.states[0]), silent)
    assert (again.at == leaves.at).all()
    assert (rest.nodes == result.nodes).all()
