"""Hamiltonian Monte Carlo: trajectories of a draw that moves with a random momentum.

Source: Neal, "MCMC Using Hamiltonian Dynamics" (2011), §3.2 and §5.4; Hoffman and Gelman, "The
No-U-Turn Sampler" (2014), §3.2, for the adaptation of steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.arrays import Float
from models.methods.classifiers.sampling.branches import BranchModel, Point

LENGTH = 1.5
"""Of a trajectory, in standard deviations: about a quarter of a period."""

MOST_STEPS = 128
TARGET = 0.8
"""Share of trajectories that should be accepted."""


def moved(
    model: BranchModel,
    point: Point,
    precision: Float,
    mass: Float,
    step: float,
    rng: np.random.Generator,
) -> tuple[Point, float]:
    """The next draw of the weights given the precisions, and its probability of acceptance.

    precision : (n_nodes,) of branches. mass : (n_nodes, n_columns) inverse variances of the
        weights, roughly.

    Ceil of LENGTH / step gradients, at most MOST_STEPS.
    """
    prior = precision[:, None]
    momentum = rng.normal(size=mass.shape) * np.sqrt(mass)
    momentum[0] = 0.0
    jittered = step * rng.uniform(0.8, 1.2)
    n_steps = min(MOST_STEPS, int(np.ceil(LENGTH / step)))

    def energy(at: Point, momentum: Float) -> float:
        square = float((prior * at.weights**2).sum() + (momentum**2 / mass).sum())
        return 0.5 * square - at.likelihood

    start, here = energy(point, momentum), point
    for _ in range(n_steps):
        momentum = momentum + 0.5 * jittered * (here.gradient - prior * here.weights)
        momentum[0] = 0.0
        here = model.at(here.weights + jittered * momentum / mass)
        momentum = momentum + 0.5 * jittered * (here.gradient - prior * here.weights)
        momentum[0] = 0.0
        if not np.isfinite(here.likelihood):
            return point, 0.0
    change = start - energy(here, momentum)
    accept = float(np.exp(min(0.0, change))) if np.isfinite(change) else 0.0
    return (here if rng.random() < accept else point), accept


@dataclass(frozen=True, slots=True)
class StepSize:
    """The length of steps, adapted to the acceptance of trajectories by dual averaging.

    center : of the logarithm, to which it is drawn. n_seen : trajectories so far.
    """

    center: float
    log_step: float
    log_mean: float = 0.0
    error: float = 0.0
    n_seen: int = 0

    @classmethod
    def first(cls, step: float) -> StepSize:
        return cls(float(np.log(10.0 * step)), float(np.log(step)))

    def adapted(self, accept: float) -> StepSize:
        n_seen = self.n_seen + 1
        share = 1.0 / (n_seen + 10.0)
        error = (1.0 - share) * self.error + share * (TARGET - accept)
        log_step = min(self.center - np.sqrt(n_seen) / 0.05 * error, float(np.log(LENGTH)))
        weight = n_seen**-0.75
        log_mean = weight * log_step + (1.0 - weight) * self.log_mean
        return StepSize(self.center, float(log_step), float(log_mean), error, n_seen)

    @property
    def step(self) -> float:
        return float(np.exp(self.log_step))

    @property
    def mean(self) -> float:
        """The step after the adaptation."""
        return float(np.exp(self.log_mean)) if self.n_seen else self.step

    def array(self) -> Float:
        return np.array([self.center, self.log_step, self.log_mean, self.error, self.n_seen])

    @classmethod
    def of(cls, array: Float) -> StepSize:
        center, log_step, log_mean, error, n_seen = array.tolist()
        return cls(center, log_step, log_mean, error, int(n_seen))
