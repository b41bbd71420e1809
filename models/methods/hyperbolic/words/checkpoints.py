"""One checkpoint for the two stages of a fit: first vectors, then nodes that move with them.

The second stage saves the vectors of the first along with its own state, so that the first is not
repeated.
"""

from __future__ import annotations

from models.arrays import Array, Arrays
from models.method import Checkpoint
from models.methods.hyperbolic.ball.checkpoint_arrays import prefixed, unprefixed

_PREFIX = "vectors."


class VectorCheckpoint(Checkpoint):
    """The checkpoint of the first stage, within the `whole` one."""

    def __init__(self, whole: Checkpoint) -> None:
        self._whole = whole
        self._vectors: dict[str, Array] = {}

    def load(self) -> Arrays | None:
        saved = self._whole.load()
        if saved is None:
            return None
        vectors = unprefixed(saved, _PREFIX)
        self._vectors = prefixed(vectors, _PREFIX)
        return vectors

    def save(self, state: Arrays) -> None:
        self._vectors = prefixed(state, _PREFIX)
        self._whole.save(self._vectors)

    def next_stage(self) -> Checkpoint:
        """The checkpoint of the second stage, which includes the current vectors."""
        return _NodeCheckpoint(self._whole, self._vectors)


class _NodeCheckpoint(Checkpoint):
    def __init__(self, whole: Checkpoint, vectors: Arrays) -> None:
        self._whole, self._vectors = whole, vectors

    def load(self) -> Arrays | None:
        saved = self._whole.load() or {}
        rest = {name: array for name, array in saved.items() if not name.startswith(_PREFIX)}
        return rest or None

    def save(self, state: Arrays) -> None:
        self._whole.save({**state, **self._vectors})
