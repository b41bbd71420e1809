"""The means that a run starts from, found top-down by spherical k-means from k-means++ seeds.

Dividing the rows of each node among its children finds groups within groups; dividing one k-means++
seed per leaf instead finds small clusters wherever they lie. Which start leads to the higher bound
depends on the data, so runs alternate between them.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from models.arrays import Array, Float, Int, Matrix
from models.methods.sphere.nested.hierarchy import Hierarchy
from models.numerics.sphere import seed_rows, unit

LLOYD = 10
"""Iterations of k-means at a node: variational inference continues from their end."""


def first_means(
    features: Matrix, hierarchy: Hierarchy, run: int, rng: np.random.Generator
) -> Float:
    """(K, D) unit vectors for the leaves: even runs divide rows, odd runs seeds."""
    if run % 2:
        features = features[np.sort(seed_rows(features, hierarchy.leaves.size, rng))]
    return leaf_means(features, hierarchy, rng)


def leaf_means(features: Matrix, hierarchy: Hierarchy, rng: np.random.Generator) -> Float:
    """(K, D) unit vectors: the direction of the rows that each leaf starts with, at least one.

    features : unit rows, at least K. The largest part goes to the child with the most leaves.
    O(height N branching D) time, and memory for two copies of a node's rows.
    """
    means = np.empty((hierarchy.leaves.size, features.shape[1]))
    cluster = np.full(hierarchy.n_nodes, -1, dtype=np.int64)
    cluster[hierarchy.leaves] = np.arange(hierarchy.leaves.size)
    start, child = hierarchy.below.indptr, hierarchy.below.indices
    rows_of = {0: np.arange(features.shape[0])}
    for node in range(hierarchy.n_nodes):
        rows = rows_of.pop(node)
        if cluster[node] >= 0:
            means[cluster[node]] = _direction(features[rows])
            continue
        children = child[start[node] : start[node + 1]].astype(np.int64)
        needed = hierarchy.n_leaves_under[children]
        if children.size == 1:
            rows_of[int(children[0])] = rows
            continue
        part = _divided(features[rows], np.sort(needed)[::-1], rng)
        by_leaves = children[np.argsort(-needed, kind="stable")]
        for number, own_child in enumerate(by_leaves.tolist()):
            rows_of[own_child] = rows[part == number]
    return means


def _divided(rows: Matrix, needed: Int, rng: np.random.Generator) -> Int:
    """(n,) parts by spherical k-means, the largest first; part k has at least `needed[k]` rows."""
    n_parts = needed.size
    means = _dense(rows[seed_rows(rows, n_parts, rng)])
    part = np.full(rows.shape[0], -1)
    for _ in range(LLOYD):
        cosine = _products(rows, means)
        after = cosine.argmax(axis=1)
        if (after == part).all():
            break
        part = after
        total = _totals(rows, part, n_parts)
        means = np.where(total.any(axis=1, keepdims=True), unit(total), means)
    order = np.argsort(-np.bincount(part, minlength=n_parts), kind="stable")
    rank = np.empty(n_parts, dtype=np.int64)
    rank[order] = np.arange(n_parts)
    return _filled(rank[part], cosine[:, order], needed)


def _filled(part: Int, cosine: Float, needed: Int) -> Int:
    """The parts after rows have moved to parts that have too few.

    The rows that lose the least cosine move first.
    """
    size = np.bincount(part, minlength=needed.size)
    for lacking in np.flatnonzero(size < needed).tolist():
        loss = cosine[np.arange(part.size), part] - cosine[:, lacking]
        for row in np.argsort(loss, kind="stable").tolist():
            if size[lacking] >= needed[lacking]:
                break
            own = part[row]
            if own != lacking and size[own] > needed[own]:
                part[row] = lacking
                size[own] -= 1
                size[lacking] += 1
    return part


def _products(rows: Matrix, means: Float) -> Float:
    return np.asarray(rows @ means.T.astype(rows.dtype), dtype=np.float64)


def _totals(rows: Matrix, part: Int, n_parts: int) -> Float:
    n_rows = rows.shape[0]
    ones = np.ones(n_rows, dtype=rows.dtype)
    chosen = sp.csr_array((ones, (part, np.arange(n_rows))), shape=(n_parts, n_rows))
    return _dense(chosen @ rows)


def _direction(rows: Matrix) -> Float:
    """The direction of the sum of the rows; the first row if they cancel."""
    total = np.asarray(rows.sum(axis=0, dtype=np.float64)).ravel()
    return unit(total) if total.any() else _dense(rows[:1])[0]


def _dense(rows: Array | sp.csr_array) -> Float:
    wide = rows.toarray() if isinstance(rows, sp.csr_array) else rows
    return np.asarray(wide, dtype=np.float64)
