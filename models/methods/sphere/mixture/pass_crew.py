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
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from models.arrays import Arrays, Float
from models.methods.sphere.mixture import pass_gpu
from models.methods.sphere.mixture.passes import Passes, RowPass, shares_of_rows
from models.methods.sphere.mixture.rows import UnitRows
from models.running.device import Device
from models.running.progress import SHARED, Crew, Piece, Progress
from models.running.threads import limited


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
        n_pieces = min(self._crew.n_pieces, len(shares))
        cuts = np.linspace(0, len(shares), n_pieces + 1).astype(int).tolist()
        pieces: list[Piece] = [
            {"first": cuts[at], "last": cuts[at + 1], "hard": work.hard} for at in range(n_pieces)
        ]
        sums: dict[int, tuple[Float, Float]] = {}
        for number, found in self._crew.compute(pieces, work.given):
            first, last = cuts[number], cuts[number + 1]
            evidence[shares[first][0].start : shares[last - 1][-1].stop] = found["evidence"]
            for at in range(first, last):
                sums[at] = found["size"][at - first], found["total"][at - first]
        # In the order of the shares, whichever worker was first; sums are added up in place.
        for at in range(len(shares)):
            size, total = sums.pop(at)
            yield np.array(size), np.array(total)


def piece(points: UnitRows, given: Piece, threads: int, progress: Progress) -> Arrays:
    """What the crew of `CrewPasses` computes.

    size : (S, K). total : (S, K, D), or (S, D, K), of each share. evidence : of their rows.
    """

    weights, offsets, narrow = (
        np.asarray(given[SHARED][name]) for name in ("weights", "offsets", "counted")
    )
    counted = np.broadcast_to(narrow.astype(np.float64), points.shape[0])
    work = RowPass(points, weights, offsets, counted, bool(given["hard"]))
    shares = shares_of_rows(points, len(weights))[int(given["first"]) : int(given["last"])]
    evidence = np.empty(points.shape[0])
    found: list[tuple[Float, Float]] = []
    n_threads = threads if points.near else 1
    with limited({"blas": 1}), ThreadPoolExecutor(n_threads) as pool:
        for sums in pool.map(lambda share: work.share(share, evidence), shares):
            found.append(sums)
            progress(len(found) / len(shares), "fitting")
    size, total = (np.stack(arrays) for arrays in zip(*found, strict=True))
    rows = slice(shares[0][0].start, shares[-1][-1].stop)
    return {"size": size, "total": total, "evidence": evidence[rows]}
