"""Parts of a tree: its nodes, the points under them, and what was made of the tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from umbel_client.attachment import Attachment
from umbel_client.core.connection import Connection
from umbel_client.core.facts import TreeFacts
from umbel_client.core.messages import CONTENT_TIMEOUT_S
from umbel_client.core.uploads import labels_id
from umbel_client.dataset import Dataset
from umbel_client.edition import Edition
from umbel_client.heatmap import Heatmap
from umbel_client.inputs import Input
from umbel_client.map import Map
from umbel_client.naming import Naming


class TreeParts:
    """The part of `Tree` that reads nodes and points, and lists what was made of the tree.

    names : a naming, whose names are shown. edition : one of the tree. Both wherever they are
    arguments.
    """

    def __init__(self, connection: Connection, facts: TreeFacts) -> None:
        self._connection = connection
        self.facts = facts

    @property
    def id(self) -> str:
        """The tree's id, `tr_...`; an input wherever a tree is one."""
        return self.facts.id

    @property
    def _path(self) -> str:
        return f"/v1/trees/{self.id}"

    def _document(
        self, form: str, needed: str, query: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """A JSON form of the tree by the ending of its address, with the field that it needs."""
        path = f"{self._path}{form}"
        return self._connection.described(path, needed, query=query, timeout_s=CONTENT_TIMEOUT_S)

    def node(
        self,
        node: int,
        *,
        labels: Input | None = None,
        names: Naming | str | None = None,
        edition: Edition | str | None = None,
    ) -> dict[str, Any]:
        """One node: its path, children, size, height and what its method adds.

        labels : of each row or leaf; then also for the points under the node.

        Raises InputError.
        """
        dataset = labels_id(self._connection, labels)
        query = {"labels": dataset, "names": names, "edition": edition}
        return self._document(f"/nodes/{node}", "id", query)

    def members(
        self, node: int, *, edition: Edition | str | None = None, limit: int = 1000
    ) -> list[dict[str, Any]]:
        """The rows under a node in their order, each with its leaf; the first `limit` of them."""
        path = f"{self._path}/nodes/{node}/members"
        return self._connection.listed(path, {"edition": edition}, limit)

    def place(self, place: int, *, edition: Edition | str | None = None) -> dict[str, Any]:
        """The point at a place of the tree, from left to right: its `row`, `leaf` and `path`."""
        query = {"edition": edition}
        return self._document(f"/places/{place}", "row", query)

    def search(
        self,
        text: str,
        *,
        by: Literal["name", "meaning"] = "name",
        items: str | None = None,
        names: Naming | str | None = None,
        edition: Edition | str | None = None,
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
        return self._connection.listed(f"{self._path}/search", query, limit)

    def view(
        self,
        *,
        root: int = 0,
        max_nodes: int = 500,
        scale: Literal["height", "sqrt", "rank", "depth", "level", "auto"] = "height",
        color_by: str | None = None,
        names: Naming | str | None = None,
        edition: Edition | str | None = None,
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
        return self._document("/view", "nodes", query)

    def tangle(
        self,
        other: TreeParts | str,
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
        return self._document("/tangle", "links", query)

    def flows(
        self,
        levels: Sequence[int] | None = None,
        *,
        other: TreeParts | str | None = None,
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
        return self._document("/flows", "edges", query)

    def agreement(self, node: int) -> dict[str, Any]:
        """The ids of the trees of a consensus that have a node with the same rows (`having`), and
        of the others (`lacking`).
        """
        return self._document(f"/nodes/{node}/agreement", "having")

    def node_picture(self, node: int, *, px: int = 320) -> bytes:
        """What the model makes of a node as a PNG, where its rows are images. Raises NotFound for
        other trees.
        """
        return self._connection.raw(f"{self._path}/nodes/{node}/picture", {"px": px})

    def features(self) -> list[dict[str, Any]]:
        """The features that tell nodes apart, as far as the method reports them."""
        body = self._document("/features.json", "items")
        return list(body["items"])

    def label(self, statements: Sequence[Mapping[str, Any]], *, name: str | None = None) -> Dataset:
        """A dataset with a label for each row, from what is known of nodes; an input of methods
        that learn from known clusters.

        statements : as of `POST /v1/trees/{id}/labels`: `{"known": 3, "name": "cats"}`,
        `{"together": [4, 9]}`, `{"apart": [4, 12]}`.

        Raises Contradiction where statements exclude each other.
        """
        fields = {"statements": list(statements), "name": name}
        body = self._connection.posted(f"{self._path}/labels", fields, "id", "status")
        return Dataset(self._connection, body)

    def attachments(self) -> list[Attachment]:
        """What is attached to the tree, the newest first, without columns."""
        bodies = self._connection.listed(f"{self._path}/attachments")
        return [Attachment(self._connection, body) for body in bodies]

    def heatmaps(self) -> list[Heatmap]:
        """The heatmaps of the tree, the newest first, without matrices and pictures."""
        bodies = self._connection.listed(f"{self._path}/heatmaps")
        return [Heatmap(self._connection, body) for body in bodies]

    def maps(self) -> list[Map]:
        """The maps of the tree, the newest first; `lay_out` makes one."""
        bodies = self._connection.listed(f"{self._path}/maps")
        return [Map(self._connection, body) for body in bodies]

    def steps(self) -> list[dict[str, Any]]:
        """The trees that the fit had on its way (`number`, `step`, `cost`, ...), the earliest first
        and this tree last; none where its parameter `keep_steps` kept none.
        `content(".nwk", step=0)` is the first of them, `content(".svg", step=0)` a picture of it.
        """
        body = self._document("/steps", "items")
        return list(body["items"])


def _numbers(values: Sequence[int] | None) -> str | None:
    """Numbers as a parameter of an address."""
    return None if values is None else ",".join(map(str, values))
