"""Lists of what a service keeps, the newest first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, Unpack

from umbel_client.attachment import Attachment
from umbel_client.calibration import Calibration
from umbel_client.comparison import Comparison
from umbel_client.core.connection import Connection
from umbel_client.core.fields import (
    DatasetFilters,
    JobFilters,
    MethodFilters,
    TreeFilters,
    WorkFilters,
    query_of,
)
from umbel_client.dataset import Dataset
from umbel_client.drift import Drift
from umbel_client.heatmap import Heatmap
from umbel_client.held import Held
from umbel_client.job import Job
from umbel_client.map import Map
from umbel_client.naming import Naming
from umbel_client.placement import Placement

H = TypeVar("H", bound=Held)


class Lists:
    """The part of `Umbel` that lists what the service keeps.

    The filters of each list are arguments, `umbel.drifts(tags="paper", words="week", limit=10)`:
    only those that have all of them are listed, and at most `limit`, 50 by default.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def jobs(self, **filters: Unpack[JobFilters]) -> list[Job]:
        """The newest jobs; filters : status, method, reason, kind, tree, name,
        tags, words, sort, limit."""
        return self._listed(Job, filters)

    def datasets(self, **filters: Unpack[DatasetFilters]) -> list[Dataset]:
        """The newest datasets; filters : role, name, tags, words, sort, limit."""
        return self._listed(Dataset, filters)

    def trees(self, **filters: Unpack[MethodFilters]) -> list[dict[str, Any]]:
        """The newest trees as the service lists them, without their nodes; `tree(id)` gives one.
        filters : method, name, tags, words, sort, limit.
        """
        return self._connection.listed("/v1/trees", *query_of(filters))

    def comparisons(self, **filters: Unpack[WorkFilters]) -> list[Comparison]:
        """The newest comparisons; filters : status, name, tags, words, sort,
        limit."""
        return self._listed(Comparison, filters)

    def calibrations(self, **filters: Unpack[TreeFilters]) -> list[Calibration]:
        """The newest calibrations without curves and tables; filters : status, name, tags, words,
        tree, sort, limit."""
        return self._listed(Calibration, filters)

    def drifts(self, **filters: Unpack[TreeFilters]) -> list[Drift]:
        """The newest drifts without nodes and pictures; filters as of `calibrations`."""
        return self._listed(Drift, filters)

    def placements(self, **filters: Unpack[TreeFilters]) -> list[Placement]:
        """The newest placements without pictures; filters as of `calibrations`."""
        return self._listed(Placement, filters)

    def namings(self, **filters: Unpack[TreeFilters]) -> list[Naming]:
        """The newest namings without names; filters as of `calibrations`."""
        return self._listed(Naming, filters)

    def attachments(self, **filters: Unpack[TreeFilters]) -> list[Attachment]:
        """The newest attachments without columns; filters as of `calibrations`."""
        return self._listed(Attachment, filters)

    def heatmaps(self, **filters: Unpack[TreeFilters]) -> list[Heatmap]:
        """The newest heatmaps without matrices; filters as of `calibrations`."""
        return self._listed(Heatmap, filters)

    def maps(self, **filters: Unpack[TreeFilters]) -> list[Map]:
        """The newest maps; filters as of `calibrations`."""
        return self._listed(Map, filters)

    def count(self, what: str, **filters: Any) -> int | None:
        """How many there are: `umbel.count("jobs", status="failed")`.

        what : a list as its address has it, `jobs`, `trees`, `datasets`, `drifts`, .... filters :
        as that list has them. None: so many that the service does not count them.
        """
        query, _ = query_of(filters)
        wanted = {**query, "count": True, "limit": 1}
        found = self._connection.described(f"/v1/{what}", "count", query=wanted)["count"]
        return None if found is None else int(found)

    def _listed(self, kind: type[H], filters: Mapping[str, Any]) -> list[H]:
        path = f"/v1/{kind._collection}"
        bodies = self._connection.listed(path, *query_of(filters))
        return [kind(self._connection, body) for body in bodies]
