"""Helpers for the sphere: rows drawn from mixtures, priors, checkpoints that stop a fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from models.inputs.data import Data
from models.inputs.rows import ArrayRows, Rows
from models.method import Fitted
from models.methods.sphere.bayes.priors import Priors
from models.methods.sphere.mixture.passes import Passes
from models.methods.sphere.mixture.rows import UnitRows
from models.methods.sphere.nested.hierarchy import Hierarchy
from models.numerics.sphere import draw_vmf, uniform


def mixture(
    sizes: tuple[int, ...],
    n_features: int,
    kappa: float | list[float],
    seed: int = 0,
    *,
    upright: bool = False,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points, the cluster of each, and the clusters' means, at right angles if `upright`."""
    rng = np.random.default_rng(seed)
    means = uniform(len(sizes), n_features, rng)
    if upright:
        means = np.linalg.qr(means.T)[0].T
    own = np.repeat(np.arange(len(sizes)), sizes)
    order = rng.permutation(len(own))
    own = own[order]
    return draw_vmf(means[own], np.broadcast_to(kappa, len(sizes))[own], rng), own, means


def unit_rows(features: Any) -> UnitRows:
    return UnitRows.of(Data({"features": features}))


def passes_of(features: Any, threads: int = 1) -> Passes:
    return Passes(unit_rows(features), threads)


def priors(n_features: int = 3, alpha: float = 1.2, c0: float = 1.5) -> Priors:
    return Priors(alpha, np.eye(n_features)[0], c0, float(np.log(10.0)), 0.8)


def random_hierarchy(seed: int, n_nodes: int) -> Hierarchy:
    """Any tree: each node under one of those before it."""
    rng = np.random.default_rng(seed)
    above = [int(rng.integers(node)) for node in range(1, n_nodes)]
    return Hierarchy(np.array([-1, *above], dtype=np.int32))


class FarRows(Rows):
    """Rows that are not an array."""

    def __init__(self, values: np.ndarray) -> None:
        self._rows = ArrayRows(values)
        self.shape, self.dtype = self._rows.shape, self._rows.dtype

    def read(self, start: int, stop: int) -> np.ndarray:
        return self._rows.read(start, stop)

    def take(self, rows: np.ndarray) -> np.ndarray:
        return self._rows.take(rows)


def assert_never_falling(fitted: Fitted) -> None:
    """The curve of the bound is there, ends at the metric, and falls by no more than rounding."""
    iterations, bound = zip(*fitted.curves["objective"], strict=True)
    assert iterations == tuple(range(1, int(fitted.metrics["n_iter"]) + 1))
    assert bound[-1] == fitted.metrics["objective"]
    assert len(bound) > 2
    assert (np.diff(bound) >= -1e-9 * np.abs(bound[-1])).all()
