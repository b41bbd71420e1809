"""What a limited key reaches: the one place that decides it, for paths, queries and bodies alike.

A request by such a key may name only things that its key reaches. Any other id in it, also one of
something that does not exist, is answered as an id of another tenant in a path is: 404. So a route
need not know of limits, but for lists, which show what is reached, and for what it makes, which
gets one of the key's tags (`Access.tagged`).
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from typing import Any

from app.http import threads
from app.http.keyring import Access
from app.http.problems import Refused, not_found
from workers.artifacts.annotations import newest
from workers.artifacts.datasets import Datasets
from workers.artifacts.trees import Trees
from workers.artifacts.uploads import Parts
from workers.jobs.ledger import Ledger
from workers.kinds.kind import NamedKind
from workers.kinds.registry import kinds
from workers.model import sibling
from workers.stores.reach import ids_in

MOST_IDS = 1000
"""The most different ids in one request of a limited key: each is looked up."""


@cache
def nouns() -> dict[str, str]:
    """What has an id, by the prefix of the id."""
    named = {kind.prefix: kind.noun for kind in kinds() if isinstance(kind, NamedKind)}
    return {"ds": "dataset", "up": "upload", "job": "job", "tr": "tree", "md": "model", **named}


class Reached:
    """The things of all tenants by their ids. Threads may share it."""

    def __init__(self, ledger: Ledger, datasets: Datasets, trees: Trees, parts: Parts) -> None:
        self._ledger = ledger
        self._datasets = datasets
        self._trees = trees
        self._parts = parts

    async def require(self, access: Access, value: Any) -> None:
        """Raise Refused `not-found` for the first id anywhere in a value of JSON that the caller
        does not reach, `invalid-request` where there are too many to look at."""
        if access.reach is not None:
            await threads.run_sync(self._require, access, value)

    def _require(self, access: Access, value: Any) -> None:
        reach = access.reach
        seen = set[str]()
        for own_id in ids_in(value, nouns()):
            if own_id in seen:
                continue
            seen.add(own_id)
            if len(seen) > MOST_IDS:
                raise Refused(
                    "invalid-request",
                    f"A request by a limited key names at most {MOST_IDS} things.",
                )
            tags = self._tags(access.tenant, own_id)
            if reach is None or tags is None or not reach.has(own_id, tags):
                raise not_found(nouns()[own_id.partition("_")[0]], own_id)

    def _tags(self, tenant: str, own_id: str) -> Collection[str] | None:
        """Those that a thing has now; None if the tenant has no such thing."""
        prefix = own_id.partition("_")[0]
        if prefix == "ds":
            dataset = self._datasets.get(tenant, own_id)
            return None if dataset is None else dataset.tags
        if prefix == "up":
            upload = self._parts.get(tenant, own_id)
            return None if upload is None else upload.tags
        if prefix == "tr":
            tree = self._trees.record(tenant, own_id)
            return None if tree is None else tree.tags
        job = self._ledger.get(tenant, sibling(own_id, "job"))
        if job is None or prefix != "md":
            return None if job is None else job.tags
        return (newest(self._ledger.blobs, tenant, own_id) or job.submitted).tags
