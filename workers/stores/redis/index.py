"""Lists of datasets and trees: facts by id, and ids in order of creation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from operator import not_
from typing import Literal, cast

import redis

from workers.model import mentions
from workers.settings import WorkerSettings
from workers.stores.reach import Reach
from workers.stores.redis.client import Scripts, translated
from workers.stores.redis.pages import Listing, listing_of, rarest
from workers.stores.removals import Removals

_SEARCHED = ("id", "name", "description", "method", "role")
"""The facts in which words are looked for, beside the tags."""


class Index:
    """All datasets, or all trees, of all tenants; facts are JSON. Threads may share it.

    An entry may belong to a group of its tenant (a dataset's role), which has its own list.
    """

    def __init__(
        self,
        client: redis.Redis,
        settings: WorkerSettings,
        name: Literal["dataset", "tree"],
        removals: Removals,
    ) -> None:
        self._client = client
        self._removals = removals
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
        digest: str = "",
        annotation: str = "",
    ) -> None:
        """List an entry, and count it in what its tenant, and its key, use.

        annotation : JSON, where it has tags; what was changed since stays.
        needs : the job that must stay while it does. expires : in ms, when it may be removed.
        digest : the sha256 of its content, by which `with_content` finds it.
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
            digest,
            annotation,
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
        """The facts, with what a user has changed of them; None if there are none or they belong
        to another tenant."""
        fields = ["tenant", "facts", "annotation"]
        with translated():
            pipe = self._client.pipeline(transaction=False)
            pipe.hmget(self._key(own_id), fields)
            whose, facts, annotation = self._removals.execute(pipe)[0]
        if whose != tenant or self._removals.hides(own_id):
            return None
        return _annotated(facts, annotation)

    def with_content(self, tenant: str, digest: str, most: int) -> list[str]:
        """The facts of the newest entries with this content that are not being removed."""
        key = f"{self._prefix}{self._name}s:{tenant}:content:{digest}"
        with translated():
            ids = cast("list[str]", self._client.zrevrangebylex(key, "+", "-", start=0, num=most))
            pipe = self._client.pipeline(transaction=False)
            for own_id in ids:
                pipe.hexists(f"{self._prefix}going", own_id)
            going = cast("list[bool]", pipe.execute())
        entries = (self.get(tenant, own_id) for own_id in compress(ids, map(not_, going)))
        return [facts for facts in entries if facts is not None]

    def annotate(self, own_id: str, revision: int, annotation: str) -> bool:
        """Set what a user says of an entry (a JSON object), and its tags; False where it is not
        listed, or has this revision or a later one."""
        return bool(self._scripts("annotate", self._name, own_id, revision, annotation))

    def listing(
        self,
        tenant: str,
        *,
        group: str = "",
        name: str | None = None,
        tags: Sequence[str] = (),
        words: Sequence[str] = (),
        method: str | None = None,
        reach: Reach | None = None,
    ) -> Listing[str]:
        """Facts of the entries.

        group, name, tags, words, method : those an entry must have, all of them. reach : what the
        reader reaches; None: everything of the tenant.
        """
        if reach is not None:
            tags = (*tags, *reach.listed_by)
        base = f"{self._prefix}{self._name}s:{tenant}"
        key = f"{base}:group:{group}" if group else base
        if tags:
            key = rarest(self._client, [f"{base}:tag:{tag}" for tag in tags])
        filters = _Filters(group, name, tags, words, method, reach)

        def read(ids: Sequence[str]) -> list[str | None]:
            pipe = self._client.pipeline(transaction=False)
            for own_id in ids:
                pipe.hmget(self._key(own_id), "group", "facts", "annotation")
            rows = cast("list[list[str | None]]", self._removals.execute(pipe))
            return [
                None if self._removals.hides(own_id) else filters.member(*row)
                for own_id, row in zip(ids, rows, strict=True)
            ]

        # JSON escapes other letters, quotes and backslashes; `read` looks at these.
        sure = [each for each in words if each.isascii() and not set(each) & set('"\\')]
        sure = [each for each in sure if each.isprintable()]

        def sieve(ids: list[str]) -> list[str]:
            kept = cast(
                "list[int]", self._scripts("index_sieve", self._name, json.dumps(ids), *sure)
            )
            return [ids[place - 1] for place in kept]

        whole = not (filters.of_facts or self._removals.any)
        return listing_of(self._client, key, read, whole=whole, sieve=sieve if sure else None)

    def _key(self, own_id: str) -> str:
        return f"{self._prefix}{self._name}:{own_id}"


def _annotated(facts: str | None, annotation: str | None) -> str | None:
    if facts is None or annotation is None:
        return facts
    return json.dumps({**json.loads(facts), **json.loads(annotation)})


@dataclass(frozen=True, slots=True)
class _Filters:
    """What the entries of a list must have."""

    group: str
    name: str | None
    tags: Sequence[str]
    words: Sequence[str]
    method: str | None
    reach: Reach | None

    @property
    def of_facts(self) -> bool:
        """Whether the facts of an entry say if it belongs to the list."""
        named = (self.name, self.method, self.reach) != (None, None, None)
        return named or bool(self.tags or self.words)

    def member(
        self, own_group: str | None, facts: str | None, annotation: str | None
    ) -> str | None:
        """The facts of an entry that belongs to the list; None for others, and without an entry."""
        facts = _annotated(facts, annotation)
        if facts is None or (self.group and own_group != self.group):
            return None
        if self.of_facts:
            known = json.loads(facts)
            own_tags = known.get("tags", ())
            if self.reach is not None and not self.reach.has(known["id"], own_tags):
                return None
            if self.name not in (None, known.get("name")) or not set(self.tags) <= set(own_tags):
                return None
            if self.method not in (None, known.get("method")):
                return None
            fields = (known.get(field) for field in _SEARCHED)
            if not mentions(self.words, *fields, *own_tags):
                return None
        return facts
