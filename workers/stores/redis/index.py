"""Lists of datasets and trees: facts by id, and ids in order of creation."""

from __future__ import annotations

from typing import Literal, cast

import redis

from workers.settings import WorkerSettings
from workers.stores.redis.client import Scripts, translated
from workers.stores.redis.cursor import decode, encode


class Index:
    """All datasets, or all trees, of all tenants; facts are JSON. Threads may share it.

    An entry may belong to a group of its tenant (a dataset's role), which has a list of its own.
    """

    def __init__(
        self, client: redis.Redis, settings: WorkerSettings, name: Literal["dataset", "tree"]
    ) -> None:
        self._client = client
        self._prefix = settings.key_prefix
        self._name = name
        self._scripts = Scripts(client, settings.key_prefix)

    def put(
        self,
        tenant: str,
        own_id: str,
        facts: str,
        group: str = "",
        *,
        n_bytes: int = 0,
        key: str | None = None,
        needs: str = "",
        expires: str = "",
    ) -> None:
        """List an entry, and count it in what its tenant, and its key, use.

        needs : the job that must stay while it does. expires : in ms, when it may be removed.
        """
        self._scripts(
            "index_put",
            self._name,
            own_id,
            tenant,
            group,
            facts,
            n_bytes,
            key or "",
            needs,
            expires,
        )

    def counted(self, own_id: str) -> bool:
        """Whether an entry is listed, and by a version that counts."""
        with translated():
            return bool(self._client.hexists(self._key(own_id), "bytes"))

    def change(self, own_id: str, facts: str) -> bool:
        """Replace the facts of an entry; False where it is not listed."""
        return bool(self._scripts("index_change", self._name, own_id, facts))

    def drop(self, own_id: str) -> bool:
        return bool(self._scripts("index_drop", self._name, own_id))

    def get(self, tenant: str, own_id: str) -> str | None:
        """The facts; None if there are none or they belong to another tenant."""
        with translated():
            whose, facts = cast(
                "list[str | None]", self._client.hmget(self._key(own_id), ["tenant", "facts"])
            )
        return facts if whose == tenant else None

    def page(
        self, tenant: str, *, limit: int, cursor: str | None, group: str = ""
    ) -> tuple[list[str], str | None]:
        """Facts, newest first, and the next page's cursor. O(limit). UsageError `bad-cursor`."""
        key = f"{self._prefix}{self._name}s:{tenant}" + (f":group:{group}" if group else "")
        highest = "+" if cursor is None else f"({decode(cursor)}"
        with translated():
            ids = cast(
                "list[str]", self._client.zrevrangebylex(key, highest, "-", start=0, num=limit + 1)
            )
            pipe = self._client.pipeline(transaction=False)
            for own_id in ids[:limit]:
                pipe.hget(self._key(own_id), "facts")
            page = [facts for facts in pipe.execute() if facts is not None]
        return page, encode(ids[limit - 1]) if len(ids) > limit else None

    def _key(self, own_id: str) -> str:
        return f"{self._prefix}{self._name}:{own_id}"
