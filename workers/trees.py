"""Trees that jobs published: facts, files, lists. A tree's files belong to its job's attempt."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict

from models.tree.tree import Kind, Tree


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


class Trees:
    """Trees of all tenants. Threads may share it; loaded trees are kept in a small cache."""

    def record(self, tenant: str, tree_id: str) -> TreeRecord | None:
        raise NotImplementedError

    def load(self, tenant: str, tree_id: str) -> Tree | None:
        """The whole tree, read-only; the last few are kept."""
        raise NotImplementedError

    def file(self, tenant: str, tree_id: str, name: str) -> Path | None:
        """Local path of one of the result's files (`tree.arrow`, `predictions.arrow`, ...)."""
        raise NotImplementedError

    def page(
        self, tenant: str, *, limit: int = 50, cursor: str | None = None
    ) -> tuple[list[TreeRecord], str | None]:
        raise NotImplementedError

    def delete(self, tenant: str, tree_id: str) -> bool:
        """Remove the tree's files and its model; the job's record stays."""
        raise NotImplementedError
