"""The evidence lower bound of a tree: all paths at once, their probabilities multiplied down.

With P(i) = product of q(c | x) over the decisions on the path to node i, and one sample of each
embedding (its mean where there is no noise),

    ELBO = sum_leaves P(l) log p(x | z_l) - KL_root - KL_nodes - KL_decisions
    KL_root = KL(q(z_0 | x) || N(0, I))
    KL_nodes = sum_{i > 0} P(i) KL(q(z_i | x, z_pa(i)) || p(z_i | z_pa(i)))
    KL_decisions = sum_routers P(i) KL(q(c_i | x) || p(c_i | z_i))

P is exact: decisions are never drawn. q(z_i | x, z_pa(i)) combines the node's view of x with its
prior (`layers.combined`); the root's is its view alone.

Source: Manduchi et al., "Tree Variational Autoencoders" (2023), §2.3, eqs. 7 to 13.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

from models.methods.deep.variational.layers import (
    Weights,
    combined,
    decision_divergence,
    gaussian_divergence,
    log_density,
)
from models.methods.deep.variational.network import (
    NOISE,
    ROOT,
    Architecture,
    Topology,
    decoded,
    moved,
    prior_score,
    score,
    view,
)

if TYPE_CHECKING:
    from torch import Tensor

Noise: TypeAlias = "Callable[[Tensor], Tensor] | None"
"""Draws standard normal values of a tensor's shape; None: no noise."""


@dataclass(slots=True)
class Reached:
    """Where rows have come to: by node, (n_rows, latent_size) and (n_rows,).

    embedding : a sample of the posterior. log_probability : of the path to the node.
    """

    embedding: dict[int, Tensor]
    log_probability: dict[int, Tensor]


@dataclass(frozen=True, slots=True)
class Terms:
    """The parts of the bound, (n_rows,) each, in nats."""

    reconstruction: Tensor
    kl_root: Tensor
    kl_nodes: Tensor
    kl_decisions: Tensor

    def loss(self, kl_weight: float = 1.0) -> Tensor:
        """(n_rows,) the negative bound, its divergences weighted."""
        divergence = self.kl_root + self.kl_nodes + self.kl_decisions
        return kl_weight * divergence - self.reconstruction


def drawn(mean: Tensor, variance: Tensor, noise: Noise) -> Tensor:
    """A sample of a Gaussian; its mean without noise."""
    return mean if noise is None else mean + variance.sqrt() * noise(mean)


def rooted(weights: Weights, root_units: Tensor, noise: Noise) -> tuple[Reached, Tensor]:
    """Rows at the root, and (n_rows,) KL_root."""
    import torch

    mean, variance = view(weights, ROOT, root_units)
    divergence = gaussian_divergence(
        mean, variance, torch.zeros_like(mean), torch.ones_like(variance)
    )
    certain = mean.new_zeros(len(mean))
    return Reached({ROOT: drawn(mean, variance, noise)}, {ROOT: certain}), divergence


def stepped(
    weights: Weights,
    topology: Topology,
    node: int,
    levels: list[Tensor],
    depth: int,
    reached: Reached,
    noise: Noise,
    training: bool,
) -> tuple[Tensor | float, Tensor | float]:
    """Bring rows from a node to its children; (n_rows,) its share of KL_nodes and KL_decisions.

    depth : of the node.
    """
    from torch.nn import functional

    below = topology.below(node)
    here, log_here = reached.embedding[node], reached.log_probability[node]
    of_decisions: Tensor | float = 0.0
    of_nodes: Tensor | float = 0.0
    if len(below) == 2:
        odds = score(weights, node, levels[depth], training)
        prior_odds = prior_score(weights, node, here, training)
        of_decisions = log_here.exp() * decision_divergence(odds, prior_odds)
        log_steps = [functional.logsigmoid(odds), functional.logsigmoid(-odds)]
    else:
        log_steps = [log_here.new_zeros(len(log_here))]
    for child, log_step in zip(below, log_steps, strict=True):
        prior = moved(weights, child, here, training)
        posterior = combined(*view(weights, child, levels[depth + 1]), *prior)
        log_child = log_here + log_step
        of_nodes = of_nodes + log_child.exp() * gaussian_divergence(*posterior, *prior)
        reached.embedding[child] = drawn(*posterior, noise)
        reached.log_probability[child] = log_child
    return of_nodes, of_decisions


def arrived(
    weights: Weights, topology: Topology, top: int, levels: list[Tensor], noise: Noise
) -> Reached:
    """Rows at node `top`, and on the path to it, by networks that are not trained."""
    from torch.nn import functional

    reached, _ = rooted(weights, levels[0], noise)
    parent = topology.parent()
    path = [top]
    while path[-1] != ROOT:
        path.append(int(parent[path[-1]]))
    path.reverse()
    for depth, (node, child) in enumerate(pairwise(path)):
        below = topology.below(node)
        prior = moved(weights, child, reached.embedding[node], False)
        posterior = combined(*view(weights, child, levels[depth + 1]), *prior)
        reached.embedding[child] = drawn(*posterior, noise)
        log_here = reached.log_probability[node]
        if len(below) == 2:
            odds = score(weights, node, levels[depth], False)
            log_here = log_here + functional.logsigmoid(odds if child == below[0] else -odds)
        reached.log_probability[child] = log_here
    return reached


def bounded(
    weights: Weights,
    architecture: Architecture,
    topology: Topology,
    rows: Tensor,
    levels: list[Tensor],
    reached: Reached,
    kl_root: Tensor,
    noise: Noise,
    *,
    top: int = ROOT,
    training: bool = False,
) -> Terms:
    """The bound's terms at and under node `top`, where `reached` has the rows already.

    rows : (n_rows, n_values) scaled. levels : units by level. All that is below `top` is added to
    `reached`.
    """
    depth = topology.depth()
    zero = kl_root.new_zeros(len(rows))
    kl_nodes: Tensor = zero
    kl_decisions: Tensor = zero
    reconstruction: Tensor = zero
    for node in topology.nodes(top):
        if topology.below(node):
            of_nodes, of_decisions = stepped(
                weights, topology, node, levels, int(depth[node]), reached, noise, training
            )
            kl_nodes = kl_nodes + of_nodes
            kl_decisions = kl_decisions + of_decisions
            continue
        output = decoded(weights, architecture, node, reached.embedding[node], training)
        density = log_density(rows, output, architecture.likelihood, weights.learned.get(NOISE))
        reconstruction = reconstruction + reached.log_probability[node].exp() * density
    return Terms(reconstruction, kl_root, kl_nodes, kl_decisions)
