"""One job, inside its own process: read the input files, do the work, write the result files.

Knows neither Redis nor the object store nor HTTP: it is given local paths and a folder.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from workers.errors import Problem
from workers.jobs import Advance, Request


class Source(BaseModel):
    """Where one input lies: a file in one of `workers.formats`, inline JSON, or a stored tree.

    kind : "dataset" (path, format, member), "inline" (path to JSON) or "tree" (path is a folder
        holding the result files of the job that made it).
    """

    model_config = ConfigDict(frozen=True)

    role: str
    kind: str
    path: Path
    format: str | None = None
    member: str | None = None
    facts: dict[str, Any] = {}


class Spec(BaseModel):
    """All that the child needs; travels as JSON."""

    model_config = ConfigDict(frozen=True)

    request: Request
    sources: tuple[Source, ...]
    folder: Path
    """Empty folder for the result files; everything in it is published."""
    threads: int = 1


class Outcome(BaseModel):
    """What came of it: `error` None is a success. Fields as in `workers.jobs.End`."""

    model_config = ConfigDict(frozen=True)

    result: dict[str, Any] | None = None
    tree: dict[str, Any] | None = None
    warnings: tuple[str, ...] = ()
    error: Problem | None = None


Report = Callable[[Advance], None]


def run(spec: Spec, report: Report) -> Outcome:
    """Do the job. Never raises for the user's errors: they come back as `Outcome.error`."""
    raise NotImplementedError
