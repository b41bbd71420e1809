"""The clusters that a user knows: the labelled rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from models.arrays import Array, Float, Int
from models.data import Data
from models.errors import UsageError
from models.label_sets import LabelSets, label_sets


@dataclass(frozen=True, slots=True)
class Labels:
    """code : (n_rows,) the known cluster of each row, -1 where it is not labelled.

    names : of the known clusters, each of which has a row.
    """

    code: Int
    names: list[str]

    @property
    def n_clusters(self) -> int:
        return len(self.names)

    @property
    def free(self) -> Int:
        """The rows that are not labelled."""
        return np.flatnonzero(self.code < 0)

    @property
    def warnings(self) -> tuple[str, ...]:
        size = np.bincount(self.code[self.code >= 0], minlength=self.n_clusters)
        single = [name for name, rows in zip(self.names, size.tolist(), strict=True) if rows == 1]
        if not single:
            return ()
        return (
            f"{len(single)} known cluster(s) have a single row, which shows no spread: "
            f"{', '.join(repr(name[:80]) for name in single[:5])}.",
        )


def read_labels(data: Data, n_rows: int) -> Labels:
    """The input `labels`.

    Raises UsageError for a row with several labels, fewer than two known clusters, clusters of
    single rows alone, and where every row is labelled.
    """
    sets = read_single(data, n_rows)
    present, code = np.unique(sets.code, return_inverse=True)
    names = [sets.names[number] for number in present.tolist()]
    if len(names) < 2:
        raise UsageError(
            f"Input 'labels' names {len(names)} cluster(s); at least two known clusters are needed "
            "to learn what tells clusters apart.",
            code="wrong-input",
            role="labels",
        )
    if code.size == len(names):
        raise UsageError(
            "Input 'labels' has a single row in each known cluster; at least one cluster needs two "
            "rows, to show what rows of one cluster may differ in.",
            code="wrong-input",
            role="labels",
        )
    if code.size == n_rows:
        raise UsageError(
            "Input 'labels' labels every row, so that none is left to find clusters among; leave "
            "some rows unlabelled (null or -1).",
            code="wrong-input",
            role="labels",
        )
    whole = np.full(n_rows, -1, dtype=np.int64)
    whole[np.diff(sets.start) == 1] = code
    return Labels(whole, names)


def read_single(data: Data, n_rows: int) -> LabelSets:
    """The input `labels`, of which a row has one or none. Raises UsageError for several."""
    sets = label_sets(data.values["labels"], n_rows, data.names())
    times = np.diff(sets.start)
    several = np.flatnonzero(times > 1)
    if several.size:
        row = int(several[0])
        raise UsageError(
            f"Input 'labels' has {times[row]} labels at row {row} (counted from 0); a row belongs "
            "to one cluster or is not labelled.",
            code="wrong-input",
            role="labels",
            row=row,
        )
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
        """Those of the given clusters, in their order."""
        place = np.full(self.n_clusters, -1, dtype=np.int64)
        place[clusters] = np.arange(clusters.size)
        rows = np.flatnonzero(place[self.code] >= 0)
        return replace(
            self,
            points=self.points[rows],
            code=place[self.code[rows]],
            n_clusters=int(clusters.size),
        )
