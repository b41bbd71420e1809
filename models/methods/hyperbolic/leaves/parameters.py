"""The parameters of leaves that move in the ball, and the values that follow from them.

This module imports nothing heavy, so that the method's file may use it.
"""

from __future__ import annotations

import math
from typing import Literal

from pydantic import Field

from models.methods.hyperbolic.leaves.decoding import Sphere
from models.parameters import Device, Params

START = 0.1
"""Radius of the sphere at the start."""

GROWING = 0.7
"""The share of the steps in which the sphere grows."""

FEWEST_STEPS = 10
"""Steps of a round for few points, ..."""

POINTS_A_STEP = 50
"""... and one per this many points if there are more, which limits the share of decoding."""

FEWEST_ROUNDS = 20


class LeafParams(Params):
    affinity: Literal["cosine", "rbf"] = Field(
        "cosine",
        description=(
            "Similarity of rows of features: 'cosine' is (1 + cos) / 2, 'rbf' exp(-gamma d^2). "
            "Applies to the input 'features' only."
        ),
    )
    gamma: float | None = Field(
        None,
        gt=0,
        le=1e12,
        description=(
            "Gamma of 'rbf'; default: 1 / (2 s^2), with s^2 the mean of d^2 over all pairs."
        ),
    )
    dimension: int = Field(
        2,
        ge=2,
        le=64,
        description=(
            "Dimensions of the ball; with 2, decoding is fastest and the ball can be drawn."
        ),
    )
    n_init: int = Field(
        8,
        ge=1,
        le=1000,
        description="Number of runs from random leaves; the best tree is the result.",
    )
    max_iter: int = Field(
        1500, ge=0, le=10_000_000, description="Largest number of steps of a run."
    )
    patience: int = Field(
        75,
        ge=1,
        le=1_000_000,
        description=(
            "A run ends after this number of rounds without a better tree. A round is 10 steps, "
            "for more than 500 points one step for each 50 of them, and at most 'max_iter' / 20."
        ),
    )
    batch_size: int | None = Field(
        None,
        ge=1,
        le=1_000_000,
        description=(
            "Number of triples in a step; default: four for each point, between 1,024 and 65,536."
        ),
    )
    learning_rate: float = Field(
        0.2, gt=0, le=1e3, description="Length of a step, in the distance of the ball."
    )
    temperature: float = Field(
        0.05,
        ge=1e-4,
        le=1e3,
        description="Divisor of depths in the choice of the two of three leaves that merge first.",
    )
    final_temperature: float = Field(
        0.05,
        ge=1e-4,
        le=1e3,
        description="Temperature at the end; it changes by the same factor in each step.",
    )
    max_norm: float = Field(
        0.999,
        ge=0.1,
        le=0.999999,
        description="Norm of the leaves at the end; higher for more points.",
    )
    device: Device = "cpu"

    def steps_of_round(self, n_points: int) -> int:
        """Steps between two measurements of the tree's cost."""
        size = max(FEWEST_STEPS, n_points // POINTS_A_STEP)
        return max(1, min(size, self.max_iter // FEWEST_ROUNDS))

    def triples_of_step(self, n_points: int) -> int:
        """The requested batch size, or the default for this many points: fewer triples make steps
        noisy."""
        if self.batch_size is None:
            return max(1024, min(4 * n_points, 65_536))
        return self.batch_size

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
