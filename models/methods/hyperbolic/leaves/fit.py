"""The fit of `hyphc`: leaves moved by gradient steps on triples, in rounds; the best tree is kept.

All leaves lie on one sphere about the origin, as in the paper's program, and start in random
directions. The sphere's radius grows from `START` to that of `max_norm` over the first `GROWING` of
the steps (`parameters`), by the same factor each step, while the temperature falls: on a
small sphere depths hardly differ, so leaves are sorted coarsely at first; on a large one they
separate as in a tree. (The paper's program learns the radius, from such a start.)

A step is Riemannian Adam along the sphere, in lengths on the sphere: the mean of gradients over the
root of the mean of their squared lengths, one number per leaf, then projected back onto the sphere;
the mean is projected onto the new tangent space. No step turns a leaf by more than `MOST_TURN`,
which a small sphere would otherwise allow.

`relaxed_cost` is the relaxed Dasgupta cost over triples of leaves, and its gradient. In a triple,
the pair with the deepest ancestor merges first, and its similarity costs nothing. With the depths h
of the three ancestors (`decoding.Sphere`) and p = softmax(h / temperature),

    loss = s_ij + s_ik + s_jk - (p_ij s_ij + p_ik s_ik + p_jk s_jk)

The gradient in h is written out: p_a (mean of s under p - s_a) / temperature.

`draw_triples` draws random triples of leaves: each leaf comes first equally often, with any two
others. In the paper triples cover all pairs and the third is any leaf, the two themselves included.

After each round the leaves are decoded (`decoding`) and the cost of the tree is measured
(`similarity.DasguptaCost`). A run ends when `patience` rounds in a row gave no better tree than its
best; the result is the best tree of `n_init` runs.

The random numbers of a round depend only on its number and that of its run, so a fit resumed from a
checkpoint, taken after a round, gives the same result.

Source: Chami et al., "From Trees to Continuous Embeddings and Back" (2020), and its
program; Bécigneul and Ganea, "Riemannian Adaptive Optimization Methods" (2019), algorithm 1.

Cost: O(B (D + d)) a step for B triples of points with D features and leaves in d dimensions,
independently of the number of points, and O(N d) for the leaves; each round adds the cost of
`decoding` and `similarity`. A step's triples take O(B), their relaxed cost O(B d); triples and
similarities of up to `MOST_AHEAD` steps are held.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from models.answers.learned_steps import KeptStates, LearnedStep
from models.arrays import Array, Arrays, Float
from models.inputs.frames import CENTRE, NARROW
from models.method import Fitted, Model, Run
from models.methods.hyperbolic.leaves.decoding import DecodedTree, Sphere, decode
from models.methods.hyperbolic.leaves.parameters import LeafParams
from models.methods.hyperbolic.leaves.similarity import (
    APART,
    DasguptaCost,
    FeatureSimilarity,
    MatrixSimilarity,
    Similarity,
    combined,
    facts_of,
)
from models.running.progress import Progress, subprogress
from models.tree.build import from_merges
from models.tree.tree import Tree

if TYPE_CHECKING:
    from torch import Generator, Tensor


def draw_triples(n_points: int, n_triples: int, start: int, generator: Generator) -> Tensor:
    """(3, n_triples) int64 numbers of three different leaves each; n_points must be at least 3.

    start : number of triples drawn before; first leaves continue in turn from there.
    """
    import torch

    device = generator.device

    def between(low: int, limit: int) -> Tensor:
        return torch.randint(low, limit, (n_triples,), generator=generator, device=device)

    first = torch.arange(start, start + n_triples, device=device) % n_points
    second = (first + between(1, n_points)) % n_points
    third = between(0, n_points - 2)
    third = third + (third >= torch.minimum(first, second))
    third = third + (third >= torch.maximum(first, second))
    return torch.stack([first, second, third])


def relaxed_cost(
    directions: Tensor,
    triples: Tensor,
    similarity: Tensor,
    sphere: Sphere,
    temperature: float,
    signs: Tensor,
) -> tuple[Tensor, Tensor]:
    """The part of the loss that depends on the leaves, summed over the triples, and the gradient of
    the mean loss in the directions.

    directions : (n_points, D) of length one, the leaves on `sphere` seen from the origin.
    triples : (3, B) leaves i, j, k. similarity : (3, B) of ij, ik, jk. signs : `APART`, float64.

    The gradient (n_points, D) is not projected onto the sphere. Sums are in the order of triples.
    """
    import torch

    apart = combined(signs, directions[triples])
    twice, steep = sphere.twice_depths((apart * apart).sum(dim=-1))
    share = (twice * (0.5 / temperature)).softmax(dim=0)
    free = torch.dot(share.reshape(-1), similarity.reshape(-1))
    with torch.no_grad():
        # share (similarity - its mean under share)
        against = torch._softmax_backward_data(similarity, share, 0, share.dtype)
        pull = (against / steep)[..., None] * apart
        of_leaf = combined(signs.T, pull).reshape(-1, directions.shape[1])
        # d(|u - v|^2 / 4) / du = (u - v) / 2
        weight = -sphere.slope / (2 * triples.shape[1] * temperature)
        gradient = torch.zeros_like(directions)
        gradient.index_add_(0, triples.reshape(-1), of_leaf).mul_(weight)
    return -free, gradient


Curve = list[tuple[int, float]]

MOST_TURN = 0.02
"""Largest angle of a step of length one, in radians."""

MOST_AHEAD = 16
"""The most steps whose triples are drawn, and their similarities computed, together."""

AHEAD = 1 << 20
"""The most values of points that are read for it."""

_FIRST, _SECOND = 0.9, 0.99
_LEAST = 1e-200
"""Added to roots; so small because gradients may be arbitrarily small."""


@dataclass(slots=True)
class BestLeaves:
    """The best leaves so far, of one run or of all: (n_points, dimension) directions.

    cost, run, step : the cost of their tree, and the run and step that gave it.
    objectives, costs : of their run, by number of steps. kept : earlier best leaves of their run.
    """

    directions: Float
    cost: float = math.inf
    run: int = 0
    step: int = 0
    objectives: Curve = field(default_factory=list)
    costs: Curve = field(default_factory=list)
    kept: KeptStates = field(default_factory=lambda: KeptStates(0))


class LeafRun:
    """One run: its leaves, and the state of the optimizer.

    seed : the seed of the fit. number : the number of the run.
    """

    def __init__(self, n_points: int, params: LeafParams, seed: int, number: int) -> None:
        import torch

        rng = np.random.default_rng([seed, number])
        start = rng.normal(size=(n_points, params.dimension))
        start /= np.linalg.norm(start, axis=1, keepdims=True)
        self._params, self._seed, self.number = params, seed, number
        self.round_size = params.steps_of_round(n_points)
        self._batch_size = params.triples_of_step(n_points)
        self.directions = torch.from_numpy(start).to(params.device)
        self._mean = torch.zeros_like(self.directions)
        self._square = self.directions.new_zeros(n_points, 1)
        self._signs = self.directions.new_tensor(APART)
        self.n_rounds = 0

    @property
    def n_steps(self) -> int:
        return min(self.n_rounds * self.round_size, self._params.max_iter)

    def round(self, similarity: Similarity, progress: Progress) -> float:
        """Take one round of steps; returns their mean objective."""
        import torch

        params, begin = self._params, self.n_steps
        end = min(begin + self.round_size, params.max_iter)
        draws = np.random.default_rng([self._seed, self.number, self.n_rounds])
        generator = torch.Generator(params.device).manual_seed(int(draws.integers(2**63)))
        total = self.directions.new_zeros(())
        n_ahead = AHEAD // (self._batch_size * similarity.n_columns)
        n_ahead = max(1, min(MOST_AHEAD, n_ahead))
        for start in range(begin, end, n_ahead):
            steps = range(start, min(start + n_ahead, end))
            triples, similar = self._triples(steps, similarity, generator)
            total += similar.sum()
            for step, those, own in zip(steps, triples, similar, strict=True):
                progress(step / params.max_iter, "moving leaves")
                sphere = params.sphere(step)
                value, gradient = relaxed_cost(
                    self.directions, those, own, sphere, params.temperature_at(step), self._signs
                )
                total += value
                turn = min(MOST_TURN, params.learning_rate / math.sinh(sphere.radius))
                self._step(gradient, step + 1, turn)
        self.n_rounds += 1
        return float(total) / (self._batch_size * (end - begin))

    def _triples(
        self, steps: range, similarity: Similarity, generator: Generator
    ) -> tuple[Tensor, Tensor]:
        """The triples of some steps, and their similarities, (n_steps, 3, B) each."""
        n_triples = self._batch_size
        drawn = draw_triples(
            len(self.directions), len(steps) * n_triples, steps[0] * n_triples, generator
        )
        triples, similar = (
            each.view(3, len(steps), n_triples).transpose(0, 1).contiguous()
            for each in (drawn, similarity.of(drawn))
        )
        return triples, similar

    def _step(self, gradient: Tensor, number: int, angle: float) -> None:
        """One step of Adam.

        number : the step's number, from 1. angle : the angle of a step of length one.
        """
        leaves = self.directions
        gradient.addcmul_((gradient * leaves).sum(dim=1, keepdim=True), leaves, value=-1.0)
        squared = (gradient * gradient).sum(dim=1, keepdim=True)
        self._mean.lerp_(gradient, 1 - _FIRST)
        self._square.lerp_(squared, 1 - _SECOND)
        root = self._square.sqrt().add_(_LEAST)
        length = angle * math.sqrt(1 - _SECOND**number) / (1 - _FIRST**number)
        leaves.addcdiv_(self._mean, root, value=-length)
        leaves /= leaves.norm(dim=1, keepdim=True)
        along = (self._mean * leaves).sum(dim=1, keepdim=True)
        self._mean.addcmul_(along, leaves, value=-1.0)

    def arrays(self) -> dict[str, Float]:
        """The state that `restored` needs, for checkpoints."""
        return {
            "moving.directions": self.directions.cpu().numpy().copy(),
            "moving.mean": self._mean.cpu().numpy().copy(),
            "moving.square": self._square.cpu().numpy().copy(),
            "moving.at": np.array([self.number, self.n_rounds], dtype=np.float64),
        }

    @classmethod
    def restored(cls, saved: Arrays, params: LeafParams, seed: int) -> LeafRun:
        """The run described by a checkpoint."""
        import torch

        number, n_rounds = (int(value) for value in saved["moving.at"])
        leaf_run = cls(len(saved["moving.directions"]), params, seed, number)
        tensors = {
            "directions": leaf_run.directions,
            "mean": leaf_run._mean,
            "square": leaf_run._square,
        }
        for name, tensor in tensors.items():
            tensor.copy_(torch.from_numpy(np.array(saved[f"moving.{name}"])))
        leaf_run.n_rounds = n_rounds
        return leaf_run


def train(
    similarity: Similarity,
    tree_cost: DasguptaCost,
    params: LeafParams,
    seed: int,
    run: Run,
    keep_steps: int = 0,
) -> BestLeaves:
    """The best leaves of all runs, in canonical order. keep_steps : the most earlier ones kept.

    To be called within `models.running.device.computing`.
    """
    n_points = len(similarity.order)
    leaf_run = LeafRun(n_points, params, seed, 0)
    best = BestLeaves(leaf_run.directions.cpu().numpy().copy())
    if n_points < 3 or not params.max_iter:
        best.cost = tree_cost.of(tree_of(decode(best.directions, run.threads)))
        return best
    own = BestLeaves(best.directions, kept=KeptStates(keep_steps))
    saved = run.checkpoint.load()
    if saved is not None:
        leaf_run = LeafRun.restored(saved, params, seed)
        best = _unpacked(saved, "kept.", keep_steps)
        own = _unpacked(saved, "own.", keep_steps)
    while leaf_run.number < params.n_init:
        n_idle = 0 if not own.costs else (leaf_run.n_steps - own.step) // leaf_run.round_size
        if leaf_run.n_steps == params.max_iter or (own.costs and n_idle >= params.patience):
            leaf_run = LeafRun(n_points, params, seed, leaf_run.number + 1)
            own = BestLeaves(best.directions, run=leaf_run.number, kept=KeptStates(keep_steps))
            continue
        objective = leaf_run.round(similarity, _round_progress(run.progress, best, own, params))
        own.objectives.append((leaf_run.n_steps, objective))
        directions = leaf_run.directions.cpu().numpy()
        cost = tree_cost.of(tree_of(decode(directions, run.threads)))
        own.costs.append((leaf_run.n_steps, cost))
        if cost < own.cost:
            own.cost, own.step = cost, leaf_run.n_steps
            own.kept.offer(own.step, cost, directions.copy)
            if cost < best.cost:
                best.directions = directions.copy()
                best.cost, best.run, best.step = cost, own.run, own.step
        if best.run == own.run:
            best.objectives, best.costs = list(own.objectives), list(own.costs)
            best.kept = own.kept.copy()
        run.checkpoint.save({**leaf_run.arrays(), **_packed(best, "kept."), **_packed(own, "own.")})
    return best


def tree_of(decoded: DecodedTree) -> Tree:
    """The tree of these merges, with the number of each merge as its height."""
    heights = np.arange(1.0, len(decoded.merges) + 1)
    return from_merges(decoded.merges[:, 0], decoded.merges[:, 1], heights)


def _round_progress(
    progress: Progress, best: BestLeaves, own: BestLeaves, params: LeafParams
) -> Progress:
    """The progress of a round, from that of its run, with the best cost of all runs."""
    number = own.run
    within = subprogress(progress, 0.1, 0.95)
    prefix = f"run {number + 1} of {params.n_init}, " if params.n_init > 1 else ""
    measured = ""
    if own.costs:
        measured = (
            f", objective {own.objectives[-1][1]:.5g}, cost {own.costs[-1][1]:.6g}, best "
            f"{best.cost:.6g}"
        )

    def report(fraction: float, stage: str, message: str = "") -> None:
        step = round(fraction * params.max_iter)
        within(
            (number + fraction) / params.n_init,
            stage,
            f"{prefix}step {step:,} of {params.max_iter:,}{measured}",
        )

    return report


_CURVES = ("objectives", "costs")


def _packed(best: BestLeaves, prefix: str) -> dict[str, Array]:
    return {
        **{
            prefix + name: np.array(getattr(best, name), dtype=np.float64)
            for name in _plain_fields()
        },
        **best.kept.arrays(f"{prefix}states."),
    }


def _plain_fields() -> list[str]:
    return [entry.name for entry in fields(BestLeaves) if entry.name != "kept"]


def _unpacked(saved: Arrays, prefix: str, keep_steps: int) -> BestLeaves:
    values = {name: np.array(saved[prefix + name]) for name in _plain_fields()}
    curves = {
        name: [(int(step), float(value)) for step, value in values[name].reshape(-1, 2)]
        for name in _CURVES
    }
    return BestLeaves(
        values["directions"],
        float(values["cost"]),
        int(values["run"]),
        int(values["step"]),
        curves["objectives"],
        curves["costs"],
        KeptStates.restored(saved, f"{prefix}states.", keep_steps),
    )


FEW_TIMES = 3_000
"""A warning is given below this many triples of a point in a run."""


def fit(
    similarity: Similarity, names: list[str], params: LeafParams, run: Run, keep_steps: int = 0
) -> Fitted:
    """The fit, once similarities are known. To be called within `models.running.device.computing`.

    names : names of the points, in the order of the input. keep_steps : the most earlier trees.
    """
    seed, pair_seed = (int(value) for value in run.rng.integers(2**63, size=2))
    run.progress(0.08, "preparing similarities")
    tree_cost = DasguptaCost(similarity, np.random.default_rng(pair_seed))
    best = train(similarity, tree_cost, params, seed, run, keep_steps)
    run.progress(0.96, "building the tree")
    sphere = params.sphere(best.step)
    decoded = decode(best.directions, run.threads)
    tree = _named_tree(decoded, sphere, similarity, names)
    steps = [
        LearnedStep(
            step,
            cost,
            _named_tree(decode(directions, run.threads), params.sphere(step), similarity, names),
        )
        for step, cost, directions in best.kept.before(best.step)
    ]
    metrics = {
        "dasgupta_cost": best.cost,
        "best_run": float(best.run),
        "best_step": float(best.step),
        "radius": sphere.radius,
    }
    if best.objectives:
        metrics["objective"] = dict(best.objectives)[best.step]
    curves = {"objective": best.objectives, "cost": best.costs}
    return Fitted(
        tree=tree,
        model=Model(
            arrays=_arrays(similarity, best, sphere.norm),
            facts=_facts(similarity, params.temperature),
        ),
        metrics=metrics,
        curves={name: curve for name, curve in curves.items() if curve},
        warnings=(
            *decoded.warnings,
            *tree_cost.warnings,
            *_angle_warnings(similarity),
            *_effort_warnings(params, len(names)),
        ),
        steps=tuple(steps),
    )


def _named_tree(
    decoded: DecodedTree, sphere: Sphere, similarity: Similarity, names: list[str]
) -> Tree:
    """The tree of leaves on a sphere, with the points in the order of the input."""
    n_points, merges = len(names), decoded.merges
    merges = np.where(merges < n_points, similarity.order[merges % n_points], merges)
    return from_merges(merges[:, 0], merges[:, 1], decoded.heights(sphere), names=names)


def _arrays(similarity: Similarity, best: BestLeaves, norm: float) -> dict[str, Array]:
    """Arrays of the model, in the order of the input.

    embedding : (n_points, dimension) points of the ball. points, center : compared with new
        features by `placing`.
    """
    row = np.argsort(similarity.order)
    arrays: dict[str, Array] = {"embedding": norm * best.directions[row]}
    if isinstance(similarity, FeatureSimilarity):
        arrays["points"] = similarity.points[row]
        arrays["center"] = similarity.center
    return arrays


def _facts(similarity: Similarity, temperature: float) -> dict[str, Any]:
    scale = 1.0
    if isinstance(similarity, MatrixSimilarity):
        scale = max(float(similarity.matrix.max()), -float(similarity.matrix.min())) or 1.0
    return {**facts_of(similarity), "scale": scale, "temperature": temperature}


def _angle_warnings(similarity: Similarity) -> tuple[str, ...]:
    """A warning where cosines hardly differ."""
    if not isinstance(similarity, FeatureSimilarity) or similarity.affinity != "cosine":
        return ()
    aside = similarity.aside
    if aside.share >= NARROW:
        return ()
    return (f"{aside.reason}, and their cosines hardly differ. {CENTRE}",)


def _effort_warnings(params: LeafParams, n_points: int) -> tuple[str, ...]:
    times = 3 * params.max_iter * params.triples_of_step(n_points) / n_points
    if n_points < 3 or times >= FEW_TIMES:
        return ()
    return (
        f"A run draws each point about {times:,.0f} times, which is few: average linkage may cost "
        "less. Raise 'max_iter' or 'batch_size'.",
    )
