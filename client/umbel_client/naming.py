"""A naming: names for the nodes of a tree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from umbel_client.artifact import Artifact
from umbel_client.core.connection import Connection
from umbel_client.packages import package


class Naming(Artifact):
    """Names of nodes; `tree.newick(names=...)` and the other forms show them.

    names : by node. nodes : the same with `size`, `by`, the `evidence` of each and the `question`
    that tells it from its siblings. Both are empty until it has succeeded.
    """

    _collection = "namings"
    _part = "names"
    _lists = {"nodes": ("names", "items")}
    nodes: list[dict[str, Any]]

    def __init__(self, connection: Connection, body: Mapping[str, Any]) -> None:
        super().__init__(connection, body)
        self.names: dict[int, str] = {each["node"]: each["name"] for each in self.nodes}

    @property
    def sent(self) -> dict[str, Any] | None:
        """What was sent to which language model; None where none took part."""
        sent: dict[str, Any] | None = self._result.get("sent")
        return sent

    @property
    def routed(self) -> dict[str, Any] | None:
        """The share of rows that names alone send to the right child, with its interval of 95%
        (`low`, `high`) and the share of a draw; None but for names by terms."""
        routed: dict[str, Any] | None = self._result.get("routed")
        return routed

    def to_pandas(self) -> Any:
        """A pandas.DataFrame with a row for each named node. Raises MissingPackage."""
        return package("pandas", "Naming.to_pandas()").DataFrame(self.nodes)

    def _in_words(self) -> str:
        return f"{self._result['n_named']} nodes by {self._result['by']}"
