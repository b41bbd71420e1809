"""A placement: what hangs out of place in a hierarchy, by a tree of the same classes.

For asyncio. Written by `make client` from `umbel_client.placement`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from umbel_client._written.aio.artifact import AsyncArtifact
from umbel_client._written.aio.core.connection import AsyncConnection
from umbel_client.packages import package


class AsyncPlacement(AsyncArtifact):
    """Classes and subtrees that would fit better elsewhere; in a notebook it is its picture.

    classes, subtrees : the most out of place: `name`, `under_name`, `place_name`, `beside`,
    `margin`, `p_value`, `odd` and the evidence. svg : the picture. All are empty until it has
    succeeded.
    """

    _collection = "placements"

    def __init__(self, connection: AsyncConnection, body: Mapping[str, Any]) -> None:
        super().__init__(connection, body)
        self.svg = str(self.body.pop("svg", ""))
        self.classes: list[dict[str, Any]] = list(self._result.get("classes", ()))
        self.subtrees: list[dict[str, Any]] = list(self._result.get("subtrees", ()))
        self.n_odd = int(self._result.get("n_odd", 0))

    @classmethod
    async def _parts(
        cls, connection: AsyncConnection, path: str, body: Mapping[str, Any]
    ) -> dict[str, Any]:
        parts = await super()._parts(connection, path, body)
        return {**parts, "svg": (await connection.raw(f"{path}.svg")).decode()}

    @property
    def odd(self) -> list[dict[str, Any]]:
        """Those that are called out of place at the level of the request."""
        return [each for each in [*self.classes, *self.subtrees] if each["odd"]]

    def to_pandas(self) -> Any:
        """A pandas.DataFrame with a row for each class and subtree shown. Raises MissingPackage."""
        return package("pandas", "Placement.to_pandas()").DataFrame([*self.classes, *self.subtrees])

    def _in_words(self) -> str:
        return f"{self.n_odd} odd of {self._result['n_judged']} classes"

    def _repr_svg_(self) -> str | None:
        return self.svg or None
