"""One job in its process: local files in, result files and an outcome out."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from models import registry
from models.inputs.data import Data
from models.method import Fitted
from models.methods.features.hac import HAC
from models.tree.walk import path
from tests.workers.child.job_kit import JobsInFolder, code_of, predicted, tree_of
from workers.artifacts import results
from workers.child.run import run
from workers.model import MethodStep, Request, now
from workers.work.job import Outcome, Spec
from workers.work.sources import Source

# Three classes: 0 and 1 look alike, 2 stands apart.
LOGITS = [[4.0, 3.0, 0.0], [3.0, 4.0, 0.0], [0.0, 1.0, 5.0], [5.0, 3.5, 1.0]]
#      4
#     / \
#    3   2      the merges of LOGITS; rows 0 and 3 lie in class 0
#   / \
#  0   1
NAMES = ["cat", "dog", "rose"]
POINTS = np.array([[0.0, 0.0], [0.1, 0.0], [5.0, 5.0], [5.1, 5.0], [9.0, 0.0], [9.1, 0.1]])


@pytest.fixture
def jobs(tmp_path: Path) -> JobsInFolder:
    return JobsInFolder(tmp_path)


def loaded(folder: Path) -> Any:
    return results.load_tree(folder / results.TREE, folder / results.LEAF_OF_POINT)


def test_fit(jobs: JobsInFolder) -> None:
    outcome, folder = jobs.run("fit", {"logits": LOGITS, "names": NAMES}, name="pets")
    assert outcome.error is None
    assert outcome.result is not None
    suffix = f"{1:026d}"
    assert outcome.result["tree"] == f"tr_{suffix}"
    assert outcome.result["model"] == f"md_{suffix}"
    assert outcome.result["metrics"]["n_empty_classes"] == 0.0
    assert outcome.tree == {
        "method": "l2h",
        "kind": "hierarchy",
        "n_points": 4,
        "n_nodes": 5,
        "n_leaves": 3,
        "max_depth": 2,
        "monotone": True,
        "name": "pets",
        "warnings": [],
    }
    assert outcome.warnings == ()
    tree = loaded(folder).validate()
    assert sorted(tree.name[tree.leaves]) == sorted(NAMES)
    assert tree.name[tree.leaf_of_point].tolist() == ["cat", "dog", "rose", "cat"]
    assert {item.name for item in folder.iterdir()} == {
        results.TREE,
        results.LEAF_OF_POINT,
        results.MODEL,
    }


def test_progress_only_grows_and_names_its_stages(jobs: JobsInFolder) -> None:
    jobs.run("fit", {"features": POINTS}, method="kmeans", params={"n_clusters": 3}, then=L2H)
    fractions = [advance.fraction for advance in jobs.progress]
    assert fractions == sorted(fractions)
    assert 0.0 <= fractions[0] <= fractions[-1] <= 1.0
    assert jobs.progress[0].stage == "reading"
    assert jobs.progress[-1].stage == "writing"


L2H = MethodStep(method="l2h")
PREPARED = ({"step": "standardize"}, {"step": "pca", "n": 1})


def test_fit_and_then(jobs: JobsInFolder) -> None:
    names = ["near", "far", "right"]
    outcome, folder = jobs.run(
        "fit",
        {"features": POINTS, "names": names},
        method="kmeans",
        params={"n_clusters": 3, "seed": 1},
        then=L2H,
    )
    assert outcome.error is None
    assert outcome.tree is not None
    assert (outcome.tree["kind"], outcome.tree["n_leaves"]) == ("hierarchy", 3)
    tree = loaded(folder)
    # The leaves of the last step, which are the clusters, have the names.
    assert sorted(tree.name[tree.leaves]) == sorted(names)
    pairs = tree.leaf_of_point.reshape(3, 2)
    assert (pairs[:, 0] == pairs[:, 1]).all()
    assert len(set(pairs[:, 0].tolist())) == 3
    model = results.load_model(folder / results.MODEL)
    assert [stage.method for stage in model.stages] == ["kmeans", "l2h"]
    assert model.inputs == ["features"]


def test_a_method_without_logits_has_no_then(jobs: JobsInFolder) -> None:
    outcome, folder = jobs.run("fit", {"features": POINTS}, method="hac", then=L2H)
    assert code_of(outcome) == "wrong-input"
    assert not list(folder.iterdir())


LABELLED = {
    "features": np.concatenate([POINTS, POINTS + 0.01, POINTS + 20.0]),
    "labels": ["left", "left", None, None, "right", "right"] * 2 + [None] * 6,
}
FDA: dict[str, Any] = {"method": "fda", "params": {"n_clusters": 2, "n_init": 2}}


def transform(jobs: JobsInFolder, fitted: Path, *inputs: Source) -> tuple[Outcome, Path]:
    model = Source(role="model", kind="model", path=fitted / results.MODEL)
    sources = {str(number): source for number, source in enumerate((*inputs, model))}
    return jobs.run("transform", sources, method="fda", options={"model": "md_x"})


def test_rows_are_transformed(jobs: JobsInFolder) -> None:
    _, fitted = jobs.run("fit", LABELLED, preprocess=PREPARED[:1], **FDA)
    model = results.load_model(fitted / results.MODEL)
    assert model.places
    rows = LABELLED["features"][:5].astype(np.float32)
    outcome, folder = transform(jobs, fitted, jobs.source("features", rows))
    assert outcome.result == {
        "model": "md_x",
        "dataset": f"ds_{2:026d}",
        "shape": [5, 1],
        "dtype": "float32",
    }
    assert {item.name for item in folder.iterdir()} == {results.TRANSFORMED}
    features = LABELLED["features"]
    standardized = (rows - features.mean(axis=0)) / features.std(axis=0)
    arrays = model.stages[0].model.arrays
    np.testing.assert_allclose(
        np.load(folder / results.TRANSFORMED),
        standardized @ arrays["projection"] - arrays["offset"],
        rtol=1e-4,
        atol=1e-5,
    )


def test_an_input_called_model_is_refused_as_any_other(jobs: JobsInFolder) -> None:
    _, fitted = jobs.run("fit", LABELLED, **FDA)
    given = (jobs.source("features", POINTS), jobs.source("model", POINTS))
    refused, folder = transform(jobs, fitted, *given)
    assert code_of(refused) == "wrong-input"
    assert not list(folder.iterdir())


@pytest.mark.parametrize("then", ["gmm", "kmeans", "hmmc"])
def test_then_runs_on_transformed_rows(jobs: JobsInFolder, then: str) -> None:
    second = registry.method(then)
    params = second.Params(**second.example)
    step = MethodStep(method=then, params=params.model_dump(mode="json"))
    outcome, folder = jobs.run("fit", LABELLED, then=step, **FDA)
    assert outcome.error is None, outcome.error
    model, tree = results.load_model(folder / results.MODEL), loaded(folder)
    assert [stage.method for stage in model.stages] == ["fda", then]
    data = Data({"features": LABELLED["features"]})
    rows = registry.method("fda").transform(model.stages[0].model, data)
    alone = second.fit(Data({"features": rows}), params)
    # The clusters are the same; which child is the first may turn on the last digit of a row.
    pairs = set(zip(tree.leaf_of_point.tolist(), alone.tree.leaf_of_point.tolist(), strict=True))
    assert len(pairs) == tree.n_leaves == alone.tree.n_leaves
    inputs = {"tree": tree_of(folder), "features": LABELLED["features"]}
    placed, where = jobs.run("predict", inputs, options=TREE)
    assert placed.error is None
    assert [row["leaf"] for row in predicted(where)] == tree.leaf_of_point.tolist()


@pytest.fixture
def without_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """`hac` leaves no model, as methods may."""
    fit = HAC._fit

    def lone(self: HAC, data: Data, params: Any, run: Any) -> Fitted:
        return replace(fit(self, data, params, run), model=None)

    monkeypatch.setattr(HAC, "_fit", lone)


@pytest.mark.usefixtures("without_model")
def test_then_that_does_not_predict_leaves_the_transformation(jobs: JobsInFolder) -> None:
    outcome, folder = jobs.run("fit", LABELLED, then=MethodStep(method="hac"), **FDA)
    assert outcome.result is not None
    assert outcome.result["model"] is not None
    model = results.load_model(folder / results.MODEL)
    assert ([stage.method for stage in model.stages], model.places) == (["fda"], False)
    inputs = {"tree": tree_of(folder), "features": LABELLED["features"]}
    refused, _ = jobs.run("predict", inputs, options=TREE)
    assert code_of(refused) == "cannot-predict"


@pytest.mark.usefixtures("without_model")
def test_a_method_that_does_not_predict_saves_no_model(jobs: JobsInFolder) -> None:
    outcome, folder = jobs.run("fit", {"features": POINTS}, method="hac")
    assert outcome.result is not None
    assert outcome.result["model"] is None
    assert not (folder / results.MODEL).exists()
    refused, _ = jobs.run("predict", {"tree": tree_of(folder), "features": POINTS}, options=TREE)
    assert code_of(refused) == "cannot-predict"


TREE = {"tree": "tr_x"}


@pytest.mark.parametrize(
    ("method", "inputs", "request_"),
    [
        ("l2h", {"logits": np.array(LOGITS)}, {}),
        ("kmeans", {"features": POINTS}, {"params": {"n_clusters": 3}}),
        ("kmeans", {"features": POINTS}, {"params": {"n_clusters": 3}, "then": L2H}),
        ("kmeans", {"features": POINTS}, {"params": {"n_clusters": 3}, "preprocess": PREPARED}),
    ],
)
def test_predictions_agree_with_the_fit(
    jobs: JobsInFolder, method: str, inputs: dict[str, npt.NDArray[Any]], request_: dict[str, Any]
) -> None:
    _, fitted = jobs.run("fit", inputs, method=method, **request_)
    tree = loaded(fitted)
    outcome, folder = jobs.run(
        "predict", {"tree": tree_of(fitted), **inputs}, method=method, options=TREE
    )
    assert outcome.error is None
    n_rows = len(next(iter(inputs.values())))
    assert outcome.result == {"tree": "tr_x", "predictions": {"n_rows": n_rows}}
    assert outcome.tree is None
    rows = predicted(folder)
    assert [row["leaf"] for row in rows] == tree.leaf_of_point.tolist()
    for row in rows:
        assert row["path"] == path(tree, row["leaf"]).tolist()
        assert row["probabilities"][0] == 1.0
        assert row["probabilities"] == sorted(row["probabilities"], reverse=True)
        assert min(row["probabilities"]) >= 0.0


@pytest.mark.parametrize(
    ("inputs", "code"),
    [
        ({}, "wrong-input"),
        ({"logits": [[1.0, 2.0]]}, "wrong-shape"),
        ({"logits": LOGITS, "features": POINTS}, "wrong-input"),
        ({"logits": np.array([[1.0, np.nan, 0.0]])}, "not-finite"),
    ],
)
def test_predictions_on_wrong_inputs(jobs: JobsInFolder, inputs: dict[str, Any], code: str) -> None:
    _, fitted = jobs.run("fit", {"logits": LOGITS})
    outcome, folder = jobs.run("predict", {"tree": tree_of(fitted), **inputs}, options=TREE)
    assert code_of(outcome) == code
    assert not list(folder.iterdir())


def test_evaluate(jobs: JobsInFolder) -> None:
    _, fitted = jobs.run("fit", {"logits": LOGITS})
    inputs = {"tree": tree_of(fitted), "labels": ["a", "b", "c", "a"]}
    outcome, folder = jobs.run("evaluate", inputs, options=TREE)
    assert outcome.result is not None
    evaluation = outcome.result["evaluation"]
    assert outcome.result["tree"] == "tr_x"
    assert evaluation["metrics"]["dendrogram_purity"] == 1.0
    assert evaluation["metrics"]["nmi"] == 1.0
    assert evaluation["cut"]["n_clusters"] == 3
    assert not list(folder.iterdir())

    options = {**TREE, "metrics": ["purity"], "cut": {"k": 1}}
    outcome, _ = jobs.run("evaluate", inputs, options=options)
    assert outcome.result is not None
    assert outcome.result["evaluation"]["metrics"] == {"purity": 0.5}


@pytest.mark.parametrize("index", ["id", ""], ids=["named", "as pandas and R write it"])
def test_warnings_of_an_evaluation_hold_what_was_noted_of_its_inputs(
    index: str, jobs: JobsInFolder, tmp_path: Path
) -> None:
    table: dict[str, Any] = {"kind": "dataset", "format": "csv", "inspected": False}
    rows, truths = tmp_path / "points.csv", tmp_path / "labels.csv"
    rows.write_text("id,x,y\na,0,0\nb,0,1\nc,9,9\nd,9,8\n")
    truths.write_text(f"{index},label\nd,v\nb,u\nc,v\na,u\n")
    points = Source(role="features", path=rows, **table)
    labels = Source(role="labels", path=truths, **table)
    _, fitted = jobs.run("fit", {"features": points}, method="hac")
    outcome, _ = jobs.run("evaluate", {"tree": tree_of(fitted), "labels": labels}, options=TREE)
    assert outcome.result is not None
    assert outcome.result["evaluation"]["metrics"]["dendrogram_purity"] == 1.0
    assert any("were put in the order of the tree" in each for each in outcome.warnings)
    assert outcome.result["evaluation"]["warnings"] == list(outcome.warnings)


@pytest.mark.parametrize(
    ("labels", "options", "code"),
    [
        ([1, 2], {}, "wrong-length"),
        ([1, 2, 3, 4], {"metrics": ["beauty"]}, "unknown-metric"),
        ([1, 2, 3, 4], {"cut": {"k": 4}}, "wrong-cut"),
        (["\ud800", "a", "b", "c"], {}, "wrong-input"),
    ],
)
def test_impossible_evaluations(jobs: JobsInFolder, labels: Any, options: Any, code: str) -> None:
    _, fitted = jobs.run("fit", {"logits": LOGITS})
    inputs = {"tree": tree_of(fitted), "labels": labels}
    assert code_of(jobs.run("evaluate", inputs, options={**TREE, **options})[0]) == code


def linkage_bytes(folder: Path) -> bytes:
    np.save(folder / "z.npy", np.array([[0.0, 1.0, 1.0, 2.0], [2.0, 3.0, 2.0, 3.0]]))
    return (folder / "z.npy").read_bytes()


def test_import(jobs: JobsInFolder, tmp_path: Path) -> None:
    # The same shape from each format: two leaves below one node, one beside it.
    parents = {0: None, 1: 0, 2: 1, 3: 1, 4: 0}
    flat = [{"id": node, "parent": parent} for node, parent in parents.items()]
    contents = {
        "newick": b"((a:1,b:1):1,c:2);",
        "json": json.dumps({"nodes": flat}).encode(),
        "linkage": linkage_bytes(tmp_path),
        "paths": b"x/a\nx/b\nc\n",
    }
    for format_id, content in contents.items():
        outcome, folder = jobs.run(
            "import", {"content": content}, method="import", options={"format": format_id}
        )
        assert outcome.error is None, format_id
        assert outcome.result is not None
        assert outcome.tree is not None
        assert outcome.result["model"] is None
        assert outcome.tree["method"] == "import"
        assert (outcome.tree["n_points"], outcome.tree["n_nodes"]) == (3, 5), format_id
        assert loaded(folder).n_leaves == 3


@pytest.mark.parametrize(
    ("format_id", "content", "code"),
    [
        ("newick", b"((a,b);", "invalid-tree"),
        ("newick", b"\xff\xfe", "invalid-tree"),
        ("json", b"[" * 100_000, "invalid-file"),
        ("json", b'{"nodes": [{"id": 0, "name": "\\ud800"}]}', "invalid-tree"),
        ("json", b'{"nodes": [{"id": 0, "height": NaN}]}', "not-finite"),
        ("paths", b"a/b\na/b\n", "invalid-tree"),
        ("linkage", b"no array", "invalid-file"),
    ],
)
def test_unreadable_trees(jobs: JobsInFolder, format_id: str, content: bytes, code: str) -> None:
    outcome, folder = jobs.run(
        "import", {"content": content}, method="import", options={"format": format_id}
    )
    assert code_of(outcome) == code
    assert not list(folder.iterdir())


def test_the_error_describes_a_linkage_of_one_dimension(jobs: JobsInFolder, tmp_path: Path) -> None:
    np.save(tmp_path / "row.npy", np.array([0.0, 1.0, 1.0, 2.0]))
    outcome, _ = jobs.run(
        "import",
        {"content": (tmp_path / "row.npy").read_bytes()},
        method="import",
        options={"format": "linkage"},
    )
    assert code_of(outcome) == "invalid-tree"
    assert outcome.error is not None
    assert "4 columns" in outcome.error["detail"]


def test_inspect(jobs: JobsInFolder, tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("a,b\n1,2\n3,4\n5,6\n")
    source = Source(role="dataset", kind="dataset", path=table, format="csv")
    outcome, _ = jobs.run(
        "inspect", {"dataset": source}, method="inspect", options={"dataset": "ds_1"}
    )
    assert outcome.result is not None
    assert outcome.result["dataset"]["shape"] == [3, 2]

    table.write_text("a,b\n1,2\n3\n")
    outcome, _ = jobs.run(
        "inspect", {"dataset": source}, method="inspect", options={"dataset": "ds_1"}
    )
    assert outcome.error is not None
    assert outcome.error["status"] in (415, 422)


@pytest.mark.parametrize(
    ("inputs", "code"),
    [
        ({"logits": np.array([[1.0, np.nan], [0.0, 1.0]])}, "not-finite"),
        ({"logits": np.ones((3, 1))}, "wrong-shape"),
        ({"logits": [[1.0, 2.0], [3.0]]}, "ragged"),
        ({"logits": b"[[1.0, NaN]]"}, "not-finite"),
        ({"logits": LOGITS, "names": ["a"]}, "wrong-shape"),
        ({"logits": LOGITS, "names": ["\ud800", "b", "c"]}, "wrong-input"),
        ({"features": POINTS}, "wrong-input"),
        ({}, "wrong-input"),
    ],
)
def test_the_users_errors_are_returned_in_full(
    jobs: JobsInFolder, inputs: dict[str, Any], code: str
) -> None:
    outcome, folder = jobs.run("fit", inputs)
    assert code_of(outcome) == code
    assert not list(folder.iterdir())


def test_the_error_locates_a_value_that_is_not_finite(jobs: JobsInFolder) -> None:
    logits = np.zeros((5, 3))
    logits[3, 1] = np.inf
    outcome, _ = jobs.run("fit", {"logits": logits})
    assert outcome.error is not None
    assert outcome.error["where"] == {"role": "logits", "row": 3, "column": 1}


def test_running_out_of_memory_is_reported(
    jobs: JobsInFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("workers.artifacts.results.save_tree", full)
    assert code_of(jobs.run("fit", {"logits": LOGITS})[0]) == "out-of-memory"


def test_internal_errors_are_not_attributed_to_the_user(
    jobs: JobsInFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise ValueError("a bug")

    monkeypatch.setattr("workers.artifacts.results.save_tree", broken)
    with pytest.raises(ValueError, match="a bug"):
        jobs.run("fit", {"logits": LOGITS})


def test_a_repeated_role_is_refused(jobs: JobsInFolder, tmp_path: Path) -> None:
    once = jobs.source("logits", LOGITS)
    request = Request(id="job_x", tenant="t", kind="fit", method="l2h", created_at=now())
    spec = Spec(request=request, sources=(once, once), folder=tmp_path)
    assert code_of(run(spec, lambda _: None)) == "wrong-input"


def test_features_are_prepared(jobs: JobsInFolder) -> None:
    outcome, _ = jobs.run(
        "fit", {"features": POINTS}, method="hac", preprocess=({"step": "pca", "n": 1},)
    )
    assert outcome.result is not None
    assert 0.5 < outcome.result["metrics"]["pca_explained_variance"] < 1.0
    outcome, _ = jobs.run(
        "fit", {"features": POINTS}, method="hac", preprocess=({"step": "pca", "n": 9},)
    )
    assert code_of(outcome) == "wrong-parameter"


def test_new_rows_are_prepared_as_the_model_says(jobs: JobsInFolder) -> None:
    _, fitted = jobs.run(
        "fit",
        {"features": POINTS},
        method="kmeans",
        params={"n_clusters": 3},
        preprocess=PREPARED,
    )
    # Standardized with the mean and deviation of the old rows, not of the new one.
    inputs = {"tree": tree_of(fitted), "features": POINTS[4:5]}
    outcome, folder = jobs.run("predict", inputs, method="kmeans", options=TREE)
    assert outcome.error is None
    assert predicted(folder)[0]["leaf"] == loaded(fitted).leaf_of_point[4]
    wide = {"tree": tree_of(fitted), "features": np.ones((1, 7))}
    outcome, _ = jobs.run("predict", wide, method="kmeans", options=TREE)
    assert code_of(outcome) == "wrong-shape"


def test_marks_of_missing_values_are_named_in_a_fit_and_in_new_rows(jobs: JobsInFolder) -> None:
    marked = POINTS.copy()
    marked[2, 1] = -999.0
    outcome, fitted = jobs.run(
        "fit", {"features": marked}, method="kmeans", params={"n_clusters": 3}
    )
    assert any("-999 in '1' (1 row(s))" in warning for warning in outcome.warnings)
    for rows in (POINTS, marked):
        inputs = {"tree": tree_of(fitted), "features": rows}
        outcome, _ = jobs.run("predict", inputs, method="kmeans", options=TREE)
        assert any("-999" in warning for warning in outcome.warnings) == (rows is marked)


def grown(folder: Path) -> Source:
    files = {item.name: item for item in folder.iterdir()}
    return Source(
        role="base",
        kind="job",
        path=files[results.TREE],
        files=files,
        method="perch",
        params={"growable": True},
    )


def test_a_growing_job_prepares_new_rows_like_the_old_ones(jobs: JobsInFolder) -> None:
    perch: dict[str, Any] = {"method": "perch", "params": {"growable": True}}
    steps = ({"step": "standardize"},)
    _, first = jobs.run("fit", {"features": POINTS}, preprocess=steps, **perch)
    # The points of the base are not among the features, so no silhouette is measured.
    more = {"features": POINTS[2:5] + 0.01, "base": grown(first)}
    outcome, second = jobs.run("fit", more, preprocess=steps, **perch)
    assert outcome.error is None
    assert outcome.tree is not None
    assert outcome.tree["n_points"] == 9
    assert outcome.result is not None
    assert "silhouette" not in outcome.result.get("curves", {})
    # Row 2 of the base and row 6, its shifted copy, are nearest to each other.
    grown_tree = loaded(second)
    parent = grown_tree.parent[grown_tree.leaf_of_point]
    assert [parent[row] for row in (2, 3, 4)] == [parent[row] for row in (6, 7, 8)]
    old = {"tree": tree_of(second), "features": np.concatenate([POINTS, more["features"]])}
    _, placed = jobs.run("predict", old, method="perch", options=TREE)
    assert [row["leaf"] for row in predicted(placed)] == grown_tree.leaf_of_point.tolist()


@pytest.mark.parametrize("before", [(), ({"step": "l2"},), ({"step": "standardize"},)])
def test_a_growing_job_refuses_other_preparation(jobs: JobsInFolder, before: Any) -> None:
    perch: dict[str, Any] = {"method": "perch", "params": {"growable": True}}
    _, first = jobs.run("fit", {"features": POINTS + 1}, preprocess=before, **perch)
    more = {"features": POINTS[:2] + 1, "base": grown(first)}
    changed = ({"step": "pca", "n": 2},) if before else ({"step": "l2"},)
    for steps in (changed, ()) if before else (changed,):
        outcome, _ = jobs.run("fit", more, preprocess=steps, **perch)
        assert code_of(outcome) == "wrong-parameter"
        assert outcome.error is not None
        assert json.dumps(list(before)) in outcome.error["detail"]


def test_a_tree_that_grew_is_not_named_by_terms(jobs: JobsInFolder) -> None:
    perch: dict[str, Any] = {"method": "perch", "params": {"growable": True}}
    _, first = jobs.run("fit", {"features": POINTS}, **perch)
    more = {"features": POINTS[:2], "base": grown(first), "feature_names": ["a", "b"]}
    outcome, _ = jobs.run("fit", more, name_by="feature_names", **perch)
    assert code_of(outcome) == "wrong-length"


def test_duplicate_names_give_one_warning(jobs: JobsInFolder) -> None:
    outcome, _ = jobs.run("fit", {"logits": LOGITS, "names": ["a", "a", "b"]})
    assert len(outcome.warnings) == 1
    assert "more than once" in outcome.warnings[0]
    assert "labels=id" in outcome.warnings[0]
    outcome, _ = jobs.run(
        "import", {"content": b"(a,a,b);"}, method="import", options={"format": "newick"}
    )
    assert len(outcome.warnings) == 1
    assert "'a'" in outcome.warnings[0]


class TestPieces:
    """A fit in pieces, all computed in this process."""

    @pytest.fixture(autouse=True)
    def _known(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from tests.workers.extra.methods.row_argmax import RowArgmax

        known, used = registry.known, RowArgmax()
        monkeypatch.setattr(
            registry, "known", lambda name: used if name == used.id else known(name)
        )

    @pytest.mark.parametrize("n_pieces", [1, 2, 6])
    def test_the_tree_is_the_same(self, jobs: JobsInFolder, n_pieces: int) -> None:
        fit = {"method": "row-argmax", "n_pieces": n_pieces}
        outcome, folder = jobs.run("fit", {"features": POINTS}, **fit)
        assert outcome.error is None
        assert outcome.result is not None
        assert outcome.result["metrics"] == {"n_pieces": n_pieces}
        tree = results.load_tree(folder / results.TREE, folder / results.LEAF_OF_POINT)
        names = [tree.name[leaf] for leaf in tree.leaf_of_point.tolist()]
        assert [int(str(name)) for name in names] == POINTS.argmax(axis=1).tolist()
        fractions = [advance.fraction for advance in jobs.progress]
        assert fractions == sorted(fractions)

    def test_a_single_piece_gives_its_arrays(self, jobs: JobsInFolder) -> None:
        piece = {"start": 1, "stop": 4}
        outcome, folder = jobs.run(
            "fit", {"features": POINTS, "names": NAMES[:2]}, method="row-argmax", piece=piece,
            then=MethodStep(method="l2h"),
        )  # fmt: skip
        assert outcome == Outcome()
        (file,) = folder.iterdir()
        arrays = results.load_arrays(file)
        assert list(arrays) == ["label"]
        assert arrays["label"].tolist() == POINTS.argmax(axis=1)[1:4].tolist()

    def test_a_users_error_in_a_piece(self, jobs: JobsInFolder) -> None:
        outcome, folder = jobs.run(
            "fit", {"features": POINTS}, method="row-argmax", params={"refused_row": 3}, n_pieces=3
        )
        assert outcome.error is not None
        assert outcome.error["detail"] == "Row 3 is refused."
        assert list(folder.iterdir()) == []


def test_the_declared_width_of_rows_read_in_blocks(jobs: JobsInFolder, tmp_path: Path) -> None:
    path = tmp_path / "x.svm"
    path.write_text("1 1:5\n1 1:6\n2 2:9\n2 2:8\n")
    source = Source(
        role="features", kind="dataset", path=path, format="libsvm", by_rows=True, n_features=7
    )
    _, folder = jobs.run("fit", {"features": source}, "minibatch-kmeans", params={"n_clusters": 2})
    model = results.load_model(folder / results.MODEL)
    widths = {array.shape[1] for array in model.stages[0].model.arrays.values() if array.ndim == 2}
    assert widths == {7}
