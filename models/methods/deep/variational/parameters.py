"""The parameters of a tree of embeddings and its training.

This module imports nothing heavy, so that the method's file may use it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import Field

from models.parameters import Device, HiddenSizes, ImageShape, WithPresets

Passes = Annotated[int, Field(ge=0, le=100_000)] | Literal["auto"]

STEPS = 850
"""Steps over all rows that 'auto' makes in a phase, if that takes so many passes as `LIMITS`."""

LIMITS = 10, 60
"""Fewest and most passes of 'auto'."""


class PhasePasses(NamedTuple):
    """The passes of each kind of phase: the root with two leaves, a split, all networks."""

    root: int
    split: int
    tuning: int


class VariationalParams(WithPresets):
    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {
            "epochs": 150,
            "growth_epochs": 150,
            "tuning_epochs": 200,
            "batch_size": 256,
            "kl_growth": 0.15,
            "latent_size": 8,
            "max_depth": 6,
        }
    }

    preset: Literal["processor", "paper"] = Field(
        "processor",
        description=(
            "Settings of all parameters that are left at their defaults: 'processor' none; 'paper' "
            "what the authors' program has for digits: epochs and growth_epochs 150, tuning_epochs "
            "200, batch_size 256, kl_growth 0.15, latent_size 8, max_depth 6. Layers stay fully "
            "connected."
        ),
    )
    n_clusters: int = Field(8, ge=2, le=1000, description="Number of leaves.")
    n_init: int = Field(
        4,
        ge=1,
        le=100,
        description=(
            "Random starts of the split of a leaf; after a quarter of its passes the one whose "
            "decisions are least in doubt goes on."
        ),
    )
    hidden_sizes: HiddenSizes = [256, 128]
    latent_size: int = Field(8, ge=1, le=4096, description="Length of the embeddings of all nodes.")
    max_depth: int = Field(
        6, ge=1, le=64, description="Most edges from the root to a leaf; deeper leaves are kept."
    )
    epochs: Passes = Field(
        "auto",
        description=(
            "Passes over the rows that train the root with two leaves; auto: about 850 steps, in "
            "10 to 60 passes."
        ),
    )
    growth_epochs: Passes = Field(
        "auto", description="Passes over a leaf's rows that train its split; auto: as 'epochs'."
    )
    tuning_epochs: Passes = Field(
        "auto", description="Passes that train all networks at the end; auto: as 'epochs'."
    )
    batch_size: int = Field(128, ge=2, le=1_000_000, description="Rows of a step.")
    learning_rate: float = Field(
        1e-3,
        gt=0,
        le=1,
        description="Step length (Adam) of a phase's first pass; it falls to 0 by half a cosine.",
    )
    kl_growth: float = Field(
        0.1,
        ge=0,
        le=1,
        description=(
            "Weight that the divergences reach while the tree grows; in the last phase they go on "
            "to 1, that of the evidence lower bound."
        ),
    )
    kl_warm_up: float = Field(
        1.0, ge=0, le=1, description="Share of a phase's passes over which that weight rises."
    )
    likelihood: Literal["auto", "bernoulli", "gaussian"] = Field(
        "auto",
        description=(
            "Distribution of the data given a leaf; auto: 'bernoulli' where all values lie in "
            "[0, 1], images scaled, and fill more than 1/64 of it, else 'gaussian'."
        ),
    )
    split_by: Literal["points", "reconstruction"] = Field(
        "points",
        description=(
            "Which leaf is split next: that with the most points, or with the largest sum of "
            "reconstruction losses."
        ),
    )
    least_share: float = Field(
        0.1,
        ge=0,
        le=1,
        description=(
            "A split is undone if one of its leaves has fewer points than this times the number "
            "of points / 'n_clusters'."
        ),
    )
    image_shape: ImageShape = None
    device: Device = "cpu"

    def passes(self, n_points: int) -> PhasePasses:
        """The requested passes, or what 'auto' gives for this many points."""
        per_pass = max(1, n_points // self.batch_size)
        auto = min(max(math.ceil(STEPS / per_pass), LIMITS[0]), LIMITS[1])
        requested = self.epochs, self.growth_epochs, self.tuning_epochs
        return PhasePasses(*(auto if passes == "auto" else passes for passes in requested))
