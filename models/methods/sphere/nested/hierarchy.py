"""A hierarchy of clusters as the family reads it: its leaves are the clusters, in row order.

The hierarchy that is asked for: a given tree, or the complete one of `height`, `branching`.
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
from models.data import Data
from models.errors import UsageError
from models.tree.build import levels_below
from models.tree.parents import along, under
from models.tree.tree import Tree


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """parent : (T,) as in `models.tree.tree.Tree`: -1 for the root, parents before children.

    alike : whether all nodes of a level have as many leaves under them, so that siblings may
    change places.
    """

    parent: npt.NDArray[np.int32]
    alike: bool = False

    @classmethod
    def complete(cls, height: int, branching: int) -> Hierarchy:
        """All leaves `height` edges below the root, each other node with `branching` children."""
        n_nodes = n_complete(height, branching)
        parent = (np.arange(n_nodes) - 1) // branching
        return cls(parent.astype(np.int32), alike=True)

    @property
    def n_nodes(self) -> int:
        return int(self.parent.size)

    @cached_property
    def n_children(self) -> Int:
        """(T,)."""
        return np.bincount(self.parent[1:], minlength=self.n_nodes).astype(np.int64)

    @cached_property
    def leaves(self) -> Int:
        """(K,) nodes; cluster k is leaf k."""
        return np.flatnonzero(self.n_children == 0)

    @cached_property
    def inner(self) -> Int:
        return np.flatnonzero(self.n_children > 0)

    @cached_property
    def n_leaves_under(self) -> Int:
        """(T,) a leaf's own is 1."""
        return under(self.parent, (self.n_children == 0).astype(np.int64))

    @cached_property
    def levels(self) -> list[Int]:
        """The nodes of each depth, the root's first."""
        depth = along(self.parent, np.ones(self.n_nodes, dtype=np.int64))
        order = np.argsort(depth, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(depth[order])) + 1)

    @cached_property
    def below(self) -> sp.csr_array:
        """(T, T) a one for each node and child: times values of nodes it sums over children."""
        child = np.arange(1, self.n_nodes)
        ones = np.ones(child.size)
        return sp.csr_array((ones, (self.parent[1:], child)), shape=(self.n_nodes,) * 2)

    @cached_property
    def steps(self) -> list[tuple[Int, Int, sp.csr_array]]:
        """The levels, each with its inner nodes and their rows of `below`."""
        found = []
        for level in self.levels:
            inner = level[self.n_children[level] > 0]
            found.append((level, inner, self.below[inner]))
        return found

    def sorted(self, size: Int, rows: Float) -> Int:
        """(T,) which node each becomes, larger siblings first where they may change places.

        size : (T,) points of each node; of one size, by their `rows`.
        """
        if not self.alike:
            return np.arange(self.n_nodes)
        order = np.zeros(1, dtype=np.int64)
        found = [order]
        for level in self.levels[1:]:
            rank = np.empty(self.n_nodes, dtype=np.int64)
            rank[order] = np.arange(order.size)
            level = level[by_size(size[level], rows[level])]
            order = level[np.argsort(rank[self.parent[level]], kind="stable")]
            found.append(order)
        return np.concatenate(found)


def n_complete(height: int, branching: int) -> int:
    """Nodes of the complete hierarchy."""
    return sum(branching**level for level in range(height + 1))


ROLE = "hierarchy"


@dataclass(frozen=True, slots=True)
class Asked:
    """given : the tree, None where there is none and `height` and `branching` say it."""

    given: Tree | None
    height: int
    branching: int

    @classmethod
    def of(cls, data: Data, height: int, branching: int) -> Asked:
        """UsageError where what is given is no tree."""
        given = data.values.get(ROLE)
        if given is None or isinstance(given, Tree):
            return cls(given, height, branching)
        raise UsageError(f"Input {ROLE!r} must be a tree.", code="wrong-input", role=ROLE)

    @property
    def n_leaves(self) -> int:
        return self.branching**self.height if self.given is None else self.given.n_leaves

    def hierarchy(self) -> Hierarchy:
        """To be made only after `require_rows`: what is asked for may be of any size."""
        if self.given is None:
            return Hierarchy.complete(self.height, self.branching)
        return Hierarchy(self.given.parent)

    def require_rows(self, there: int, what: str = "point(s)") -> None:
        """UsageError for more leaves than there are points, or than are taken."""
        if self.n_leaves > there:
            raise UsageError(
                f"The hierarchy has {self.n_leaves:,} leaves, but input 'features' has only "
                f"{there:,} {what}; a leaf needs at least one.",
                code="too-few-points",
                **self._where,
            )
        if self.n_leaves > MOST_CLUSTERS:
            raise UsageError(
                f"The hierarchy has {self.n_leaves:,} leaves; {MOST_CLUSTERS:,} are the most that "
                "are taken.",
                code="too-large",
                **self._where,
            )

    def heights(self) -> Float:
        """(T,) of a given tree its own, else the levels below each node."""
        if self.given is not None:
            return self.given.height
        return levels_below(self.hierarchy().parent)

    @property
    def monotone(self) -> bool:
        """Of the heights."""
        return self.given is None or self.given.monotone

    def names(
        self, hierarchy: Hierarchy, leaves: list[str] | None, made: Sequence[str | None]
    ) -> list[str | None]:
        """Of leaves the names given, the tree's own, those `made`, or numbers; of nodes above the
        tree's own or those made.

        made : (T,).
        """
        found = list(made)
        if self.given is not None:
            own = self.given.name.tolist()
            found = [one or other for one, other in zip(own, found, strict=True)]
        for number, leaf in enumerate(hierarchy.leaves.tolist()):
            found[leaf] = leaves[number] if leaves is not None else found[leaf] or str(number)
        return found

    @property
    def _where(self) -> dict[str, str]:
        return {"parameter": "height"} if self.given is None else {"role": ROLE}
