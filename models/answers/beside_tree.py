"""What models answer beside their tree, by the hooks of `models.method.Method`.

`ClusterPaths` are clusters over time (`paths`), `FeatureStretches` how a transformation stretches
features (`stretches`), `NodePictures` what a model draws of each node (`pictures`), and
`ClassScores` the scores of the classes of new rows, read by blocks of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from models.arrays import Array, Float, Int

LEAST = 1e6
"""How far a score is below the best of its row at most, where the probability is 0."""


@dataclass(frozen=True, slots=True, eq=False)
class ClassScores:
    """Scores whose softmax is the probability of each class.

    node : (n_classes,) node of each class in the tree. read : rows [start, stop) as (stop - start,
    n_classes) finite scores; it may be called again. by_edges : whether they only count the edges
    up from a row's leaf.
    """

    node: Int
    n_rows: int
    read: Callable[[int, int], Array]
    by_edges: bool = False

    @property
    def n_classes(self) -> int:
        return int(self.node.shape[0])


def finite(log_probability: Array) -> Float:
    """(n, n_classes) with a finite number for the logarithm of 0, `LEAST` below the row's best."""
    wide = np.asarray(log_probability, dtype=np.float64)
    lowest = wide.max(axis=1, keepdims=True) - LEAST
    return np.where(np.isneginf(wide), lowest, wide)


@dataclass(frozen=True, slots=True)
class NodePictures:
    """Images of nodes.

    pixels : (n_nodes, n_each, height, width, channels) uint8, one or three channels; may be
        memory-mapped, and is read a node at a time.
    caption : what the images of a node are, in a sentence without its full stop.
    """

    pixels: npt.NDArray[np.uint8]
    caption: str


@dataclass(frozen=True, slots=True)
class FeatureStretches:
    """Rows x become x P - c.

    stretch : (n_features,) how far a transformed row moves when the feature grows by 1: the length
        of the feature's row of P.
    spread : (n_features,) standard deviation of the feature among the rows that were fitted.
    n_components : number of columns of a transformed row.
    names : of the features; None where they have none.
    """

    stretch: Float
    spread: Float
    n_components: int
    names: Sequence[str] | None

    @property
    def reach(self) -> Float:
        """(n_features,) how far a transformed row moves when the feature grows by its spread."""
        return self.stretch * self.spread


_Float = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TopFeatures:
    """The features that distinguish each cluster from the others in each period, best first.

    index : (T, K, n) places in `names`, -1 for none. weight : (T, K, n) the cluster's mean there.
    """

    index: npt.NDArray[np.integer[Any]]
    weight: _Float
    names: Sequence[str]


@dataclass(frozen=True, slots=True)
class ClusterPaths:
    """The paths of K clusters over T periods. Arrays may be mapped from a file: slice them.

    labels : of the periods, their stamp or where their bin begins. ends : where their bins end;
        None for stamps. dated : whether these are times.
    n_rows : rows in each period.
    weight : (T, K) shares of the period.
    drift : (T - 1, K) degrees that each mean turns from one period to the next.
    from_first : (T, K) degrees between each mean and that of the first period.
    gamma : (T, K) how sure each mean is: the concentration of its posterior.
    kappa, kappa_low, kappa_high : (K,) concentration of the rows, and its credible interval.
    features : None where features have no names.
    """

    labels: Sequence[str]
    ends: Sequence[str] | None
    dated: bool
    n_rows: Sequence[int]
    weight: _Float
    drift: _Float
    from_first: _Float
    gamma: _Float
    kappa: _Float
    kappa_low: _Float
    kappa_high: _Float
    features: TopFeatures | None
