"""Predictions in pieces: a worker that helps reads the job's inputs itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.graphs import nearest_points
from models.metrics.classification import evaluation, outcomes
from models.running.progress import Piece
from tests.workers.child.job_kit import JobsInFolder, predicted, tree_of
from workers.artifacts.results import MODEL, PIECE, PREDICTIONS, TABLES, TRANSFORMED
from workers.work import row_shares
from workers.work.crew import Assignment
from workers.work.sources import Source


class Helped:
    """A coordinator whose helpers, each a process with the job's inputs, compute two of three
    pieces; the job's own process computes the others."""

    def __init__(self, folder: Path, inputs: Mapping[str, Any], **request: Any) -> None:
        """inputs, request : of `JobsInFolder.run`; `kind` is that of the job."""
        self._folder, self._inputs = folder, inputs
        self._request = {"kind": "predict", "options": {"tree": "tr_0"}, **request}
        self._made = count()
        self._pieces: list[Piece] = []
        self.own: list[int] = []

    def post(self, pieces: Sequence[Piece], shared: Path | None) -> None:
        self._shared = shared
        self._pieces, self._left = list(pieces), list(range(len(pieces)))[::-1]

    def next(self, finished: int | None) -> Assignment:
        number = self._left.pop()
        if number % 3 == 0:
            self.own.append(number)
            return Assignment(number=number)
        folder = self._folder / f"helper-{next(self._made)}"
        folder.mkdir(parents=True)
        outcome, result = JobsInFolder(folder).run(
            inputs=self._inputs,
            piece=dict(self._pieces[number]),
            shared=self._shared,
            **self._request,
        )
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
    helped = Helped(tmp_path, inputs, method="hac")
    shared, together = jobs.run(
        "predict", inputs, method="hac", options=options, coordinator=helped
    )
    assert shared.error is None, shared.error
    assert helped.own == [0, 3, 6]
    assert predicted(together) == predicted(alone)
    assert shared.warnings == whole.warnings


@pytest.fixture
def in_crumbs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shares of as many rows as a fit of 60 points calls for, 64; each is worth a piece."""
    monkeypatch.setattr(row_shares, "SHARE_ROWS", 16)
    monkeypatch.setattr(row_shares, "PIECE_S", 1e-9)
    monkeypatch.setattr(row_shares, "READINGS", 0.0)


CASES = {
    "kmeans": ("kmeans", {"n_clusters": 3}, {"k": 2}),
    "prepared": ("gmm", {"n_clusters": 3}, {}),
    "deeper": ("hkm", {"max_leaves": 4}, {"level": 1}),
    "classes": ("blr", {}, {"top_k": 2, "confidence": 0.6}),
    "values": ("vmf", {"n_clusters": 3}, {}),
}


@pytest.mark.parametrize("case", CASES)
def test_shares_of_rows_give_the_file_of_all_together(
    case: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    used, params, terms = CASES[case]
    rng, jobs = np.random.default_rng(1), JobsInFolder(tmp_path)
    points, rows = rng.normal(size=(60, 3)), rng.normal(size=(425, 3))
    given: dict[str, Any] = {"features": points}
    if case == "classes":
        given["labels"] = rng.integers(3, size=60).astype(str).tolist()
    steps = {"prepared": [{"step": "standardize"}], "values": [{"step": "l2"}]}.get(case, [])
    outcome, fit = jobs.run("fit", given, method=used, params=params, preprocess=steps)
    assert outcome.error is None, outcome.error
    inputs = {"tree": tree_of(fit), "features": rows}
    how = {"method": used, "options": {"tree": "tr_0", **terms}}
    whole, together = jobs.run("predict", inputs, **how)
    assert whole.error is None, whole.error
    request.getfixturevalue("in_crumbs")
    alone, of_one = jobs.run("predict", inputs, **how)
    helped = Helped(tmp_path, inputs, **how)
    shared, of_all = jobs.run("predict", inputs, coordinator=helped, **how)
    assert helped.own == [0, 3, 6]
    assert (of_all / PREDICTIONS).read_bytes() == (of_one / PREDICTIONS).read_bytes()
    # The place of rows from which distances are measured follows from the rows given, in the last
    # digits.
    for row, before in zip(predicted(of_all), predicted(together), strict=True):
        assert row.pop("probabilities") == pytest.approx(before.pop("probabilities"), rel=1e-12)
        for name in row.keys() & {"log_likelihood"}:
            assert row.pop(name) == pytest.approx(before.pop(name), rel=1e-12)
        assert row == before
    assert shared.warnings == alone.warnings == whole.warnings
    assert shared.result == alone.result == whole.result


def test_classifiers_are_evaluated_by_several_workers_as_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_crumbs: None
) -> None:
    rng, jobs = np.random.default_rng(1), JobsInFolder(tmp_path)
    points, rows = rng.normal(size=(60, 3)), rng.normal(size=(425, 3))
    labels = rng.integers(3, size=(2, 425)).astype(str)
    fits = []
    for own in labels[:, :60]:
        outcome, fit = jobs.run("fit", {"features": points, "labels": own.tolist()}, method="blr")
        assert outcome.error is None, outcome.error
        fits.append(fit)
    rival = tree_of(fits[1]).model_copy(update={"role": "rival"})
    inputs = {
        "tree": tree_of(fits[0]),
        "rival": rival,
        "features": rows,
        "labels": labels[0].tolist(),
    }
    options = {"tree": "tr_0", "model": "md_0", "against": "md_1", "top_k": 2, "bootstrap": 30}
    how: dict[str, Any] = {"method": "blr", "options": options}
    # Spans of 60 rows; resamples three at a time, two or three of these in a piece.
    monkeypatch.setattr(outcomes, "VALUES", 3 * 60)
    monkeypatch.setattr(evaluation, "VALUES", 3 * 425)
    monkeypatch.setattr(evaluation, "PIECE_DRAWS", 3_000)
    alone, of_one = jobs.run("evaluate", inputs, **how)
    assert alone.error is None, alone.error
    fractions = [each.fraction for each in jobs.progress]
    assert fractions == sorted(fractions)
    helped = Helped(tmp_path, inputs, kind="evaluate", **how)
    shared, of_all = jobs.run("evaluate", inputs, coordinator=helped, **how)
    assert shared.error is None, shared.error
    assert helped.own == [0, 3, 6, 0, 3, 0, 3, 6, 0, 3]
    assert shared == alone
    assert (of_all / TABLES).read_bytes() == (of_one / TABLES).read_bytes()


class OtherVersion(Helped):
    """Helpers that would cut the rows elsewhere."""

    def next(self, finished: int | None) -> Assignment:
        with pytest.MonkeyPatch.context() as own:
            own.setattr(row_shares, "SHARE_ROWS", 128)
            return super().next(finished)


def test_shares_go_to_helpers_as_rows_and_progress_grows(tmp_path: Path, in_crumbs: None) -> None:
    rng, jobs = np.random.default_rng(1), JobsInFolder(tmp_path)
    points, rows = rng.normal(size=(60, 3)), rng.normal(size=(425, 3))
    outcome, fit = jobs.run("fit", {"features": points}, method="kmeans", params={"n_clusters": 3})
    assert outcome.error is None, outcome.error
    inputs = {"tree": tree_of(fit), "features": rows}
    helped = OtherVersion(tmp_path, inputs, method="kmeans")
    _, of_all = jobs.run(
        "predict", inputs, method="kmeans", options={"tree": "tr_0"}, coordinator=helped
    )
    assert helped.own == [0, 3, 6]
    _, of_one = jobs.run("predict", inputs, method="kmeans", options={"tree": "tr_0"})
    assert (of_all / PREDICTIONS).read_bytes() == (of_one / PREDICTIONS).read_bytes()
    fractions = [each.fraction for each in jobs.progress]
    assert fractions == sorted(fractions)
    assert len({fraction for fraction in fractions if 0.2 < fraction < 0.85}) >= 4


def test_a_far_row_is_warned_of_by_its_number_and_leaves_the_rows_in_shares(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    rng, jobs = np.random.default_rng(1), JobsInFolder(tmp_path)
    rows = rng.normal(size=(425, 3))
    outcome, fit = jobs.run(
        "fit", {"features": rows[:60]}, method="kmeans", params={"n_clusters": 3}
    )
    assert outcome.error is None, outcome.error
    rows[[300, 424]] = 1e30
    inputs: dict[str, Any] = {"tree": tree_of(fit), "features": rows}
    labels = rng.integers(3, size=425).tolist()
    given = {"predict": inputs, "evaluate": {**inputs, "labels": labels}}
    works: dict[str, dict[str, Any]] = {
        "predict": {"tree": "tr_0"},
        "evaluate": {"tree": "tr_0", "inputs": ["features"]},
    }
    whole = {kind: jobs.run(kind, given[kind], options=works[kind]) for kind in works}
    request.getfixturevalue("in_crumbs")
    for kind in works:
        helped = Helped(tmp_path / kind, given[kind], kind=kind, options=works[kind])
        shared, of_all = jobs.run(kind, given[kind], options=works[kind], coordinator=helped)
        assert helped.own == [0, 3, 6], "not placed together again"
        outcome, together = whole[kind]
        assert any("Row 300 lies" in sentence for sentence in shared.warnings)
        assert shared == outcome
        if kind == "predict":
            assert predicted(of_all) == predicted(together)


class Nobody:
    """A coordinator that must not get any piece."""

    def post(self, pieces: Sequence[Piece], shared: Path | None) -> None:
        raise AssertionError("pieces are handed out")

    def next(self, finished: int | None) -> Assignment:
        raise AssertionError("pieces are handed out")

    def keep(self, checkpoint: int) -> None:
        raise AssertionError("nothing is saved")


def test_a_refused_row_keeps_its_number(tmp_path: Path, in_crumbs: None) -> None:
    rng, jobs = np.random.default_rng(1), JobsInFolder(tmp_path)
    rows = rng.normal(size=(425, 3))
    rows[300, 1] = np.nan
    outcome, fit = jobs.run(
        "fit", {"features": rows[:60]}, method="kmeans", params={"n_clusters": 3}
    )
    assert outcome.error is None, outcome.error
    tree: dict[str, Any] = {"tree": tree_of(fit)}
    drifted = {"reference.features": rows[:200], "batch.features": rows}
    works: dict[str, dict[str, Any]] = {
        "predict": {**tree, "features": rows},
        "evaluate": {**tree, "features": rows, "labels": [0] * 425},
        "drift": {**tree, **drifted},
    }
    for kind, inputs in works.items():
        terms = {"inputs": ["features"]} if kind == "evaluate" else {}
        refused, _ = jobs.run(
            kind,
            inputs,
            method="kmeans",
            options={"tree": "tr_0", **terms},
            coordinator=Nobody(),
        )
        assert refused.error is not None
        assert (refused.error["where"]["row"], refused.error["where"]["column"]) == (300, 1)
        assert "at row 300, column 1" in refused.error["detail"]
    rows[300, 1] = 1e30
    inputs = {"tree": tree_of(fit), "features": rows}
    placed, _ = jobs.run("predict", inputs, method="kmeans", options={"tree": "tr_0"})
    assert placed.error is None, placed.error
    assert any("Row 300 lies" in sentence for sentence in placed.warnings)


def test_drifts_and_evaluations_of_shares_are_those_of_all_rows(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    rng, jobs = np.random.default_rng(1), JobsInFolder(tmp_path)
    points, rows = rng.normal(size=(60, 3)), rng.normal(size=(425, 3))
    outcome, fit = jobs.run("fit", {"features": points}, method="kmeans", params={"n_clusters": 3})
    assert outcome.error is None, outcome.error
    tree, labels = tree_of(fit), rng.integers(3, size=425).tolist()
    before = {
        "tree": tree,
        "features": rows,
        "labels": labels,
    }
    works: list[tuple[str, dict[str, Any], dict[str, Any], list[int]]] = [
        (
            "drift",
            {"tree": tree, "reference.features": rows, "batch.features": rows[:300] + 0.5},
            {"tree": "tr_0"},
            [0, 3, 6, 0, 3],
        ),
        ("evaluate", before, {"tree": "tr_0", "inputs": ["features"]}, [0, 3, 6]),
    ]
    alone = [jobs.run(kind, inputs, options=options)[0] for kind, inputs, options, _ in works]
    request.getfixturevalue("in_crumbs")
    for (kind, inputs, options, own), whole in zip(works, alone, strict=True):
        assert whole.error is None, whole.error
        helped = Helped(tmp_path / kind, inputs, kind=kind, options=options)
        shared, _ = jobs.run(kind, inputs, options=options, coordinator=helped)
        assert helped.own == own
        assert shared == whole


def test_rows_transformed_in_shares_are_those_of_one_process(
    tmp_path: Path, in_crumbs: None
) -> None:
    rng, jobs = np.random.default_rng(1), JobsInFolder(tmp_path)
    points, rows = rng.normal(size=(60, 3)), rng.normal(size=(100, 3))
    labels = [*rng.integers(2, size=40).astype(str).tolist(), *[None] * 20]
    outcome, fit = jobs.run(
        "fit",
        {"features": points, "labels": labels},
        method="fda",
        params={"n_clusters": 2, "n_init": 2},
        preprocess=[{"step": "standardize"}],
    )
    assert outcome.error is None, outcome.error
    rows[[40, 90]] = 1e30
    model = Source(role="model", kind="model", path=fit / MODEL)
    # By number: the name of an input is its role, which 'model' is none of.
    inputs = {"0": jobs.source("features", rows), "1": model}
    how: dict[str, Any] = {"method": "fda", "options": {"model": "md_x"}}
    alone, of_one = jobs.run("transform", inputs, **how)
    assert alone.error is None, alone.error
    helped = Helped(tmp_path, inputs, kind="transform", **how)
    shared, of_all = jobs.run("transform", inputs, coordinator=helped, **how)
    assert helped.own == [0, 3, 6]
    assert any("Row 40 lies" in sentence for sentence in shared.warnings)
    assert shared.warnings == alone.warnings
    assert (of_all / TRANSFORMED).read_bytes() == (of_one / TRANSFORMED).read_bytes()
    rows[90, 1] = np.nan
    inputs["0"] = jobs.source("features", rows)
    refused, _ = jobs.run("transform", inputs, coordinator=Nobody(), **how)
    assert refused.error is not None
    assert (refused.error["where"]["row"], refused.error["where"]["column"]) == (90, 1)
