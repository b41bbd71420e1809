"""A pass over the rows by the pieces of a crew; it gives the bits that `mixture.passes` gives.

A piece is some of the shares of the rows, whose number and blocks depend on the shape alone, and
answers with the sums of each share. They are added in the order of the shares, so the number of
pieces and of workers changes no digit. Cost: that of a pass, divided among the workers; on the
wire, for each pass, 8 K (D + 1) bytes to each worker, N more where rows are held out, from them all
8 N bytes of evidence, and 8 K (D + 1) for each share. Memory of a worker: a block for each thread,
the sums of a piece, and 16 N bytes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from models.arrays import Arrays, Float
from models.clusters import row_sums
from models.methods.sphere.mixture import pass_gpu
from models.methods.sphere.mixture.passes import Passes, RowPass, shares_of_rows
from models.methods.sphere.mixture.rows import UnitRows
from models.running.device import Device
from models.running.progress import Crew, Piece, Progress


def passes(points: UnitRows, threads: int, device: Device, crew: Crew) -> Passes:
    """Passes over these rows: on a GPU, by a crew that wants more than one piece, or here."""
    if device != "cpu":
        return pass_gpu.passes(points, threads, device)
    return Passes(points, threads) if crew.n_pieces < 2 else CrewPasses(points, threads, crew)


class CrewPasses(Passes):
    """Passes over the same rows; each is cut into pieces, which the crew answers with `piece`."""

    def __init__(self, points: UnitRows, threads: int, crew: Crew) -> None:
        super().__init__(points, threads)
        self._crew = crew

    @property
    def at_once(self) -> int:
        """1: a single pass keeps the crew busy."""
        return 1

    def _parts(
        self, work: RowPass, shares: list[list[slice]], evidence: Float
    ) -> Iterator[tuple[Float, Float]]:
        found = row_sums.sums_of_shares(self._crew, len(shares), work.given, {"hard": work.hard})
        for share, part in zip(shares, found, strict=True):
            evidence[share[0].start : share[-1].stop] = part["evidence"]
            # Sums are added up in place.
            yield np.array(part["size"]), np.array(part["total"])


def piece(points: UnitRows, given: Piece, threads: int, progress: Progress) -> Arrays:
    """What the crew of `CrewPasses` computes.

    size : (K,). total : (K, D), or (D, K), of each share. evidence : of its rows.
    """
    shared = row_sums.shared_of(given)
    counted = np.broadcast_to(shared["counted"].astype(np.float64), points.shape[0])
    work = RowPass(points, shared["weights"], shared["offsets"], counted, bool(given["hard"]))
    cut = shares_of_rows(points, len(shared["weights"]))
    evidence = np.empty(points.shape[0])

    def of_share(share: list[slice]) -> Arrays:
        size, total = work.share(share, evidence)
        rows = slice(share[0].start, share[-1].stop)
        return {"size": size, "total": total, "evidence": evidence[rows]}

    return row_sums.piece(given, cut, of_share, progress, threads if points.near else 1)
