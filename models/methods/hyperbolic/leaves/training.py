"""Leaves moved by gradient steps on triples, in rounds, and the best tree kept.

All leaves lie on one sphere about the origin, as the paper's program has them, and start at random
directions. Its radius grows from `START` to that of `max_norm` over the first `GROWING` of the
steps, each by the same factor, while the temperature falls: on a small sphere depths hardly differ,
so that leaves are sorted coarsely first, and on a large one they part as in a tree. (The paper's
program learns the radius, from such a start.)

A step is Riemannian Adam along the sphere, in lengths as they are there: the mean of gradients over
the root of the mean of their squared lengths, one number a leaf, then back onto the sphere; the
mean is carried along by taking off what no longer lies along it. No step turns by more than
`MOST_TURN`, which a small sphere would else allow.

After each round the leaves are decoded (`leaves.decoding`) and the tree is judged
(`leaves.tree_cost`). A run ends when `patience` rounds in a row made no better tree than its
best; the best tree of `n_init` runs serves.

All randomness of a round comes from the numbers of its run and its own, so a fit that goes on from
a checkpoint, made after a round, ends as it would have.

Source: Chami et al., "From Trees to Continuous Embeddings and Back" (2020), and its
program; Bécigneul and Ganea, "Riemannian Adaptive Optimization Methods" (2019), algorithm 1.

Cost: O(B (D + d)) a step for B triples of points with D features and leaves in d dimensions,
whatever the number of points, and O(N d) for the leaves; a round as `decoding` and `judging`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from models.arrays import Arrays, Float
from models.method import Run
from models.methods.hyperbolic.leaves.ancestors import Sphere
from models.methods.hyperbolic.leaves.decoding import Decoded, decode
from models.methods.hyperbolic.leaves.objective import drawn, relaxed
from models.methods.hyperbolic.leaves.similarity import Similarity
from models.methods.hyperbolic.leaves.tree_cost import Judge
from models.progress import Progress
from models.tree.build import from_merges
from models.tree.tree import Tree

if TYPE_CHECKING:
    from torch import Tensor


Curve = list[tuple[int, float]]

START = 0.1
"""Radius that the sphere begins with."""
GROWING = 0.7
MOST_TURN = 0.02
"""Largest angle of a step of length one."""
_FIRST, _SECOND = 0.9, 0.99
_LEAST = 1e-200
"""Added to roots: gradients may be as small as they like."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How leaves are moved; as the parameters of the method."""

    dimension: int
    n_init: int
    max_iter: int
    round_size: int
    patience: int
    batch_size: int
    learning_rate: float
    temperature: float
    final_temperature: float
    max_norm: float
    device: str = "cpu"

    @property
    def n_rounds(self) -> int:
        return -(-self.max_iter // self.round_size)

    def sphere(self, step: int) -> Sphere:
        """Where leaves lie at so many steps."""
        largest = 2 * math.atanh(self.max_norm)
        start = min(START, largest)
        grown = min(1.0, step / (GROWING * self.max_iter))
        return Sphere(start * (largest / start) ** grown)

    def heat(self, step: int) -> float:
        ratio = self.final_temperature / self.temperature
        return float(self.temperature * ratio ** (step / self.max_iter))


@dataclass(slots=True)
class Kept:
    """The best of all runs so far: directions (n_points, dimension), and where it was.

    objectives, costs : of its run, by steps done.
    """

    directions: Float
    cost: float = math.inf
    run: int = 0
    step: int = 0
    objectives: Curve = field(default_factory=list)
    costs: Curve = field(default_factory=list)


class Moving:
    """The leaves of one run on their way.

    seed, number : of the fit and of the run.
    """

    def __init__(self, n_points: int, effort: Effort, seed: int, number: int) -> None:
        import torch

        rng = np.random.default_rng([seed, number])
        start = rng.normal(size=(n_points, effort.dimension))
        start /= np.linalg.norm(start, axis=1, keepdims=True)
        self._effort, self._seed, self.number = effort, seed, number
        self.directions = torch.from_numpy(start).to(effort.device)
        self._mean = torch.zeros_like(self.directions)
        self._square = self.directions.new_zeros(n_points, 1)
        self.n_rounds = 0

    @property
    def n_steps(self) -> int:
        return min(self.n_rounds * self._effort.round_size, self._effort.max_iter)

    def round(self, similarity: Similarity, progress: Progress) -> float:
        """One round of steps; their mean objective."""
        import torch

        effort, begin = self._effort, self.n_steps
        end = min(begin + effort.round_size, effort.max_iter)
        draws = np.random.default_rng([self._seed, self.number, self.n_rounds])
        generator = torch.Generator(effort.device).manual_seed(int(draws.integers(2**63)))
        total = self.directions.new_zeros(())
        for step in range(begin, end):
            progress(step / effort.max_iter, "moving leaves")
            triples = drawn(
                len(self.directions), effort.batch_size, step * effort.batch_size, generator
            )
            sphere = effort.sphere(step)
            value, gradient = relaxed(
                self.directions, triples, similarity.of(triples), sphere, effort.heat(step)
            )
            total += value
            turn = min(MOST_TURN, effort.learning_rate / math.sinh(sphere.radius))
            self._step(gradient, step + 1, turn)
        self.n_rounds += 1
        return float(total) / (end - begin)

    def _step(self, gradient: Tensor, number: int, angle: float) -> None:
        """angle : that a step of length one turns by."""
        at = self.directions
        gradient -= (gradient * at).sum(dim=1, keepdim=True) * at
        squared = (gradient * gradient).sum(dim=1, keepdim=True)
        self._mean.lerp_(gradient, 1 - _FIRST)
        self._square.lerp_(squared, 1 - _SECOND)
        root = (self._square / (1 - _SECOND**number)).sqrt_().add_(_LEAST)
        at -= angle / (1 - _FIRST**number) * self._mean / root
        at /= at.norm(dim=1, keepdim=True)
        self._mean -= (self._mean * at).sum(dim=1, keepdim=True) * at

    def arrays(self) -> dict[str, npt.NDArray[np.float64]]:
        return {
            "moving.directions": self.directions.cpu().numpy().copy(),
            "moving.mean": self._mean.cpu().numpy().copy(),
            "moving.square": self._square.cpu().numpy().copy(),
            "moving.at": np.array([self.number, self.n_rounds], dtype=np.float64),
        }

    @classmethod
    def restored(cls, kept: Arrays, effort: Effort, seed: int) -> Moving:
        import torch

        number, n_rounds = (int(one) for one in kept["moving.at"])
        moving = cls(len(kept["moving.directions"]), effort, seed, number)
        for name in ("directions", "mean", "square"):
            own = moving.directions if name == "directions" else getattr(moving, f"_{name}")
            own.copy_(torch.from_numpy(np.array(kept[f"moving.{name}"])))
        moving.n_rounds = n_rounds
        return moving


def train(similarity: Similarity, judge: Judge, effort: Effort, seed: int, run: Run) -> Kept:
    """The best leaves of all runs, in canonical order. Within `labelling.device.computing`."""
    n_points = len(similarity.order)
    moving = Moving(n_points, effort, seed, 0)
    kept = Kept(moving.directions.cpu().numpy().copy())
    if n_points < 3 or not effort.max_iter:
        kept.cost = judge.cost(tree_of(decode(kept.directions, run.threads)))
        return kept
    own = Kept(kept.directions)
    before = run.checkpoint.load()
    if before is not None:
        moving = Moving.restored(before, effort, seed)
        kept, own = _unpacked(before, "kept."), _unpacked(before, "own.")
    while moving.number < effort.n_init:
        idle = 0 if not own.costs else (moving.n_steps - own.step) // effort.round_size
        if moving.n_rounds == effort.n_rounds or (own.costs and idle >= effort.patience):
            moving = Moving(n_points, effort, seed, moving.number + 1)
            own = Kept(kept.directions, run=moving.number)
            continue
        told = _Told(run.progress, kept, own, moving, effort)
        objective = moving.round(similarity, told)
        own.objectives.append((moving.n_steps, objective))
        directions = moving.directions.cpu().numpy()
        cost = judge.cost(tree_of(decode(directions, run.threads)))
        own.costs.append((moving.n_steps, cost))
        if cost < own.cost:
            own.cost, own.step = cost, moving.n_steps
            if cost < kept.cost:
                kept.directions = directions.copy()
                kept.cost, kept.run, kept.step = cost, own.run, own.step
        if kept.run == own.run:
            kept.objectives, kept.costs = list(own.objectives), list(own.costs)
        run.checkpoint.save({**moving.arrays(), **_packed(kept, "kept."), **_packed(own, "own.")})
    return kept


def tree_of(found: Decoded) -> Tree:
    """The tree of such merges, at heights in their order."""
    heights = np.arange(1.0, len(found.merges) + 1)
    return from_merges(found.merges[:, 0], found.merges[:, 1], heights)


class _Told:
    """Progress of a round within all runs, with what they have come to."""

    def __init__(
        self, progress: Progress, kept: Kept, own: Kept, moving: Moving, effort: Effort
    ) -> None:
        self._progress, self._effort, self._number = progress, effort, moving.number
        self._said = ""
        if own.costs:
            self._said = (
                f", objective {own.objectives[-1][1]:.5g}, cost {own.costs[-1][1]:.6g}, best "
                f"{kept.cost:.6g}"
            )

    def __call__(self, fraction: float, stage: str, message: str = "") -> None:
        effort = self._effort
        step = round(fraction * effort.max_iter)
        run = f"run {self._number + 1} of {effort.n_init}, " if effort.n_init > 1 else ""
        self._progress(
            0.1 + 0.85 * (self._number + fraction) / effort.n_init,
            stage,
            f"{run}step {step:,} of {effort.max_iter:,}{self._said}",
        )


_CURVES = ("objectives", "costs")


def _packed(kept: Kept, prefix: str) -> dict[str, npt.NDArray[np.float64]]:
    return {
        prefix + one.name: np.array(getattr(kept, one.name), dtype=np.float64)
        for one in fields(Kept)
    }


def _unpacked(arrays: Arrays, prefix: str) -> Kept:
    told = {one.name: np.array(arrays[prefix + one.name]) for one in fields(Kept)}
    curves = {
        name: [(int(step), float(value)) for step, value in told[name].reshape(-1, 2)]
        for name in _CURVES
    }
    return Kept(
        told["directions"],
        float(told["cost"]),
        int(told["run"]),
        int(told["step"]),
        curves["objectives"],
        curves["costs"],
    )
