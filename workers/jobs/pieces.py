"""Pieces of a fit that is cut: who computes which, and where what comes of it lies.

An attempt puts its pieces on a board and computes them itself, one after the other; whoever else
has time takes some of them. A lease that is not renewed makes a piece free again, so a helper that
is lost costs its piece and no more. All of it hangs on the attempt's fence: with the attempt the
board ends, and what a helper still brings is refused and removed.
"""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from models.method import Piece
from workers.errors import Missing, TransientError
from workers.model import MOST_PIECES, Claim, Request, Share
from workers.settings import WorkerSettings
from workers.stores.objects import layout
from workers.stores.objects.blobs import Blobs
from workers.stores.objects.jobs import read_request
from workers.stores.redis.boards import AttemptId, Boards, Step
from workers.stores.redis.records import Records

_AT_ONCE = 100
_log = logging.getLogger(__name__)


def n_pieces(n_bytes: int, settings: WorkerSettings) -> int:
    """How many pieces a fit on so many bytes is to be cut into; 1 where it does not pay.

    Hangs on nothing else, so a job is cut the same way however many workers there are.
    """
    if not settings.split_bytes or n_bytes <= settings.split_bytes:
        return 1
    return min(MOST_PIECES, -(-n_bytes // settings.piece_bytes))


class Pieces:
    """The pieces of all jobs. Threads may share it. Raises StoreUnavailable and StoreFull."""

    def __init__(
        self,
        blobs: Blobs,
        records: Records,
        boards: Boards,
        hint: Callable[[str, str], None],
    ) -> None:
        self._blobs = blobs
        self._records = records
        self._boards = boards
        self._hint = hint

    # For the attempt itself.

    def post(self, claim: Claim, first: int, pieces: Sequence[Piece]) -> None:
        """Put pieces on the attempt's board, numbered from `first`, and ask for help."""
        texts = [json.dumps(piece) for piece in pieces]
        if self._boards.post(_id(claim), first, texts):
            self._invite(claim.request, len(pieces) - 1)

    def next(self, claim: Claim, seen: int, finished: Collection[int]) -> Step:
        """See `Boards.next`."""
        return self._boards.next(_id(claim), seen, finished)

    def fetch(self, claim: Claim, step: Step) -> Path | None:
        """A local file with what a helper has computed; None where it cannot be had."""
        request = claim.request
        key = layout.piece(request.tenant, request.id, claim.fence, step.number, step.token)
        try:
            return self._blobs.local_path(key)
        except (Missing, TransientError) as error:
            _log.warning("job %s: piece %d is not there: %s", request.id, step.number, error)
            return None

    def invite_again(self, claim: Claim) -> None:
        """Ask for help if pieces are free and no hint waits: some worker may have time."""
        if not self._records.hints(claim.request.queue):
            self._invite(claim.request, self._boards.free(_id(claim)))

    def close(self, claim: Claim) -> None:
        """Take the board away and remove what helpers have stored."""
        over = _id(claim)
        alone = self._boards.close(over)
        self._erase(over)
        if alone:
            self._boards.forget(over)

    # For helpers.

    def join(self, job_id: str) -> Share | None:
        """The right to compute a piece of a job that runs.

        None where none is free, and while other jobs wait: those come before help.
        """
        record = self._records.get(job_id)
        if record is None or record.status != "running" or self._jobs_wait(record.queue):
            return None
        token = secrets.token_hex(16)
        taken = self._boards.take(job_id, token)
        if taken is None:
            return None
        try:
            request = read_request(self._blobs, record.tenant, job_id)
        except Missing:
            return None
        piece: dict[str, Any] = json.loads(taken.piece)
        return Share(
            request=request, fence=taken.fence, number=taken.number, token=token, piece=piece
        )

    def beat(self, share: Share) -> bool:
        """Renew the lease; False: the piece is another's, or the attempt is over."""
        return self._tell(share, "beat")

    def finish(self, share: Share, path: Path) -> bool:
        """Store what was computed; False where it is wanted no more, and nothing is left then."""
        request = share.request
        key = layout.piece(request.tenant, request.id, share.fence, share.number, share.token)
        done = False
        try:
            self._blobs.put_file(key, path)
            done = self._tell(share, "done")
        finally:
            if not done:
                with suppress(TransientError):
                    self._blobs.delete(key)
        return done

    def give_back(self, share: Share, *, spend: bool) -> None:
        """Let others take it; `spend` False forgives that it was taken."""
        self._tell(share, "back" if spend else "forgiven")

    def leave(self, share: Share) -> None:
        """Leave it to the attempt itself, which then meets what is wrong with it."""
        self._tell(share, "own")

    # For whoever has time.

    def sweep(self) -> None:
        """Remove what is left of attempts that are over."""
        for over in self._boards.over(_AT_ONCE):
            self._erase(over)
            self._boards.forget(over)

    def restore(self) -> None:
        """Remove every piece whose attempt does not run: Redis may have lost their boards."""
        folders = {key.rpartition("/")[0] for key in self._blobs.keys(layout.PIECES)}
        for folder in folders:
            job_id, _, fence = folder.rpartition("/")[2].partition(".")
            if self._records.holder(job_id) != fence:
                self._blobs.delete_under(folder)

    def _invite(self, request: Request, most: int) -> None:
        """Send hints: a worker that gets one for a job that runs helps it."""
        for _ in range(min(most, self._records.workers_alive())):
            self._hint(request.queue, request.id)

    def _jobs_wait(self, queue: str) -> bool:
        return self._records.queued().get(queue, 0) > 0

    def _erase(self, at: AttemptId) -> None:
        self._blobs.delete_under(layout.pieces(at.tenant, at.job, at.fence))

    def _tell(self, share: Share, what: Any) -> bool:
        return self._boards.tell(share.request.id, share.fence, share.number, share.token, what)


def _id(claim: Claim) -> AttemptId:
    return AttemptId(claim.request.id, claim.fence, claim.request.tenant)
