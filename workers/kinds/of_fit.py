"""Work on what the fit of a tree saw: maps, heatmaps, attached items."""

from __future__ import annotations

from typing import Any

from workers.kinds.kind import Find, OfTree
from workers.work.sources import Source


class OfFit(OfTree):
    """of_fit : the role of the fit's input that is shown, None for an input of the request.
    names_of_fit : that of the fit's input with names of columns. preprocess : the steps of the fit.
    """

    of_fit: str | None = None
    names_of_fit: str | None = None
    preprocess: tuple[dict[str, Any], ...] = ()

    def sources(self, find: Find) -> list[Source]:
        """The tree with its model if there is one, and the inputs of its fit."""
        roles = [role for role in (self.of_fit, self.names_of_fit) if role is not None]
        found = [find.tree("tree", self.tree, model=True)]
        return [*found, *(source for role in roles for source in find.of_fit(role))]
