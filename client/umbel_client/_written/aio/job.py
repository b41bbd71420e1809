"""A job: a run that goes on while the caller does something else.

For asyncio. Written by `make client` from `umbel_client.job`.
"""

from __future__ import annotations

from typing import Self

from umbel_client._written.aio.core.waiting import cancelled, followed, job_of, retried
from umbel_client._written.aio.held import AsyncHeld
from umbel_client._written.aio.tree import AsyncTree
from umbel_client.core.events import ENDED, Waiting
from umbel_client.progress import Progress


class AsyncJob(AsyncHeld):
    """One run of one method; an input where a method grows from an earlier job.

    `content("/predictions")`, `content("/nodes")` of an evaluation and `content("/tables")` of that
    of a model are what it computed. A running one is cancelled when it is removed, and its tree,
    model and files go with it.
    """

    _collection = "jobs"
    _form = ""

    @property
    def status(self) -> str:
        """When it was last read: `queued`, `running`, `cancelling`, `succeeded`, `failed` or
        `cancelled`.
        """
        return str(self.body["status"])

    @property
    def ended(self) -> bool:
        """Whether it had ended when it was last read."""
        return self.status in ENDED

    async def refresh(self) -> None:
        """Read the job's state again."""
        self.body = await job_of(self._connection, self.id)

    async def wait(
        self, wait_s: float | None = None, *, progress: Progress = None, cancel: bool = False
    ) -> AsyncTree:
        """The tree, once the job has succeeded.

        wait_s : the most seconds; None: as long as it takes. cancel : whether an interrupted wait
        cancels the job.

        Raises the problem of a failed job, JobCancelled, WaitTimeout.
        """
        how = Waiting(wait_s, progress, str(self.body.get("method", "")))
        self.body = await followed(self._connection, self.id, how, cancel=cancel)
        return await AsyncTree._of(self._connection, self.body)

    async def cancel(self) -> None:
        """Ask the job to end; a running one ends within seconds. An ended one is not changed."""
        self.body = await cancelled(self._connection, self.id)

    async def retry(self) -> Self:
        """The job that repeats this one, which has failed, under its old inputs; always the same
        within a day."""
        return type(self)(self._connection, await retried(self._connection, self.id))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} of {self.body.get('method')}, {self.status}>"
