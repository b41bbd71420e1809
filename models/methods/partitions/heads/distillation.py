"""Temi's heads: students taught by their own moving averages on pairs of neighbours.

Each of H heads gives p(c | x) = softmax((x w + b) / temperature), for the student's parameters and
for the teacher's. On pairs of a point x and one of its neighbours x', head h minimises

    - w [f(x, x') + f(x', x)] / 2,   f(x, x') = log sum_c (p_s(c|x) p_t(c|x'))^beta / p(c)

averaged over the pairs: a bound on the mutual information of neighbours' clusters. p(c) is a moving
average of the head's mean teacher; w = mean over heads of sum_c p_t(c|x) p_t(c|x') gives less
weight to pairs that are unlikely to share a cluster. Then the teacher moves towards the student by
a moving average. With r_c the share of c in the sum, the gradient in the student's scores z of x is

    df / dz_c = beta (r_c - p_s(c|x)) / temperature

Source: Adaloglou, Michels, Kalisch and Kollmann, "Exploring the Limits of Deep Image Clustering
using Pretrained Models" (2023). The temperature 0.1, normal initial weights with deviation 0.02,
and updating p(c) before its use are from the authors' program. That program also has a hidden layer
before each head, a warm-up of the step length and weight decay; here heads are linear.

Cost: 24 B D H K multiplications and additions a step; memory about 12 B H K and 7 D H K values.

Neighbours are the nearest by cosine, all pairs compared on the device. Cost: 2 N^2 D
multiplications and additions. Memory: a tile of `TILE` scores, the rows that it compares, and 4
bytes for each neighbour. Features that do not fit in memory are read once for each block of points
that does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field

from models.errors import UsageError
from models.methods.partitions.heads import space_tensors
from models.methods.partitions.heads.space_tensors import ROLE, SpaceTensors
from models.numerics.descent import Adam
from models.parameters import Device, Params
from models.running.progress import Progress

if TYPE_CHECKING:
    from torch import Tensor


START = 0.02
SHARE_MOMENTUM = 0.9

LEAST_MOMENTUM, MOST_MOMENTUM = 0.9, 0.996
PASSES, LEAST_STEPS = 100, 500
LEAST_NEAR, MOST_NEAR = 5, 50
SCORE_STEP = 0.1
"""The most by which a step changes a score, before the temperature, for `LEAST_STEPS` steps."""

SPANS = 50
"""The number of spans of the teacher's average in a training."""

_REPORTED = 1e10
"""The approximate number of multiplications between two progress reports."""


class HeadParams(Params):
    """How heads are trained, and the pairs that teach them: a part of the parameters of `temi`."""

    n_clusters: int = Field(8, ge=2, le=100_000, description="Number of clusters.")
    n_heads: int = Field(
        16, ge=1, le=1000, description="Number of heads; the one with the lowest loss is kept."
    )
    k_neighbors: Annotated[int, Field(ge=1, le=10_000)] | Literal["auto"] = Field(
        "auto",
        description=(
            "Nearest neighbours that a point is paired with, fewer than a cluster has; auto: a "
            "third of the points that a cluster has on average, from 5 to 50."
        ),
    )
    beta: float = Field(
        0.6,
        gt=0,
        le=1,
        description="Power of the probabilities; below 1 it keeps clusters from being left empty.",
    )
    temperature: float = Field(
        0.1, ge=1e-4, le=1e4, description="What scores are divided by before softmax."
    )
    momentum: Annotated[float, Field(ge=0, lt=1)] | Literal["auto"] = Field(
        "auto",
        description=(
            "Share of the teacher that stays in each step; auto: by the number of steps, 0.996 "
            "from 12,500 steps on, 0.9 up to 500."
        ),
    )
    max_iter: Annotated[int, Field(ge=1, le=100_000)] | Literal["auto"] = Field(
        "auto", description="Passes over the points; auto: 100, and more to make 500 steps."
    )
    learning_rate: Annotated[float, Field(gt=0, le=10)] | Literal["auto"] = Field(
        "auto",
        description=(
            "Step length of the heads (Adam); auto: by the number of steps and the size of the "
            "values."
        ),
    )


@dataclass(frozen=True, slots=True)
class Schedule:
    """What a training takes where parameters are 'auto'."""

    k_neighbors: int
    max_iter: int
    learning_rate: float

    @classmethod
    def of(cls, params: HeadParams, n_points: int, batch_size: int, mean_sum: float) -> Schedule:
        """mean_sum : mean over points of the sum of absolute values: a step of length r moves a
        score by up to r times that."""
        by_size = min(max(n_points // (3 * params.n_clusters), LEAST_NEAR), MOST_NEAR)
        near = by_size if params.k_neighbors == "auto" else params.k_neighbors
        n_each = max(n_points // batch_size, 1)
        enough = max(PASSES, -(-LEAST_STEPS // n_each))
        passes = enough if params.max_iter == "auto" else params.max_iter
        shorter = min(1.0, LEAST_STEPS / (n_each * passes)) ** 0.5
        by_values = min(SCORE_STEP / max(mean_sum, 1e-30) * shorter, 10.0)
        rate = by_values if params.learning_rate == "auto" else params.learning_rate
        return cls(near, passes, rate)


@dataclass(frozen=True, slots=True)
class TaughtHeads:
    """The teachers' heads.

    weights : (D, H, K), bias : (H, K), both divided by the temperature already.
    loss : (H,) mean over the last pass.
    late_fall : (H,) share of the loss's fall since the first pass that came in the last fifth of
        the passes; 0 for fewer than five passes or where it did not fall.
    apart : (H,) share of points of the last pass that student and teacher put in other clusters.
    """

    weights: Tensor
    bias: Tensor
    loss: Tensor
    late_fall: Tensor
    apart: Tensor


def momentum_for(n_steps: int) -> float:
    """The share of the teacher that stays in each step, so that its average, which spans
    1 / (1 - momentum) steps, does so `SPANS` times in a training."""
    return min(max(1.0 - SPANS / max(n_steps, 1), LEAST_MOMENTUM), MOST_MOMENTUM)


def agreement(teacher: Tensor) -> Tensor:
    """(B,) H times the weight of each pair. teacher : (2, B, H, K) probabilities of both points."""
    return (teacher[0] * teacher[1]).sum(dim=(1, 2))


def losses(
    student: Tensor,
    chance: Tensor,
    teacher: Tensor,
    log_share: Tensor,
    alike: Tensor,
    beta: float,
    temperature: float,
) -> tuple[Tensor, Tensor]:
    """(H,) the loss of each head, and its gradient (2, B, H, K) in the student's scores.

    student, teacher : (2, B, H, K) log probabilities of both points of each pair, the teacher's of
    the other point. chance : the student's probabilities, overwritten. log_share : (H, K) logarithm
    of p(c). alike : (B,) by `agreement`.
    """
    import torch

    _, n_pairs, n_heads, _ = student.shape
    joint = (student + teacher).mul_(beta).sub_(log_share)
    total = torch.logsumexp(joint, dim=3).sum(dim=0)
    weight = alike * (1.0 / (2 * n_pairs * n_heads))
    loss = torch.mv(total.T, weight).neg_()
    slope = chance.sub_(torch.softmax(joint, dim=3))
    return loss, slope.mul_((weight * (beta / temperature))[:, None, None])


class LateFall:
    """How much of the fall of losses comes in the last fifth of the passes."""

    def __init__(self, n_passes: int, n_heads: int, device: Device) -> None:
        import torch

        self._n_passes = n_passes
        self._n_late = n_passes // 5
        self._first, self._early, self._late = torch.zeros((3, n_heads), device=device)

    def add(self, turn: int, loss: Tensor) -> None:
        """loss : (H,) of pass `turn`."""
        n_left = self._n_passes - turn
        if turn == 0:
            self._first += loss
        if n_left <= self._n_late:
            self._late += loss
        elif n_left <= 2 * self._n_late:
            self._early += loss

    def share(self) -> Tensor:
        """(H,) the share; 0 for fewer than five passes or where the loss did not fall."""
        import torch

        none = torch.zeros_like(self._first)
        if not self._n_late:
            return none
        fall = self._first - self._late / self._n_late
        share = (self._early - self._late) / self._n_late / fall
        return torch.where(fall > 0, share, none).clamp_(0.0, 1.0)


def train(
    tensors: SpaceTensors,
    neighbours: Tensor,
    params: HeadParams,
    schedule: Schedule,
    rng: np.random.Generator,
    progress: Progress,
) -> TaughtHeads:
    """The heads after the passes of `schedule` over the points of `tensors`, which has one space.

    neighbours : (n_points, k) numbers of points.
    """
    import torch

    n_clusters = params.n_clusters
    generator = torch.Generator(tensors.device).manual_seed(int(rng.integers(2**63)))
    size, width, n_scores = tensors.batch_size, tensors.widths[0], params.n_heads * n_clusters
    # Both, for one product: weights, and below them the bias.
    heads = torch.zeros((2, width + 1, n_scores), device=tensors.device)
    student, teacher = heads
    student[:-1].normal_(0.0, START, generator=generator)
    teacher.copy_(student)
    adam = Adam(student, schedule.learning_rate)
    share = torch.full((params.n_heads, n_clusters), 1.0 / n_clusters, device=tensors.device)
    scored = torch.empty((2, 2 * size, n_scores), device=tensors.device)
    chance = scored.view(2, 2, size, params.n_heads, n_clusters)
    gradient = torch.empty_like(student)
    batches = tensors.batches(rng)
    n_steps = tensors.n_points // tensors.batch_size
    momentum = (
        momentum_for(n_steps * schedule.max_iter) if params.momentum == "auto" else params.momentum
    )
    work = 12.0 * size * n_scores * width
    every = int(min(max(1.0, _REPORTED / work), max(1, n_steps * schedule.max_iter // 20)))
    loss, apart = torch.zeros((2, params.n_heads), device=tensors.device)
    near, n_near, cool = neighbours.flatten(), neighbours.shape[1], 1.0 / params.temperature
    fall = LateFall(schedule.max_iter, params.n_heads, tensors.device)

    for step in range(n_steps * schedule.max_iter):
        turn, at = divmod(step, n_steps)
        numbers, (rows,) = next(batches)
        drawn = torch.randint(n_near, (size, 1), generator=generator, device=tensors.device)
        others = near.index_select(0, torch.add(drawn.squeeze(1), numbers, alpha=n_near))
        ring = torch.cat([rows, *tensors.take(others), rows])
        # Twice the rows of both points: the student's, and the teacher's of the other point.
        both = ring.as_strided((2, 2 * size, width), (size * width, width, 1))
        torch.baddbmm(heads[:, -1:], both, heads[:, :-1], beta=cool, alpha=cool, out=scored)
        learned, taught = logs = torch.log_softmax(chance, dim=4)
        torch.exp(logs, out=chance)
        share.lerp_(chance[1].mean(dim=(0, 1)), 1.0 - SHARE_MOMENTUM)
        # The logarithm of a share that stays 0 for long would be infinite.
        log_share = share.clamp(min=torch.finfo(share.dtype).tiny).log_()
        if turn == schedule.max_iter - 1:
            other = learned.argmax(dim=3) != taught.flip(0).argmax(dim=3)
            apart += other.to(apart.dtype).mean(dim=(0, 1)) / n_steps
        batch_loss, slope = losses(
            learned, chance[0], taught, log_share, agreement(chance[1]), params.beta,
            params.temperature,
        )  # fmt: skip
        slope = slope.view(2 * size, n_scores)
        torch.mm(both[0].T, slope, out=gradient[:-1])
        torch.sum(slope, dim=0, out=gradient[-1])
        adam.step(gradient)
        teacher.lerp_(student, 1.0 - momentum)
        loss = batch_loss if at == 0 else loss + batch_loss
        if at == n_steps - 1:
            fall.add(turn, loss)
        if step % every == 0:
            progress(
                step / (n_steps * schedule.max_iter),
                "teaching heads",
                f"pass {turn + 1} of {schedule.max_iter}, "
                f"lowest loss {float(batch_loss.min()):.5g}",
            )
    scaled = teacher / params.temperature
    shape = params.n_heads, n_clusters
    weights, bias = scaled[:-1].view(-1, *shape), scaled[-1].view(shape)
    return TaughtHeads(weights, bias, loss / n_steps, fall.share(), apart)


TILE = 1 << 24
"""Scores that are computed together (64 MiB)."""

_QUERIES = 2048


def neighbours(tensors: SpaceTensors, n_neighbors: int, progress: Progress) -> Tensor:
    """(n_points, n_neighbors) int32, nearest first, never the point itself.

    n_neighbors : below the number of points. The choice among equally near points is undefined.

    Raises UsageError for a point without a direction, whose values are all 0.
    """
    import torch

    n_points = tensors.n_points
    n_queries = _QUERIES
    if not tensors.is_resident:
        n_queries = max(n_queries, space_tensors.RESIDENT // (2 * tensors.widths[0]))
    n_keys = max(1, TILE // min(n_queries, n_points))
    shift = torch.from_numpy(tensors.frames[0].shift).to(tensors.device)
    moved = bool(shift.any())

    def seen(rows: Tensor) -> Tensor:
        """From 0, as cosines are."""
        return rows + shift if moved else rows

    index = torch.empty((n_points, n_neighbors), dtype=torch.int32, device=tensors.device)
    for start, (rows,) in tensors.blocks(n_queries):
        queries = _unit(seen(rows), start)
        best = torch.full((len(queries), 0), -2.0, device=tensors.device)
        which = torch.full((len(queries), 0), 0, dtype=torch.int64, device=tensors.device)
        for first, (others,) in tensors.blocks(n_keys):
            progress((start + len(queries) * first / n_points) / n_points, "finding neighbours")
            near = queries @ _unit(seen(others), first).T
            # Below the lowest cosine, so that no point is its own neighbour.
            near.diagonal(start - first)[:] = -2.0
            value, place = near.topk(min(n_neighbors, near.shape[1]), dim=1)
            best, which = torch.cat([best, value], dim=1), torch.cat([which, place + first], dim=1)
            best, kept = best.topk(min(n_neighbors, best.shape[1]), dim=1)
            which = which.gather(1, kept)
        index[start : start + len(queries)] = which
    return index


def _unit(rows: Tensor, first_row: int) -> Tensor:
    largest = rows.abs().amax(dim=1, keepdim=True)
    if not bool((largest > 0).all()):
        row = first_row + int((largest[:, 0] == 0).nonzero()[0])
        raise UsageError(
            f"Input {ROLE!r} has only zeros in row {row} (counted from 0; in single precision): it "
            "has no direction, so no neighbours by cosine.",
            code="no-distance",
            role=ROLE,
            row=row,
        )
    # Squares of small values would be rounded to 0.
    scaled = rows / largest
    unit: Tensor = scaled / scaled.norm(dim=1, keepdim=True)
    return unit
