"""A drift: what moved in a tree from a reference to a batch of rows.

For asyncio. Written by `make client` from `umbel_client.drift`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from umbel_client._written.aio.artifact import AsyncArtifact
from umbel_client.core.drivers import AsyncDriver
from umbel_client.packages import package


class AsyncDrift(AsyncArtifact):
    """Two samples of rows compared in a tree; in a notebook it is its picture.

    body : the drift as the service describes it. moves : the surest changes: `aspect`, `node`,
    `name`, `direction`, `before`, `after`, `low`, `high`, `p_value` and more. nodes : every node
    before and after. svg : the picture of all changes. All are empty until it has succeeded.
    """

    _collection = "drifts"

    def __init__(self, driver: AsyncDriver, body: Mapping[str, Any]) -> None:
        super().__init__(driver, body)
        self.nodes: list[dict[str, Any]] = list(self.body.pop("nodes", ()))
        self.svg = str(self.body.pop("svg", ""))
        result = self.body.get("result") or {}
        self.moves: list[dict[str, Any]] = list(result.get("moves", ()))
        self.n_moves = int(result.get("n_moves", 0))

    @property
    def moved(self) -> bool:
        """Whether any change was found."""
        return self.n_moves > 0

    @property
    def warnings(self) -> tuple[str, ...]:
        """What could not be compared, and why."""
        return tuple(self.body["warnings"])

    def to_pandas(self) -> Any:
        """A pandas.DataFrame with a row for each node. Raises MissingPackage."""
        return package("pandas", "AsyncDrift.to_pandas()").DataFrame(self.nodes)

    def __repr__(self) -> str:
        result = self.body.get("result")
        if result is None:
            return f"<AsyncDrift {self.id}: {self.body['status']}>"
        return (
            f"<AsyncDrift {self.id}: {self.n_moves} changes from {result['n_reference']} to "
            f"{result['n_batch']} rows>"
        )

    def _repr_svg_(self) -> str | None:
        return self.svg or None
