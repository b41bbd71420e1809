"""Tools that read what a service keeps."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

from mcp.server.mcpserver import Image
from pydantic import Field

from umbel_client.assistants.values import Labels, Limit, Tree, given
from umbel_client.client import Umbel

MAX_CHARACTERS = 200_000
"""Text of a tree that fits into a conversation."""


class Reading:
    """The tools on one service."""

    def __init__(self, umbel: Umbel) -> None:
        self._umbel = umbel

    def find(
        self,
        words: Annotated[
            str | None, Field(description="Each must be in a name, note or tag; none: the newest")
        ] = None,
        limit: Limit = 20,
    ) -> dict[str, Any]:
        """Trees and datasets that the service keeps, the newest first."""
        trees = self._umbel.trees(words=words, limit=limit)
        datasets = self._umbel.datasets(words=words, limit=limit)
        kept = ("id", "name", "method", "n_leaves", "n_points", "created_at")
        return {
            "trees": [{name: each.get(name) for name in kept} for each in trees],
            "datasets": [
                {name: each.body.get(name) for name in ("id", "name", "role", "shape")}
                for each in datasets
            ],
        }

    def tree(self, tree: Tree, form: Literal["nwk", "nex", "json"] = "nwk") -> dict[str, Any]:
        """A tree as text: Newick, Nexus, or JSON with the height and size of every node; the
        beginning of a large one, which the resource umbel://{tree}/newick has whole."""
        found = self._umbel.tree(tree)
        text = found.content(f".{form}").decode()
        answer = {
            "tree": found.id,
            "n_points": found.n_points,
            "n_leaves": found.n_leaves,
            "text": text[:MAX_CHARACTERS],
        }
        return answer if len(text) <= MAX_CHARACTERS else {**answer, "n_characters": len(text)}

    def picture(
        self,
        tree: Tree,
        shape: Literal["circular", "rectangular", "icicle"] = "circular",
        k: Annotated[int | None, Field(ge=1, description="Colour so many clusters")] = None,
        px: Annotated[int, Field(ge=200, le=2000, description="Width in pixels")] = 900,
    ) -> Image:
        """A picture of a tree (PNG)."""
        query: dict[str, Any] = {"shape": shape, "px": px}
        if k is not None:
            query["color_by"] = f"cluster:{k}"
        return Image(data=self._umbel.tree(tree).content(".png", **query), format="png")

    def levels(self, tree: Tree) -> dict[str, Any]:
        """The few cuts of a tree that stand out, from coarse to fine, each with its clusters' names
        and the probability that data without structure have as strong a one."""
        found = [asdict(each) for each in self._umbel.tree(tree).levels()]
        return {
            "levels": [
                {name: own for name, own in each.items() if name != "curve"} for each in found
            ]
        }

    def cut(
        self,
        tree: Tree,
        k: Annotated[int | None, Field(description="How many clusters")] = None,
        height: float | None = None,
        level: Annotated[int | None, Field(description="Edges below the root")] = None,
        limit: Limit = 50,
    ) -> dict[str, Any]:
        """The clusters of a cut with their names and sizes, the largest first: by one of k, height
        and level; without any, the cuts that stand out."""
        if k is height is level is None:
            return self.levels(tree)
        return asdict(self._umbel.tree(tree).cut(k, height=height, level=level, limit=limit))

    def confusions(self, tree: Tree, labels: Labels = None, limit: Limit = 20) -> dict[str, Any]:
        """Which classes are taken for which, the largest pairs first: against labels, or, of l2h,
        from the logits alone."""
        known = None if labels is None else given("labels", labels)
        found = self._umbel.tree(tree).confusions(known, limit=limit)
        return {"source": found.source, "pairs": list(found), "warnings": found.warnings}
