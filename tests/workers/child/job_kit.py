"""Jobs on files in a folder, run as in their process but without one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from workers.artifacts import results
from workers.child.run import run
from workers.model import Advance, Request, now
from workers.work.crew import Coordinator
from workers.work.job import Outcome, Spec
from workers.work.sources import Source


class JobsInFolder:
    """Files in a folder, and jobs on them; `progress` has the reports of the last job."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._jobs = 0
        self.progress: list[Advance] = []

    def source(self, role: str, value: Any) -> Source:
        where = self._folder / f"{role}-{self._jobs}"
        if isinstance(value, Source):
            return value
        if isinstance(value, np.ndarray):
            with where.open("wb") as file:
                np.save(file, value)
            return Source(role=role, kind="dataset", path=where, format="npy")
        where.write_bytes(value if isinstance(value, bytes) else json.dumps(value).encode())
        return Source(role=role, kind="inline", path=where)

    def run(
        self,
        kind: Any,
        inputs: Mapping[str, Any],
        method: str = "l2h",
        n_pieces: int = 1,
        piece: dict[str, Any] | None = None,
        coordinator: Coordinator | None = None,
        shared: Path | None = None,
        **request: Any,
    ) -> tuple[Outcome, Path]:
        """The outcome, and the folder of the result files."""
        self._jobs += 1
        folder = self._folder / f"result-{self._jobs}"
        folder.mkdir()
        spec = Spec(
            request=Request(
                id=f"job_{self._jobs:026d}",
                tenant="t",
                kind=kind,
                method=method,
                created_at=now(),
                **request,
            ),
            sources=tuple(self.source(role, value) for role, value in inputs.items()),
            folder=folder,
            n_pieces=n_pieces,
            piece=piece,
            shared=shared,
        )
        self.progress = []
        outcome = run(
            Spec.model_validate_json(spec.model_dump_json()), self.progress.append, coordinator
        )
        return Outcome.model_validate_json(outcome.model_dump_json()), folder


def tree_of(folder: Path) -> Source:
    files = {item.name: item for item in folder.iterdir()}
    return Source(role="tree", kind="tree", path=files[results.TREE], files=files)


def predicted(folder: Path) -> list[dict[str, Any]]:
    with pa.memory_map(str(folder / results.PREDICTIONS)) as source:
        return list(pa.ipc.open_file(source).read_all().to_pylist())


def code_of(outcome: Outcome) -> str:
    assert outcome.error is not None
    assert outcome.result is None
    assert outcome.tree is None
    assert outcome.error["status"] == 422
    return str(outcome.error["type"].removeprefix("/problems/"))
