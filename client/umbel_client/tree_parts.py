"""Parts of a tree: its nodes, the points under them, and what was made of the tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from umbel_client.attachment import Attachment
from umbel_client.core import trees, uploads
from umbel_client.core.drivers import Driver
from umbel_client.core.trees import TreeFacts
from umbel_client.dataset import Dataset
from umbel_client.edition import Edition
from umbel_client.heatmap import Heatmap
from umbel_client.inputs import Input
from umbel_client.map import Map
from umbel_client.naming import Naming


class TreeParts:
    """The part of `Tree` that reads nodes and points, and lists what was made of the tree.

    names : those of a naming. edition : one of the tree. Both wherever they are arguments.
    """

    def __init__(self, driver: Driver, facts: TreeFacts) -> None:
        self._driver = driver
        self.facts = facts

    @property
    def id(self) -> str:
        """The tree's id, `tr_...`; an input wherever a tree is one."""
        return self.facts.id

    def node(
        self,
        node: int,
        *,
        labels: Input | None = None,
        names: Naming | str | None = None,
        edition: Edition | str | None = None,
    ) -> dict[str, Any]:
        """One node: its path, children, size, height and what its method adds.

        labels : of each row or leaf; then also those of the points under the node.

        Raises InputError.
        """
        dataset = self._driver.run(uploads.labels_id(labels))
        query = {"labels": dataset, "names": names, "edition": edition}
        return self._driver.run(trees.document(self.id, f"/nodes/{node}", query, "id"))

    def members(
        self, node: int, *, edition: Edition | str | None = None, limit: int = 1000
    ) -> list[dict[str, Any]]:
        """The rows under a node in their order, each with its leaf; the first `limit` of them."""
        path = f"/v1/trees/{self.id}/nodes/{node}/members"
        return self._driver.run(trees.listed(path, {"edition": edition}, limit))

    def place(self, place: int, *, edition: Edition | str | None = None) -> dict[str, Any]:
        """The point at a place of the tree, from left to right: its `row`, `leaf` and `path`."""
        query = {"edition": edition}
        return self._driver.run(trees.document(self.id, f"/places/{place}", query, "row"))

    def search(
        self,
        text: str,
        *,
        names: Naming | str | None = None,
        edition: Edition | str | None = None,
        limit: int = 50,
    ) -> list[dict[str, Any]]:
        """Nodes whose name contains a text, in any case; exact matches first."""
        query = {"q": text, "names": names, "edition": edition}
        return self._driver.run(trees.listed(f"/v1/trees/{self.id}/search", query, limit))

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
        return self._driver.run(trees.document(self.id, "/view", query, "nodes"))

    def tangle(
        self,
        other: TreeParts | str,
        *,
        max_nodes: int = 200,
        rotate: Literal["both", "other", "none"] = "both",
    ) -> dict[str, Any]:
        """This tree and another of the same rows side by side: both laid out, the `links` between
        their ends, and the `entanglement`, from 0 to 1. `content("/tangle.svg", other=...)` is a
        picture of it.

        rotate : whose siblings are turned so that fewer links cross.
        """
        query = {"other": other, "max_nodes": max_nodes, "rotate": rotate}
        return self._driver.run(trees.document(self.id, "/tangle", query, "links"))

    def agreement(self, node: int) -> dict[str, Any]:
        """Of a consensus: the ids of the trees that have a node of the same rows (`having`), and of
        those without (`lacking`).
        """
        return self._driver.run(trees.document(self.id, f"/nodes/{node}/agreement", {}, "having"))

    def node_picture(self, node: int, *, px: int = 320) -> bytes:
        """What the model makes of a node as a PNG, where its rows are images. Raises NotFound for
        other trees.
        """
        return self._driver.run(trees.content(self.id, f"/nodes/{node}/picture", {"px": px}))

    def features(self) -> list[dict[str, Any]]:
        """The features that tell nodes apart, as far as the method reports them."""
        body = self._driver.run(trees.document(self.id, "/features.json", {}, "items"))
        return list(body["items"])

    def label(self, statements: Sequence[Mapping[str, Any]], *, name: str | None = None) -> Dataset:
        """A dataset with a label for each row, from what is known of nodes; an input of methods
        that learn from known clusters.

        statements : as of `POST /v1/trees/{id}/labels`: `{"known": 3, "name": "cats"}`,
        `{"together": [4, 9]}`, `{"apart": [4, 12]}`.

        Raises Contradiction where statements exclude each other.
        """
        fields = {"statements": list(statements), "name": name}
        path = f"/v1/trees/{self.id}/labels"
        return Dataset(self._driver, self._driver.run(trees.posted(path, fields, "id", "status")))

    def attachments(self) -> list[Attachment]:
        """What is attached to the tree, the newest first, without columns."""
        body = self._driver.run(trees.document(self.id, "/attachments", {}, "items"))
        return [Attachment(self._driver, each) for each in body["items"]]

    def heatmaps(self) -> list[Heatmap]:
        """The heatmaps of the tree, the newest first, without matrices and pictures."""
        body = self._driver.run(trees.document(self.id, "/heatmaps", {}, "items"))
        return [Heatmap(self._driver, each) for each in body["items"]]

    def maps(self) -> list[Map]:
        """The maps of the tree, the newest first; `lay_out` makes one."""
        body = self._driver.run(trees.document(self.id, "/maps", {}, "items"))
        return [Map(self._driver, each) for each in body["items"]]
