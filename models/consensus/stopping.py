"""Whether more trees would change how often clusters occur."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from models.arrays import Array, Float
from models.consensus.clusters import Clusters

N_SPLITS = 100
ENOUGH = 0.99
"""A correlation of the halves at which they count as alike."""


def agreement_of_halves(clusters: Clusters, rng: np.random.Generator) -> tuple[float, float] | None:
    """The mean correlation of the numbers of trees with each cluster in two random halves of the
    trees, over `N_SPLITS` ways to halve them, and the share of ways in which it is at least
    `ENOUGH`. None below 4 trees, and where all clusters are equally frequent.

    As many trees are enough as give a share of at least .99: the frequency criterion of Pattengale
    et al., "How many bootstrap replicates are necessary?" (2010), for clusters in place of splits.
    O(N_SPLITS n_trees n_nodes).
    """
    columns = [number[number > 0] for number in clusters.number]
    bounds = np.concatenate([[0], np.cumsum([len(column) for column in columns])])
    column = np.concatenate(columns)
    shape = (clusters.n_trees, len(clusters.count))
    has = sp.csr_array((np.ones(len(column)), column, bounds), shape=shape)

    def of_halves(chosen: Array) -> Float:
        halves: Float = np.asarray(chosen @ has)[:, 1:]
        return halves[:, halves.any(axis=0)]

    return halves_alike(clusters.n_trees, of_halves, rng)


def halves_alike(
    n_trees: int, of_halves: Callable[[Array], Float], rng: np.random.Generator
) -> tuple[float, float] | None:
    """The mean correlation of two halves of the trees, over `N_SPLITS` ways to halve them, and the
    share of ways in which it is at least `ENOUGH`.

    of_halves : from (2, n_trees), 1 where a tree is in a half, to (2, n) what each half counts.
    None below 4 trees, and where one half counts everything alike and the other does not.
    """
    if n_trees < 4:
        return None
    correlations = []
    for _ in range(N_SPLITS):
        order = rng.permutation(n_trees)
        chosen = np.zeros((2, n_trees))
        chosen[0, order[: n_trees // 2]] = 1.0
        chosen[1, order[n_trees // 2 : 2 * (n_trees // 2)]] = 1.0
        halves = of_halves(chosen)
        if (halves == halves[:, :1]).all(axis=1).any():
            # Both halves count everything equally often.
            correlations.append(1.0 if halves.size and (halves[0] == halves[1]).all() else np.nan)
            continue
        correlations.append(float(np.corrcoef(*halves)[0, 1]))
    if np.isnan(correlations).any():
        return None
    return float(np.mean(correlations)), float(np.mean(np.array(correlations) >= ENOUGH))
