"""What reading an input decided, forgave or found odd, for the warnings of the job that reads it.

What reads calls `note`; what runs a job collects the notes by `noting`. Outside of it, as where an
upload is inspected, notes go nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_collected: ContextVar[dict[str, None] | None] = ContextVar("notes", default=None)


def note(sentence: str) -> None:
    """Add a warning to the job whose inputs are being read."""
    notes = _collected.get()
    if notes is not None:
        notes[sentence] = None


@contextmanager
def noting() -> Iterator[dict[str, None]]:
    """Collect the notes made inside, each once, in order; they are the keys."""
    notes: dict[str, None] = {}
    token = _collected.set(notes)
    try:
        yield notes
    finally:
        _collected.reset(token)
