"""The methods of the family clusterings. Written by `make client` from the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from umbel_client.core.fields import Expiry, Retrying
from umbel_client.inputs import Input, Items
from umbel_client.progress import Progress

R = TypeVar("R")


class ClusteringsMethods(Generic[R]):
    """The methods of the family clusterings; each gives what `run` gives, a tree."""

    def __init__(self, run: Callable[..., R]) -> None:
        self._run = run

    def clustree(
        self,
        *,
        items: Items,
        levels: Sequence[str] | None = None,
        preprocess: Sequence[Mapping[str, Any]] | None = None,
        then: str | Mapping[str, Any] | None = None,
        support: Mapping[str, Any] | None = None,
        name_by: str | None = None,
        name: str | None = None,
        description: str | None = None,
        tags: Sequence[str] = (),
        webhook: str | None = None,
        expires_at: Expiry = None,
        retrying: Retrying | None = None,
        wait_s: float | None = None,
        progress: Progress = None,
        extra_inputs: Mapping[str, Input] | None = None,
    ) -> R:
        """Tree of clusterings: labels of the same rows at several resolutions, as a graph and a
        tree.

        Leaves: tree.

        Source: Clustering trees: a visualization for evaluating clusterings at multiple
        resolutions (2018, GigaScience).

        items : A table with a row per point and a column of labels per level, under its name.
        levels : The columns that are levels, the coarsest first; none: those whose names differ
            in a number alone, in its order, or all columns by their number of clusters.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "clustree",
            items=items,
            params={
                "levels": levels,
            },
            preprocess=preprocess,
            then=then,
            support=support,
            name_by=name_by,
            name=name,
            description=description,
            tags=tags,
            webhook=webhook,
            expires_at=expires_at,
            retrying=retrying,
            wait_s=wait_s,
            progress=progress,
            **(extra_inputs or {}),
        )
