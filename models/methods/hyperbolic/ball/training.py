"""Nodes moved by gradient steps, in rounds of which the best is kept.

A step lowers the expected cost of the tree (`ball.expected_cost_torch`), or the ranking objective
(eq. 15), on a batch of triples. The temperature may be set anew for each round, so that points
spread over as many nodes as requested (`perplexity`). After every `structure_every` such steps
another lowers the child-parent objective (eq. 17) on a batch of nodes, each with the parent that it
then selects (eq. 4). After each round the tree's cost is measured (`ball.decoding`); the result is
the nodes of least cost ('best') or of the last round.

A fit that diverges ends early: after a round in which a number is not finite, or after the third
round in a row with a cost of `WORSE` times the least or with all nodes at the edge.

The random numbers of a round depend only on its number, so a fit resumed from a checkpoint, taken
after a round, gives the same result. Steps may be shared by several processes (`ball.descent`).

The dissimilarity of points of the ball is d_cp; the objectives that move nodes are eq. 15
(`ranking`) and eq. 17 (`child_parent`):

    eq. 3    d_cp(c, p) = d(c, p) (1 + max(|p| - |c|, 0)), |.| the hyperbolic norm
    eq. 16   the same with `margin` added inside the maximum
    eq. 12   P(n | ij) ~ exp(-max(d_cp(i, n), d_cp(j, n)) / temperature)
    eq. 13   P(n | ijk) ~ exp(-max(d_cp(i, n), d_cp(j, n), d_cp(k, n)) / temperature), 0 at the most
             likely n of eq. 12
    eq. 15   sum_n s(d_in (P(n|ij) - P(n|ijk))) + s(d_jn (..)) + s(d_kn (P(n|ijk) - P(n|ij)))
    eq. 17   d_cp(c, parent of c; margin)

In place of eq. 12 to 15 the expected cost of the tree may be lowered (`ball.expected_cost_torch`),
in steps that are prepared several at a time where points do not move and nodes are few
(`ball.cost_steps_torch`).

Both objectives are means, over triples and over children, so that step lengths do not depend on
their number. s(0) is subtracted from each term of eq. 15, so that a node with no part in a triple
adds 0.

Source: Monath et al., "Gradient-based Hierarchical Clustering using Continuous Representations of
Trees in Hyperbolic Space" (2019), §3 and §4, where Gumbel noise is added to the distances of eq. 12
and 13 and `temperature` is 1. The authors' program has softplus in place of the sigmoid s, the
margin 0.25 in every d_cp, eq. 17 as max(|p| - |c| + margin, 0) without the distance, and masks in
eq. 13 the node that is best in eq. 12 without noise. Eq. 17 is 0 if child and parent coincide: by
itself it does not keep them apart.

Cost: O(B M D) a step for B triples and M nodes (`ball.ranking_torch`), O(B D) for B children,
independently of the number of points; a measurement of the cost takes as long as a few dozen steps,
and O(M^2 D).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from models.answers.learned_steps import KeptStates
from models.arrays import Arrays
from models.method import Checkpoint
from models.methods.hyperbolic.ball import decoding
from models.methods.hyperbolic.ball.decoding import TreeCost
from models.methods.hyperbolic.ball.descent import SINGLE, AllReduce, Descent, prefixed, unprefixed
from models.methods.hyperbolic.ball.parameters import BallEffort, BallObjective
from models.methods.hyperbolic.ball.triples import FixedTriples, NoiseStream, TripleSource
from models.numerics import poincare
from models.running.progress import Progress, held_progress

if TYPE_CHECKING:
    from torch import Tensor

    from models.methods.hyperbolic.ball.triples import GumbelNoise


def child_parent(
    nodes: Tensor, children: Tensor, parents: Tensor, objective: BallObjective
) -> tuple[Tensor, Tensor]:
    """The mean of eq. 17 over some children and their parents, and its gradient in nodes, (M, D).

    children, parents : (n,) numbers of nodes.
    """
    import torch

    child, parent = nodes[children], nodes[parents]
    inner, outer = poincare.hyperbolic_norm(child), poincare.hyperbolic_norm(parent)
    over = (outer - inner + objective.structure_margin).clamp_(min=0)
    slope = (over > 0) / len(children)
    gradient = torch.zeros_like(nodes)
    if objective.structure == "norms":
        value = over.mean()
    else:
        apart = poincare.distance(child, parent)[:, None]
        value = (apart * (1 + over)).mean()
        weight = (1 + over) / len(children)
        gradient.index_add_(0, children, weight * poincare.distance_gradient(child, parent))
        gradient.index_add_(0, parents, weight * poincare.distance_gradient(parent, child))
        slope = slope * apart
    gradient.index_add_(0, children, slope * poincare.hyperbolic_norm_gradient(child), alpha=-1)
    gradient.index_add_(0, parents, slope * poincare.hyperbolic_norm_gradient(parent))
    return value, gradient


def of_tree(
    triples: Tensor,
    nodes: Tensor,
    objective: BallObjective,
    noise: GumbelNoise | None = None,
    all_reduce: AllReduce = SINGLE,
) -> Tensor:
    """The expected cost of the tree, or eq. 15, as the objective asks; arguments as of `ranking`.

    all_reduce : the processes that share the batch.
    """
    if objective.form != "expected":
        return ranking(triples, nodes, objective, noise)
    from models.methods.hyperbolic.ball.expected_cost_torch import expected_cost

    return expected_cost(triples, nodes, objective.temperature, all_reduce)


def ranking(
    triples: Tensor, nodes: Tensor, objective: BallObjective, noise: GumbelNoise | None = None
) -> Tensor:
    """The mean of eq. 15 over triples, with gradients in triples and nodes.

    triples : (3, B, D) points i, j alike and k another. nodes : (M, D), M > 1. noise : noise of
        these triples; None: no noise.
    """
    from models.methods.hyperbolic.ball.ranking_torch import RankingLoss

    apply: Any = RankingLoss.apply
    mean: Tensor = apply(triples, nodes, objective, noise)
    return mean


Curve = list[tuple[int, float]]

WORSE = 1.5
_BAD_ROUNDS = 3
_EDGE = 1e-3


@dataclass(slots=True)
class TrainedNodes:
    """Nodes (M, D) and their history.

    best_step : the number of steps that led to these nodes.
    objectives : (steps so far, mean of eq. 15 over the round). costs : (steps so far, tree's cost).
    diverged : why and when the fit ended early, else empty.
    n_bad : number of last rounds in a row that suggest divergence. kept : earlier best nodes.
    """

    nodes: Tensor
    best_step: int = 0
    objectives: Curve = field(default_factory=list)
    costs: Curve = field(default_factory=list)
    diverged: str = ""
    n_bad: int = 0
    kept: KeptStates = field(default_factory=lambda: KeptStates(0))

    @property
    def best_cost(self) -> float:
        return min(cost for step, cost in self.costs if step == self.best_step)


def train(
    triples: TripleSource,
    nodes: Tensor,
    tree_cost: TreeCost,
    effort: BallEffort,
    seed: int,
    checkpoint: Checkpoint,
    progress: Progress,
    all_reduce: AllReduce = SINGLE,
) -> TrainedNodes:
    """The nodes after all rounds, or after the best one.

    nodes : (M, D) float32 to start from; not changed. seed : of noise and of children.
    all_reduce : the processes that share each step; `triples` draws this process's part of a batch.
    """
    moving = nodes.clone()
    mover = Descent(moving, effort.optimizer, effort.learning_rate, effort.max_norm)
    state = TrainedNodes(nodes.clone(), costs=[(0, tree_cost.of(nodes))])
    state.kept = KeptStates(effort.keep_steps)
    state.kept.offer(0, state.costs[0][1], lambda: nodes.cpu().numpy().copy())
    first_round = _resume(checkpoint.load(), state, moving, mover, triples)
    started_at_edge = _at_edge(nodes, effort)
    whole, within = held_progress(progress)
    for number in range(first_round, effort.n_rounds):
        begin = number * effort.round_size
        end = min(begin + effort.round_size, effort.max_iter)
        report = _step_report(whole, state, begin, effort)
        report(0)
        triples.begin_round(number, within)
        all_reduce.begin_round(number, end - begin, mover)
        objective = take_steps(
            triples, mover, effort, begin, end - begin, [seed, number], report, all_reduce
        )
        if objective is None:
            state.diverged = f"after {begin:,} to {end:,} steps some numbers were not finite"
            break
        state.objectives.append((end, objective))
        cost = tree_cost.of(moving)
        state.costs.append((end, cost))
        if cost < state.best_cost or effort.keep == "last":
            state.nodes.copy_(moving)
            state.best_step = end
            state.kept.offer(end, cost, lambda: state.nodes.cpu().numpy().copy())
            triples.keep()
        at_edge = not started_at_edge and _at_edge(moving, effort)
        least_cost, least_step = min((value, step) for step, value in state.costs)
        state.n_bad = state.n_bad + 1 if at_edge or cost > WORSE * least_cost else 0
        if state.n_bad == _BAD_ROUNDS:
            state.diverged = (
                f"after {end:,} steps all nodes lay at the edge of the ball"
                if at_edge
                else f"after {end:,} steps the tree's cost was {cost:.3g}, after {least_step:,} "
                f"steps {least_cost:.3g}"
            )
            break
        checkpoint.save(_packed(state, moving, mover, triples, number + 1))
    return state


def take_steps(
    triples: TripleSource,
    mover: Descent,
    effort: BallEffort,
    begin: int,
    n_steps: int,
    seed: list[int],
    report: Callable[[int], None],
    all_reduce: AllReduce = SINGLE,
) -> float | None:
    """The mean objective over `n_steps` steps; None where a number is not finite.

    begin : number of steps before these. seed : of noise and of children.
    report : called with the number of steps taken, every ten steps.
    """
    import torch

    moving = mover.points
    rng = np.random.default_rng(seed)
    noise_stream = NoiseStream(rng, len(moving), moving.device)
    objective = effort.objective
    if effort.perplexity is not None:
        objective = replace(objective, temperature=_temperature(triples, mover, effort, all_reduce))
    total = moving.new_zeros((), dtype=torch.float64)
    with all_reduce.threads_for(3 * effort.batch_size * len(moving) // all_reduce.size):
        ahead = _takes_cost_steps(triples, len(moving), effort)
        if ahead is not None:
            from models.methods.hyperbolic.ball.cost_steps_torch import take_cost_steps

            total += take_cost_steps(
                ahead,
                mover,
                effort.batch_size,
                objective.temperature,
                lambda step: effort.rate(begin + step),
                n_steps,
                report,
                all_reduce,
            )
        for step in range(n_steps if ahead is None else 0):
            with torch.enable_grad():
                nodes = moving.detach().requires_grad_()
                batch = triples.draw()
                n_drawn = batch.shape[1]
                n_all = n_drawn if all_reduce.size == 1 else effort.batch_size
                noise = noise_stream.next(n_all).part(all_reduce.part(n_all))
                loss = of_tree(batch, nodes, objective, noise, all_reduce)
                own_loss = triples.own_loss()
                whole_loss = loss if own_loss is None else loss + own_loss
                gradient, *own = torch.autograd.grad(whole_loss, [nodes, *triples.learned])
            total += loss.detach().double() * (n_drawn / n_all)
            if all_reduce.size > 1:
                gradient *= n_drawn / n_all
                all_reduce.sum(gradient)
            mover.learning_rate = effort.rate(begin + step)
            mover.step(gradient)
            if own:
                triples.learn(own)
            if effort.structure_every and step % effort.structure_every == 0:
                _structure_step(mover, effort, rng, all_reduce)
            if step % 10 == 0:
                report(step)
        all_reduce.sum(total)
    mean = float(total) / n_steps
    return mean if np.isfinite(mean) and bool(torch.isfinite(moving).all()) else None


def _takes_cost_steps(
    triples: TripleSource, n_nodes: int, effort: BallEffort
) -> FixedTriples | None:
    """The triples, where steps need not be taken one by one (`ball.cost_steps_torch`)."""
    if effort.objective.form != "expected" or effort.structure_every:
        return None
    from models.methods.hyperbolic.ball.expected_cost_torch import MOST_WHOLE

    return triples if isinstance(triples, FixedTriples) and n_nodes <= MOST_WHOLE else None


def _temperature(
    triples: TripleSource, mover: Descent, effort: BallEffort, all_reduce: AllReduce
) -> float:
    """The temperature at which the points of a batch have the perplexity requested."""
    from models.methods.hyperbolic.ball.expected_cost_torch import temperature_for

    assert effort.perplexity is not None
    points = triples.draw().detach().flatten(0, 1)
    return temperature_for(points, mover.points, effort.perplexity, all_reduce)


def _structure_step(
    mover: Descent, effort: BallEffort, rng: np.random.Generator, all_reduce: AllReduce
) -> None:
    """One gradient step on eq. 17, for some nodes and the parents that they select."""
    import torch

    moving = mover.points
    n_nodes = len(moving)
    order = decoding.norm_order(moving)
    place = torch.empty_like(order)
    place[order] = torch.arange(n_nodes, device=order.device)
    children = order
    if effort.batch_size < n_nodes:
        drawn = rng.integers(n_nodes, size=effort.batch_size)
        children = torch.from_numpy(drawn).to(order.device)
    children = children[all_reduce.part(len(children))]
    parent = decoding.parents_of(children, place[children], moving, place)
    children, parent = children[parent >= 0], parent[parent >= 0]
    n_children = moving.new_full((1,), float(len(children)))
    gradient = torch.zeros_like(moving)
    if len(children):
        _, gradient = child_parent(moving, children, parent, effort.objective)
    if all_reduce.size > 1:
        summed = torch.cat([(gradient * n_children).view(-1), n_children])
        all_reduce.sum(summed)
        n_children = summed[-1:]
        gradient = (summed[:-1] / n_children.clamp(min=1.0)).view_as(moving)
    if float(n_children):
        mover.step(gradient)


def _step_report(
    progress: Progress, state: TrainedNodes, begin: int, effort: BallEffort
) -> Callable[[int], None]:
    """A function that reports the progress of a round, given the number of its steps so far."""
    objective = f", objective {state.objectives[-1][1]:.4g}" if state.objectives else ""
    measured = f"{objective}, cost {state.costs[-1][1]:.4g}, best {state.best_cost:.4g}"

    def report(step: int) -> None:
        message = f"step {begin + step:,} of {effort.max_iter:,}{measured}"
        progress((begin + step) / effort.max_iter, "moving nodes", message)

    return report


def _at_edge(nodes: Tensor, effort: BallEffort) -> bool:
    """Whether all nodes are at the largest norm."""
    return bool((nodes.norm(dim=1) > (1 - _EDGE) * effort.max_norm).all())


def _packed(
    state: TrainedNodes, moving: Tensor, mover: Descent, triples: TripleSource, n_rounds: int
) -> Arrays:
    return {
        "moving": moving.cpu().numpy(),
        "nodes": state.nodes.cpu().numpy(),
        "best_step": np.array(state.best_step),
        "n_bad": np.array(state.n_bad),
        "n_rounds": np.array(n_rounds),
        "objectives": np.array(state.objectives, dtype=np.float64),
        "costs": np.array(state.costs, dtype=np.float64),
        **state.kept.arrays("states."),
        **prefixed(mover.arrays(), "mover."),
        **prefixed(triples.arrays(), "leaves."),
    }


def _resume(
    saved: Arrays | None,
    state: TrainedNodes,
    moving: Tensor,
    mover: Descent,
    triples: TripleSource,
) -> int:
    """Restore a checkpoint, if there is one; returns the number of the next round."""
    import torch

    if saved is None:
        return 0
    moving.copy_(torch.from_numpy(saved["moving"].copy()))
    state.nodes.copy_(torch.from_numpy(saved["nodes"].copy()))
    state.best_step, state.n_bad = int(saved["best_step"]), int(saved["n_bad"])
    state.objectives = [(int(step), float(value)) for step, value in saved["objectives"]]
    state.costs = [(int(step), float(value)) for step, value in saved["costs"]]
    state.kept = KeptStates.restored(saved, "states.", state.kept.most)
    mover.restore(unprefixed(saved, "mover."))
    triples.restore(unprefixed(saved, "leaves."))
    return int(saved["n_rounds"])
