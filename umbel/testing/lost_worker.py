"""A checkpoint in memory, for tests of fits whose worker is lost."""

from __future__ import annotations

import numpy as np

from models.arrays import Arrays
from models.method import Checkpoint


class WorkerLost(BaseException):
    """The worker of a fit is lost."""


class MemoryCheckpoint(Checkpoint):
    """Keeps every state that a fit saves, in `states`.

    state : the last one; at first, what an earlier fit saved.
    lost_after : the worker is lost once this many states are saved.
    """

    def __init__(self, state: Arrays | None = None, lost_after: int | None = None) -> None:
        self.state, self.lost_after = state, lost_after
        self.states: list[Arrays] = []

    def load(self) -> Arrays | None:
        return self.state

    def save(self, state: Arrays) -> None:
        self.state = {name: np.array(array) for name, array in state.items()}
        self.states.append(self.state)
        if len(self.states) == self.lost_after:
            raise WorkerLost
