"""Forms of a tree: texts, arrays, pictures, cuts.

For asyncio. Written by `make client` from `umbel_client.tree_forms`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from umbel_client import shapes
from umbel_client._written.aio.core.uploads import labels_id, warn_of
from umbel_client._written.aio.edition import AsyncEdition
from umbel_client._written.aio.naming import AsyncNaming
from umbel_client._written.aio.tree_parts import AsyncTreeParts
from umbel_client.inputs import Input
from umbel_client.results import Confusions, Cut, Level, Merges
from umbel_client.shapes import Shape


class AsyncTreeForms(AsyncTreeParts):
    """The part of `Tree` that gives it whole: as text, arrays, pictures, cuts."""

    async def newick(
        self,
        *,
        root: int = 0,
        depth: int | None = None,
        labels: Literal["name", "id"] = "name",
        names: AsyncNaming | str | None = None,
        edition: AsyncEdition | str | None = None,
    ) -> str:
        """The tree as Newick text: branch lengths, and the names of leaves and inner nodes.

        root, depth : only the part under this node, and so many levels of it. labels : "id" writes
        node ids in place of names. names : a naming, whose names are shown. edition : one of the
        tree.
        """
        query = {
            "root": root,
            "depth": depth,
            "labels": labels,
            "names": names,
            "edition": edition,
        }
        return await self._text(".nwk", query)

    async def nexus(self) -> str:
        """The tree as Nexus text."""
        return await self._text(".nex")

    async def linkage(self) -> npt.NDArray[np.float64]:
        """(n_leaves - 1, 4) the linkage matrix of `scipy.cluster.hierarchy`.

        Raises NotBinary for a tree in which a node has other than two children. UmbelWarning where
        leaves have heights of their own, which a linkage cannot hold.
        """
        return await self._connection.array(f"{self._path}.linkage.npy")

    async def nodes(
        self,
        *,
        root: int = 0,
        depth: int | None = None,
        names: AsyncNaming | str | None = None,
        edition: AsyncEdition | str | None = None,
    ) -> list[dict[str, Any]]:
        """All nodes, parents before children: `id`, `parent`, `name`, `height`, `size` and what the
        method adds. names : a naming, whose names are shown. edition : one of the tree.
        """
        query = {
            "root": root,
            "depth": depth,
            "names": names,
            "edition": edition,
        }
        body = await self._document(".json", "nodes", query)
        return list(body["nodes"])

    async def to_pandas(self) -> Any:
        """A pandas.DataFrame with a row for each node. Raises MissingPackage."""
        body = await self._document(".json", "nodes")
        return shapes.frame(body["nodes"])

    async def to_networkx(self) -> Any:
        """A networkx.DiGraph from parents to children. Raises MissingPackage."""
        body = await self._document(".json", "nodes")
        return shapes.digraph(body["nodes"])

    async def to_ete(self) -> Any:
        """An ete4.Tree. Raises MissingPackage."""
        return shapes.ete(await self._text(".nwk"))

    async def svg(
        self,
        *,
        shape: Shape = "circular",
        px: int = 1000,
        depth: int | None = None,
        color_by: str | None = None,
        title: str | None = None,
        theme: Literal["light", "dark"] = "light",
        names: AsyncNaming | str | None = None,
        edition: AsyncEdition | str | None = None,
    ) -> str:
        """The tree as an SVG picture.

        px : the width. color_by : "cluster:12", "height:3.5", "level:2", or a dataset of labels.
        names : a naming, whose names are shown. edition : one of the tree.
        """
        query = _picture(shape, px, depth, color_by, title, theme, names, edition)
        return await self._text(".svg", query)

    async def png(
        self,
        *,
        shape: Shape = "circular",
        px: int = 1000,
        depth: int | None = None,
        color_by: str | None = None,
        title: str | None = None,
        theme: Literal["light", "dark"] = "light",
        names: AsyncNaming | str | None = None,
        edition: AsyncEdition | str | None = None,
    ) -> bytes:
        """The tree as a PNG picture; arguments as of `svg`."""
        query = _picture(shape, px, depth, color_by, title, theme, names, edition)
        return await self._connection.raw(f"{self._path}.png", query)

    async def plot(self, ax: Any = None, *, shape: Shape = "circular", px: int = 1000) -> Any:
        """The picture on matplotlib axes, which are returned. Raises MissingPackage."""
        query = _picture(shape, px, None, None, None, "light")
        return shapes.axes(await self._connection.raw(f"{self._path}.png", query), ax)

    async def content(self, form: str, **query: Any) -> bytes:
        """Any form of the tree as the service gives it, by the ending of its address:
        `content(".hclust.json")`, `content("/assignments.csv", k=12)`.
        """
        return await self._connection.raw(f"{self._path}{form}", query)

    async def save(self, path: str | os.PathLike[str], **query: Any) -> None:
        """Write the tree to a file, in the form of its ending: .nwk, .nex, .json, .arrow, .csv,
        .parquet, .graphml, .svg, .png, .pdf, .linkage.npy or .hclust.json.

        query : how it is written, as of `GET /v1/trees/{id}`: `save("figure.pdf", width_mm=85)`.

        Raises OSError; ProblemError for an ending that is none. UmbelWarning for what the form
        cannot represent, such as characters that no font of the service has.
        """
        suffixes = Path(path).suffixes
        several = "".join(suffixes[-2:])
        suffix = several if several in (".linkage.npy", ".hclust.json") else Path(path).suffix
        content = await self._connection.raw(f"{self._path}{suffix or '.json'}", query)
        shapes.written(content, Path(path))

    async def assignments(
        self,
        k: int | None = None,
        *,
        height: float | None = None,
        level: int | None = None,
        levels: Sequence[int] | None = None,
    ) -> npt.NDArray[np.int64]:
        """(n_points,) the cluster of every row in a cut; without one, of the leaves. -1 for noise.

        k : number of clusters, noise not counted. height : the clusters are the highest nodes that
            are no higher.
        level : the nodes that many edges below the root. levels : several numbers of clusters,
        rising: (n_points, n_levels), each nested in those before. UmbelWarning where there are
        fewer clusters than k, and where noise is in the clusters of a coarse cut.
        """
        several = None if levels is None else ",".join(map(str, levels))
        query = {"k": k, "height": height, "level": level, "levels": several}
        return await self._connection.array(f"{self._path}/assignments.npy", query)

    async def leaf_clusters(
        self, k: int | None = None, *, height: float | None = None, level: int | None = None
    ) -> list[dict[str, Any]]:
        """The leaves from left to right, each with its cluster in a cut: `leaf` and `leaf_name`,
        `cluster`, its `node` and `name` and, where the tree has it, its `support`. In a tree of
        classes: which class is in which cluster. Arguments as of `assignments`.
        """
        query = {"k": k, "height": height, "level": level, "of": "leaves"}
        return list((await self._document("/assignments", "leaves", query))["leaves"])

    async def ids(self) -> list[str] | None:
        """The id of every row in the order of `assignments`, as the table of the fit has them; None
        where it has none."""
        ids = (await self._document("/assignments", "assignments")).get("ids")
        return None if ids is None else list(ids)

    async def cut(
        self,
        k: int | None = None,
        *,
        height: float | None = None,
        level: int | None = None,
        limit: int = 200,
    ) -> Cut:
        """The clusters of a cut without their rows; arguments as of `assignments`.

        limit : how many of the largest clusters are listed.
        """
        query = {"k": k, "height": height, "level": level, "limit": limit}
        return Cut.of(await self._document("/cut", "clusters", query))

    async def levels(self) -> list[Level]:
        """The few cuts that mean something, from coarse to fine; UmbelWarning says why where there
        is none."""
        body = await self._document("/levels", "levels")
        if not body["levels"] and body.get("reason"):
            warn_of({"warnings": [f"No level stands out. {body['reason']}"]})
        return [Level.of(each) for each in body["levels"]]

    async def layers(self, *, min_size: int = 10, largest_p: float = 0.05) -> dict[str, Any]:
        """Nested `layers` of clusters that persist, from fine to coarse, without a number of
        clusters; the `reason` where there is none, and `warnings`.

        min_size : the smallest size of a cluster. largest_p : the largest p-value of a layer; 1
        lists all.
        """
        return await self._document(
            "/layers", "layers", {"min_size": min_size, "largest_p": largest_p}
        )

    async def confusions(
        self, labels: Input | None = None, *, root: int = 0, limit: int = 100
    ) -> Confusions:
        """Which classes are taken for which, the largest pairs first.

        labels : the class of every row, by the name of its leaf or by number; without, what the
        method found by itself (of l2h the probability that rows of one class give to another).
        `source` of what is returned says which of the two it is.
        root : only classes under this node. limit : how many of the largest pairs are listed.

        Raises InputError, NotFound where nothing is known without labels.
        """
        dataset = await labels_id(self._connection, labels)
        query = {"labels": dataset, "root": root, "limit": limit}
        body = await self._document("/confusions", "pairs", query)
        whole = {**query, "limit": None}
        return Confusions(body, await self._connection.array(f"{self._path}/confusions.npy", whole))

    async def merges(self, labels: Input | None = None, *, limit: int = 100) -> Merges:
        """What it would gain and lose to make one class of all classes under a node: the curve
        from all classes to one.

        labels : as of `confusions`. limit : how many single nodes are listed.

        Raises InputError, NotFound where nothing is known without labels.
        """
        query = {"labels": await labels_id(self._connection, labels), "limit": limit}
        return Merges(await self._document("/merges", "steps", query))

    async def _text(self, form: str, query: Mapping[str, Any] | None = None) -> str:
        content = await self._connection.raw(f"{self._path}{form}", query)
        return content.decode()


def _picture(
    shape: str,
    px: int,
    depth: int | None,
    color_by: str | None,
    title: str | None,
    theme: str,
    names: AsyncNaming | str | None = None,
    edition: AsyncEdition | str | None = None,
) -> dict[str, Any]:
    return {
        "names": names,
        "edition": edition,
        "shape": shape,
        "px": px,
        "depth": depth,
        "color_by": color_by,
        "title": title,
        "theme": theme,
    }
