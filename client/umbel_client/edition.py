"""An edition: what a person changes of a tree, saved with each call."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Self

from umbel_client.core.connection import Connection
from umbel_client.core.facts import EditionState
from umbel_client.core.messages import Request, post
from umbel_client.errors import UmbelWarning
from umbel_client.quoting import shown


class Edition:
    """Names, notes, colours and another shape for a tree, which itself stays unchanged.

    `tree.newick(edition=...)` and the other forms show it. Every call that changes it raises
    PreconditionFailed if somebody else has changed it since it was read (`refresh` reads it again),
    ProblemError for nodes that do not fit, ConnectionFailed, and UnexpectedResponse.

    state : the edition as the service last described it.
    """

    def __init__(self, connection: Connection, state: EditionState) -> None:
        self._connection = connection
        self.state = state

    @classmethod
    def _read(cls, connection: Connection, edition_id: str) -> Self:
        reply = connection.send(Request("GET", f"/v1/editions/{edition_id}"))
        return cls(connection, EditionState.of(reply))

    @property
    def _path(self) -> str:
        return f"/v1/editions/{self.id}"

    @property
    def id(self) -> str:
        """The edition's id, `ed_...`."""
        return str(self.state.body["id"])

    @property
    def name(self) -> str | None:
        """Its name."""
        name: str | None = self.state.body["name"]
        return name

    @property
    def revision(self) -> int:
        """Grows by one with each change."""
        return int(self.state.body["revision"])

    def rename(self, node: int, name: str | None) -> None:
        """Give a node a name; None: that of the tree."""
        self.apply({"op": "rename", "node": node, "name": name})

    def note(self, node: int, text: str | None) -> None:
        """Write a note at a node; None: no note."""
        self.apply({"op": "note", "node": node, "text": text})

    def colour(self, node: int, colour: str | None) -> None:
        """Colour a node and what lies below it, as "#d55e00"; None: no particular colour."""
        self.apply({"op": "colour", "node": node, "colour": colour})

    def reorder(self, node: int, children: Sequence[int]) -> None:
        """Put the children of a node into another order; all of them are listed."""
        self.apply({"op": "reorder", "node": node, "children": list(children)})

    def collapse(self, node: int) -> None:
        """Show an inner node folded."""
        self.apply({"op": "collapse", "node": node})

    def expand(self, node: int) -> None:
        """Show a collapsed node open again."""
        self.apply({"op": "expand", "node": node})

    def merge(self, nodes: Sequence[int], name: str | None = None) -> int:
        """Put siblings under one new node; returns its id."""
        made = self.apply({"op": "merge", "nodes": list(nodes), "name": name})
        return made[0]

    def dissolve(self, node: int) -> None:
        """Take an inner node out; its children take its place."""
        self.apply({"op": "dissolve", "node": node})

    def undo(self) -> None:
        """Take back the last call that changed nodes. Raises Conflict if there is none."""
        self.apply({"op": "undo"})

    def redo(self) -> None:
        """Repeat what was taken back last. Raises Conflict if there is nothing to repeat."""
        self.apply({"op": "redo"})

    def apply(self, *operations: Mapping[str, Any]) -> list[int]:
        """Apply several operations, all or none, as one change; the ids of nodes that merges made.
        UmbelWarning where a leaf got the name of another one.

        operations : as of `POST /v1/editions/{id}/changes`: `{"op": "rename", "node": 3, "name":
        "flowers"}`.
        """
        headers = {"If-Match": self.state.etag}
        change = post(f"{self._path}/changes", {"operations": list(operations)}, headers=headers)
        self.state = EditionState.of(self._connection.send(change))
        for sentence in self.state.body.get("warnings", ()):
            warnings.warn(sentence, UmbelWarning, stacklevel=2)
        return list(self.state.body["new_nodes"])

    def title(self, name: str | None) -> None:
        """Give the edition another name."""
        self.state = EditionState.of(self._connection.changed(self._path, {"name": name}))

    def refresh(self) -> None:
        """Read the edition again, with what others have changed."""
        self.state = EditionState.of(self._connection.send(Request("GET", self._path)))

    def history(self) -> list[dict[str, Any]]:
        """All changes, the newest first: `number`, `at`, `by`, `kind`, `operations`, `holds`."""
        return self._connection.listed(f"{self._path}/history")

    def delete(self) -> None:
        """Remove the edition with its history; the tree stays."""
        self._connection.remove(self._path)

    def __repr__(self) -> str:
        called = f" {shown(self.name)}" if self.name else ""
        return f"<Edition {self.id}{called}: revision {self.revision}>"
