"""A map: the points of a tree in the plane.

For asyncio. Written by `make client` from `umbel_client.map`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from umbel_client._written.aio.artifact import AsyncArtifact

if TYPE_CHECKING:
    from umbel_client._written.aio.edition import AsyncEdition


class AsyncMap(AsyncArtifact):
    """Where the points of a tree lie in the plane; `save("map.pdf", color_by="cluster:8")` draws
    it.
    """

    _collection = "maps"
    _part = "positions"

    @property
    def by(self) -> str:
        """How it was laid out: `pca`, `umap`, `tsne` or `disc`."""
        return str(self.body["by"])

    async def positions(
        self,
        order: Literal["rows", "leaves"] = "rows",
        *,
        edition: AsyncEdition | str | None = None,
    ) -> npt.NDArray[np.float32]:
        """(n_points, 2) the place of each point, by row or by the leaves from left to right.

        edition : of the tree, whose order the leaves then have.
        """
        query = {"order": order, "edition": edition}
        return await self._connection.array(f"{self._path}/positions.npy", query)

    async def select(self, outline: Sequence[Sequence[float]], *, limit: int = 5) -> dict[str, Any]:
        """The nodes of the whole tree that fit a closed outline best: `n_points` within it, and
        `items`, each with `node`, `f1`, `purity` and `recall`.

        outline : its corners, `[(x, y), ...]`, at least 3. limit : the most nodes.
        """
        corners = ",".join(str(float(value)) for corner in outline for value in corner)
        query = {"outline": corners, "limit": limit}
        path = f"{self._path}/selection"
        return await self._connection.described(path, "n_points", "items", query=query)

    def _in_words(self) -> str:
        return f"{self._result['n_points']} points by {self.by}"
