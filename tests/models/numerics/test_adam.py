"""Adam against its definition and torch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from models.numerics.descent import Adam, step_together
from tests.models.tensors_kit import LiteralAdam, assert_close

pytestmark = pytest.mark.needs("torch")


def test_it_moves_as_its_definition() -> None:
    moves_alike(LiteralAdam)


@pytest.mark.slow
def test_it_moves_as_torchs_own() -> None:
    """Which takes 4 s of CPU to load."""
    moves_alike(torch.optim.Adam)


def moves_alike(literal: Callable[..., Any]) -> None:
    generator = torch.Generator().manual_seed(0)
    start = torch.randn((7, 3), generator=generator)
    ours, theirs = start.clone(), start.clone().requires_grad_()
    adam, reference = Adam(ours, 0.03), literal([theirs], lr=0.03)
    for turn in range(12):
        if turn == 6:
            adam.restart()
            reference = literal([theirs], lr=0.03)
        gradient = torch.randn((7, 3), generator=generator) * 10.0 ** (turn % 3 - 1)
        theirs.grad = gradient.clone()
        reference.step()
        adam.step(gradient)
        assert_close(ours, theirs.detach(), rtol=1e-5, atol=1e-7)


def test_a_share_of_the_rate_is_a_lower_rate() -> None:
    gradients = torch.randn((4, 6), generator=torch.Generator().manual_seed(2))
    shared, lower = torch.zeros(6), torch.zeros(6)
    by_share, by_rate = Adam(shared, 0.08), Adam(lower, 0.02)
    by_share.shorten(0.25)
    for gradient in gradients:
        by_share.step(gradient)
        by_rate.step(gradient)
    assert_close(shared, lower)


def test_restored_it_goes_on_as_before() -> None:
    generator = torch.Generator().manual_seed(1)
    params = torch.randn(5, generator=generator)
    adam = Adam(params, 0.03)
    for _ in range(3):
        adam.step(torch.randn(5, generator=generator))
    copied = params.clone()
    restored = Adam(copied, 0.03)
    restored.restore(adam.arrays())
    for _ in range(3):
        gradient = torch.randn(5, generator=generator)
        adam.step(gradient)
        restored.step(gradient)
    assert torch.equal(params, copied)


def test_together_they_move_as_alone_unless_they_are_stopped() -> None:
    generator = torch.Generator().manual_seed(3)
    ours = [torch.randn(shape, generator=generator) for shape in (4, (2, 3))]
    alone = [params.clone() for params in ours]
    together, apart = ([Adam(params, 0.03) for params in each] for each in (ours, alone))
    for turn in range(5):
        gradients = [torch.randn(params.shape, generator=generator) for params in ours]
        stopped = torch.tensor(float(turn == 2))
        step_together(together, gradients, 1.0 - stopped, stopped)
        for adam, gradient in zip(apart, gradients, strict=True):
            if turn != 2:
                adam.step(gradient)
    for one, other in zip(ours, alone, strict=True):
        assert torch.equal(one, other)
