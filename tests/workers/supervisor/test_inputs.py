"""From a request to local files, and the errors for missing inputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.workers.jobs_kit import request
from tests.workers.supervisor.inputs_kit import LOGITS, StoredInputs
from workers.artifacts import results
from workers.artifacts.datasets import CONTENT
from workers.assembly import Assembly
from workers.child.run import run
from workers.errors import Damaged, problem, problem_of
from workers.model import Request, new_id, sibling
from workers.stores.objects import layout
from workers.work.job import Spec
from workers.work.sources import of_role


@pytest.fixture
def stored(assembly: Assembly, tmp_path: Path) -> StoredInputs:
    folder = tmp_path / "inputs"
    folder.mkdir()
    return StoredInputs(assembly, folder)


def fit(**inputs: Any) -> Request:
    return request(method="l2h", params={}, inputs=inputs)


def test_datasets_and_inline_lists_become_files(stored: StoredInputs) -> None:
    logits = stored.dataset(b"1,2\n3,4\n", format="csv", member="m")
    job = fit(logits=logits, names="inline")
    stored.parts.blobs.put(layout.inline("ada", job.id, "names"), b'["a", "b"]')
    spec = stored.prepared(job)
    assert spec.threads == 2
    table, names = of_role(spec.sources, "logits"), of_role(spec.sources, "names")
    assert (table.kind, table.format, table.member) == ("dataset", "csv", "m")
    assert table.path.read_bytes() == b"1,2\n3,4\n"
    assert (names.kind, names.format) == ("inline", None)
    assert json.loads(names.path.read_bytes()) == ["a", "b"]


def test_a_spec_travels_as_json(stored: StoredInputs) -> None:
    spec = stored.prepared(fit(logits=stored.dataset(b"[[1, 2]]")))
    assert Spec.model_validate_json(spec.model_dump_json()) == spec


def test_a_fit_then_a_prediction_and_an_evaluation(stored: StoredInputs) -> None:
    fitted, _ = stored.finished()
    tree_id = sibling(fitted.id, "tr")
    rows = stored.dataset(json.dumps(LOGITS).encode())
    options = {"tree": tree_id}
    spec = stored.prepared(request(kind="predict", inputs={"logits": rows}, options=options))
    assert set(of_role(spec.sources, "tree").files) == {
        results.TREE,
        results.LEAF_OF_POINT,
        results.MODEL,
    }
    outcome = run(spec, lambda _: None)
    assert outcome.result == {"tree": tree_id, "predictions": {"n_rows": 4}}

    labels = stored.dataset(b"[0, 1, 2, 0]")
    inputs = {"labels": labels, "hierarchy": tree_id}
    spec = stored.prepared(request(kind="evaluate", inputs=inputs, options=options))
    # An evaluation needs no model.
    assert set(of_role(spec.sources, "tree").files) == {results.TREE, results.LEAF_OF_POINT}
    assert set(of_role(spec.sources, "hierarchy").files) == {results.TREE, results.LEAF_OF_POINT}


def test_an_import_and_an_inspection(stored: StoredInputs) -> None:
    job = request(kind="import", inputs={}, options={"format": "newick"})
    stored.parts.blobs.put(layout.inline("ada", job.id, "content"), b"(a,b);")
    assert of_role(stored.prepared(job).sources, "content").path.read_bytes() == b"(a,b);"

    dataset_id = stored.dataset(b"a,b\n1,2\n", format="csv", status="inspecting")
    spec = stored.prepared(request(kind="inspect", inputs={}, options={"dataset": dataset_id}))
    outcome = run(spec, lambda _: None)
    assert outcome.result is not None
    assert outcome.result["dataset"]["shape"] == [1, 2]


def test_a_deleted_dataset(stored: StoredInputs) -> None:
    logits = stored.dataset(b"[[1, 2]]")
    stored.parts.datasets.delete("ada", logits)
    error = stored.refused(fit(logits=logits))
    assert error.code == "input-deleted"
    assert error.where == {"role": "logits"}
    assert logits in error.detail


def test_a_dataset_with_missing_content(stored: StoredInputs) -> None:
    logits = stored.dataset(b"[[1, 2]]")
    stored.parts.blobs.delete(layout.dataset("ada", logits, CONTENT))
    assert stored.refused(fit(logits=logits)).code == "input-deleted"


def test_a_missing_inline_input(stored: StoredInputs) -> None:
    assert stored.refused(fit(logits="inline")).code == "input-deleted"


def test_a_deleted_tree(stored: StoredInputs) -> None:
    fitted, _ = stored.finished()
    tree_id = sibling(fitted.id, "tr")
    assert stored.parts.trees.delete("ada", tree_id)
    job = request(kind="evaluate", inputs={}, options={"tree": tree_id})
    assert stored.refused(job).code == "input-deleted"


def test_inputs_of_another_tenant_are_invisible(stored: StoredInputs) -> None:
    fitted, _ = stored.finished()
    logits = stored.dataset(b"[[1, 2]]")
    job = request("bob", method="l2h", params={}, inputs={"logits": logits})
    assert stored.refused(job).code == "input-deleted"
    options = {"tree": sibling(fitted.id, "tr")}
    assert stored.refused(request("bob", kind="evaluate", inputs={}, options=options)).code == (
        "input-deleted"
    )


def test_an_invalid_dataset_reports_its_problem(stored: StoredInputs) -> None:
    why = problem("ragged", "The input", 422, "Row 3 has 4 values.", where={"row": 3})
    logits = stored.dataset(b"x", status="invalid", problem=why)
    error = stored.refused(fit(logits=logits))
    assert (error.code, error.detail) == ("ragged", "Row 3 has 4 values.")
    assert error.where == {"row": 3, "role": "logits", "dataset": logits}
    # An inspection may read it again.
    stored.prepared(request(kind="inspect", inputs={}, options={"dataset": logits}))


def test_a_published_result_equals_the_outcome(stored: StoredInputs) -> None:
    fitted, outcome = stored.finished()
    tree = stored.parts.trees.load("ada", sibling(fitted.id, "tr"))
    assert tree is not None
    assert outcome.tree is not None
    assert tree.n_nodes == outcome.tree["n_nodes"] == 5
    classes = [int(tree.name[leaf]) for leaf in tree.leaf_of_point]
    np.testing.assert_array_equal(np.argmax(LOGITS, axis=1), classes)


def test_a_job_opens_a_table_that_nobody_has_inspected(stored: StoredInputs) -> None:
    """What it is used as does not depend on when the job begins."""
    table = b"who,word,x,y\nann,q,0.5,1\nbob,q,2.5,3\ncyd,q,9.5,1\n"
    unopened = stored.dataset(table, format="csv", status="inspecting")
    job = request(method="hac", params={}, inputs={"features": unopened})
    spec = stored.prepared(job)
    assert of_role(spec.sources, "features").columns == ()
    outcome = run(spec, lambda _: None)
    assert outcome.error is None
    (sentence,) = outcome.warnings
    assert "'who' is taken as the ids" in sentence
    assert "'word'" in sentence
    tree = results.load_tree(spec.folder / results.TREE, spec.folder / results.LEAF_OF_POINT)
    assert sorted(str(tree.name[leaf]) for leaf in tree.leaves) == ["ann", "bob", "cyd"]


def test_no_job_reads_what_is_not_what_was_stored(stored: StoredInputs) -> None:
    """Datasets and results; also after a job has read them whole."""
    fitted, _ = stored.finished()
    rows = stored.dataset(b"[[1, 2]]")
    tree = stored.parts.trees.stored("ada", sibling(fitted.id, "tr"), results.TREE)
    assert tree is not None
    options = {"tree": sibling(fitted.id, "tr")}
    predict = request(kind="predict", inputs={"logits": rows}, options=options)
    for key, job in (
        (tree.key, predict),
        (stored.parts.datasets.content_key("ada", rows), fit(logits=rows)),
    ):
        stored.prepared(job)
        content = bytearray(stored.parts.blobs.get(key))
        content[1] ^= 1
        stored.parts.blobs.put(key, bytes(content))
        with pytest.raises(Damaged, match=key) as found:
            stored.prepared(job.model_copy(update={"id": new_id("job")}))
        shown = problem_of(found.value)
        assert (shown["type"], shown["where"]) == ("/problems/damaged", {"object": key})
