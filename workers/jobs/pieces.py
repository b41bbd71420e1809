"""Pieces of a fit: who computes which, and where the results are stored.

An attempt puts its pieces on a board in Redis and computes them itself, one after the other; any
idle worker takes some of them. A lease that is not renewed frees its piece, so a lost helper costs
one piece and no more. A board belongs to the fence of its attempt: each Lua script checks that the
attempt runs and is not being cancelled, so pieces of a finished attempt are neither handed out nor
accepted.
"""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from models.running.progress import SHARED, Piece
from workers.errors import Damaged, Missing, TransientError
from workers.jobs.carriers import Carrier
from workers.model import MOST_PIECES, Claim, PieceClaim, Request
from workers.settings import WorkerSettings
from workers.stores.objects import layout
from workers.stores.objects.blobs import Blobs
from workers.stores.objects.job_files import read_request
from workers.stores.redis.client import Scripts, translated
from workers.stores.redis.records import Records

_LEASE_S = 5.0
_LATE = 10
"""So many leases after the end of an attempt a sweeper removes what a helper that has not reported
may have stored since, and left."""
_AT_ONCE = 100
_log = logging.getLogger(__name__)


def n_pieces(n_bytes: int, settings: WorkerSettings) -> int:
    """The number of pieces for a fit on inputs of this size; 1 if cutting does not pay.

    It depends on nothing else, so a job is cut the same way for any number of workers.
    """
    if not settings.split_bytes or n_bytes <= settings.split_bytes:
        return 1
    return min(MOST_PIECES, -(-n_bytes // settings.piece_bytes))


def piece_lease_s(settings: WorkerSettings) -> float:
    """How long a helper may be silent.

    This is shorter than the lease of a job: in the end the child waits for the helper, and if the
    helper is alive after all, the only loss is a piece computed twice.
    """
    return min(settings.lease_s, _LEASE_S)


@dataclass(frozen=True, slots=True)
class NextPiece:
    """What an attempt does next: "take" a piece and compute it.

    Fetch one that a helper has "done", stored under `token`; "wait"; or, if the board is "lost",
    continue alone.
    """

    kind: Literal["take", "done", "wait", "lost"]
    number: int = 0
    token: str = ""


class _AttemptId(NamedTuple):
    """One attempt of a job, as named in the sorted set `boards`."""

    job: str
    fence: str
    tenant: str


class Pieces:
    """The pieces of all jobs. Threads may share it. Raises StoreUnavailable and StoreFull."""

    def __init__(
        self,
        blobs: Blobs,
        records: Records,
        settings: WorkerSettings,
        carrier: Carrier,
    ) -> None:
        self._blobs = blobs
        self._records = records
        self._redis = records.client
        self._prefix = settings.key_prefix
        self._scripts = Scripts(records.client, settings.key_prefix)
        self._lease_ms = _ms(piece_lease_s(settings))
        self._late_ms = _LATE * self._lease_ms
        self._clean_again_ms = _ms(settings.resend_s)
        self._most_takes = settings.max_attempts
        self._carrier = carrier

    # For the attempt itself.

    def post(
        self, claim: Claim, first: int, pieces: Sequence[Piece], shared: Path | None = None
    ) -> None:
        """Put pieces on the attempt's board, numbered from `first`, in place of earlier ones, and
        request help.

        shared : a file with the arrays that the pieces share; it is stored under `first`, and
            removed if the attempt is over.
        """
        attempt = _attempt(claim)
        if shared is not None:
            # Before the upload: a sweeper then finds the file if this process dies.
            self._remember(attempt)
            pieces = [{**piece, SHARED: first} for piece in pieces]
        texts = [json.dumps(piece) for piece in pieces]
        posted = False
        try:
            if shared is not None:
                self._blobs.put_file(layout.shared(attempt.tenant, *attempt[:2], first), shared)
            answer = self._scripts("board_post", *attempt, self._lease_ms, first, *texts)
            posted = answer == "on"
        finally:
            if shared is not None and not posted:
                with suppress(TransientError):
                    self._blobs.delete(layout.shared(attempt.tenant, *attempt[:2], first))
        if posted:
            self._invite(claim.request, len(pieces) - 1)

    def clear(self, claim: Claim, end: int) -> None:
        """Remove what pieces of numbers below `end` share, and what helpers stored of them."""
        attempt = _attempt(claim)
        for key in list(self._blobs.keys(layout.pieces(attempt.tenant, *attempt[:2]))):
            if layout.first_number(key) < end:
                self._blobs.delete(key)

    def next(self, claim: Claim, n_seen: int, finished: Collection[int]) -> NextPiece:
        """What the attempt does next.

        n_seen : number of pieces done by helpers that it has received. finished : pieces that it
            has computed itself.
        """
        kind, *details = self._scripts(
            "board_next", claim.request.id, claim.fence, n_seen, *finished
        )
        if not details:
            return NextPiece(kind)
        number, _, token = details[0].partition(" ")
        return NextPiece(kind, int(number), token)

    def fetch(self, claim: Claim, piece: NextPiece) -> Path | None:
        """A local file with the arrays of a piece that a helper has computed.

        None if it is unavailable.
        """
        request = claim.request
        key = layout.piece(request.tenant, request.id, claim.fence, piece.number, piece.token)
        try:
            return self._blobs.local_path(key)
        except (Missing, TransientError) as error:
            _log.warning("job %s: piece %d cannot be read: %s", request.id, piece.number, error)
            return None

    def invite_again(self, claim: Claim) -> None:
        """Request help if pieces are free and no invitation waits: some worker may be idle."""
        if not self._carrier.waits(claim.request.queue):
            self._invite(claim.request, self._n_free(claim))

    def close(self, claim: Claim) -> None:
        """Remove the board and what helpers have stored."""
        attempt = _attempt(claim)
        no_helper_left = self._scripts("board_close", *attempt, self._late_ms)
        self._erase(attempt)
        if no_helper_left:
            self._forget(attempt)

    # For helpers.

    def join(self, job_id: str, *, jobs_first: bool = True) -> PieceClaim | None:
        """The right to compute a piece of a running job.

        None if no piece is free, and with `jobs_first` while other jobs wait.
        """
        record = self._records.get(job_id)
        if record is None or record.status != "running":
            return None
        if jobs_first and self._jobs_wait(record.queue):
            return None
        token = secrets.token_hex(16)
        taken = self._scripts("board_take", job_id, token, self._lease_ms, self._most_takes)
        if not taken:
            return None
        fence, number, text = taken
        try:
            request = read_request(self._blobs, record.tenant, job_id)
        except (Missing, Damaged):
            return None
        return PieceClaim(
            request=request,
            fence=fence,
            number=int(number),
            token=token,
            piece=json.loads(text),
        )

    def shared(self, claim: PieceClaim) -> Path | None:
        """The local file with the arrays that the piece shares with others; None: it has none.

        Raises Missing if it was removed since.
        """
        first = claim.piece.get(SHARED)
        if first is None:
            return None
        request = claim.request
        return self._blobs.local_path(
            layout.shared(request.tenant, request.id, claim.fence, int(first))
        )

    def beat(self, claim: PieceClaim) -> bool:
        """Renew the lease; False if another worker has the piece, or the attempt is over."""
        return self._report(claim, "beat")

    def finish(self, claim: PieceClaim, path: Path) -> bool:
        """Store the file with the piece's arrays.

        False, with nothing stored, if it is no longer needed.
        """
        request = claim.request
        key = layout.piece(request.tenant, request.id, claim.fence, claim.number, claim.token)
        accepted = False
        try:
            self._blobs.put_file(key, path)
            accepted = self._report(claim, "done")
        finally:
            if not accepted:
                self._withdraw(claim, key)
        return accepted

    def _withdraw(self, claim: PieceClaim, key: str) -> None:
        """Remove a piece that nobody needs; a sweeper does it where that fails now, also after the
        attempt has closed its board."""
        try:
            self._blobs.delete(key)
        except TransientError:
            with suppress(TransientError):
                self._remember(_AttemptId(claim.request.id, claim.fence, claim.request.tenant))

    def give_back(self, claim: PieceClaim, *, spend: bool) -> None:
        """Release the piece to others; with `spend` False this attempt at it does not count."""
        self._report(claim, "back" if spend else "forgiven")

    def leave(self, claim: PieceClaim) -> None:
        """Leave the piece to the attempt itself, which then runs into the problem."""
        self._report(claim, "own")

    # For any process.

    def sweep(self) -> None:
        """Remove what is left of finished attempts."""
        rows = self._scripts(
            "board_sweep", _AT_ONCE, self._lease_ms, self._clean_again_ms, self._late_ms
        )
        for row in rows:
            job, fence, tenant, *late = row.split(" ")
            attempt = _AttemptId(job, fence, tenant)
            self._erase(attempt)
            if not late:
                self._forget(attempt)

    def restore(self) -> None:
        """Remove every stored piece whose attempt does not run: Redis may have lost the boards."""
        folders = {key.rpartition("/")[0] for key in self._blobs.keys(layout.PIECES)}
        for folder in sorted(folders):
            job_id, _, fence = folder.rpartition("/")[2].partition(".")
            if self._records.holder(job_id) != fence:
                self._blobs.delete_under(folder)

    def _invite(self, request: Request, most: int) -> None:
        if most > 0:
            self._carrier.invite(request.queue, request.id, most)

    def _jobs_wait(self, queue: str) -> bool:
        return self._records.queued().get(queue, 0) > 0

    def _n_free(self, claim: Claim) -> int:
        """Number of pieces that a helper could take now."""
        with translated():
            key = f"{self._prefix}board:{claim.request.id}:{claim.fence}:left"
            return self._redis.zcount(key, "-inf", self._now_ms())

    def _report(
        self, claim: PieceClaim, what: Literal["beat", "done", "back", "forgiven", "own"]
    ) -> bool:
        """Report on a helper's piece (see `board_tell.lua`).

        False if the helper no longer holds it.
        """
        answer = self._scripts(
            "board_tell",
            claim.request.id,
            claim.fence,
            claim.number,
            claim.token,
            self._lease_ms,
            what,
        )
        return bool(answer == "on")

    def _erase(self, attempt: _AttemptId) -> None:
        self._blobs.delete_under(layout.pieces(attempt.tenant, attempt.job, attempt.fence))

    def _remember(self, attempt: _AttemptId) -> None:
        """Record that the store may have something of this attempt, for a sweeper to check."""
        with translated():
            due = self._now_ms() + self._lease_ms
            # A later check of what helpers may still store stays.
            self._redis.zadd(f"{self._prefix}boards", {" ".join(attempt): due}, gt=True)

    def _now_ms(self) -> int:
        seconds, micros = self._redis.time()
        return int(seconds * 1000 + micros // 1000)

    def _forget(self, attempt: _AttemptId) -> None:
        """Record that nothing of this board is left in the store."""
        with translated():
            self._redis.zrem(f"{self._prefix}boards", " ".join(attempt))


def _attempt(claim: Claim) -> _AttemptId:
    return _AttemptId(claim.request.id, claim.fence, claim.request.tenant)


def _ms(seconds: float) -> int:
    return int(seconds * 1000)
