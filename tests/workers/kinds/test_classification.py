"""Classifiers in a job's process: predictions with options, and evaluations of models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.workers.child.job_kit import JobsInFolder, code_of, predicted, tree_of
from workers.artifacts import results

POINTS = np.array([[0.0, 0.0], [0.1, 0.0], [5.0, 5.0], [5.1, 5.0], [9.0, 0.0], [9.1, 0.1]])
LABELS = ["cat", "cat", "dog", "dog", "rose", "rose"]
PREPARED = [{"step": "standardize"}]
TREE = {"tree": "tr_x"}
MODEL = {**TREE, "model": "md_x"}


@pytest.fixture
def jobs(tmp_path: Path) -> JobsInFolder:
    return JobsInFolder(tmp_path)


@pytest.fixture
def fitted(jobs: JobsInFolder) -> Path:
    inputs = {"features": POINTS, "labels": LABELS}
    outcome, folder = jobs.run("fit", inputs, method="mlr", preprocess=PREPARED)
    assert outcome.error is None, outcome.error
    return folder


def evaluated(jobs: JobsInFolder, fitted: Path, inputs: dict[str, Any], **options: Any) -> Any:
    given = {"tree": tree_of(fitted), **inputs}
    return jobs.run("evaluate", given, method="mlr", options={**MODEL, **options})


def test_predictions_take_their_options(jobs: JobsInFolder, fitted: Path) -> None:
    inputs = {"tree": tree_of(fitted), "features": POINTS}
    options = {**TREE, "top_k": 2, "threshold": 0.0, "confidence": 1.0}
    _, folder = jobs.run("predict", inputs, method="mlr", options=options)
    for row, label in zip(predicted(folder), LABELS, strict=True):
        assert row["path"] == [0]
        assert (row["node"], row["label"]) == (0, None)
        assert row["labels"][0] == row["top"][0]["label"] == label
        assert (len(row["labels"]), len(row["top"])) == (3, 2)


def test_an_evaluation_leaves_its_tables_in_a_file(jobs: JobsInFolder, fitted: Path) -> None:
    labels = [*LABELS[:5], "cat"]
    outcome, folder = evaluated(jobs, fitted, {"features": POINTS, "labels": labels}, bootstrap=20)
    assert outcome.error is None, outcome.error
    evaluation = outcome.result["evaluation"]
    assert evaluation["metrics"]["accuracy"] == pytest.approx(5 / 6)
    assert evaluation["n_rows"] == 6
    assert {item.name for item in folder.iterdir()} == {results.TABLES}
    tables = json.loads((folder / results.TABLES).read_text())
    lengths = {"level": 2, "class_size": 6, "class": 3, "confusions": 1}
    assert {name: len(rows) for name, rows in tables.items()} == lengths
    assert outcome.result["tables"] == lengths
    assert (outcome.result["tree"], outcome.result["model"]) == ("tr_x", "md_x")
    fractions = [advance.fraction for advance in jobs.progress]
    assert fractions == sorted(fractions)
    assert {"reading", "predicting", "resampling", "tables", "writing"} <= {
        advance.stage for advance in jobs.progress
    }


@pytest.mark.parametrize(
    ("inputs", "code"),
    [
        ({"labels": LABELS}, "wrong-input"),
        ({"features": POINTS, "labels": LABELS[:2]}, "wrong-shape"),
        ({"features": POINTS[:, :1], "labels": LABELS}, "wrong-shape"),
        ({"features": np.where(POINTS == 9.1, np.nan, POINTS), "labels": LABELS}, "not-finite"),
        ({"features": POINTS, "labels": [-1] * 6}, "wrong-input"),
    ],
)
def test_impossible_evaluations(
    jobs: JobsInFolder, fitted: Path, inputs: dict[str, Any], code: str
) -> None:
    outcome, folder = evaluated(jobs, fitted, inputs)
    assert code_of(outcome) == code
    assert not list(folder.iterdir())


def test_the_place_of_a_value_that_is_not_finite(jobs: JobsInFolder, fitted: Path) -> None:
    features = np.where(POINTS == 9.1, np.inf, POINTS)
    # Row 0 is not predicted, so blocks of rows begin at row 1.
    labels = np.array([-1, 0, 0, 0, 0, 0])
    outcome, _ = evaluated(jobs, fitted, {"features": features, "labels": labels})
    assert outcome.error is not None
    assert outcome.error["where"]["row"] == 5
