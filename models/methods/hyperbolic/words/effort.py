"""A whole fit of `ghhc-glove` as plain values, derived from its parameters.

This module imports nothing heavy, so that the method's file may use it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from models.methods.hyperbolic.ball.effort import BallEffort, Below, SeedingEffort
from models.running.device import Device

WordScaling = Literal["largest", "unit"]


@dataclass(frozen=True, slots=True)
class GloveEffort:
    """How vectors are learned, how words become points of the ball, and how nodes start and move.

    x_max, exponent : for the weight of a pair of words. n_passes, vector_learning_rate : for
        vectors without the tree. word_learning_rate, problem_weight : for words learned with the
        tree. below : how words that selected the same node are joined; 'none': as siblings.
    """

    x_max: float
    exponent: float
    n_dimensions: int
    n_passes: int
    vector_learning_rate: float
    word_learning_rate: float
    problem_weight: float
    scaling: WordScaling
    point_norm: float
    n_neighbors: int
    below: Below
    device: Device
    seeding: SeedingEffort
    training: BallEffort
