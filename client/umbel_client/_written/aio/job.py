"""A job: a run that goes on while the caller does something else.

For asyncio. Written by `make client` from `umbel_client.job`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from umbel_client._written.aio.tree import AsyncTree
from umbel_client.core import trees, uploads, waiting
from umbel_client.core.changes import KEPT, Kept, changed
from umbel_client.core.drivers import AsyncDriver
from umbel_client.core.waiting import Waiting
from umbel_client.progress import Progress


class AsyncJob:
    """One run of one method.

    Every call raises ProblemError for a refusal, ConnectionFailed, and UnexpectedResponse.

    body : the job as the service last described it.
    """

    def __init__(self, driver: AsyncDriver, body: Mapping[str, Any]) -> None:
        self._driver = driver
        self.body = dict(body)

    @property
    def id(self) -> str:
        """The job's id, `job_...`; an input where a method grows from an earlier job."""
        return str(self.body["id"])

    @property
    def status(self) -> str:
        """When it was last read: `queued`, `running`, `cancelling`, `succeeded`, `failed` or
        `cancelled`.
        """
        return str(self.body["status"])

    @property
    def ended(self) -> bool:
        """Whether it had ended when it was last read."""
        return self.status in waiting.ENDED

    async def refresh(self) -> None:
        """Read the job's state again."""
        self.body = await self._driver.run(waiting.job_of(self.id))

    async def wait(
        self, wait_s: float | None = None, *, progress: Progress = None, cancel: bool = False
    ) -> AsyncTree:
        """The tree, once the job has succeeded.

        wait_s : the most seconds; None: as long as it takes. cancel : whether an interrupted wait
        cancels the job.

        Raises the problem of a failed job, JobCancelled, WaitTimeout.
        """
        how = Waiting(wait_s, progress, str(self.body.get("method", "")))
        self.body = await self._driver.run(waiting.followed(self.id, how, cancel=cancel))
        return AsyncTree(self._driver, await self._driver.run(trees.result_facts(self.body)))

    async def content(self, form: str, **query: Any) -> bytes:
        """What the ending of an address names: `content("/predictions")`, `content("/nodes")` of
        an evaluation, `content("/tables")` of that of a model.
        """
        return await self._driver.run(trees.raw(f"/v1/jobs/{self.id}{form}", query))

    async def cancel(self) -> None:
        """Ask the job to end; a running one ends within seconds. An ended one stays as it is."""
        self.body = await self._driver.run(waiting.cancelled(self.id))

    async def update(
        self,
        *,
        name: str | Literal[Kept.KEPT] | None = KEPT,
        description: str | Literal[Kept.KEPT] | None = KEPT,
        tags: Sequence[str] | Literal[Kept.KEPT] | None = KEPT,
    ) -> None:
        """Change name, description or tags of the job; what is left out stays, None removes.

        tags : all of them, in place of the earlier ones.
        """
        self.body = await self._driver.run(changed(f"/v1/jobs/{self.id}", name, description, tags))

    async def delete(self) -> None:
        """Remove the job with its tree, model and files; a running one is cancelled first."""
        await self._driver.run(uploads.removed(f"/v1/jobs/{self.id}"))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} of {self.body.get('method')}, {self.status}>"
