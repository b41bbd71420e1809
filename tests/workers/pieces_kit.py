"""A fit in pieces, for tests of its board and of its attempt."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from models.arrays import Arrays
from models.running.progress import Piece, Progress, silent
from tests.workers.jobs_kit import end, request
from workers.artifacts.results import save_arrays
from workers.assembly import Assembly
from workers.model import MOST_PIECES, Claim, PieceClaim
from workers.settings import WorkerSettings
from workers.stores.objects import layout
from workers.supervisor.pieces import AttemptPieces
from workers.work.crew import Assignment

T = TypeVar("T")


ROWS = np.random.default_rng(0).normal(size=(60, 3))


def cut(n_cut: int) -> list[Piece]:
    """Ranges of the rows, of unequal lengths."""
    bounds = np.linspace(0, len(ROWS), n_cut + 1).astype(int).tolist()
    return [{"start": a, "stop": b} for a, b in pairwise(bounds)]


def squares(piece: Piece, progress: Progress = silent) -> Arrays:
    part = ROWS[piece["start"] : piece["stop"]]
    return {"squared": part**2, "sum": np.asarray(part.sum())}


def merged(parts: Iterator[tuple[int, Arrays]], n_cut: int) -> np.ndarray[Any, Any]:
    """The pieces put together in order, as a fit does; each must come once."""
    arrays = dict(parts)
    assert sorted(arrays) == list(range(n_cut))
    return np.concatenate([arrays[number]["squared"] for number in range(n_cut)])


class Link:
    """A `Coordinator` in the supervisor's thread, which calls `between` before each request."""

    def __init__(self, pieces: AttemptPieces, between: Callable[[], None] = lambda: None) -> None:
        self.pieces = pieces
        self.between = between
        self.assignments: list[Assignment] = []

    def post(self, pieces: Sequence[Piece], shared: Path | None) -> None:
        self.pieces.post(pieces, shared)

    def next(self, finished: int | None) -> Assignment:
        self.between()
        self.pieces.request(finished)
        until = time.monotonic() + 20.0
        while (assignment := self.pieces.assignment(at_once)) is None:
            assert time.monotonic() < until, "no piece is assigned"
            self.pieces.invite()
            time.sleep(0.01)
        self.assignments.append(assignment)
        return assignment


def at_once(work: Callable[[], T]) -> T:
    return work()


def begun(assembly: Assembly) -> Claim:
    """The claim of a running job."""
    job = request()
    assembly.ledger.submit(job)
    claim = assembly.ledger.claim(job.id, "w")
    assert claim is not None
    return claim


def attempt_pieces(assembly: Assembly, settings: WorkerSettings, claim: Claim) -> AttemptPieces:
    return AttemptPieces(assembly.ledger.pieces, claim, settings)


def computed(piece_claim: PieceClaim, folder: Path) -> Path:
    own = folder / piece_claim.token
    own.mkdir()
    return save_arrays(squares(piece_claim.piece), own)


def stored(assembly: Assembly) -> list[str]:
    return list(assembly.blobs.keys(layout.PIECES))


def boards(assembly: Assembly, settings: WorkerSettings) -> list[str]:
    """All keys of boards in Redis."""
    return sorted(assembly.redis.scan_iter(f"{settings.key_prefix}board*"))


def lapse_piece(assembly: Assembly, settings: WorkerSettings, piece_claim: PieceClaim) -> None:
    """Expire a helper's lease at once, as if it had long been silent."""
    key = f"{settings.key_prefix}board:{piece_claim.request.id}:{piece_claim.fence}:left"
    assembly.redis.zadd(key, {str(piece_claim.number): MOST_PIECES + 1}, xx=True)


def look_now(assembly: Assembly, settings: WorkerSettings) -> None:
    """Make every board due for the next sweep."""
    key = f"{settings.key_prefix}boards"
    for row in assembly.redis.zrange(key, 0, -1):
        assembly.redis.zadd(key, {row: 1})


ENDS: dict[str, Callable[[Assembly, Claim], object]] = {
    "cancelled": lambda parts, claim: parts.ledger.cancel("ada", claim.request.id),
    "given back": lambda parts, claim: parts.ledger.give_back(claim, spend=True),
    "failed": lambda parts, claim: parts.ledger.finish(claim, end(claim, "failed")),
    "deleted": lambda parts, claim: parts.ledger.delete("ada", claim.request.id),
    "fenced off": lambda parts, claim: parts.redis.hset(
        f"umbel:job:{claim.request.id}", "fence", "x"
    ),
    "silent": lambda parts, claim: parts.redis.hset(f"umbel:job:{claim.request.id}", "lease", "1"),
    "forgotten": lambda parts, claim: parts.redis.flushall(),
}
