"""Temi's loss by numbers, its gradient by autograd, its steps by a literal program."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from models.inputs.rows import ArrayRows
from models.methods.partitions.heads.distillation import (
    HeadParams,
    LateFall,
    Schedule,
    agreement,
    losses,
    momentum_for,
    train,
)
from models.methods.partitions.heads.space_tensors import SpaceTensors
from models.running.progress import silent
from tests.models.tensors_kit import LiteralAdam, assert_close

pytestmark = pytest.mark.needs("torch")

N_PAIRS, N_HEADS, N_CLUSTERS, BETA = 5, 3, 4, 0.6
SHAPE = (2, N_PAIRS, N_HEADS, N_CLUSTERS)


def drawn(seed: int, scale: float = 2.0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return scale * torch.randn(SHAPE, generator=generator, dtype=torch.float64)


def shares(seed: int) -> torch.Tensor:
    return torch.softmax(drawn(seed)[0, 0], dim=1)


def literal_loss(student: list, teacher: list, share: list, head: int, beta: float = BETA) -> float:
    """The loss of one head: sums over numbers, from probabilities [point][pair][head][cluster]."""
    total = 0.0
    for i in range(N_PAIRS):
        weight = 0.0
        for h in range(N_HEADS):
            both = zip(teacher[0][i][h], teacher[1][i][h], strict=True)
            weight += sum(a * b for a, b in both) / N_HEADS
        for student_view, teacher_view in ((0, 1), (1, 0)):
            inside = sum(
                (student[student_view][i][head][c] * teacher[teacher_view][i][head][c]) ** beta
                / share[head][c]
                for c in range(N_CLUSTERS)
            )
            total -= weight * math.log(inside) / 2 / N_PAIRS
    return total


def losses_of(
    student: torch.Tensor, teacher: torch.Tensor, share: torch.Tensor, beta: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """student, teacher : log probabilities of both points in the same order. The gradient is that
    in the scores over a temperature of .5."""
    alike = agreement(teacher.exp())
    loss, slope = losses(student, student.exp(), teacher.flip(0), share.log(), alike, beta, 0.5)
    return loss, 0.5 * slope


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10_000), st.floats(0.1, 1.0))
def test_the_loss_and_its_gradient(seed: int, beta: float) -> None:
    z = drawn(seed).requires_grad_()
    student = torch.log_softmax(z, dim=3)
    teacher, share = torch.log_softmax(drawn(seed + 1), dim=3), shares(seed + 2)
    weight = agreement(teacher.exp()) / N_HEADS
    loss, slope = losses_of(student.detach(), teacher, share, beta)
    numbers = student.exp().tolist(), teacher.exp().tolist(), share.tolist()
    expected = [literal_loss(*numbers, head, beta) for head in range(N_HEADS)]
    assert loss.tolist() == pytest.approx(expected, rel=1e-9, abs=1e-12)

    inside = (student.exp() * teacher.exp().flip(0)).pow(beta) / share
    (-(weight[:, None] * inside.sum(dim=3).log()).mean(dim=(0, 1)).sum()).backward()
    assert_close(slope, z.grad, rtol=1e-9, atol=1e-12)


def test_the_gradient_by_finite_differences() -> None:
    z, teacher, share, step = drawn(1), torch.log_softmax(drawn(2), dim=3), shares(3), 1e-6
    _, slope = losses_of(torch.log_softmax(z, dim=3), teacher, share, BETA)
    for at in [(0, 0, 0, 0), (1, 4, 2, 3), (0, 2, 1, 2), (1, 1, 0, 1)]:
        values = []
        for sign in (1.0, -1.0):
            moved = z.clone()
            moved[at] += sign * step
            numbers = torch.softmax(moved, dim=3).tolist(), teacher.exp().tolist(), share.tolist()
            values.append(sum(literal_loss(*numbers, head) for head in range(N_HEADS)))
        assert float(slope[at]) == pytest.approx((values[0] - values[1]) / (2 * step), rel=1e-6)


def test_saturated_heads_have_finite_losses() -> None:
    student = torch.log_softmax(drawn(1, 1e4).float(), dim=3)
    teacher = torch.log_softmax(drawn(2, 1e4).float(), dim=3)
    tiny = torch.full((N_HEADS, N_CLUSTERS), torch.finfo(torch.float32).tiny)
    loss, slope = losses_of(student, teacher, tiny, BETA)
    assert torch.isfinite(loss).all()
    assert torch.isfinite(slope).all()


PARAMS = HeadParams(
    n_clusters=N_CLUSTERS,
    n_heads=3,
    max_iter=4,
    learning_rate=0.01,
    beta=0.6,
    temperature=0.5,
    momentum=0.8,
)


def schedule_of(params: HeadParams) -> Schedule:
    return Schedule.of(params, 40, 40, 1.0)


@pytest.mark.parametrize(
    ("n_points", "n_clusters", "mean_sum", "expected"),
    [
        # One batch a pass: 500 passes make 500 steps.
        (300, 20, 10.0, (5, 500, 0.01)),
        # Five steps a pass, as many steps.
        (2_560, 20, 10.0, (42, 100, 0.01)),
        # 12,500 steps: shorter by the root of 25.
        (64_000, 10, 180.0, (50, 100, 0.1 / 180 / 5)),
        (3, 2, 0.0, (5, 500, 10.0)),
    ],
)
def test_auto_follows_the_number_of_rows_and_the_size_of_values(
    n_points: int, n_clusters: int, mean_sum: float, expected: tuple[int, int, float]
) -> None:
    schedule = Schedule.of(
        HeadParams(n_clusters=n_clusters), n_points, min(512, n_points), mean_sum
    )
    assert (schedule.k_neighbors, schedule.max_iter) == expected[:2]
    assert schedule.learning_rate == pytest.approx(expected[2])
    given = HeadParams(n_clusters=n_clusters, k_neighbors=7, max_iter=3, learning_rate=0.5)
    assert Schedule.of(given, n_points, 1, mean_sum) == Schedule(7, 3, 0.5)


def literal_training(
    rows: torch.Tensor, neighbours: torch.Tensor, n_clusters: int, params: HeadParams, seed: int
) -> tuple[torch.Tensor, list[list[float]], torch.Tensor]:
    """The teachers (H, D + 1, K), the losses of each step, all rows in each, and the share of rows
    that the last step's student and teacher put in other clusters.

    By autograd on one head after the other; numbers are drawn as `train` draws them.
    """
    generator = torch.Generator().manual_seed(seed)
    n_rows, width = rows.shape
    weights = torch.empty((width, params.n_heads * n_clusters))
    weights.normal_(0.0, 0.02, generator=generator)
    start = torch.cat([weights, torch.zeros((1, weights.shape[1]))])
    students = [terms.clone().requires_grad_() for terms in start.split(n_clusters, dim=1)]
    teachers = [terms.clone() for terms in start.split(n_clusters, dim=1)]
    schedule = schedule_of(params)
    optimizer = LiteralAdam(students, lr=schedule.learning_rate)
    share = [torch.full((n_clusters,), 1 / n_clusters) for _ in students]
    seen, apart = [], torch.zeros(params.n_heads)

    def soft(x: torch.Tensor, head: torch.Tensor) -> torch.Tensor:
        return torch.softmax((x @ head[:-1] + head[-1]) / params.temperature, dim=1)

    for _ in range(schedule.max_iter):
        pick = torch.randint(neighbours.shape[1], (n_rows, 1), generator=generator)
        others = rows[neighbours.gather(1, pick).squeeze(1).long()]
        weight, loss = torch.zeros(n_rows), []
        for h, teacher in enumerate(teachers):
            labels, neighbour_labels = soft(rows, teacher), soft(others, teacher)
            mean = torch.cat([labels, neighbour_labels]).mean(dim=0)
            share[h] = 0.9 * share[h] + 0.1 * mean
            weight += (labels * neighbour_labels).sum(dim=1) / params.n_heads
        for h, (student, teacher) in enumerate(zip(students, teachers, strict=True)):
            terms = ((soft(rows, student) * soft(others, teacher)) ** params.beta / share[h]).sum(1)
            two = ((soft(others, student) * soft(rows, teacher)) ** params.beta / share[h]).sum(1)
            loss.append(-(weight * (terms.log() + two.log()) / 2).mean())
        both = torch.cat([rows, others])
        for h, (student, teacher) in enumerate(zip(students, teachers, strict=True)):
            differ = soft(both, student).argmax(dim=1) != soft(both, teacher).argmax(dim=1)
            apart[h] = differ.float().mean()
        optimizer.zero_grad()
        torch.stack(loss).sum().backward()
        optimizer.step()
        with torch.no_grad():
            teachers = [
                params.momentum * t + (1 - params.momentum) * s
                for t, s in zip(teachers, students, strict=True)
            ]
        seen.append([float(terms.detach()) for terms in loss])
    return torch.stack(teachers), seen, apart


def test_training_is_that_of_the_literal_program() -> None:
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(12, 6)).astype(np.float32)
    near = torch.from_numpy(rng.integers(12, size=(12, 3)).astype(np.int32))
    tensors = SpaceTensors([ArrayRows(rows)], "cpu", 100, silent)
    with torch.no_grad():
        result = train(tensors, near, PARAMS, schedule_of(PARAMS), np.random.default_rng(8), silent)
    seed = int(np.random.default_rng(8).integers(2**63))
    teachers, seen, apart = literal_training(torch.from_numpy(rows), near, N_CLUSTERS, PARAMS, seed)
    expected = teachers / PARAMS.temperature
    close = {"rtol": 1e-3, "atol": 1e-4}
    assert_close(result.weights.movedim(1, 0), expected[:, :-1], **close)
    assert_close(result.bias, expected[:, -1], **close)
    assert result.loss.tolist() == pytest.approx(seen[-1], rel=1e-4)
    assert result.apart.tolist() == pytest.approx(apart.tolist())
    assert apart.max() > 0
    assert result.late_fall.tolist() == [0.0] * 3  # of four passes there is no fifth


def test_the_share_of_a_fall_that_came_late() -> None:
    linear, early, rising = [10.0 - turn for turn in range(10)], [10.0] + [0.0] * 9, [*range(10)]
    losses_of_pass = torch.tensor([linear, early, rising]).T
    fall = LateFall(10, 3, "cpu")
    for turn, loss in enumerate(losses_of_pass):
        fall.add(turn, loss)
    # Means of the last two fifths of the linear fall: 3.5 and 1.5, so 2 of 10 - 1.5.
    assert fall.share().tolist() == pytest.approx([2 / 8.5, 0.0, 0.0])


@pytest.mark.parametrize(
    ("n_steps", "momentum"),
    [(0, 0.9), (1, 0.9), (500, 0.9), (1000, 0.95), (12_500, 0.996), (10**9, 0.996)],
)
def test_the_average_spans_a_fiftieth_of_the_steps(n_steps: int, momentum: float) -> None:
    assert momentum_for(n_steps) == pytest.approx(momentum)


def test_losses_are_means_over_the_last_pass() -> None:
    """Steps too short to change anything: each head's loss is then what its start gives."""
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(40, 6)).astype(np.float32)
    near = torch.from_numpy(rng.integers(40, size=(40, 1)).astype(np.int32))
    params = PARAMS.model_copy(update={"max_iter": 2, "learning_rate": 1e-30})
    with torch.no_grad():
        whole, parts = (
            train(
                SpaceTensors([ArrayRows(rows)], "cpu", size, silent),
                near,
                params,
                schedule_of(params),
                np.random.default_rng(8),
                silent,
            )
            for size in (40, 10)
        )
    # Shares of clusters differ by batch, a little.
    assert parts.loss.tolist() == pytest.approx(whole.loss.tolist(), rel=0.05)
