"""Nodes moved by gradient steps in rounds, and the best round kept.

A step of the ranking objective (eq. 15) on a batch of triples, then, every `structure_every` steps,
one of the child-parent objective (eq. 17) on a batch of nodes, each with the parent it selects by
then (eq. 4). After each round the tree is judged (`ball.tree_cost`); the nodes of the
best judgement are the result ('best'), or those of the last round.

A fit that diverges is ended: after a round in which something is not finite, or after the third in
a row that is judged `WORSE` times as bad as the best, or that has thrown all nodes to the edge.

All randomness of a round comes from its number, so a fit that goes on from a checkpoint, made after
a round, ends as it would have. Steps may be taken by several processes (`ball.all_reduce`).

Source: Monath et al., "Gradient-based Hierarchical Clustering using Continuous Representations of
Trees in Hyperbolic Space" (2019), §3.3 and §4.

Cost: O(B M D) a step for batches of B and M nodes, whatever the number of points; a judgement as
many as a few dozen steps, and O(M^2 D).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from models.arrays import Arrays
from models.method import Checkpoint
from models.methods.hyperbolic.ball import decoding, descent, losses
from models.methods.hyperbolic.ball.all_reduce import ALONE, Team
from models.methods.hyperbolic.ball.descent import Descent
from models.methods.hyperbolic.ball.losses import Objective
from models.methods.hyperbolic.ball.noise import Noises
from models.methods.hyperbolic.ball.tree_cost import Judge
from models.methods.hyperbolic.ball.triples import Leaves
from models.progress import Progress

if TYPE_CHECKING:
    from torch import Tensor

Curve = list[tuple[int, float]]

WORSE = 1.5
_BAD_ROUNDS = 3
_EDGE = 1e-3


@dataclass(frozen=True, slots=True)
class Effort:
    """How nodes are moved.

    max_iter : steps of the ranking objective, in rounds of `round_size`.
    structure_every : so many of them to one of the child-parent objective; 0 for none.
    """

    max_iter: int
    round_size: int
    batch_size: int
    learning_rate: float
    optimizer: descent.Kind
    max_norm: float
    structure_every: int
    keep: Literal["best", "last"]
    objective: Objective

    @property
    def n_rounds(self) -> int:
        return -(-self.max_iter // self.round_size)


@dataclass(slots=True)
class Trained:
    """Nodes (M, D) and how they came about.

    best_step : after how many steps they were so. objectives : the mean of eq. 15 over each round,
    by steps done. costs : what the tree was judged after so many steps. diverged : why and when
    the fit ended early, else empty. n_bad : rounds up to now that looked like that.
    """

    nodes: Tensor
    best_step: int = 0
    objectives: Curve = field(default_factory=list)
    costs: Curve = field(default_factory=list)
    diverged: str = ""
    n_bad: int = 0

    @property
    def best_cost(self) -> float:
        return min(cost for step, cost in self.costs if step == self.best_step)


def train(
    leaves: Leaves,
    nodes: Tensor,
    judge: Judge,
    effort: Effort,
    seed: int,
    checkpoint: Checkpoint,
    progress: Progress,
    team: Team = ALONE,
) -> Trained:
    """nodes : (M, D) float32 to start from; not changed. seed : of noise and of children. team :
    who takes steps along with this process; leaves give it its part of each batch."""
    moving = nodes.clone()
    mover = Descent(moving, effort.optimizer, effort.learning_rate, effort.max_norm)
    state = Trained(nodes.clone(), costs=[(0, judge.cost(nodes))])
    first = _resumed(checkpoint.load(), state, moving, mover, leaves)
    began_at_edge = _at_edge(nodes, effort)
    for number in range(first, effort.n_rounds):
        begin = number * effort.round_size
        end = min(begin + effort.round_size, effort.max_iter)
        within = _Told(progress, state, begin, effort)
        within(0)
        leaves.begin(number, within.still)
        team.begin(number, end - begin, mover)
        objective = steps(leaves, mover, effort, end - begin, [seed, number], within, team)
        if objective is None:
            state.diverged = f"after {begin:,} to {end:,} steps numbers were no longer finite"
            break
        state.objectives.append((end, objective))
        cost = judge.cost(moving)
        state.costs.append((end, cost))
        if cost < state.best_cost or effort.keep == "last":
            state.nodes.copy_(moving)
            state.best_step = end
            leaves.keep()
        at_edge = not began_at_edge and _at_edge(moving, effort)
        least, step = min((one, step) for step, one in state.costs)
        state.n_bad = state.n_bad + 1 if at_edge or cost > WORSE * least else 0
        if state.n_bad == _BAD_ROUNDS:
            state.diverged = (
                f"after {end:,} steps all nodes lay at the edge of the ball"
                if at_edge
                else f"after {end:,} steps the tree was judged {cost:.3g}, after {step:,} steps "
                f"{least:.3g}"
            )
            break
        checkpoint.save(_packed(state, moving, mover, leaves, number + 1))
    return state


def steps(
    leaves: Leaves,
    mover: Descent,
    effort: Effort,
    n_steps: int,
    seed: list[int],
    progress: Callable[[int], None],
    team: Team = ALONE,
) -> float | None:
    """The mean objective of so many steps; None where one is not finite.

    progress : called with the number of steps taken, now and then.
    """
    import torch

    moving = mover.points
    rng = np.random.default_rng(seed)
    noises = Noises(rng, len(moving), moving.device)
    total = moving.new_zeros((), dtype=torch.float64)
    with team.at_work(3 * effort.batch_size * len(moving) // team.size):
        for step in range(n_steps):
            with torch.enable_grad():
                at = moving.detach().requires_grad_()
                drawn = leaves.draw()
                n_drawn = drawn.shape[1]
                n_all = n_drawn if team.size == 1 else effort.batch_size
                noise = noises.next(n_all).part(team.part(n_all))
                loss = losses.ranking(drawn, at, effort.objective, noise)
                problem = leaves.problem()
                whole = loss if problem is None else loss + problem
                gradient, *along = torch.autograd.grad(whole, [at, *leaves.learned])
            total += loss.detach().double() * (n_drawn / n_all)
            if team.size > 1:
                gradient *= n_drawn / n_all
                team.add_up(gradient)
            mover.step(gradient)
            if along:
                leaves.learn(along)
            if effort.structure_every and step % effort.structure_every == 0:
                _structure_step(mover, effort, rng, team)
            if step % 10 == 0:
                progress(step)
        team.add_up(total)
    mean = float(total) / n_steps
    return mean if np.isfinite(mean) and bool(torch.isfinite(moving).all()) else None


def _structure_step(mover: Descent, effort: Effort, rng: np.random.Generator, team: Team) -> None:
    import torch

    moving = mover.points
    n_nodes = len(moving)
    order = decoding.ranked(moving)
    place = torch.empty_like(order)
    place[order] = torch.arange(n_nodes, device=order.device)
    children = order
    if effort.batch_size < n_nodes:
        chosen = rng.integers(n_nodes, size=effort.batch_size)
        children = torch.from_numpy(chosen).to(order.device)
    children = children[team.part(len(children))]
    parent = decoding.parents_of(children, place[children], moving, place)
    children, parent = children[parent >= 0], parent[parent >= 0]
    n_children = moving.new_full((1,), float(len(children)))
    gradient = torch.zeros_like(moving)
    if len(children):
        _, gradient = losses.child_parent(moving, children, parent, effort.objective)
    if team.size > 1:
        summed = torch.cat([(gradient * n_children).view(-1), n_children])
        team.add_up(summed)
        n_children = summed[-1:]
        gradient = (summed[:-1] / n_children.clamp(min=1.0)).view_as(moving)
    if float(n_children):
        mover.step(gradient)


class _Told:
    """Reports where a round is: called with its steps so far."""

    def __init__(self, progress: Progress, state: Trained, begin: int, effort: Effort) -> None:
        objective = f", objective {state.objectives[-1][1]:.4g}" if state.objectives else ""
        cost = f", cost {state.costs[-1][1]:.4g}, best {state.best_cost:.4g}"
        self._progress, self._said = progress, objective + cost
        self._begin, self._n_steps = begin, effort.max_iter

    def __call__(self, step: int) -> None:
        done = self._begin + step
        said = f"step {done:,} of {self._n_steps:,}{self._said}"
        self._progress(done / self._n_steps, "moving nodes", said)

    def still(self, fraction: float, stage: str, message: str = "") -> None:
        """Progress of what comes before its first step."""
        self._progress(self._begin / self._n_steps, stage, message)


def _at_edge(nodes: Tensor, effort: Effort) -> bool:
    """Whether no node is nearer to the centre than the outermost may be."""
    return bool((nodes.norm(dim=1) > (1 - _EDGE) * effort.max_norm).all())


def _packed(
    state: Trained, moving: Tensor, mover: Descent, leaves: Leaves, n_rounds: int
) -> Arrays:
    return {
        "moving": moving.cpu().numpy(),
        "nodes": state.nodes.cpu().numpy(),
        "best_step": np.array(state.best_step),
        "n_bad": np.array(state.n_bad),
        "n_rounds": np.array(n_rounds),
        "objectives": np.array(state.objectives, dtype=np.float64),
        "costs": np.array(state.costs, dtype=np.float64),
        **{f"mover.{name}": array for name, array in mover.arrays().items()},
        **{f"leaves.{name}": array for name, array in leaves.arrays().items()},
    }


def _resumed(
    kept: Arrays | None,
    state: Trained,
    moving: Tensor,
    mover: Descent,
    leaves: Leaves,
) -> int:
    """Go on from a checkpoint, if there is one; the number of the next round."""
    import torch

    if kept is None:
        return 0
    moving.copy_(torch.from_numpy(kept["moving"].copy()))
    state.nodes.copy_(torch.from_numpy(kept["nodes"].copy()))
    state.best_step, state.n_bad = int(kept["best_step"]), int(kept["n_bad"])
    state.objectives = [(int(step), float(value)) for step, value in kept["objectives"]]
    state.costs = [(int(step), float(value)) for step, value in kept["costs"]]
    mover.restore(_part(kept, "mover."))
    leaves.restore(_part(kept, "leaves."))
    return int(kept["n_rounds"])


def _part(kept: Arrays, prefix: str) -> Arrays:
    """The arrays of that prefix, without it."""
    return {
        name.removeprefix(prefix): array for name, array in kept.items() if name.startswith(prefix)
    }
