"""Roles and parameters of the methods that learn from known clusters, and these clusters read.

Known are the rows that are labelled, or linked by pairs (`models.inputs.pairs`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from models.arrays import Array, Float, Int
from models.clusters.choosing import Count
from models.errors import UsageError, listed, shown
from models.inputs.data import Data
from models.inputs.label_sets import LabelSets, label_sets
from models.inputs.pairs import CANNOT, MUST, Known, join, read_pairs
from models.method import Input
from models.parameters import Seed

INPUTS = {
    "features": Input(sparse=True, description="One row per point."),
    "labels": Input(
        required=False,
        fit_only=True,
        one_per="row",
        description="The known cluster of each row; null or -1 where it is not known.",
    ),
    "must_link": Input(
        required=False,
        fit_only=True,
        description="Pairs of rows of one cluster, by their numbers from 0: rows that are linked "
        "are one known cluster, together with the rows of their labels.",
    ),
    "cannot_link": Input(
        required=False,
        fit_only=True,
        description="Pairs of rows of different clusters: each row, with all that it is linked "
        "to, is a separate known cluster.",
    ),
    "names": Input(
        required=False,
        fit_only=True,
        description="Where labels are the numbers 0, 1, ...: what they are called.",
    ),
    "feature_names": Input(
        required=False,
        fit_only=True,
        description="One name per column, for the features that the transformation stretches.",
    ),
}

SOME_OF = ("labels", "must_link")
"""Inputs of which a fit needs one or both."""

WIDE = 200
"""The most columns that are kept by default, and the number that wider rows are cut to."""
CUT_TO = 30


class DiscoveryParams(Count):
    """How new clusters are found among the rows that are not labelled."""

    choose: Literal["bic", "silhouette"] | None = Field(
        None,
        description="Choose the number of new clusters between 'min_clusters' and 'max_clusters': "
        "the lowest 'bic' or the highest mean 'silhouette' of the transformed rows.",
    )
    may_join: bool = Field(
        False,
        description="Whether rows that are not labelled may also belong to known clusters. "
        "False: all of them belong to new ones.",
    )
    clusterer: Literal["gmm", "vmf"] = Field(
        "gmm",
        description="How transformed rows are clustered: a mixture of Gaussians ('gmm') or of von "
        "Mises-Fisher distributions of their directions ('vmf'), with one spread for all clusters.",
    )
    n_init: int = Field(
        50,
        ge=1,
        le=1000,
        description="Number of runs of the mixture from different seeds; the likeliest is kept.",
    )
    n_components: Annotated[int, Field(ge=1, le=10_000)] | Literal["auto"] | None = Field(
        "auto",
        description="Number of columns that rows are cut to by SVD before all else. "
        f"'auto': {CUT_TO} where there are more than {WIDE}; null: never.",
    )
    seed: Seed = 0


@dataclass(frozen=True, slots=True)
class Labels:
    """code : (n_rows,) the known cluster of each row, -1 where it is not labelled.

    names : of the known clusters, each of which has a row.
    n_unnamed : how many, the last ones, come from pairs alone.
    """

    code: Int
    names: list[str]
    n_unnamed: int = 0

    @property
    def n_clusters(self) -> int:
        return len(self.names)

    @property
    def free(self) -> Int:
        """The rows that are not labelled."""
        return np.flatnonzero(self.code < 0)

    @property
    def warnings(self) -> tuple[str, ...]:
        notes = []
        if self.n_unnamed:
            notes.append(
                f"{self.n_unnamed} known cluster(s) come from pairs alone: "
                f"{listed(self.names[-self.n_unnamed :])}. Each is taken to differ from all other "
                "known clusters, also where no pair says so."
            )
        size = np.bincount(self.code[self.code >= 0], minlength=self.n_clusters)
        single = [name for name, rows in zip(self.names, size.tolist(), strict=True) if rows == 1]
        if single:
            notes.append(
                f"{len(single)} known cluster(s) have a single row, which shows no spread: "
                f"{', '.join(shown(name) for name in single[:5])}."
            )
        return tuple(notes)


def read_labels(data: Data, n_rows: int) -> Labels:
    """The known clusters of the inputs `labels`, `must_link` and `cannot_link`.

    Rows that must link are one cluster, together with their labels; rows that cannot link are of
    different ones.

    Raises UsageError for labels and pairs that contradict each other, a row with several labels,
    fewer than two known clusters, clusters of single rows alone, and where every row is labelled.
    """
    code, names = _label_codes(data, n_rows)
    must, cannot = (read_pairs(data, role, n_rows) for role in (MUST, CANNOT))
    clusters = join(code, names, must, cannot)
    _require_known(clusters, [role for role in ("labels", MUST, CANNOT) if role in data])
    return Labels(clusters.code, clusters.names, len(clusters.names) - clusters.n_named)


def _label_codes(data: Data, n_rows: int) -> tuple[Int, list[str]]:
    """(n_rows,) the label of each row, -1 without one; the labels that occur."""
    if "labels" not in data:
        return np.full(n_rows, -1, dtype=np.int64), []
    sets = read_single(data, n_rows)
    present, code = np.unique(sets.code, return_inverse=True)
    whole = np.full(n_rows, -1, dtype=np.int64)
    whole[np.diff(sets.start) == 1] = code
    return whole, [sets.names[number] for number in present.tolist()]


def _require_known(clusters: Known, roles: list[str]) -> None:
    """Raises UsageError for clusters from which nothing can be learned, or for which nothing is
    left to find. roles : the inputs that they come from."""
    names, size = clusters.names, int((clusters.code >= 0).sum())
    single = len(roles) == 1
    source = f"Input {roles[0]!r}" if single else f"Inputs {' and '.join(map(repr, roles))}"
    if len(names) < 2:
        why = (
            f"name{'s' if single else ''} {len(names)} cluster(s); at least two known clusters are "
            "needed to learn what tells clusters apart"
        )
    elif size == len(names):
        why = (
            f"{'has' if single else 'have'} a single row in each known cluster; at least one "
            "cluster needs two rows, to show what rows of one cluster may differ in"
        )
    elif size == clusters.code.size:
        why = (
            f"label{'s' if single else ''} every row, so that none is left to find clusters among; "
            "leave some rows unlabelled (null or -1)"
        )
    else:
        return
    raise UsageError(f"{source} {why}.", code="wrong-input", role=roles[0])


def read_single(data: Data, n_rows: int) -> LabelSets:
    """The input `labels`, of which a row has one or none. Raises UsageError for several."""
    sets = label_sets(data.values["labels"], n_rows, data.names())
    sets.require_at_most_one()
    return sets


@dataclass(frozen=True, slots=True)
class KnownClusters:
    """The labelled rows, prepared.

    points : (N, D). code : (N,) 0 .. n_clusters - 1, each of which occurs.
    """

    points: Array
    code: Int
    n_clusters: int

    @property
    def means(self) -> Float:
        """(n_clusters, D)."""
        indicator = np.zeros((self.n_clusters, self.code.size), dtype=self.points.dtype)
        indicator[self.code, np.arange(self.code.size)] = 1.0
        sums = (indicator @ self.points).astype(np.float64)
        return sums / self.size[:, None]

    @property
    def size(self) -> Int:
        return np.bincount(self.code, minlength=self.n_clusters)

    @property
    def within(self) -> Float:
        """(D, D) the sum of squares and products about the clusters' means. O(N D^2)."""
        away = self.points - self.means[self.code].astype(self.points.dtype)
        return np.asarray(away.T @ away, dtype=np.float64)

    def some(self, clusters: Int) -> KnownClusters:
        """Only the given clusters, in their order."""
        place = np.full(self.n_clusters, -1, dtype=np.int64)
        place[clusters] = np.arange(clusters.size)
        rows = np.flatnonzero(place[self.code] >= 0)
        return replace(
            self,
            points=self.points[rows],
            code=place[self.code[rows]],
            n_clusters=int(clusters.size),
        )
