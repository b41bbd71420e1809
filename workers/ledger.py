"""The book of jobs: the one place that keeps the promise that no accepted job is lost.

The broker's message is a hint; the record in Redis and the objects in the store are the truth. Both
the API and the workers go through this class and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

from workers.jobs import Advance, Claim, End, Record, Request
from workers.stores.blobs import Blobs

Send = Callable[[str, str], None]
"""send(queue, job id): puts a hint on the queue; may fail."""


class Ledger:
    """Jobs over one Redis and one object store. Threads may share it."""

    blobs: Blobs

    def submit(self, request: Request, inline: Mapping[str, bytes] | None = None) -> Record:
        """Accept a job. Raises StoreUnavailable / StoreFull with nothing half-made."""
        raise NotImplementedError

    def get(self, tenant: str, job_id: str) -> Record | None:
        """The record; None where there is none or it is another tenant's."""
        raise NotImplementedError

    def end_of(self, tenant: str, job_id: str) -> End | None:
        """The terminal object of an ended job, from the store."""
        raise NotImplementedError

    def page(
        self,
        tenant: str,
        *,
        status: str | None = None,
        method: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> tuple[list[Record], str | None]:
        """Jobs newest first, and the cursor of the next page."""
        raise NotImplementedError

    def cancel(self, tenant: str, job_id: str) -> Record | None:
        """Queued: cancelled at once. Running: cancelling. Ended: unchanged."""
        raise NotImplementedError

    def delete(self, tenant: str, job_id: str) -> bool:
        """Cancel if need be, then remove the job with its tree, model and files."""
        raise NotImplementedError

    def claim(self, job_id: str, worker: str) -> Claim | None:
        """The right to run it, or None: ended, leased to another, gone, or out of attempts."""
        raise NotImplementedError

    def beat(self, claim: Claim, advance: Advance | None = None) -> Literal["on", "cancel", "lost"]:
        """Renew the lease and pass progress on; "lost": another has it, publish nothing."""
        raise NotImplementedError

    def log(self, claim: Claim, line: str) -> None:
        """Append a `log` event."""
        raise NotImplementedError

    def give_back(self, claim: Claim, *, spend: bool) -> None:
        """End the lease now so that the job is tried again; `spend` False forgives the attempt."""
        raise NotImplementedError

    def finish(self, claim: Claim, end: End, folder: Path | None = None) -> bool:
        """Publish: files, then the terminal object (create-only), then the record.

        False where another attempt was first; its result stands and the record adopts it.
        """
        raise NotImplementedError

    def sweep(self) -> int:
        """Take what is due (lost leases, queued jobs not picked up) once; how many."""
        raise NotImplementedError

    def rebuild(self) -> int:
        """After Redis lost or restarted its data: records and lists from the store; how many."""
        raise NotImplementedError
