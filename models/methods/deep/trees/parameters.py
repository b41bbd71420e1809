"""The parameters of a cluster tree and its network.

This module imports nothing heavy, so that the method's file may use it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from models.parameters import Device, HiddenSizes, ImageShape, WithPresets

PAPER_STEPS = 50_000
"""Steps of each stage in the paper."""

AHEAD_BYTES = 1 << 26
"""Most bytes of the batches of steps that are taken ahead."""

Passes = Annotated[int, Field(ge=0, le=100_000)] | Literal["paper"]


class TreeParams(WithPresets):
    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {
            "hidden_sizes": [500, 500, 2000],
            "pretrain_epochs": "paper",
            "epochs": "paper",
            "batch_size": 256,
        }
    }

    preset: Literal["processor", "paper"] = Field(
        "processor",
        description=(
            "Settings of all parameters that are left at their defaults: 'processor' none; 'paper' "
            "the paper's length and network: hidden_sizes [500, 500, 2000], pretrain_epochs and "
            "epochs 'paper', batch_size 256; with images the paper's better variant adds 'augment'."
        ),
    )
    n_clusters: int = Field(20, ge=2, le=2000, description="Number of leaves of the tree.")
    hidden_sizes: HiddenSizes = [256, 128]
    embedding_size: int = Field(
        10, ge=1, le=1000, description="Dimensions of the embedding in which the tree lies."
    )
    pretrain_epochs: Passes = Field(
        50,
        description=(
            "Passes over the points by reconstruction alone; paper: as many as make 50,000 steps."
        ),
    )
    epochs: Annotated[int, Field(ge=1, le=100_000)] | Literal["paper"] = Field(
        50, description="Passes over the points with the tree; paper: as 'pretrain_epochs'."
    )
    growth: float = Field(
        0.5,
        gt=0,
        le=1,
        description=(
            "Share of 'epochs' within which the tree grows, evenly, from two leaves to all."
        ),
    )
    clustering_weight: float = Field(
        1.0, ge=0, le=1e6, description="Weight of the tree's losses beside reconstruction."
    )
    batch_size: Annotated[int, Field(ge=1, le=1_000_000)] | Literal["auto"] = Field(
        "auto",
        description=(
            "Points of a step; auto: 256, but for fewer than 5,120 points a twentieth of them, at "
            "least 16."
        ),
    )
    learning_rate: float = Field(
        1e-3, gt=0, le=10, description="Step length of the network and of centres (Adam)."
    )
    pruning_threshold: float = Field(
        0.1,
        ge=0,
        le=1000,
        description="A leaf is removed once fewer points of a batch come to it on average.",
    )
    augment: bool = Field(
        False,
        description=(
            "Whether images are also turned, sheared, resized and moved a little, at random, so "
            "that the tree ignores that."
        ),
    )
    image_shape: ImageShape = None
    device: Device = "cpu"

    def of_rows(self, n_points: int) -> TreeParams:
        """These parameters with numbers of passes, for so many points."""
        n_steps = max(1, round(n_points / self.points_of_step(n_points)))
        passes = -(-PAPER_STEPS // n_steps)
        given = {"pretrain_epochs": self.pretrain_epochs, "epochs": self.epochs}
        update = {name: passes for name, wanted in given.items() if wanted == "paper"}
        return self.model_copy(update=update)

    @property
    def n_pretrained(self) -> int:
        """The epochs of the first stage, of parameters that `of_rows` gave."""
        return int(self.pretrain_epochs)

    @property
    def n_with_tree(self) -> int:
        """The epochs of the second stage, of parameters that `of_rows` gave."""
        return int(self.epochs)

    @property
    def n_epochs(self) -> int:
        """The epochs of both stages."""
        return self.n_pretrained + self.n_with_tree

    def leaves_at(self, epoch: int) -> int:
        """The leaves wanted at the start of an epoch with the tree, counted from 0."""
        last = max(1, round(self.growth * self.n_with_tree)) - 1
        if epoch >= last:
            return self.n_clusters
        return min(self.n_clusters, 2 + (self.n_clusters - 2) * epoch // last)

    def points_of_step(self, n_points: int) -> int:
        """The points of a step."""
        if self.batch_size == "auto":
            return min(256, max(16, n_points // 20))
        return min(self.batch_size, n_points)
