"""Empty values in a job's process: filled as in the fit, and counted in the warnings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.tree.cut import cut
from models.tree.noise import noise_of
from tests.workers.child.job_kit import JobsInFolder, predicted, tree_of
from workers.artifacts import results

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
    # A heatmap of the rows of the fit leaves them out, too.
    shown, _ = jobs.run(
        "heatmap",
        {"tree": tree, "features": points},
        options={"tree": "tr_x", "of_fit": "features", "preprocess": PAIRWISE},
        params={"what": "features", "cut": None},
    )
    assert shown.error is None, shown.error
    assert any("2 of 18 values are empty" in note for note in shown.warnings)
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


BARE = [0, 4, 8]
KEPT = [1, 2, 3, 5, 6, 7]
FILLED = np.array([[0.0, 0.1], [0.2, NAN], [0.1, 0.4], [9.0, 9.0], [9.2, NAN], [9.1, 9.4]])
WITH_BARE = np.full((9, 2), NAN)
WITH_BARE[KEPT] = FILLED
NOISE_CASES: list[tuple[str, str, dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    ("hac", "median", {}, {"must_link": [[1, 3], [0, 5]]}, {"must_link": [[0, 2]]}),
    ("hac", "pairwise", {}, {}, {}),
    ("hdbscan", "pairwise", {"min_cluster_size": 3, "min_samples": 1}, {}, {}),
    ("perch", "mean", {"growable": True}, {}, {}),
    ("kmeans", "mean", {"n_clusters": 2}, {}, {}),
]


@pytest.mark.parametrize(("method", "fill", "params", "more", "fewer"), NOISE_CASES)
def test_a_row_of_nothing_is_noise_and_changes_no_other(
    tmp_path: Path,
    method: str,
    fill: str,
    params: dict[str, Any],
    more: dict[str, Any],
    fewer: dict[str, Any],
) -> None:
    """Leaves below the root, behind the nodes of the fit on the other rows."""
    jobs = JobsInFolder(tmp_path)
    steps = [{"step": "missing", "fill": fill}]
    extra: dict[str, Any] = {"method": method, "params": params, "preprocess": steps}
    fitted, folder = jobs.run("fit", {"features": WITH_BARE, **more}, **extra)
    assert fitted.error is None, fitted.error
    assert any(
        "3 row(s) of 'features' have no value at all and are noise" in note and "0, 4, 8" in note
        for note in fitted.warnings
    )
    lost = "1 pair(s) of 'must_link' with a row that has no value"
    assert any(lost in note for note in fitted.warnings) == bool(more)
    grows = any("cannot grow from this one" in note for note in fitted.warnings)
    assert grows == (method == "perch")
    assert not (folder / results.STATE).exists()
    alone, own = jobs.run("fit", {"features": FILLED, **fewer}, **extra)
    assert alone.error is None, alone.error
    whole, part = (
        results.load_tree(each / results.TREE, each / results.LEAF_OF_POINT)
        for each in (folder, own)
    )
    n = part.n_nodes
    np.testing.assert_array_equal(whole.leaf_of_point[KEPT], part.leaf_of_point)
    np.testing.assert_array_equal(whole.parent[:n], part.parent)
    np.testing.assert_array_equal(whole.height[:n], part.height)
    assert not whole.parent[n:].any()
    per_row = part.n_leaves == part.n_points
    assert whole.n_nodes - n == (len(BARE) if per_row else 1)
    names = whole.name[whole.leaf_of_point].tolist()
    assert not per_row or names == [str(row) for row in range(9)]
    flat = cut(whole)
    assert flat.cluster_of_point[BARE].tolist() == [-1, -1, -1]
    np.testing.assert_array_equal(flat.cluster_of_point[KEPT], cut(part).cluster_of_point)
    # New rows: one without a value between two others.
    new = np.array([[0.1, NAN], [NAN, NAN], [9.0, 9.1]])
    request: dict[str, Any] = {"method": method, "options": {"tree": "tr_x"}}
    outcome, placed = jobs.run("predict", {"tree": tree_of(folder), "features": new}, **request)
    assert outcome.error is None, outcome.error
    assert any("1 row(s) of 'features' have no value" in note for note in outcome.warnings)
    first, nowhere, last = predicted(placed)
    _, expected = jobs.run("predict", {"tree": tree_of(own), "features": new[[0, 2]]}, **request)
    for row, other in zip((first, last), predicted(expected), strict=True):
        assert (row["leaf"], row["path"]) == (other["leaf"], other["path"])
    assert noise_of(whole)[nowhere["leaf"]]
    assert nowhere["path"] == [0, nowhere["leaf"]]
    assert nowhere["cluster"] == -1
    if fill == "pairwise":
        return
    # What shows the rows of the fit fills them, also where the model is gone.
    shown = {"tree": "tr_x", "of_fit": "features", "preprocess": steps}
    kept = tree_of(folder)
    gone = kept.model_copy(
        update={"files": {key: path for key, path in kept.files.items() if key != results.MODEL}}
    )
    positions = []
    for tree in (kept, gone):
        given = {"tree": tree, "features": WITH_BARE}
        outcome, place = jobs.run("map", given, options=shown, params={"by": "pca"})
        assert outcome.error is None, outcome.error
        assert any("replaced by the" in note for note in outcome.warnings)
        positions.append(np.load(place / results.POSITIONS))
    np.testing.assert_array_equal(*positions)


def test_rows_of_nothing_are_refused_where_they_can_be_no_noise(tmp_path: Path) -> None:
    jobs = JobsInFolder(tmp_path)
    fill = [{"step": "missing", "fill": "mean"}]
    one = np.array([[NAN, NAN], [1.0, 2.0]])
    labels = ["a", "b", "a", "b", "a", "b", "a", "b", "a"]
    cases: list[tuple[dict[str, Any], dict[str, Any], str]] = [
        ({"features": WITH_BARE}, {"method": "hac"}, "NaN at row 0, column 0"),
        (
            {"features": np.full((3, 2), NAN)},
            {"method": "hac", "preprocess": fill},
            "no value at all in any of its 3 rows",
        ),
        ({"features": one}, {"method": "hac", "preprocess": fill}, "at least two rows"),
        (
            {"features": WITH_BARE, "labels": labels},
            {"method": "mlr", "preprocess": fill},
            "no value at all in row 0",
        ),
        (
            {"features": np.array([[NAN, NAN], [1.0, NAN], [2.0, 3.0], [NAN, 4.0]])},
            {"method": "hac", "preprocess": PAIRWISE},
            "Rows are counted here without the 1 that have no value at all: 0.",
        ),
    ]
    for inputs, request, message in cases:
        outcome, _ = jobs.run("fit", inputs, **request)
        assert outcome.error is not None, message
        assert message in outcome.error["detail"]
    assert outcome.error is not None
    # The row of the place is that of the file.
    assert "Rows 0 and 2" in outcome.error["detail"]
    assert outcome.error["where"]["row"] == 1
    # A tree that has no leaf of noise takes no such row either.
    _, folder = jobs.run("fit", {"features": FILLED}, method="hac", preprocess=fill)
    outcome, _ = jobs.run(
        "predict", {"tree": tree_of(folder), "features": one}, options={"tree": "tr_x"}
    )
    assert outcome.error is not None
    assert "no value at all in row 0" in outcome.error["detail"]
