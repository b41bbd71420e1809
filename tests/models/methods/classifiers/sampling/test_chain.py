"""Draws against quadrature, and by simulation from the prior.

R-hat and effective sample sizes of chains whose mixing is known.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare, gamma

from models.arrays import Arrays
from models.method import Checkpoint
from models.methods.classifiers.classes.structure import ClassTree
from models.methods.classifiers.sampling.branches import BranchModel
from models.methods.classifiers.sampling.chain import (
    Draws,
    autocovariances,
    effective_sample_size,
    sample,
    split_rhat,
)
from models.running.progress import silent
from tests.models.methods.classifiers.problem_kit import TREE


def autoregressive(rng: np.random.Generator, factor: float, n_draws: int) -> np.ndarray:
    """(4, n_draws) of variance 1 with autocorrelation factor^lag."""
    chains = np.empty((4, n_draws))
    chains[:, 0] = rng.normal(size=4)
    for draw in range(1, n_draws):
        noise = np.sqrt(1.0 - factor**2) * rng.normal(size=4)
        chains[:, draw] = factor * chains[:, draw - 1] + noise
    return chains


@pytest.mark.parametrize("factor", [0.0, 0.5, 0.9])
def test_the_effective_size_of_an_autoregressive_chain(factor: float) -> None:
    chains = autoregressive(np.random.default_rng(0), factor, 4000)
    expected = 16_000 * (1.0 - factor) / (1.0 + factor)
    assert effective_sample_size(chains) == pytest.approx(expected, rel=0.15)
    assert split_rhat(chains) == pytest.approx(1.0, abs=0.02)


def test_chains_that_lie_apart_or_drift_are_seen() -> None:
    rng = np.random.default_rng(1)
    apart = rng.normal(size=(4, 500)) + np.array([[0.0], [0.0], [0.0], [3.0]])
    drifting = rng.normal(size=(1, 500)) + np.linspace(0.0, 4.0, 500)
    for chains in (apart, drifting):
        assert split_rhat(chains) > 1.2
        assert effective_sample_size(chains) < 30
    assert split_rhat(np.ones((2, 10))) == 1.0
    assert split_rhat(np.repeat([[0.0], [1.0]], 10, axis=1)) == float("inf")


def test_r_hat_is_the_literal_ratio() -> None:
    chains = np.random.default_rng(2).normal(size=(2, 9))
    halves = [chains[0, :4], chains[0, 5:], chains[1, :4], chains[1, 5:]]
    within = np.mean([np.var(half, ddof=1) for half in halves])
    between = np.var([np.mean(half) for half in halves], ddof=1)
    assert split_rhat(chains) == pytest.approx(np.sqrt((3 / 4 * within + between) / within))


def test_autocovariances_are_the_literal_sums() -> None:
    chains = np.random.default_rng(3).normal(size=(2, 7))
    centered = chains - chains.mean(axis=1, keepdims=True)
    for chain, row in zip(centered, autocovariances(chains), strict=True):
        expected = [sum(chain[i] * chain[i + lag] for i in range(7 - lag)) / 6 for lag in range(7)]
        assert row == pytest.approx(expected)


STAR = ClassTree(np.array([-1, 0, 0]), np.array([1, 2]))


def drawn(model: BranchModel, checkpoint: Checkpoint | None = None, **how: int) -> Draws:
    effort: dict[str, Any] = {
        "n_chains": 2, "n_samples": 400, "burn_in": 200, "n_kept": 800, "seed": 0, **how,
    }  # fmt: skip
    return sample(model, **effort, progress=silent, checkpoint=checkpoint or Checkpoint())


def test_two_classes_of_one_feature_against_quadrature() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=12)
    code = (x + rng.normal(size=12) > 0).astype(np.int64)
    shape, rate = 2.0, 1.0
    # Only the difference of the weights matters, which is normal with variance 2 / precision.
    difference = np.linspace(-15.0, 15.0, 1501)[:, None]
    precision = np.linspace(1e-3, 12.0, 600)[None, :]
    sign = np.where(code == 1, 1.0, -1.0)
    likelihood = -np.logaddexp(0.0, -sign * x * difference).sum(axis=1)
    prior = 0.5 * np.log(precision) - precision * difference**2 / 4.0
    density = np.exp(likelihood[:, None] + prior) * gamma.pdf(precision, shape, scale=1.0 / rate)
    density /= density.sum()
    new = np.array([-1.0, 0.5, 2.0])
    chance = 1.0 / (1.0 + np.exp(-difference * new))
    expected = (density.sum(axis=1)[:, None] * chance).sum(axis=0)
    expected_log = float((density * np.log(precision)).sum())

    draws = drawn(BranchModel(x[:, None], code, STAR, shape, rate), n_samples=800, n_kept=1600)
    of_draws = draws.weights[:, 1, 0] - draws.weights[:, 0, 0]
    reached = (1.0 / (1.0 + np.exp(-of_draws[:, None] * new))).mean(axis=0)
    assert reached == pytest.approx(expected, abs=0.015)
    logs = draws.log_precision[:, :, 0]
    error = logs.std() / np.sqrt(effective_sample_size(logs))
    assert logs.mean() == pytest.approx(expected_log, abs=4.0 * error)
    assert error < 0.08


def test_kept_draws_are_spread_evenly() -> None:
    rng = np.random.default_rng(1)
    model = BranchModel(rng.normal(size=(10, 2)), rng.integers(3, size=10), TREE, 1.0, 1.0)
    some = drawn(model, n_samples=20, burn_in=10, n_kept=7)
    every = drawn(model, n_samples=20, burn_in=10, n_kept=100)
    assert len(every.weights) == 40
    assert len(some.weights) == 7
    ends = [-(-40 * share // 7) - 1 for share in range(1, 8)]
    np.testing.assert_array_equal(some.weights, every.weights[ends])


def test_an_interrupted_chain_goes_on_as_it_would_have() -> None:
    class Kept(Checkpoint):
        states: list[Arrays] = []

        def __init__(self, place: int | None) -> None:
            self.place = place

        def load(self) -> Arrays | None:
            return None if self.place is None else self.states[self.place]

        def save(self, state: Arrays) -> None:
            if self.place is None:
                self.states.append({key: np.array(value) for key, value in state.items()})

    rng = np.random.default_rng(2)
    model = BranchModel(rng.normal(size=(10, 2)), rng.integers(3, size=10), TREE, 1.0, 1.0)
    how = {"n_samples": 6, "burn_in": 10}
    whole = drawn(model, Kept(None), **how)
    for place in (3, 12, 20):
        again = drawn(model, Kept(place), **how)
        np.testing.assert_array_equal(again.weights, whole.weights)
        np.testing.assert_array_equal(again.log_precision, whole.log_precision)


@pytest.mark.slow
def test_ranks_of_the_truth_among_draws_are_uniform() -> None:
    """Simulation-based calibration: parameters from the prior, data from them, draws for these."""
    rng = np.random.default_rng(3)
    design = rng.normal(size=(25, 2))
    tree = TREE.contracted()
    n_draws, n_bins, ranks = 39, 8, []
    for repeat in range(60):
        family = rng.gamma(4.0, 0.5, size=tree.n_nodes)
        weights = rng.normal(size=(tree.n_nodes, 2)) / np.sqrt(family[tree.parent])[:, None]
        weights[0] = 0.0
        of_classes = np.zeros((3, 2))
        for class_, leaf in enumerate(tree.node):
            node = int(leaf)
            while node > 0:
                of_classes[class_] += weights[node]
                node = int(tree.parent[node])
        scores = design @ of_classes.T
        code = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
        draws = drawn(
            BranchModel(design, code, tree, 4.0, 2.0),
            n_chains=1, n_samples=n_draws * 8, burn_in=100, n_kept=n_draws, seed=repeat,
        )  # fmt: skip
        inner = np.flatnonzero(tree.n_children)
        ranks.append(
            [
                draws.weights[:, 0, 0] < of_classes[0, 0],
                draws.weights[:, 2, 1] - draws.weights[:, 1, 1]
                < of_classes[2, 1] - of_classes[1, 1],
                *(np.log(family[inner])[:, None] > draws.log_precision[0, 7::8].T),
            ]
        )
    count = np.array([[int(own.sum()) for own in each] for each in ranks])
    for own in count.T:
        observed = np.bincount(own * n_bins // (n_draws + 1), minlength=n_bins)
        assert chisquare(observed).pvalue > 1e-3, observed
