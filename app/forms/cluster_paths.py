"""The paths of a model's clusters over time, read from its file a few periods at a time.

A model has paths where the facts of its first stage list `periods` and its arrays hold `weights`
(T, K), `drift` (T - 1, K) and `from_first` (T, K); `models.methods.sphere.tvmf` says what they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from app.http.problems import Refused
from models.arrays import Array
from models.methods.sphere.mixture import distinctive_features as result
from models.methods.sphere.time.periods import Periods
from models.tree.tree import Tree
from workers.artifacts import results

_NEEDED = ("weights", "drift", "from_first")
_STAGE = "0."
_LEAVES = "1.leaf_of_class"
"""Where a second step has put the clusters into a hierarchy: the node of each."""

MOST_ENTRIES = 20_000
"""Clusters times periods that a page has, and that are read at a time."""


@dataclass(frozen=True, slots=True)
class Block:
    """Periods from `first` on, (periods, chosen clusters) each.

    drift : degrees since the period before; NaN in the very first. told : places in `names`,
    (periods, chosen, some) with their weights; None where features have no names.
    """

    first: int
    weight: Array
    drift: Array
    from_first: Array
    gamma: Array
    told: Array | None
    told_weight: Array | None


@dataclass(frozen=True)
class ClusterPaths:
    """What is known of all periods, and where the rest is read.

    labels : of each period its stamp or where its bin begins; ends : where its bin ends, None for
    stamps. n_rows : per period. chosen : the clusters wanted, in this order.
    """

    model_id: str
    path: Path
    labels: list[str]
    ends: list[str] | None
    dated: bool
    n_rows: list[int]
    n_clusters: int
    chosen: list[int]
    has_names: bool

    @property
    def n_periods(self) -> int:
        return len(self.labels)

    @property
    def at_once(self) -> int:
        """Periods that a page may have."""
        return max(1, MOST_ENTRIES // max(1, len(self.chosen)))

    def block(self, first: int, stop: int) -> Block:
        """The periods `first` to `stop` (not with it)."""
        with self._arrays() as source:

            def part(name: str, start: int, end: int) -> Array:
                found: Array = source.get_slice(_STAGE + name)[start:end]
                return found[:, self.chosen]

            drift = part("drift", max(0, first - 1), stop - 1)
            if first == 0:
                drift = np.concatenate([np.full((1, len(self.chosen)), np.nan), drift])
            return Block(
                first,
                part("weights", first, stop),
                drift,
                part("from_first", first, stop),
                part("gamma", first, stop),
                part(result.INDEX, first, stop) if self.has_names else None,
                part(result.WEIGHT, first, stop) if self.has_names else None,
            )

    def blocks(self, most: int = MOST_ENTRIES) -> Iterator[Block]:
        """All periods, about `most` entries at a time."""
        step = max(1, most // max(1, len(self.chosen)))
        for first in range(0, self.n_periods, step):
            yield self.block(first, min(first + step, self.n_periods))

    @cached_property
    def names(self) -> list[str]:
        """The features that `told` has places in."""
        if not self.has_names:
            return []
        with self._arrays() as source:
            return result.feature_names({result.NAMES: source.get_tensor(_STAGE + result.NAMES)})

    @cached_property
    def kappa(self) -> dict[str, list[float]]:
        """Concentrations of the chosen clusters with their credible intervals."""
        names = ("kappa", "kappa_low", "kappa_high")
        with self._arrays() as source:
            return {name: source.get_tensor(_STAGE + name)[self.chosen].tolist() for name in names}

    def nodes(self, tree: Tree) -> list[int]:
        """The tree's node of each chosen cluster."""
        with self._arrays() as source:
            if _LEAVES in source.keys():  # noqa: SIM118
                found: list[int] = source.get_tensor(_LEAVES)[self.chosen].tolist()
                return found
        # A partition: cluster c is node c + 1.
        return [cluster + 1 for cluster in self.chosen]

    @contextmanager
    def _arrays(self) -> Iterator[Any]:
        from safetensors import safe_open

        with safe_open(self.path, framework="numpy") as source:
            yield source


def opened(
    model_id: str, path: Path, wanted: Sequence[int] | None, most: int | None = None
) -> ClusterPaths:
    """The paths in the model's file.

    wanted : these clusters, in this order; None for all. most : of which only so many.

    Raises Refused `not-found` where the model has no periods, `invalid-request` for a cluster that
    it has not.
    """
    facts, arrays = results.model_header(path)
    stage = facts["stages"][0]
    known = stage["facts"]
    if "periods" not in known or any(_STAGE + name not in arrays for name in _NEEDED):
        raise Refused(
            "not-found",
            f"Model {model_id!r} by method {stage['method']!r} has no paths over time: they are "
            "there where clusters move, as by method 'tvmf'.",
        )
    n_clusters = arrays[_STAGE + "weights"]["shape"][1]
    strange = [one for one in wanted or () if one >= n_clusters]
    if strange:
        raise Refused(
            "invalid-request",
            f"clusters: there is no cluster {strange[0]}; the model has {n_clusters}, counted "
            "from 0.",
        )
    labels, ends = known["periods"], None
    if known["binned"]:
        edges = _edges(path, known["dated"])
        labels, ends = edges[:-1], edges[1:]
    return ClusterPaths(
        model_id,
        path,
        labels,
        ends,
        bool(known["dated"]),
        known["rows"],
        n_clusters,
        list(dict.fromkeys(range(n_clusters) if wanted is None else wanted))[:most],
        _STAGE + result.INDEX in arrays,
    )


def _edges(path: Path, dated: bool) -> list[str]:
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as source:
        marks = source.get_tensor(_STAGE + "marks")
    return Periods(marks, False, dated).labels()
