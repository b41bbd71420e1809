"""A drift: what moved in a tree from a reference to a batch of rows.

For asyncio. Written by `make client` from `umbel_client.drift`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from umbel_client._written.aio.artifact import AsyncArtifact
from umbel_client._written.aio.core.connection import AsyncConnection
from umbel_client.packages import package


class AsyncDrift(AsyncArtifact):
    """Two samples of rows compared in a tree; in a notebook it is its picture.

    moves : the surest changes: `aspect`, `node`, `name`, `direction`, `before`, `after`, `low`,
    `high`, `p_value` and more. nodes : every node before and after. svg : the picture of all
    changes. All are empty until it has succeeded.
    """

    _collection = "drifts"
    _lists = {"nodes": ("nodes", "items")}
    nodes: list[dict[str, Any]]

    def __init__(self, connection: AsyncConnection, body: Mapping[str, Any]) -> None:
        super().__init__(connection, body)
        self.svg = str(self.body.pop("svg", ""))
        self.moves: list[dict[str, Any]] = list(self._result.get("moves", ()))
        self.n_moves = int(self._result.get("n_moves", 0))

    @classmethod
    async def _parts(
        cls, connection: AsyncConnection, path: str, body: Mapping[str, Any]
    ) -> dict[str, Any]:
        parts = await super()._parts(connection, path, body)
        picture = await connection.raw(f"{path}.svg")
        return {**parts, "svg": picture.decode()}

    @property
    def moved(self) -> bool:
        """Whether any change was found."""
        return self.n_moves > 0

    def to_pandas(self) -> Any:
        """A pandas.DataFrame with a row for each node. Raises MissingPackage."""
        return package("pandas", "Drift.to_pandas()").DataFrame(self.nodes)

    def _in_words(self) -> str:
        sizes = f"from {self._result['n_reference']} to {self._result['n_batch']} rows"
        return f"{self.n_moves} changes {sizes}"

    def _repr_svg_(self) -> str | None:
        return self.svg or None
