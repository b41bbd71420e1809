"""The hierarchy that is asked for: a given tree, or the complete one of `height`, `branching`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from models.data import Data
from models.errors import UsageError
from models.partitions.choosing import MOST_CLUSTERS
from models.partitions.points import Float
from models.tree.build import levels_below
from models.tree.tree import Tree
from models.vmf.hierarchy import Hierarchy

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
        """To be made only after `require_points`: what is asked for may be of any size."""
        if self.given is None:
            return Hierarchy.complete(self.height, self.branching)
        return Hierarchy(self.given.parent)

    def require_points(self, there: int, what: str = "point(s)") -> None:
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
