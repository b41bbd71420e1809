"""Lists of what a service keeps, the newest first.

For asyncio. Written by `make client` from `umbel_client.lists`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, Unpack

from umbel_client._written.aio.attachment import AsyncAttachment
from umbel_client._written.aio.calibration import AsyncCalibration
from umbel_client._written.aio.comparison import AsyncComparison
from umbel_client._written.aio.core.connection import AsyncConnection
from umbel_client._written.aio.dataset import AsyncDataset
from umbel_client._written.aio.drift import AsyncDrift
from umbel_client._written.aio.heatmap import AsyncHeatmap
from umbel_client._written.aio.held import AsyncHeld
from umbel_client._written.aio.job import AsyncJob
from umbel_client._written.aio.map import AsyncMap
from umbel_client._written.aio.naming import AsyncNaming
from umbel_client._written.aio.placement import AsyncPlacement
from umbel_client.core.fields import (
    DatasetFilters,
    JobFilters,
    MethodFilters,
    TreeFilters,
    WorkFilters,
    query_of,
)

H = TypeVar("H", bound=AsyncHeld)


class AsyncLists:
    """The part of `Umbel` that lists what the service keeps.

    The filters of each list are arguments, `umbel.drifts(tags="paper", words="week", limit=10)`:
    only those that have all of them are listed, and at most `limit`, 50 by default.
    """

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def jobs(self, **filters: Unpack[JobFilters]) -> list[AsyncJob]:
        """The newest jobs; filters : status, method, reason, kind, tree, name,
        tags, words, sort, limit."""
        return await self._listed(AsyncJob, filters)

    async def datasets(self, **filters: Unpack[DatasetFilters]) -> list[AsyncDataset]:
        """The newest datasets; filters : role, name, tags, words, sort, limit."""
        return await self._listed(AsyncDataset, filters)

    async def trees(self, **filters: Unpack[MethodFilters]) -> list[dict[str, Any]]:
        """The newest trees as the service lists them, without their nodes; `tree(id)` gives one.
        filters : method, name, tags, words, sort, limit.
        """
        return await self._connection.listed("/v1/trees", *query_of(filters))

    async def comparisons(self, **filters: Unpack[WorkFilters]) -> list[AsyncComparison]:
        """The newest comparisons; filters : status, name, tags, words, sort,
        limit."""
        return await self._listed(AsyncComparison, filters)

    async def calibrations(self, **filters: Unpack[TreeFilters]) -> list[AsyncCalibration]:
        """The newest calibrations without curves and tables; filters : status, name, tags, words,
        tree, sort, limit."""
        return await self._listed(AsyncCalibration, filters)

    async def drifts(self, **filters: Unpack[TreeFilters]) -> list[AsyncDrift]:
        """The newest drifts without nodes and pictures; filters as of `calibrations`."""
        return await self._listed(AsyncDrift, filters)

    async def placements(self, **filters: Unpack[TreeFilters]) -> list[AsyncPlacement]:
        """The newest placements without pictures; filters as of `calibrations`."""
        return await self._listed(AsyncPlacement, filters)

    async def namings(self, **filters: Unpack[TreeFilters]) -> list[AsyncNaming]:
        """The newest namings without names; filters as of `calibrations`."""
        return await self._listed(AsyncNaming, filters)

    async def attachments(self, **filters: Unpack[TreeFilters]) -> list[AsyncAttachment]:
        """The newest attachments without columns; filters as of `calibrations`."""
        return await self._listed(AsyncAttachment, filters)

    async def heatmaps(self, **filters: Unpack[TreeFilters]) -> list[AsyncHeatmap]:
        """The newest heatmaps without matrices; filters as of `calibrations`."""
        return await self._listed(AsyncHeatmap, filters)

    async def maps(self, **filters: Unpack[TreeFilters]) -> list[AsyncMap]:
        """The newest maps; filters as of `calibrations`."""
        return await self._listed(AsyncMap, filters)

    async def count(self, what: str, **filters: Any) -> int | None:
        """How many there are: `umbel.count("jobs", status="failed")`.

        what : a list as its address has it, `jobs`, `trees`, `datasets`, `drifts`, .... filters :
        as that list has them. None: so many that the service does not count them.
        """
        query, _ = query_of(filters)
        wanted = {**query, "count": True, "limit": 1}
        found = (await self._connection.described(f"/v1/{what}", "count", query=wanted))["count"]
        return None if found is None else int(found)

    async def _listed(self, kind: type[H], filters: Mapping[str, Any]) -> list[H]:
        path = f"/v1/{kind._collection}"
        bodies = await self._connection.listed(path, *query_of(filters))
        return [kind(self._connection, body) for body in bodies]
