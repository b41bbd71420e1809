"""A checkpoint that records what a fit saves."""

from __future__ import annotations

from typing import Any

from models.arrays import Arrays
from models.method import Checkpoint


class RecordingCheckpoint(Checkpoint):
    """Loads `last`, and records all states that are saved."""

    def __init__(self, last: Arrays | None = None) -> None:
        self.last = last
        self.all: list[dict[str, Any]] = []

    def load(self) -> Arrays | None:
        return self.last

    def save(self, state: Arrays) -> None:
        self.all.append({name: array.copy() for name, array in state.items()})
