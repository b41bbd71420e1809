"""Empty values in a job's process: filled as in the fit, and counted in the warnings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.workers.child.job_kit import JobsInFolder, predicted, tree_of

NAN = float("nan")
POINTS = np.array([[0.0, 0.0], [0.2, NAN], [NAN, 0.4], [9.0, 9.0], [9.2, 9.0], [9.1, 9.4]])
NEW = np.array([[0.1, NAN], [9.0, 9.1]])
PREPARED = [{"step": "missing", "fill": "median"}]


@pytest.mark.parametrize("method", ["hac", "hdbscan", "kmeans", "spectral"])
def test_a_fit_and_predictions_are_those_of_filled_rows(tmp_path: Path, method: str) -> None:
    jobs = JobsInFolder(tmp_path)
    columns = [sorted(x for x in column.tolist() if x == x) for column in POINTS.T]
    medians = np.array([column[2] for column in columns])
    params = {"n_clusters": 2} if method in ("kmeans", "spectral") else {}

    def run(points: Any, new: Any, **extra: Any) -> tuple[Any, Any, Any]:
        fitted, folder = jobs.run(
            "fit", {"features": points}, method=method, params=params, **extra
        )
        assert fitted.error is None, fitted.error
        given = {"tree": tree_of(folder), "features": new}
        outcome, placed = jobs.run("predict", given, method=method, options={"tree": "tr_x"})
        assert outcome.error is None, outcome.error
        return fitted, outcome, predicted(placed)

    fitted, outcome, rows = run(POINTS, NEW, preprocess=PREPARED)
    by_hand = [np.where(np.isnan(each), medians, each) for each in (POINTS, NEW)]
    _, _, expected = run(*by_hand)
    assert rows == expected
    (counted,) = [note for note in fitted.warnings if note.startswith("missing:")]
    assert "2 empty" in counted
    assert "1 in column 0, 1 in column 1" in counted
    (counted,) = [note for note in outcome.warnings if note.startswith("missing:")]
    assert "1 empty" in counted
    assert "1 in column 1" in counted


PAIRWISE = [{"step": "missing", "fill": "pairwise"}]


@pytest.mark.parametrize("method", ["hac", "hdbscan"])
def test_empty_values_are_left_out_of_distances(tmp_path: Path, method: str) -> None:
    jobs = JobsInFolder(tmp_path)
    extra: dict[str, Any] = {"method": method, "preprocess": PAIRWISE}
    apart, _ = jobs.run("fit", {"features": POINTS}, **extra)
    assert apart.error is not None
    assert "Rows 1 and 2 of input 'features'" in apart.error["detail"]
    points, new = (np.column_stack([each, np.arange(len(each))]) for each in (POINTS, NEW))
    fitted, folder = jobs.run("fit", {"features": points}, **extra)
    assert fitted.error is None, fitted.error
    assert any("2 empty value(s) of 'features' were left out" in note for note in fitted.warnings)
    tree = tree_of(folder)
    given = {"tree": tree, "features": new}
    outcome, placed = jobs.run("predict", given, method=method, options={"tree": "tr_x"})
    assert outcome.error is None, outcome.error
    assert any("1 empty value(s) of 'features' were left out" in note for note in outcome.warnings)
    assert len(predicted(placed)) == 2
    # What else shows the rows of the fit takes no empty values.
    shown, _ = jobs.run(
        "heatmap",
        {"tree": tree, "features": points},
        options={"tree": "tr_x", "of_fit": "features", "preprocess": PAIRWISE},
        params={"what": "features", "cut": None},
    )
    assert shown.error is not None
    assert "row 1, column 1" in shown.error["detail"]
    for more, message in (
        ({"method": "kmeans", "params": {"n_clusters": 2}}, "'pairwise' is for 'hac', 'hdbscan'"),
        ({"preprocess": [*PAIRWISE, {"step": "standardize"}]}, "is the only step"),
    ):
        refused, _ = jobs.run("fit", {"features": points}, **{**extra, **more})
        assert refused.error is not None
        assert message in refused.error["detail"]


def test_without_the_step_an_empty_value_is_refused(tmp_path: Path) -> None:
    outcome, _ = JobsInFolder(tmp_path).run("fit", {"features": POINTS}, method="hac")
    assert outcome.error is not None
    assert "NaN at row 1, column 1" in outcome.error["detail"]


def test_an_evaluation_of_a_classifier_counts_them(tmp_path: Path) -> None:
    jobs = JobsInFolder(tmp_path)
    inputs = {"features": POINTS, "labels": ["a", "a", "a", "b", "b", "b"]}
    fitted, folder = jobs.run("fit", inputs, method="mlr", preprocess=PREPARED)
    assert fitted.error is None, fitted.error
    given = {"tree": tree_of(folder), **inputs}
    options = {"tree": "tr_x", "model": "md_x"}
    outcome, _ = jobs.run("evaluate", given, method="mlr", options=options)
    assert outcome.error is None, outcome.error
    assert any("2 empty" in note for note in outcome.warnings)
