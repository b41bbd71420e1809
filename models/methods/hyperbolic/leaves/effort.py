"""A whole fit of `hyphc` as plain values, derived from its parameters and the number of points.

This module imports nothing heavy, so that the method's file may use it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from models.methods.hyperbolic.leaves.ancestors import Sphere
from models.running.device import Device

START = 0.1
"""Radius of the sphere at the start."""

GROWING = 0.7
"""The share of the steps in which the sphere grows."""

FEWEST_STEPS = 10
"""Steps of a round for few points, ..."""

POINTS_A_STEP = 50
"""... and one per this many points if there are more, which limits the share of decoding."""

FEWEST_ROUNDS = 20


@dataclass(frozen=True, slots=True)
class LeafEffort:
    """How leaves move; the fields are the parameters of the method.

    round_size : steps of a round. batch_size : triples of a step.
    """

    dimension: int
    n_init: int
    max_iter: int
    round_size: int
    patience: int
    batch_size: int
    learning_rate: float
    temperature: float
    final_temperature: float
    max_norm: float
    device: Device = "cpu"

    @property
    def n_rounds(self) -> int:
        return -(-self.max_iter // self.round_size)

    def sphere(self, step: int) -> Sphere:
        """The sphere of the leaves after this many steps."""
        largest = 2 * math.atanh(self.max_norm)
        start = min(START, largest)
        grown = min(1.0, step / (GROWING * self.max_iter)) if step else 0.0
        return Sphere(start * (largest / start) ** grown)

    def temperature_at(self, step: int) -> float:
        """The temperature after this many steps."""
        ratio = self.final_temperature / self.temperature
        return float(self.temperature * ratio ** (step / self.max_iter))


def triples_of_step(batch_size: int | None, n_points: int) -> int:
    """The requested batch size, or the default for this many points: fewer triples make steps
    noisy."""
    return max(1024, min(4 * n_points, 65_536)) if batch_size is None else batch_size


def steps_of_round(max_iter: int, n_points: int) -> int:
    """Steps between two measurements of the tree's cost."""
    size = max(FEWEST_STEPS, n_points // POINTS_A_STEP)
    return max(1, min(size, max_iter // FEWEST_ROUNDS))
