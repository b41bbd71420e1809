"""Trees that jobs published: facts, files, lists. A tree's files belong to its job's attempt."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy.typing as npt
from pydantic import BaseModel, ConfigDict

from models.tree.tree import Kind, Tree
from workers.artifacts import results
from workers.artifacts.beside import Beside
from workers.errors import AlreadyThere, Damaged, Missing, StoreFull
from workers.model import End, Request, sibling
from workers.stores.erasure import counted_later, drop_and_remove, erase_job
from workers.stores.objects import layout
from workers.stores.objects.blobs import Blobs
from workers.stores.objects.digests import Checks
from workers.stores.objects.job_files import read_end, read_request
from workers.stores.reach import Reach
from workers.stores.redis.index import Index
from workers.stores.redis.pages import Listing
from workers.stores.redis.records import Records
from workers.stores.redis.reserve import release

if TYPE_CHECKING:
    import pyarrow as pa

KEPT_NODES = 4_000_000
"""The limit on the nodes and points of all loaded trees together."""


class TreeRecord(BaseModel):
    """Facts of a tree for lists and headers. `job` is None for an imported one."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str
    tenant: str
    job: str | None
    name: str | None
    method: str
    kind: Kind
    n_points: int
    n_nodes: int
    n_leaves: int
    max_depth: int
    monotone: bool
    created_at: str
    etag: str
    """sha256 of the stored columns, shortened: trees never change."""
    description: str | None = None
    tags: tuple[str, ...] = ()
    revision: int = 0
    """Grows when its name, description or tags change."""
    warnings: tuple[str, ...] = ()
    """What was lost, approximated or decided when it was made."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A file of a result in the store; `made_at` is when its job ended."""

    key: str
    size: int
    sha256: str
    made_at: str


class Trees:
    """Trees of all tenants. Threads may share it; loaded trees are kept in a small cache.

    `ensure` rebuilds the lists if Redis lost them.
    """

    def __init__(
        self,
        blobs: Blobs,
        records: Records,
        index: Index,
        beside: Beside,
        ensure: Callable[[], None],
    ) -> None:
        self._blobs = blobs
        self._records = records
        self._index = index
        self._beside = beside
        self._ensure = ensure
        self._checks = Checks(blobs)
        self._lock = threading.Lock()
        self._loaded: OrderedDict[tuple[str, str, str], Tree] = OrderedDict()

    def record(self, tenant: str, tree_id: str) -> TreeRecord | None:
        """The facts; None if there is no such tree or it belongs to another tenant."""
        facts = self._index.get(tenant, tree_id)
        if facts is None:
            self._ensure()
            facts = self._index.get(tenant, tree_id)
        return None if facts is None else TreeRecord.model_validate_json(facts)

    def load(self, tenant: str, tree_id: str) -> Tree | None:
        """The whole tree, read-only; the last few are kept. None if there is none."""
        record = self.record(tenant, tree_id)
        if record is None:
            return None
        key = (tenant, tree_id, record.etag)
        with self._lock:
            tree = self._loaded.get(key)
            if tree is not None:
                self._loaded.move_to_end(key)
                return tree
        columns = self.file(tenant, tree_id, results.TREE)
        leaf_of_point = self.file(tenant, tree_id, results.LEAF_OF_POINT)
        if columns is None or leaf_of_point is None:
            return None
        tree = results.load_tree(columns, leaf_of_point)
        with self._lock:
            self._loaded[key] = tree
            while len(self._loaded) > 1 and self._weight() > KEPT_NODES:
                self._loaded.popitem(last=False)
        return tree

    def file(self, tenant: str, tree_id: str, name: str) -> Path | None:
        """Local path of one of the result's files (`tree.arrow`, `predictions.arrow`, ...).

        `tree_id` may be the sibling of any job that has ended, whether it made a tree or not.
        Raises Damaged where it is not what was published.
        """
        stored = self.stored(tenant, tree_id, name)
        if stored is None:
            return None
        try:
            return self._checks.path(stored.key, stored.sha256)
        except Missing:
            return None

    def points(self, tenant: str, tree_id: str) -> dict[str, npt.NDArray[Any]]:
        """The method's columns of points by name; often none."""
        path = self.file(tenant, tree_id, results.POINTS)
        return {} if path is None else results.load_arrays(path)

    def ids(self, tenant: str, tree_id: str) -> pa.Array | None:
        """(n_points,) the ids of the points, as their table had them; None where it had none."""
        path = self.file(tenant, tree_id, results.IDS)
        return None if path is None else results.load_ids(path)

    def stored(self, tenant: str, tree_id: str, name: str) -> Stored | None:
        """Where one of the result's files was published; it may have been removed since."""
        job_id = sibling(tree_id, "job")
        end = read_end(self._blobs, tenant, job_id)
        file = next((each for each in end.files if each.name == name), None) if end else None
        if end is None or file is None:
            return None
        key = layout.attempt(tenant, job_id, end.fence, name)
        return Stored(key, file.size, file.sha256, end.finished_at)

    def delete_model(self, tenant: str, model_id: str) -> bool:
        """Remove the model of a tree, but not the tree. False if there is none."""
        stored = self.stored(tenant, model_id, results.MODEL)
        if stored is None or self.file(tenant, model_id, results.MODEL) is None:
            return False
        with self._removed(tenant, sibling(model_id, "job"), [results.MODEL]):
            self._blobs.delete(stored.key)
            self._blobs.delete_under(layout.annotations_of(tenant, model_id))
        counted_later(lambda: self._beside.recount(sibling(model_id, "job")))
        counted_later(lambda: self._keep_bytes(tenant, model_id, without={results.MODEL}))
        return True

    def listing(
        self,
        tenant: str,
        *,
        method: str | None = None,
        name: str | None = None,
        tags: Sequence[str] = (),
        words: Sequence[str] = (),
        reach: Reach | None = None,
    ) -> Listing[TreeRecord]:
        """Trees of this method and name, with all of the tags and words, that `reach` has."""
        self._ensure()
        found = self._index.listing(
            tenant, method=method, name=name, tags=tags, words=words, reach=reach
        )
        return found.made(TreeRecord.model_validate_json)

    def page(
        self, tenant: str, *, limit: int = 50, cursor: str | None = None, **filters: Any
    ) -> tuple[list[TreeRecord], str | None]:
        """What `listing` has, newest first, and the next page's cursor. Raises UsageError
        `bad-cursor`."""
        return self.listing(tenant, **filters).page(limit, cursor)

    def delete(self, tenant: str, tree_id: str) -> bool:
        """Remove the tree's files and its model; the job's record stays.

        An imported tree goes with its job, which is hidden. The columns are removed first: without
        them a rebuild does not list the tree again.
        """
        record = self.record(tenant, tree_id)
        if record is None:
            return False
        job_id = sibling(tree_id, "job")
        if record.job is None:
            erase_job(self._blobs, self._records, tenant, job_id)
            return True
        end = None
        with suppress(Damaged):
            end = read_end(self._blobs, tenant, job_id)

        def remove() -> None:
            with self._removed(tenant, job_id, [results.TREE]):
                if end is not None:
                    self._blobs.delete(layout.attempt(tenant, job_id, end.fence, results.TREE))
                self._blobs.delete_under(layout.attempts(tenant, job_id))
                self._blobs.delete_under(layout.editions_of(tenant, job_id))
                self._blobs.delete_under(layout.shares_of(tree_id))
                for own_id in (tree_id, sibling(tree_id, "md")):
                    self._blobs.delete_under(layout.annotations_of(tenant, own_id))

        drop_and_remove(
            lambda: self._index.drop(tree_id),
            remove,
            lambda: self._records.removals.note(tenant, tree_id),
            lambda: release(self._records.client),
        )
        counted_later(lambda: self._beside.recount(job_id))
        counted_later(lambda: self._keep_bytes(tenant, tree_id, without=None))
        return True

    def forget(self, tenant: str, tree_id: str) -> None:
        """Complete in Redis what `delete` did in the store. Raises StoreFull while it cannot."""
        self._index.drop(tree_id)
        self._beside.recount(sibling(tree_id, "job"))
        self._keep_bytes(tenant, tree_id, without=None)

    def _keep_bytes(self, tenant: str, own_id: str, without: set[str] | None) -> None:
        """Count what is left of a job's bytes; without : the files removed, None for all."""
        job_id = sibling(own_id, "job")
        try:
            n_bytes = read_request(self._blobs, tenant, job_id).inline_bytes
        except Missing:
            return
        end = read_end(self._blobs, tenant, job_id)
        if end is not None and without is not None:
            n_bytes += sum(file.size for file in end.files if file.name not in without)
        self._records.keep_bytes(job_id, n_bytes)

    @contextmanager
    def _removed(self, tenant: str, job_id: str, names: Sequence[str]) -> Iterator[None]:
        """Mark files of a result as removed while they are: else a verification misses them. Where
        there is no room for that, after they have made some."""
        keys = [layout.removed(tenant, job_id, name) for name in names]

        def note() -> None:
            for key in keys:
                with suppress(AlreadyThere):
                    self._blobs.put(key, b"", create=True)

        try:
            note()
        except StoreFull:
            yield
            note()
        else:
            yield

    def _weight(self) -> int:
        return sum(tree.n_nodes + tree.n_points for tree in self._loaded.values())


def tree_record(request: Request, end: End, *, listed: bool) -> TreeRecord | None:
    """The facts of the tree that a job made; None if it made none. listed : whether clients see the
    job."""
    if end.status != "succeeded" or end.tree is None:
        return None
    stored = {file.name: file.sha256 for file in end.files}
    digests = stored.get(results.TREE, "") + stored.get(results.LEAF_OF_POINT, "")
    return TreeRecord.model_validate(
        {
            **request.annotation.model_dump(exclude={"changes"}),
            **end.tree,
            "id": sibling(request.id, "tr"),
            "tenant": request.tenant,
            "job": request.id if listed else None,
            "created_at": end.finished_at,
            "etag": hashlib.sha256(digests.encode()).hexdigest()[:32],
        }
    )
