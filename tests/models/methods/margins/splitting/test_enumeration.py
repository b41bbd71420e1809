"""Splits against the best of all clusterings, each with its best weights, on few points."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations

import numpy as np
import pytest

from models.methods.margins.hmmc import HMMCParams, regularizer_of
from models.methods.margins.splitting.alternating import Problem, Weights
from models.methods.margins.splitting.objective import Ancestors
from models.methods.margins.splitting.split import MarginSplit, NodeToSplit, split_all

CASES = range(5)


def drawn(case: int) -> np.ndarray:
    """10 points in 2 to 6 dimensions about three centres that overlap."""
    rng = np.random.default_rng(case)
    n_features = 2 + case % 5
    centre = rng.normal(size=(3, n_features))
    return rng.normal(size=(10, n_features)) + centre[rng.integers(3, size=10)]


@lru_cache
def least(case: int, alpha: float) -> float:
    """The smallest objective of all bipartitions within the bounds: 4 to 6 points a side."""
    params = HMMCParams(alpha=alpha)
    rows = drawn(case)
    problem = Problem.of(
        rows, params.terms(2, regularizer_of(params)), Ancestors.root(rows.shape[1])
    )
    assert (problem.low, problem.high) == (4, 6)
    values = []
    for size in (4, 5):
        for chosen in combinations(range(10), size):
            if size == 4 or 0 in chosen:
                cluster = np.ones(10, dtype=np.int64)
                cluster[list(chosen)] = 0
                weights = Weights(problem)
                weights.hinge(cluster)
                values.append(weights.descend(cluster, 1e-5 * weights.slope(), 200)[0])
    assert len(values) == 210 + 126
    return min(values)


def excess(case: int, seed: int, **changes: float) -> float:
    """How far a split is above the smallest objective, relative to it."""
    params = HMMCParams.model_validate(changes)
    rows = drawn(case)
    (split,) = split_all(
        [NodeToSplit(rows, Ancestors.root(rows.shape[1]), (seed, 0))],
        params.terms(2, regularizer_of(params)),
        params.search,
        1,
        lambda: None,
    )
    assert isinstance(split, MarginSplit)
    return split.objective / least(case, params.alpha) - 1.0


@pytest.mark.parametrize("alpha", [0.01, 0.1, 1.0])
def test_with_gaps_the_best_of_all_clusterings_is_reached(alpha: float) -> None:
    above = np.array(
        [[excess(case, seed, alpha=alpha, gaps=True) for seed in range(2)] for case in CASES]
    )
    assert above.min() > -1e-3
    assert above.mean() < 0.005
    assert (above < 0.002).mean() >= 0.8
    assert above.max() < 0.05


def test_without_gaps_of_features_splits_end_near_it() -> None:
    above = np.array(
        [
            [excess(case, seed, alpha=alpha) for alpha in (0.01, 0.1, 1.0)]
            for case in CASES
            for seed in range(3)
        ]
    )
    assert above.min() > -1e-3
    assert above.mean() < 0.02
    assert (above < 0.002).mean() >= 0.8


def test_fewer_starts_do_not_reach_it() -> None:
    few = [excess(case, seed, alpha=0.01, n_init=3, n_swaps=0) for case in CASES for seed in (0, 1)]
    assert np.mean(few) > 0.05
