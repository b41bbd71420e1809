"""The hierarchy of clusters: its leaves are the clusters, in row order.

A request either supplies it as a tree or describes a complete one by `height` and `branching`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from models.arrays import Float, Int
from models.clusters.choosing import MOST_CLUSTERS
from models.clusters.placing import by_size
from models.errors import UsageError
from models.inputs.data import Data
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
