"""A naming: names for the nodes of a tree.

For asyncio. Written by `make client` from `umbel_client.naming`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from umbel_client._written.aio.artifact import AsyncArtifact
from umbel_client.core.drivers import AsyncDriver
from umbel_client.packages import package


class AsyncNaming(AsyncArtifact):
    """Names of nodes; `tree.newick(names=...)` and the other forms show them.

    body : the naming as the service describes it. names : by node. nodes : the same with `size`,
    `by` and the `evidence` of each. Both are empty until it has succeeded.
    """

    _collection = "namings"
    _part = "names"

    def __init__(self, driver: AsyncDriver, body: Mapping[str, Any]) -> None:
        super().__init__(driver, body)
        self.nodes: list[dict[str, Any]] = list(self.body.pop("nodes", ()))
        self.names: dict[int, str] = {each["node"]: each["name"] for each in self.nodes}

    @property
    def warnings(self) -> tuple[str, ...]:
        """What could not be named, and why."""
        return tuple(self.body["warnings"])

    @property
    def sent(self) -> dict[str, Any] | None:
        """What a language model was told, and which; None where none was asked."""
        sent: dict[str, Any] | None = (self.body.get("result") or {}).get("sent")
        return sent

    def to_pandas(self) -> Any:
        """A pandas.DataFrame with a row for each named node. Raises MissingPackage."""
        return package("pandas", "AsyncNaming.to_pandas()").DataFrame(self.nodes)

    def __repr__(self) -> str:
        result = self.body.get("result")
        if result is None:
            return f"<AsyncNaming {self.id}: {self.body['status']}>"
        return f"<AsyncNaming {self.id}: {result['n_named']} nodes by {result['by']}>"
