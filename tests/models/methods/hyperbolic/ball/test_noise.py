"""Noise is Gumbel's, the same for any part of a batch, and depends on nothing else."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats

from models.methods.hyperbolic.ball.triples import GumbelNoise, NoiseStream

pytestmark = pytest.mark.needs("torch")


def drawn(n_triples: int = 400, n_nodes: int = 500, seed: int = 0) -> GumbelNoise:
    return NoiseStream(np.random.default_rng(seed), n_nodes, torch.device("cpu")).next(n_triples)


def test_it_is_gumbels() -> None:
    noise = drawn()
    for which in (0, 1):
        values = noise.gumbel(which).numpy()
        assert (values.shape, values.dtype) == ((400, 500), np.float32)
        assert np.isfinite(values).all()
        assert stats.kstest(values.ravel(), "gumbel_r").pvalue > 0.01


def test_rows_columns_and_both_kinds_are_independent() -> None:
    noise = drawn()
    first, second = noise.gumbel(0).numpy(), noise.gumbel(1).numpy()
    for left, right in (
        (first, second),
        (first[1:], first[:-1]),
        (first[:, 1:], first[:, :-1]),
        (first[1:, 1:], first[:-1, :-1]),
    ):
        # The standard deviation of the correlation of n pairs is 1 / sqrt(n).
        correlation = np.corrcoef(left.ravel(), right.ravel())[0, 1]
        assert abs(correlation) < 4 / np.sqrt(left.size)
    sums = first - first.mean()
    for axis in (0, 1):
        spread = sums.mean(axis=axis).std() * np.sqrt(first.shape[axis])
        assert spread == pytest.approx(first.std(), rel=0.15)


def test_a_part_has_the_noise_of_the_whole() -> None:
    whole = drawn(10, 7)
    part = whole.part(slice(3, 8))
    for which in (0, 1):
        assert (part.gumbel(which) == whole.gumbel(which)[3:8]).all()


def test_batches_and_seeds_differ() -> None:
    noises = NoiseStream(np.random.default_rng(0), 7, torch.device("cpu"))
    batch, next_batch = noises.next(5).gumbel(0), noises.next(5).gumbel(0)
    assert (batch != next_batch).any(dim=1).all()
    assert (batch == drawn(5, 7).gumbel(0)).all()
    assert (batch != drawn(5, 7, seed=1).gumbel(0)).any()
