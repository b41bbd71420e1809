"""An empty cell of a table in a job's process: refused by its place and the name of its column by
all that use features."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.workers.child.job_kit import JobsInFolder, code_of, tree_of
from workers.artifacts import results
from workers.formats import catalogue
from workers.work.job import Outcome
from workers.work.sources import Source

rng = np.random.default_rng(0)
POINTS = np.round(rng.normal(size=(24, 3)) + 9.0 * np.eye(3)[np.arange(24) % 3], 3)
LABELS = [("a", "b", "c")[n % 3] for n in range(24)]
ROW, NAME = 5, "height"
NAMES = ["width", NAME, "depth"]
FILLED = [{"step": "missing", "fill": "mean"}]


def csv(
    folder: Path, role: str = "features", empty: bool = True, order: tuple[int, ...] = (0, 1, 2)
) -> Source:
    path = folder / f"{role}-{empty}-{order}.csv"
    lines = [[str(value) for value in row] for row in POINTS.tolist()]
    if empty:
        lines[ROW][1] = "NA"
    rows = [[row[at] for at in order] for row in (NAMES, *lines)]
    path.write_text("\n".join(map(",".join, rows)))
    facts = catalogue.inspect("csv", path)
    return Source(role=role, kind="dataset", path=path, format="csv", columns=facts.columns)


def require_named(outcome: Outcome, name: str | None = NAME, column: int = 1) -> None:
    assert code_of(outcome) == "missing-value"
    assert outcome.error is not None
    place = f"row {ROW}, column {column if name is None else repr(name)} "
    assert f"has a missing value at {place}" in outcome.error["detail"]
    assert 'put {"step": "missing"} first in preprocess' in outcome.error["detail"]
    where = outcome.error["where"]
    assert (where["role"], where["row"], where["column"]) == ("features", ROW, column)


@pytest.fixture
def jobs(tmp_path: Path) -> JobsInFolder:
    return JobsInFolder(tmp_path)


def fitted(jobs: JobsInFolder, table: Source, method: str = "mlr", **more: Any) -> Source:
    inputs: dict[str, Any] = {"features": table}
    if method == "mlr":
        inputs["labels"] = LABELS
    outcome, folder = jobs.run("fit", inputs, method=method, **more)
    assert outcome.error is None, outcome.error
    return tree_of(folder)


@pytest.mark.parametrize("preprocess", [[], [{"step": "standardize"}]])
@pytest.mark.parametrize("method", ["hac", "kmeans", "gmm", "hdbscan", "mlr"])
def test_a_fit(jobs: JobsInFolder, tmp_path: Path, method: str, preprocess: Any) -> None:
    inputs = {"features": csv(tmp_path), **({"labels": LABELS} if method == "mlr" else {})}
    require_named(jobs.run("fit", inputs, method=method, preprocess=preprocess)[0])
    outcome, _ = jobs.run("fit", inputs, method=method, preprocess=FILLED)
    assert outcome.error is None, outcome.error
    assert any("1 empty" in note for note in outcome.warnings)


def test_inline_lists(jobs: JobsInFolder) -> None:
    rows: list[list[float | None]] = POINTS.tolist()
    rows[ROW][1] = None
    require_named(jobs.run("fit", {"features": rows}, method="hac")[0], None)
    outcome, _ = jobs.run("fit", {"features": rows}, method="hac", preprocess=FILLED)
    assert outcome.error is None, outcome.error


def test_an_array_has_no_cells(jobs: JobsInFolder) -> None:
    points = POINTS.copy()
    points[ROW, 1] = np.nan
    outcome, _ = jobs.run("fit", {"features": points}, method="hac")
    assert code_of(outcome) == "not-finite"
    assert outcome.error is not None
    assert 'put {"step": "missing"} first in preprocess' in outcome.error["detail"]


USES: dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {
    "predict": ({}, {}),
    "evaluate": ({}, {"metrics": ["silhouette"]}),
    "map": ({}, {}),
    "name": ({}, {"by": "features"}),
    "calibrate": ({"labels": LABELS}, {}),
}
PARAMS = {"map": {"by": "pca"}}


@pytest.mark.parametrize("kind", USES)
def test_other_work(jobs: JobsInFolder, tmp_path: Path, kind: str) -> None:
    tree = fitted(jobs, csv(tmp_path, empty=False))
    others, options = USES[kind]
    params = {"params": PARAMS[kind]} if kind in PARAMS else {}
    for empty in (False, True):
        inputs = {"tree": tree, "features": csv(tmp_path, empty=empty), **others}
        outcome, _ = jobs.run(
            kind, inputs, method="mlr", options={"tree": "tr_x", **options}, **params
        )
        if empty:
            require_named(outcome)
        else:
            assert outcome.error is None, outcome.error


def test_a_heatmap_leaves_it_out(jobs: JobsInFolder, tmp_path: Path) -> None:
    tree = fitted(jobs, csv(tmp_path, empty=False))
    inputs = {"tree": tree, "features": csv(tmp_path)}
    params = {"what": "features", "cut": None}
    outcome, _ = jobs.run("heatmap", inputs, options={"tree": "tr_x"}, params=params)
    assert outcome.error is None, outcome.error
    assert any(note.startswith("1 of ") and "are empty" in note for note in outcome.warnings)


def test_a_report_on_nodes(jobs: JobsInFolder, tmp_path: Path) -> None:
    tree = fitted(jobs, csv(tmp_path, empty=False))
    options = {"tree": "tr_x", "metrics": [], "per_node": True}
    inputs = {"tree": tree, "features": csv(tmp_path)}
    require_named(jobs.run("evaluate", inputs, options=options)[0])


def test_the_evaluation_of_a_classifier(jobs: JobsInFolder, tmp_path: Path) -> None:
    tree = fitted(jobs, csv(tmp_path, empty=False))
    inputs = {"tree": tree, "features": csv(tmp_path), "labels": LABELS}
    options = {"tree": "tr_x", "model": "md_x"}
    require_named(jobs.run("evaluate", inputs, method="mlr", options=options)[0])


def test_a_drift_names_the_sample(jobs: JobsInFolder, tmp_path: Path) -> None:
    tree = fitted(jobs, csv(tmp_path, empty=False))
    inputs = {
        "tree": tree,
        "reference.features": csv(tmp_path, "reference.features", empty=False),
        "batch.features": csv(tmp_path, "batch.features"),
    }
    outcome, _ = jobs.run("drift", inputs, method="mlr", options={"tree": "tr_x"})
    assert code_of(outcome) == "missing-value"
    assert outcome.error is not None
    assert outcome.error["detail"].startswith("In the batch: Input 'features' has a missing value")
    assert f"row {ROW}, column {NAME!r} " in outcome.error["detail"]
    assert outcome.error["where"]["sample"] == "batch"


def test_a_transformation(jobs: JobsInFolder, tmp_path: Path) -> None:
    labels = [*LABELS[:6], *[None] * 18]
    inputs = {"features": csv(tmp_path, empty=False), "labels": labels}
    params = {"n_clusters": 2, "n_init": 2}
    outcome, folder = jobs.run("fit", inputs, method="fda", params=params)
    assert outcome.error is None, outcome.error
    model = Source(role="model", kind="model", path=folder / results.MODEL)
    given = {"model": model, "features": csv(tmp_path)}
    require_named(jobs.run("transform", given, method="fda", options={"model": "md_x"})[0])


@pytest.mark.parametrize("method", ["mlr", "kmeans"])
def test_columns_in_another_order_are_named_as_they_are(
    jobs: JobsInFolder, tmp_path: Path, method: str
) -> None:
    tree = fitted(jobs, csv(tmp_path, empty=False), method)
    inputs = {"tree": tree, "features": csv(tmp_path, order=(2, 0, 1))}
    require_named(jobs.run("predict", inputs, method=method, options={"tree": "tr_x"})[0])


def test_what_the_fit_filled_is_filled_again(jobs: JobsInFolder, tmp_path: Path) -> None:
    tree = fitted(jobs, csv(tmp_path), preprocess=FILLED)
    inputs = {"tree": tree, "features": csv(tmp_path, order=(2, 0, 1))}
    outcome, _ = jobs.run("predict", inputs, method="mlr", options={"tree": "tr_x"})
    assert outcome.error is None, outcome.error
    assert any("1 empty" in note for note in outcome.warnings)
