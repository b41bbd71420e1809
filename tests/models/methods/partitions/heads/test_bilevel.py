"""Turtle's steps against autograd, torch's own layers and optimizers, and loops over numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from models.inputs.rows import ArrayRows
from models.methods.partitions.heads.bilevel import (
    Heads,
    LabellingParams,
    learn,
    measured,
    of_heads,
    train,
)
from models.methods.partitions.heads.labels import Linear, columns, scores
from models.methods.partitions.heads.space_tensors import SpaceTensors
from models.numerics.descent import Adam
from models.running.progress import silent
from tests.models.tensors_kit import LiteralAdam, assert_close

pytestmark = pytest.mark.needs("torch")

WIDTHS, N_CLUSTERS, N_ROWS = [5, 3], 4, 9


def features(n_rows: int = N_ROWS, seed: int = 3) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn((n_rows, width), generator=generator) for width in WIDTHS]


def drawn(seed: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    """(S, B, K) random scores."""
    generator = torch.Generator().manual_seed(seed)
    shape = (len(WIDTHS), N_ROWS, N_CLUSTERS)
    return 2.0 * torch.randn(shape, generator=generator, dtype=dtype)


def literal_objective(soft: list, log_learned: list, gamma: float) -> float:
    """Numbers, one at a time: eq. 9 and 12."""
    n_spaces, n_rows, n_clusters = len(soft), len(soft[0]), len(soft[0][0])
    total = 0.0
    for s in range(n_spaces):
        for i in range(n_rows):
            for c in range(n_clusters):
                tau = sum(soft[other][i][c] for other in range(n_spaces)) / n_spaces
                total -= tau * log_learned[s][i][c] / n_rows
        for c in range(n_clusters):
            share = sum(soft[s][i][c] for i in range(n_rows)) / n_rows
            total += gamma * share * math.log(share)
    return total


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10_000), st.floats(0.0, 20.0))
def test_the_objective_and_its_gradient(seed: int, gamma: float) -> None:
    z = drawn(seed).requires_grad_()
    log_learned = torch.log_softmax(drawn(seed + 1), dim=2)
    soft = torch.softmax(z, dim=2)
    expected = literal_objective(soft.tolist(), log_learned.tolist(), gamma)
    result = measured(soft.detach(), log_learned, gamma)
    assert result.value == pytest.approx(expected, rel=1e-9, abs=1e-9)

    tau = soft.mean(dim=0)
    learned = sum(nn.functional.cross_entropy(one, tau) for one in log_learned)
    entropy = torch.special.entr(soft.mean(dim=1)).sum()
    (learned - gamma * entropy).backward()
    gradient = of_heads(soft.detach(), log_learned, gamma) / -(len(WIDTHS) * N_ROWS)
    assert_close(gradient, z.grad, rtol=1e-9, atol=1e-12)


def test_the_gradient_by_finite_differences() -> None:
    log_learned = torch.log_softmax(drawn(1), dim=2)
    z, gamma, step = drawn(2), 3.0, 1e-6
    gradient = of_heads(torch.softmax(z, dim=2), log_learned, gamma) / -(len(WIDTHS) * N_ROWS)
    for at in [(0, 0, 0), (1, 8, 3), (0, 4, 2), (1, 2, 1)]:
        values = []
        for sign in (1.0, -1.0):
            moved = z.clone()
            moved[at] += sign * step
            soft = torch.softmax(moved, dim=2).tolist()
            values.append(literal_objective(soft, log_learned.tolist(), gamma))
        assert float(gradient[at]) == pytest.approx((values[0] - values[1]) / (2 * step), rel=1e-6)


def test_a_cluster_that_no_point_has_any_of_has_a_finite_gradient() -> None:
    soft = torch.zeros((1, 4, 3))
    soft[:, :, 0] = 1.0
    assert torch.isfinite(of_heads(soft, torch.full((1, 4, 3), -1.0), 10.0)).all()


def test_heads_are_torchs_weight_normalised_layers() -> None:
    generator = torch.Generator().manual_seed(5)
    heads = Heads(WIDTHS, N_CLUSTERS, generator)
    directions, bias, lengths = heads.split(heads.params)
    for one, width in zip(directions, WIDTHS, strict=True):
        assert float(one.abs().max()) <= width**-0.5
    assert_close(lengths, torch.stack([one.norm(dim=0) for one in directions]), rtol=1e-6, atol=0)
    lengths.mul_(torch.rand(lengths.shape, generator=generator) + 0.5)
    rows, slope = features(), drawn(7, torch.float32)
    tall = columns(rows, torch.ones((1, len(rows[0]))))
    theirs = []
    for space, width in enumerate(WIDTHS):
        one = nn.utils.parametrizations.weight_norm(nn.Linear(width, N_CLUSTERS))
        one.parametrizations.weight.original1.data = directions[space].T.clone()
        one.parametrizations.weight.original0.data = lengths[space][:, None].clone()
        one.bias.data = bias[space].clone()
        theirs.append(one)
    expected = torch.stack([one(x) for one, x in zip(theirs, rows, strict=True)])
    for own in (
        scores(rows, heads.layer(), torch.empty_like(slope)),
        heads.scores(rows, torch.empty_like(slope)),
    ):
        assert_close(own, expected.detach(), rtol=1e-5, atol=1e-6)

    (expected * slope).sum().backward()
    gradient = torch.full_like(heads.params, torch.nan)
    heads.pull_back(tall, slope / 3.0, gradient, 3.0)
    of_v, of_bias, of_g = heads.split(gradient)
    for space, one in enumerate(theirs):
        parts = one.parametrizations.weight
        close = {"rtol": 1e-4, "atol": 1e-5}
        assert_close(of_v[space], parts.original1.grad.T, **close)
        assert_close(of_g[space], parts.original0.grad[:, 0], **close)
        assert_close(of_bias[space], one.bias.grad, **close)


class Literal:
    """The method as its equations say, by autograd, on torch's layers and optimizers.

    Starting values are drawn as `train` draws them.
    """

    def __init__(self, params: LabellingParams, seed: int) -> None:
        self.params = params
        self.generator = torch.Generator().manual_seed(seed)
        heads = Heads(WIDTHS, N_CLUSTERS, self.generator)
        v, b, g = heads.split(heads.params.clone())
        self.heads = [[one.clone().requires_grad_() for one in part] for part in (v, b, g)]
        self.outer = LiteralAdam(
            [one for part in self.heads for one in part], lr=params.learning_rate
        )

    def soft(self, rows: list[torch.Tensor]) -> list[torch.Tensor]:
        return [
            torch.softmax(x @ (g * v / v.norm(dim=0)) + b, dim=1)
            for x, v, b, g in zip(rows, *self.heads, strict=True)
        ]

    def start(self) -> None:
        layer = Linear(WIDTHS, N_CLUSTERS, "cpu")
        layer.draw(self.generator)
        self.classifiers = [
            (w.clone().requires_grad_(), b.clone().requires_grad_())
            for w, b in zip(layer.weights, layer.bias, strict=True)
        ]
        flat = [one for pair in self.classifiers for one in pair]
        self.inner = LiteralAdam(flat, lr=self.params.inner_learning_rate)

    def cross_entropy(
        self, rows: list[torch.Tensor], labels: torch.Tensor, fixed: bool
    ) -> torch.Tensor:
        learned = [x @ w + b for x, (w, b) in zip(rows, self.classifiers, strict=True)]
        return sum(
            nn.functional.cross_entropy(one.detach() if fixed else one, labels) for one in learned
        )

    def step(self, rows: list[torch.Tensor], first: bool) -> float:
        if first or not self.params.warm_start:
            self.start()
        soft = self.soft(rows)
        tau = sum(soft) / len(soft)
        for _ in range(self.params.inner_iter):
            self.inner.zero_grad()
            self.cross_entropy(rows, tau.detach(), fixed=False).backward()
            self.inner.step()
        self.outer.zero_grad()
        entropy = sum(torch.special.entr(one.mean(dim=0)).sum() for one in soft)
        value = self.cross_entropy(rows, tau, fixed=True) - self.params.gamma * entropy
        value.backward()
        self.outer.step()
        return float(value.detach())


@pytest.mark.parametrize("warm_start", [False, True])
def test_training_is_that_of_the_literal_program(warm_start: bool) -> None:
    params = LabellingParams(
        n_clusters=N_CLUSTERS,
        max_iter=6,
        inner_iter=3,
        learning_rate=0.01,
        inner_learning_rate=0.02,
        gamma=2.0,
        warm_start=warm_start,
    )
    rows = features()
    tensors = SpaceTensors([ArrayRows(row.numpy()) for row in rows], "cpu", 100, silent)
    with torch.no_grad():
        labelling = train(tensors, params, np.random.default_rng(8), silent)
    literal = Literal(params, int(np.random.default_rng(8).integers(2**63)))
    values = [literal.step(rows, step == 0) for step in range(params.max_iter)]
    assert labelling.objective.value == pytest.approx(values[-1], rel=1e-4)
    v, b, g = literal.heads
    for space in range(len(WIDTHS)):
        weights = (g[space] * v[space] / v[space].norm(dim=0)).detach()
        assert_close(labelling.layer.weights[space], weights, rtol=1e-3, atol=1e-4)
        assert_close(labelling.layer.bias[space], b[space].detach(), rtol=1e-3, atol=1e-4)
    labels = (sum(literal.soft(rows)) / len(rows)).argmax(dim=1)
    assert (labelling.labels(rows) == labels).all()


def test_classifiers_come_to_the_labels_they_are_taught() -> None:
    rows = features(30)
    labels = nn.functional.one_hot((rows[0][:, 0] > 0).long(), N_CLUSTERS).float()
    classifier = Linear(WIDTHS, N_CLUSTERS, "cpu")
    learn(
        rows,
        columns(rows, torch.ones((1, 30))),
        labels,
        classifier,
        Adam(classifier.params, 0.1),
        200,
    )
    out = scores(rows, classifier, torch.empty((2, 30, N_CLUSTERS)))
    assert (out[0].argmax(dim=1) == labels.argmax(dim=1)).all()


def test_features_of_any_size_that_is_taken_give_finite_heads() -> None:
    rows = [ArrayRows(3e17 * one.numpy()) for one in features()]
    params = LabellingParams(
        n_clusters=4,
        max_iter=5,
        inner_iter=20,
        learning_rate=10.0,
        inner_learning_rate=10.0,
        gamma=1e6,
        warm_start=False,
    )
    with torch.no_grad():
        labelling = train(
            SpaceTensors(rows, "cpu", 9, silent), params, np.random.default_rng(0), silent
        )
    assert torch.isfinite(labelling.layer.params).all()
    assert np.isfinite(labelling.objective.value)
