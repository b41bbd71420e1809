"""The paths of a model's clusters over time, for chosen clusters and a few periods at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from app.http.problems import Refused
from models.answers.beside_tree import ClusterPaths
from models.arrays import Array
from models.registry import method
from workers.artifacts import results

MOST_ENTRIES = 20_000
"""Clusters times periods on a page, and in a block."""


@dataclass(frozen=True, slots=True)
class Block:
    """Periods from `first` on, (periods, chosen clusters) each.

    drift : degrees since the previous period; NaN in the very first.
    features : (periods, chosen, n) positions in `TopFeatures.names`, with their weights; None if
        features have no names.
    """

    first: int
    weight: Array
    drift: Array
    from_first: Array
    gamma: Array
    features: Array | None
    feature_weight: Array | None


@dataclass(frozen=True, slots=True)
class ChosenPaths:
    """The paths of the clusters `chosen`, in this order."""

    model_id: str
    whole: ClusterPaths
    chosen: list[int]

    @property
    def n_periods(self) -> int:
        return len(self.whole.labels)

    @property
    def n_clusters(self) -> int:
        """The number of clusters of the model."""
        return int(self.whole.weight.shape[1])

    @property
    def page_periods(self) -> int:
        """Most periods on a page."""
        return max(1, MOST_ENTRIES // max(1, len(self.chosen)))

    def block(self, first: int, stop: int) -> Block:
        """The periods from `first` up to, but not including, `stop`."""
        whole, features = self.whole, self.whole.features
        drift = whole.drift[max(0, first - 1) : stop - 1, self.chosen]
        if first == 0:
            drift = np.concatenate([np.full((1, len(self.chosen)), np.nan), drift])
        periods = slice(first, stop)
        return Block(
            first,
            whole.weight[periods, self.chosen],
            drift,
            whole.from_first[periods, self.chosen],
            whole.gamma[periods, self.chosen],
            None if features is None else features.index[periods, self.chosen],
            None if features is None else features.weight[periods, self.chosen],
        )

    def blocks(self, entries: int) -> Iterator[Block]:
        """All periods, about `entries` clusters times periods at a time."""
        step = max(1, entries // max(1, len(self.chosen)))
        for first in range(0, self.n_periods, step):
            yield self.block(first, min(first + step, self.n_periods))

    def kappa(self) -> dict[str, list[float]]:
        """Concentrations of the chosen clusters with their credible intervals."""
        return {
            name: getattr(self.whole, name)[self.chosen].tolist()
            for name in ("kappa", "kappa_low", "kappa_high")
        }


def paths_in(
    path: Path, model_id: str, clusters: Sequence[int] | None, most: int | None = None
) -> ChosenPaths:
    """The paths in a model's file; blocks.

    clusters : only these, in this order; None for all. most : the largest number of them.
    Raises Refused `not-found` if the clusters of the model do not move, `invalid-request` for a
    cluster that it does not have.
    """
    stage = results.map_stage(path, 0)
    whole = method(stage.method).paths(stage.model)
    if whole is None:
        raise Refused(
            "not-found",
            f"Model {model_id!r} by method {stage.method!r} has no paths over time; models "
            "whose clusters move have them, such as models of method 'tvmf'.",
        )
    n_clusters = whole.weight.shape[1]
    unknown = [cluster for cluster in clusters or () if cluster >= n_clusters]
    if unknown:
        raise Refused(
            "invalid-request",
            f"clusters: there is no cluster {unknown[0]}; the model has {n_clusters}, counted "
            "from 0.",
        )
    chosen = list(dict.fromkeys(range(n_clusters) if clusters is None else clusters))
    return ChosenPaths(model_id, whole, chosen[:most])
