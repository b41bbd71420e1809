"""Uploaded datasets: bytes in the store, facts beside them, a list in Redis."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Literal

from pydantic import BaseModel, ConfigDict

from workers.errors import Problem


class Dataset(BaseModel):
    """What is known of an upload. `member` is the array chosen of a file that holds several.

    shape, dtype : None until known. `sha256` and `bytes` are those of the content as uploaded.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str
    tenant: str
    name: str | None
    role: str | None
    status: Literal["ready", "inspecting", "invalid"]
    format: str
    member: str | None
    shape: tuple[int, ...] | None
    dtype: str | None
    bytes: int
    sha256: str
    created_at: str
    problem: Problem | None


class Datasets:
    """Datasets of all tenants. Threads may share it."""

    async def receive(
        self, tenant: str, dataset_id: str, chunks: AsyncIterator[bytes]
    ) -> tuple[int, str, bytes]:
        """Stream an upload's content into the store: (bytes, sha256, the first 64 KiB).

        Nothing is left if `chunks` raises. The dataset does not exist before `create`.
        """
        raise NotImplementedError

    def create(self, dataset: Dataset) -> None:
        """Make it exist (meta.json, create-only, then the list). On failure nothing remains."""
        raise NotImplementedError

    def discard(self, tenant: str, dataset_id: str) -> None:
        """Remove content received for a dataset that was not created."""
        raise NotImplementedError

    def get(self, tenant: str, dataset_id: str) -> Dataset | None:
        raise NotImplementedError

    def inspected(
        self,
        tenant: str,
        dataset_id: str,
        *,
        shape: tuple[int, ...] | None,
        dtype: str | None,
        problem: Problem | None,
    ) -> None:
        """Record what a worker found: ready, or invalid with the problem. Idempotent."""
        raise NotImplementedError

    def page(
        self, tenant: str, *, limit: int = 50, cursor: str | None = None, role: str | None = None
    ) -> tuple[list[Dataset], str | None]:
        raise NotImplementedError

    def delete(self, tenant: str, dataset_id: str) -> bool:
        raise NotImplementedError

    def content_key(self, tenant: str, dataset_id: str) -> str:
        raise NotImplementedError
