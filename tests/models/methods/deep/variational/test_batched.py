"""All nodes at once against one after the other: bound, gradients, averages, and whole steps."""

from __future__ import annotations

import copy
from itertools import product

import pytest
import torch
from torch import Tensor

from models.methods.deep.variational.batched import BatchedBound
from models.methods.deep.variational.bound import Terms, arrived, bounded, rooted
from models.methods.deep.variational.layers import Likelihood
from models.methods.deep.variational.network import TreeNetwork, units
from models.methods.deep.variational.phases import Phase, Schedule
from tests.models.methods.deep.variational.literal_kit import small_network
from tests.models.tensors_kit import assert_close

pytestmark = pytest.mark.needs("torch")

TREES: tuple[tuple[int, ...], ...] = ((), (1,), (2,), (2, 4), (1, 2, 3), (1, 2), (1, 2, 5, 4))
"""0 -> (1, 2); 0 -> (1 -> (3, 4), 2); 0 -> (1, 2 -> (3, 4)); 0 -> (1, 2 -> (3, 4 -> (5, 6)));
0 -> (1 -> (3 -> (7, 8), 4), 2 -> (5, 6)); 0 -> (1 -> (3, 4), 2 -> (5, 6));
0 -> (1 -> (3, 4 -> (9, 10)), 2 -> (5 -> (7, 8), 6))."""

KINDS = list(product(("bernoulli", "gaussian"), TREES))


def case(likelihood: Likelihood, splits: tuple[int, ...]) -> tuple[TreeNetwork, Tensor, Tensor]:
    """A network, rows, and noise for each node by its number."""
    network = small_network(likelihood, splits)
    generator = torch.Generator().manual_seed(3)
    rows = torch.rand((7, 5), generator=generator, dtype=torch.float64)
    n_numbers = len(network.topology.children)
    return network, rows, torch.randn((n_numbers, 7, 2), generator=generator, dtype=torch.float64)


def by_nodes(
    network: TreeNetwork, rows: Tensor, noise: Tensor, top: int | None, learned: dict[str, Tensor]
) -> Terms:
    """The terms node by node, with the noise of each node's number."""
    weights, topology = network.weights.with_learned(learned), network.topology
    # As `bound` draws them: for the path or the root, then the children of each inner node.
    path = [0 if top is None else top]
    while path[0] != 0:
        path.insert(0, int(topology.parent()[path[0]]))
    order = [*path, *(child for node in topology.nodes(path[-1]) for child in topology.below(node))]
    draws = iter([noise[node] for node in order])

    def drawn(like: Tensor) -> Tensor:
        return next(draws)

    if top is None:
        levels = units(weights, network.architecture, rows, True)
        reached, kl_root = rooted(weights, levels[0], drawn)
    else:
        levels = units(weights, network.architecture, rows, False)
        reached = arrived(weights, topology, top, levels, drawn)
        kl_root = rows.new_zeros(len(rows))
    return bounded(
        weights, network.architecture, topology, rows, levels, reached, kl_root, drawn,
        top=top or 0, training=True,
    )  # fmt: skip


def at_once(
    network: TreeNetwork, rows: Tensor, noise: Tensor, top: int | None, kl_weight: float
) -> tuple[Tensor, dict[str, Tensor]]:
    """The two sums, and the gradient of the first by the names of weights."""
    bound = BatchedBound(network, top)
    bound.weigh(kl_weight)
    start = levels = None
    if top is not None:
        depth = int(network.topology.depth()[top])
        path = [top]
        while path[0] != 0:
            path.insert(0, int(network.topology.parent()[path[0]]))
        draws = iter([noise[node] for node in path])
        by_level = units(network.weights, network.architecture, rows, False)
        reached = arrived(
            network.weights, network.topology, top, by_level, lambda like: next(draws)
        )
        levels = torch.stack([by_level[depth].t(), by_level[depth + 1].t()])
        start = reached.embedding[top].t(), reached.log_probability[top]
    topology, under = network.topology, bound.shape.routers[0]
    children = [child for node in topology.nodes(under) for child in topology.below(node)]
    own = noise[[0, *children] if top is None else children]
    with torch.enable_grad():
        flat = bound.stacks.flat.detach().requires_grad_()
        sums = bound.losses(bound.stacks.of(flat), rows, levels, own, start)
        (gradient,) = torch.autograd.grad(sums[0], [flat])
    before = {name: each.clone() for name, each in network.weights.learned.items()}
    # Weights by name are views of the vector: so the gradient by name is read where they lie.
    bound.stacks.flat.copy_(gradient)
    named = {
        name: each.clone()
        for name, each in network.weights.learned.items()
        if name in network.trained_names(top)
    }
    for name, each in before.items():
        network.weights.learned[name].copy_(each)
    return sums, named


@pytest.mark.parametrize(("likelihood", "splits"), KINDS)
@pytest.mark.parametrize("split", [False, True])
def test_all_nodes_at_once_are_one_after_the_other(
    likelihood: Likelihood, splits: tuple[int, ...], split: bool
) -> None:
    network, rows, noise = case(likelihood, splits)
    top = None
    if split:
        top = network.topology.routers()[-1]
    one, other = copy.deepcopy(network), network
    names = one.trained_names(top)
    with torch.enable_grad():
        learned = {name: one.weights.learned[name].clone().requires_grad_() for name in names}
        terms = by_nodes(one, rows, noise, top, learned)
        loss = terms.loss(0.3).sum()
        gradients = torch.autograd.grad(loss, list(learned.values()))
    sums, gradient = at_once(other, rows, noise, top, 0.3)
    assert_close(sums.detach(), torch.stack([loss, terms.loss().sum()]).detach())
    assert sorted(gradient) == names
    for name, expected in zip(names, gradients, strict=True):
        assert_close(gradient[name], expected)
    assert one.weights.moving.keys() == other.weights.moving.keys()
    for name, average in one.weights.moving.items():
        assert_close(other.weights.moving[name], average)


@pytest.mark.parametrize("top", [None, 1])
def test_weights_by_name_are_those_that_steps_move(top: int | None) -> None:
    network, rows, _ = case("gaussian", (1,))
    before = copy.deepcopy(network)
    phase = Phase(network, rows, top, Schedule(2, 0.1, 1.0, 0), 3, 0.01)
    phase.epoch(0, torch.Generator().manual_seed(0), lambda share: None)
    names = network.trained_names(top)
    for name, each in network.weights.learned.items():
        assert each.shape == before.weights.learned[name].shape
        assert bool((each != before.weights.learned[name]).any()) == (name in names), name
