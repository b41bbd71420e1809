"""Predictions in pieces: a worker that helps reads the job's inputs itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from models.graphs import nearest_points
from models.running.progress import Piece
from tests.workers.child.job_kit import JobsInFolder, predicted, tree_of
from workers.artifacts.results import PIECE
from workers.work.crew import Assignment
from workers.work.sources import Source


class Helped:
    """A coordinator whose helpers, each a process with the job's inputs, compute two of three
    pieces; the job's own process computes the others."""

    def __init__(self, folder: Path, tree: Source, rows: np.ndarray) -> None:
        self._folder, self._inputs = folder, {"tree": tree, "features": rows}
        self._pieces: list[Piece] = []
        self.own: list[int] = []

    def post(self, pieces: Sequence[Piece], shared: Path | None) -> None:
        assert shared is None
        self._pieces, self._left = list(pieces), list(range(len(pieces)))[::-1]

    def next(self, finished: int | None) -> Assignment:
        number = self._left.pop()
        if number % 3 == 0:
            self.own.append(number)
            return Assignment(number=number)
        folder = self._folder / f"helper-{number}"
        folder.mkdir()
        outcome, result = JobsInFolder(folder).run(
            "predict", self._inputs, method="hac", piece=dict(self._pieces[number]),
            options={"tree": "tr_0"},
        )  # fmt: skip
        assert outcome.error is None, outcome.error
        return Assignment(number=number, path=result / PIECE)

    def keep(self, checkpoint: int) -> None:
        raise AssertionError("nothing is saved")


@pytest.mark.parametrize("preprocess", [[], [{"step": "standardize"}]])
def test_rows_placed_by_several_workers_lie_where_one_places_them(
    tmp_path: Path, preprocess: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, jobs = np.random.default_rng(0), JobsInFolder(tmp_path)
    points, rows = rng.normal(size=(40, 3)), rng.normal(size=(50, 3))
    outcome, fit = jobs.run("fit", {"features": points}, method="hac", preprocess=preprocess)
    assert outcome.error is None, outcome.error
    inputs, options = {"tree": tree_of(fit), "features": rows}, {"tree": "tr_0"}
    whole, alone = jobs.run("predict", inputs, method="hac", options=options)
    assert whole.error is None, whole.error
    monkeypatch.setattr(nearest_points, "PIECE_VALUES", 40 * 3 * 7)
    helped = Helped(tmp_path, tree_of(fit), rows)
    shared, together = jobs.run(
        "predict", inputs, method="hac", options=options, coordinator=helped
    )
    assert shared.error is None, shared.error
    assert helped.own == [0, 3, 6]
    assert predicted(together) == predicted(alone)
    assert shared.warnings == whole.warnings
