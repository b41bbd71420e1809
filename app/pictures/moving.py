"""The data of a picture of clusters over time."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from models.arrays import Float


@dataclass(frozen=True, slots=True)
class Moving:
    """The data to draw: T periods, S of the model's clusters.

    labels : labels of the periods, times if `dated`. n_rows : (T,). names : names of the S
        clusters, out of the model's `n_clusters`. weight, drift, from_first : (T, S) shares,
        degrees since the previous period (the first row is ignored) and since the first.
    """

    labels: list[str]
    dated: bool
    n_rows: list[int]
    names: list[str]
    n_clusters: int
    weight: Float
    drift: Float
    from_first: Float

    def first(self, most: int) -> Moving:
        """Only the first clusters."""
        return replace(
            self,
            names=self.names[:most],
            weight=self.weight[:, :most],
            drift=self.drift[:, :most],
            from_first=self.from_first[:, :most],
        )

    def every(self, n: int) -> Moving:
        """The same with groups of `n` neighbouring periods merged: the mean weight, the largest
        turn."""
        start = np.arange(0, len(self.labels), n)
        lengths = np.diff(np.append(start, len(self.labels)))
        drift = np.fmax.reduceat(self.drift, start, axis=0)
        # Turns within the first group are not drawn, since no group precedes it.
        drift[1:2] = np.fmax(drift[1:2], drift[:1])
        return replace(
            self,
            labels=self.labels[::n],
            n_rows=np.add.reduceat(self.n_rows, start).tolist(),
            weight=np.add.reduceat(self.weight, start, axis=0) / lengths[:, None],
            drift=drift,
            from_first=self.from_first[np.append(start[1:], len(self.labels)) - 1],
        )

    @property
    def rest(self) -> str:
        """The number of clusters not among the S, in words; "" if there are none."""
        rest = self.n_clusters - len(self.names)
        return f"{rest:,} other{'s' if rest > 1 else ''}" if rest else ""
