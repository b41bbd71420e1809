"""Tools that read what a service keeps."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

from mcp.server.mcpserver import Image
from pydantic import Field

from umbel_client.assistants.answers import Clusters, Confused, Found, Levels, Text
from umbel_client.assistants.values import Labels, Limit, Tree, given
from umbel_client.client import Umbel
from umbel_client.errors import InputError
from umbel_client.results import Level

MAX_CHARACTERS = 200_000
"""Text of a tree that fits into a conversation."""

MAX_PICTURE = 5_000_000
"""Bytes of a picture that fit into a message."""


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
    ) -> Found:
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

    def tree(
        self,
        tree: Tree,
        form: Annotated[
            Literal["nwk", "nex", "json"], Field(description="Newick, Nexus or JSON")
        ] = "nwk",
    ) -> Text:
        """A tree as text: Newick, Nexus, or JSON with the height and size of every node; the
        beginning of a large one, which the resource umbel://{tree}/newick has whole."""
        found = self._umbel.tree(tree)
        text = found.content(f".{form}").decode()
        return {
            "tree": found.id,
            "n_points": found.n_points,
            "n_leaves": found.n_leaves,
            "text": text[:MAX_CHARACTERS],
            "n_characters": len(text),
        }

    def picture(
        self,
        tree: Tree,
        shape: Annotated[
            Literal["circular", "rectangular", "icicle"], Field(description="How it is laid out")
        ] = "circular",
        k: Annotated[int | None, Field(ge=1, description="Colour so many clusters")] = None,
        px: Annotated[int, Field(ge=200, le=2000, description="Width in pixels")] = 900,
    ) -> Image:
        """A picture of a tree (PNG)."""
        query: dict[str, Any] = {"shape": shape, "px": px}
        if k is not None:
            query["color_by"] = f"cluster:{k}"
        png = self._umbel.tree(tree).content(".png", **query)
        if len(png) > MAX_PICTURE:
            raise InputError(
                "px",
                f"the picture has {len(png):,} bytes and {MAX_PICTURE:,} are taken; give fewer "
                f"pixels than {px}.",
            )
        return Image(data=png, format="png")

    def levels(self, tree: Tree) -> Levels:
        """The few cuts of a tree that stand out, from coarse to fine, each with its clusters' names
        and the probability that data without structure have as strong a one; where none does, the
        reason."""
        body = self._umbel.tree(tree)._document("/levels", "levels")
        found = [asdict(Level.of(each)) for each in body["levels"]]
        return {
            "levels": [
                {name: own for name, own in each.items() if name != "curve"} for each in found
            ],
            "reason": body.get("reason"),
        }

    def cut(
        self,
        tree: Tree,
        k: Annotated[int | None, Field(ge=1, description="How many clusters")] = None,
        height: Annotated[float | None, Field(description="Where to cut, as nodes have it")] = None,
        level: Annotated[int | None, Field(ge=0, description="Edges below the root")] = None,
        limit: Limit = 50,
    ) -> Clusters:
        """The clusters of a cut with their names and sizes, the largest first: by one of k, height
        and level, for which `levels` has good ones."""
        if sum(each is not None for each in (k, height, level)) != 1:
            raise InputError("cut", "give one of k, height and level.")
        cut = self._umbel.tree(tree).cut(k, height=height, level=level, limit=limit)
        return {
            "requested": dict(cut.requested),
            "n_clusters": cut.n_clusters,
            "low": cut.low,
            "below": cut.below,
            "smallest": cut.smallest,
            "median": cut.median,
            "largest": cut.largest,
            "n_noise": cut.n_noise,
            "clusters": [asdict(each) for each in cut.clusters],
            "warnings": list(cut.warnings),
        }

    def confusions(self, tree: Tree, labels: Labels = None, limit: Limit = 20) -> Confused:
        """Which classes are taken for which, the largest pairs first: against labels, or, of l2h,
        from the logits alone."""
        known = None if labels is None else given("labels", labels)
        found = self._umbel.tree(tree).confusions(known, limit=limit)
        return {"source": found.source, "pairs": list(found), "warnings": found.warnings}
