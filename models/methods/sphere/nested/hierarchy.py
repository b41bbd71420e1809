"""The hierarchy of clusters, whose leaves are the clusters in row order, and means to start from.

A request either supplies it as a tree or describes a complete one by `height` and `branching`.

`first_means` are the means that a run starts from, found top-down by spherical k-means from
k-means++ seeds. Dividing the rows of each node among its children finds groups within groups;
dividing one k-means++ seed per leaf instead finds small clusters wherever they lie. Which start
leads to the higher bound depends on the data, so runs alternate between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from models.arrays import Array, Float, Int, Matrix
from models.clusters.choosing import MOST_CLUSTERS
from models.clusters.kmeans import seed_rows
from models.clusters.placing import by_size
from models.errors import UsageError
from models.inputs.data import Data
from models.numerics.sphere import unit
from models.tree.build import levels_below
from models.tree.parents import along, under
from models.tree.tree import Tree


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """parent : (T,) as in `models.tree.tree.Tree`: -1 for the root, parents before children.

    alike : whether all nodes of a level have the same number of leaves below them, so that siblings
        can be swapped.
    """

    parent: npt.NDArray[np.int32]
    alike: bool = False

    @classmethod
    def complete(cls, height: int, branching: int) -> Hierarchy:
        """All leaves lie `height` edges below the root; other nodes have `branching` children."""
        n_nodes = n_complete(height, branching)
        parent = (np.arange(n_nodes) - 1) // branching
        return cls(parent.astype(np.int32), alike=True)

    @property
    def n_nodes(self) -> int:
        return int(self.parent.size)

    @cached_property
    def n_children(self) -> Int:
        """(T,)"""
        return np.bincount(self.parent[1:], minlength=self.n_nodes).astype(np.int64)

    @cached_property
    def leaves(self) -> Int:
        """(K,) the nodes of the leaves; cluster k is leaf k."""
        return np.flatnonzero(self.n_children == 0)

    @cached_property
    def inner(self) -> Int:
        return np.flatnonzero(self.n_children > 0)

    @cached_property
    def n_leaves_under(self) -> Int:
        """(T,) a leaf has 1."""
        return under(self.parent, (self.n_children == 0).astype(np.int64))

    @cached_property
    def levels(self) -> list[Int]:
        """The nodes of each depth, the root's first."""
        depth = along(self.parent, np.ones(self.n_nodes, dtype=np.int64))
        order = np.argsort(depth, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(depth[order])) + 1)

    @cached_property
    def below(self) -> sp.csr_array:
        """(T, T) 1 for each pair of node and child: a product with it sums over children."""
        child = np.arange(1, self.n_nodes)
        ones = np.ones(child.size)
        return sp.csr_array((ones, (self.parent[1:], child)), shape=(self.n_nodes,) * 2)

    @cached_property
    def steps(self) -> list[tuple[Int, Int, sp.csr_array]]:
        """The levels, each with its inner nodes and their rows of `below`."""
        steps = []
        for level in self.levels:
            inner = level[self.n_children[level] > 0]
            steps.append((level, inner, self.below[inner]))
        return steps

    def sorted(self, size: Int, rows: Float) -> Int:
        """(T,) an order of the nodes with larger siblings first where siblings can be swapped.

        size : (T,) points of each node; nodes of one size are sorted by their `rows`.
        """
        if not self.alike:
            return np.arange(self.n_nodes)
        order = np.zeros(1, dtype=np.int64)
        orders = [order]
        for level in self.levels[1:]:
            rank = np.empty(self.n_nodes, dtype=np.int64)
            rank[order] = np.arange(order.size)
            level = level[by_size(size[level], rows[level])]
            order = level[np.argsort(rank[self.parent[level]], kind="stable")]
            orders.append(order)
        return np.concatenate(orders)


def n_complete(height: int, branching: int) -> int:
    """The number of nodes of the complete hierarchy."""
    return sum(branching**level for level in range(height + 1))


ROLE = "hierarchy"


@dataclass(frozen=True, slots=True)
class RequestedHierarchy:
    """tree : the input tree; None where `height` and `branching` describe a complete one."""

    tree: Tree | None
    height: int
    branching: int

    @classmethod
    def of(cls, data: Data, height: int, branching: int) -> RequestedHierarchy:
        """Raises UsageError if the input is not a tree."""
        tree = data.values.get(ROLE)
        if tree is None or isinstance(tree, Tree):
            return cls(tree, height, branching)
        raise UsageError(f"Input {ROLE!r} must be a tree.", code="wrong-input", role=ROLE)

    @property
    def n_leaves(self) -> int:
        return self.branching**self.height if self.tree is None else self.tree.n_leaves

    def hierarchy(self) -> Hierarchy:
        """The hierarchy itself.

        Call `require_rows` first: a request may describe one of any size.
        """
        if self.tree is None:
            return Hierarchy.complete(self.height, self.branching)
        return Hierarchy(self.tree.parent)

    def require_rows(self, n_points: int, what: str = "point(s)") -> None:
        """Raises UsageError for more leaves than points, or than the method accepts."""
        if self.n_leaves > n_points:
            raise UsageError(
                f"The hierarchy has {self.n_leaves:,} leaves, but input 'features' has only "
                f"{n_points:,} {what}; a leaf needs at least one.",
                code="too-few-points",
                **self._where,
            )
        if self.n_leaves > MOST_CLUSTERS:
            raise UsageError(
                f"The hierarchy has {self.n_leaves:,} leaves; at most {MOST_CLUSTERS:,} are "
                "accepted.",
                code="too-large",
                **self._where,
            )

    def heights(self) -> Float:
        """(T,) the heights of the input tree, else the number of levels below each node."""
        if self.tree is not None:
            return self.tree.height
        return levels_below(self.hierarchy().parent)

    @property
    def monotone(self) -> bool:
        """Whether the heights never fall from child to parent."""
        return self.tree is None or self.tree.monotone

    def names(
        self, hierarchy: Hierarchy, leaf_names: list[str] | None, by_features: Sequence[str | None]
    ) -> list[str | None]:
        """(T,) the name of each node: the first of these that exists.

        For a leaf its name in `leaf_names`; then its name in the tree, the one in `by_features`
        (T,), and for a leaf its number.
        """
        names = list(by_features)
        if self.tree is not None:
            own = self.tree.name.tolist()
            names = [name or other for name, other in zip(own, names, strict=True)]
        for number, leaf in enumerate(hierarchy.leaves.tolist()):
            names[leaf] = (
                leaf_names[number] if leaf_names is not None else names[leaf] or str(number)
            )
        return names

    @property
    def _where(self) -> dict[str, str]:
        return {"parameter": "height"} if self.tree is None else {"role": ROLE}


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
