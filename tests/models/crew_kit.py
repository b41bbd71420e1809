"""Other workers, as a fit sees them: pieces come back in any order, some after a worker was lost.

`Scattered` sends each piece as text and its arrays as bytes, as the board does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from models.arrays import Arrays
from models.running.progress import Piece, Progress, silent, with_shared


class Killed(Exception):
    """A worker is gone in the middle of a piece."""


def killed(fraction: float, stage: str = "", message: str = "") -> None:
    raise Killed


class Scattered:
    """Workers that are killed in every third piece, which another one then computes from the start.

    n_lost : how many pieces were begun and lost.
    """

    def __init__(
        self, piece: Callable[[Piece, Progress], Arrays], n_pieces: int, seed: int = 0
    ) -> None:
        self.n_pieces, self.n_lost = n_pieces, 0
        self._piece, self._rng = piece, np.random.default_rng(seed)

    def compute(
        self, pieces: Sequence[Piece], shared: Arrays | None = None
    ) -> Iterator[tuple[int, Arrays]]:
        sent = json.loads(json.dumps(list(pieces)))
        for number in self._rng.permutation(len(sent)).tolist():
            if self._rng.random() < 1 / 3:
                self._lose(sent[number], shared)
            arrays = self._piece(with_shared(sent[number], _copied(shared)), silent)
            yield number, {name: np.array(array) for name, array in arrays.items()}

    def _lose(self, piece: Piece, shared: Arrays | None) -> None:
        self.n_lost += 1
        try:
            self._piece(with_shared(piece, _copied(shared)), killed)
        except Killed:
            return


def _copied(shared: Arrays | None) -> Arrays | None:
    return None if shared is None else {name: np.array(array) for name, array in shared.items()}
