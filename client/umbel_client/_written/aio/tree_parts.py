"""Parts of a tree: its nodes, the points under them, and what was made of the tree.

For asyncio. Written by `make client` from `umbel_client.tree_parts`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from umbel_client._written.aio.attachment import AsyncAttachment
from umbel_client._written.aio.core.connection import AsyncConnection
from umbel_client._written.aio.core.uploads import labels_id
from umbel_client._written.aio.dataset import AsyncDataset
from umbel_client._written.aio.edition import AsyncEdition
from umbel_client._written.aio.heatmap import AsyncHeatmap
from umbel_client._written.aio.map import AsyncMap
from umbel_client._written.aio.naming import AsyncNaming
from umbel_client.core.facts import TreeFacts
from umbel_client.core.messages import CONTENT_TIMEOUT_S
from umbel_client.inputs import Input


class AsyncTreeParts:
    """The part of `Tree` that reads nodes and points, and lists what was made of the tree.

    names : a naming, whose names are shown. edition : one of the tree. Both wherever they are
    arguments.
    """

    def __init__(self, connection: AsyncConnection, facts: TreeFacts) -> None:
        self._connection = connection
        self.facts = facts

    @property
    def id(self) -> str:
        """The tree's id, `tr_...`; an input wherever a tree is one."""
        return self.facts.id

    @property
    def _path(self) -> str:
        return f"/v1/trees/{self.id}"

    async def _document(
        self, form: str, needed: str, query: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """A JSON form of the tree by the ending of its address, with the field that it needs."""
        path = f"{self._path}{form}"
        return await self._connection.described(
            path, needed, query=query, timeout_s=CONTENT_TIMEOUT_S
        )

    async def node(
        self,
        node: int,
        *,
        labels: Input | None = None,
        names: AsyncNaming | str | None = None,
        edition: AsyncEdition | str | None = None,
    ) -> dict[str, Any]:
        """One node: its path, children, size, height and what its method adds.

        labels : of each row or leaf; then also for the points under the node.

        Raises InputError.
        """
        dataset = await labels_id(self._connection, labels)
        query = {"labels": dataset, "names": names, "edition": edition}
        return await self._document(f"/nodes/{node}", "id", query)

    async def members(
        self, node: int, *, edition: AsyncEdition | str | None = None, limit: int = 1000
    ) -> list[dict[str, Any]]:
        """The rows under a node in their order, each with its leaf; the first `limit` of them."""
        path = f"{self._path}/nodes/{node}/members"
        return await self._connection.listed(path, {"edition": edition}, limit)

    async def place(
        self, place: int, *, edition: AsyncEdition | str | None = None
    ) -> dict[str, Any]:
        """The point at a place of the tree, from left to right: its `row`, `leaf` and `path`."""
        query = {"edition": edition}
        return await self._document(f"/places/{place}", "row", query)

    async def search(
        self,
        text: str,
        *,
        by: Literal["name", "meaning"] = "name",
        items: str | None = None,
        names: AsyncNaming | str | None = None,
        edition: AsyncEdition | str | None = None,
        limit: int = 50,
    ) -> list[dict[str, Any]]:
        """Nodes whose name contains a text, in any case, a space also for `_`; exact ones first.

        by : "meaning" for the nodes that are nearest in meaning, with `score` and the `text` that
        is near, where the service has an embedder. items : an attachment of the tree, whose texts
        are then searched as well.
        """
        query = {"q": text, "names": names, "edition": edition}
        if by != "name":
            query |= {"by": by, "items": items}
        return await self._connection.listed(f"{self._path}/search", query, limit)

    async def view(
        self,
        *,
        root: int = 0,
        max_nodes: int = 500,
        scale: Literal["height", "sqrt", "rank", "depth", "level", "auto"] = "height",
        color_by: str | None = None,
        names: AsyncNaming | str | None = None,
        edition: AsyncEdition | str | None = None,
    ) -> dict[str, Any]:
        """The part under a node laid out for drawing: at most `max_nodes` nodes with `x` and `y`;
        smaller subtrees are folded. scale, color_by : as of `GET /v1/trees/{id}/view`.
        """
        query = {
            "root": root,
            "max_nodes": max_nodes,
            "scale": scale,
            "color_by": color_by,
            "names": names,
            "edition": edition,
        }
        return await self._document("/view", "nodes", query)

    async def tangle(
        self,
        other: AsyncTreeParts | str,
        *,
        max_nodes: int = 200,
        rotate: Literal["both", "other", "none"] = "both",
        match: Literal["auto", "row", "name"] = "auto",
    ) -> dict[str, Any]:
        """This tree and another of the same rows, or with leaves of the same names, side by side:
        both laid out, the `links` between their ends, the `entanglement`, from 0 to 1, and what
        `moved`. `content("/tangle.svg", other=...)` is a picture of it, `"/tangle.csv"` all that
        moved.

        rotate : whose siblings are turned so that fewer links cross.
        match : compare rows or leaves of the same names.
        """
        query = {"other": other, "max_nodes": max_nodes, "rotate": rotate, "match": match}
        return await self._document("/tangle", "links", query)

    async def flows(
        self,
        levels: Sequence[int] | None = None,
        *,
        other: AsyncTreeParts | str | None = None,
        other_levels: Sequence[int] | None = None,
    ) -> dict[str, Any]:
        """The clusters of several levels (`nodes`), and how rows flow from level to level
        (`edges`): of a tree of `clustree`, or of cuts of any tree into so many clusters, and then
        of another tree of the same rows. `content("/flows.svg", levels="2,5")` is a picture of it.
        """
        query = {
            "levels": _numbers(levels),
            "other": other,
            "other_levels": _numbers(other_levels),
        }
        return await self._document("/flows", "edges", query)

    async def agreement(self, node: int) -> dict[str, Any]:
        """The ids of the trees of a consensus that have a node with the same rows (`having`), and
        of the others (`lacking`).
        """
        return await self._document(f"/nodes/{node}/agreement", "having")

    async def node_picture(self, node: int, *, px: int = 320) -> bytes:
        """What the model makes of a node as a PNG, where its rows are images. Raises NotFound for
        other trees.
        """
        return await self._connection.raw(f"{self._path}/nodes/{node}/picture", {"px": px})

    async def features(self) -> list[dict[str, Any]]:
        """The features that tell nodes apart, as far as the method reports them."""
        body = await self._document("/features.json", "items")
        return list(body["items"])

    async def label(
        self, statements: Sequence[Mapping[str, Any]], *, name: str | None = None
    ) -> AsyncDataset:
        """A dataset with a label for each row, from what is known of nodes; an input of methods
        that learn from known clusters.

        statements : as of `POST /v1/trees/{id}/labels`: `{"known": 3, "name": "cats"}`,
        `{"together": [4, 9]}`, `{"apart": [4, 12]}`.

        Raises Contradiction where statements exclude each other.
        """
        fields = {"statements": list(statements), "name": name}
        body = await self._connection.posted(f"{self._path}/labels", fields, "id", "status")
        return AsyncDataset(self._connection, body)

    async def attachments(self) -> list[AsyncAttachment]:
        """What is attached to the tree, the newest first, without columns."""
        bodies = await self._connection.listed(f"{self._path}/attachments")
        return [AsyncAttachment(self._connection, body) for body in bodies]

    async def heatmaps(self) -> list[AsyncHeatmap]:
        """The heatmaps of the tree, the newest first, without matrices and pictures."""
        bodies = await self._connection.listed(f"{self._path}/heatmaps")
        return [AsyncHeatmap(self._connection, body) for body in bodies]

    async def maps(self) -> list[AsyncMap]:
        """The maps of the tree, the newest first; `lay_out` makes one."""
        bodies = await self._connection.listed(f"{self._path}/maps")
        return [AsyncMap(self._connection, body) for body in bodies]

    async def steps(self) -> list[dict[str, Any]]:
        """The trees that the fit had on its way (`number`, `step`, `cost`, ...), the earliest first
        and this tree last; none where its parameter `keep_steps` kept none.
        `content(".nwk", step=0)` is the first of them, `content(".svg", step=0)` a picture of it.
        """
        body = await self._document("/steps", "items")
        return list(body["items"])


def _numbers(values: Sequence[int] | None) -> str | None:
    """Numbers as a parameter of an address."""
    return None if values is None else ",".join(map(str, values))
