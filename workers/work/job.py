"""One job inside its process: what it needs, what it reports, how it ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from models.running.progress import Progress
from models.tree.tree import Tree
from workers.artifacts import results
from workers.errors import Problem
from workers.model import Advance, Request, sibling
from workers.work.crew import Coordinator
from workers.work.sources import Source

RUNS, OUTCOME = "runs", "outcome.json"
"""The folder of fits that a job leaves as further jobs, and the file with the outcome of one."""

Report = Callable[[Advance], None]


class Spec(BaseModel):
    """Everything that the child needs; sent as JSON.

    folder : empty folder for the result files; everything in it is published.
    n_pieces : the number of pieces of a fit, if its method can be cut.
    checkpoint : the file that an earlier attempt at the fit saved, to resume from.
    checkpoint_s : how often checkpoints are saved; None: never.
    piece : only this piece of the request's fit is computed, and its arrays are the result.
    shared : the file with the arrays that it shares with other pieces.
    """

    model_config = ConfigDict(frozen=True)

    request: Request
    sources: tuple[Source, ...]
    folder: Path
    threads: int = 1
    n_pieces: int = 1
    checkpoint: Path | None = None
    checkpoint_s: float | None = None
    piece: dict[str, Any] | None = None
    shared: Path | None = None


class Outcome(BaseModel):
    """How the job ended: `error` None is a success. Fields as in `workers.model.End`."""

    model_config = ConfigDict(frozen=True)

    result: dict[str, Any] | None = None
    tree: dict[str, Any] | None = None
    warnings: tuple[str, ...] = ()
    error: Problem | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """A job at work. coordinator : hands out its pieces; None: all are computed here."""

    spec: Spec
    report: Report
    coordinator: Coordinator | None = None

    @property
    def request(self) -> Request:
        return self.spec.request

    @property
    def sources(self) -> tuple[Source, ...]:
        return self.spec.sources

    @property
    def folder(self) -> Path:
        """Where result files are written."""
        return self.spec.folder

    def at(self, fraction: float, stage: str) -> None:
        """Report a stage."""
        self.report(Advance(fraction=fraction, stage=stage))

    def reading(self) -> None:
        self.at(0.0, "reading")

    @property
    def progress(self) -> Progress:
        """The progress of a method as that of the job; the last hundredth is writing."""

        def progress(fraction: float, stage: str, message: str = "") -> None:
            whole = 0.99 * min(max(0.0, fraction), 1.0)
            self.report(Advance(fraction=whole, stage=stage, message=message))

        return progress


def with_tree(
    spec: Spec, tree: Tree, method_id: str, result: dict[str, Any], warnings: list[str]
) -> Outcome:
    """The outcome of a job that made a tree; writes the tree."""
    results.save_tree(tree, spec.folder)
    facts = {
        "method": method_id,
        "kind": tree.kind,
        "n_points": tree.n_points,
        "n_nodes": tree.n_nodes,
        "n_leaves": tree.n_leaves,
        "max_depth": tree.max_depth,
        "monotone": tree.monotone,
        "name": spec.request.name,
        "warnings": warnings,
    }
    return Outcome(
        result={"tree": sibling(spec.request.id, "tr"), **result},
        tree=facts,
        warnings=tuple(warnings),
    )
