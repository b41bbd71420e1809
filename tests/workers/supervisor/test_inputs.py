"""From a request to local files, and what is said of inputs that are gone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.errors import UsageError
from tests.workers.jobs_kit import request
from workers.artifacts import results
from workers.artifacts.datasets import CONTENT, Dataset
from workers.assembly import Assembly
from workers.child.run import Outcome, Spec, run
from workers.child.sources import of_role
from workers.errors import problem
from workers.model import Claim, End, Request, new_id, now, sibling
from workers.stores.objects import layout
from workers.supervisor.inputs import prepare

LOGITS = [[4.0, 3.0, 0.0], [3.0, 4.0, 0.0], [0.0, 1.0, 5.0], [5.0, 3.5, 1.0]]


class Desk:
    """Requests whose inputs are looked up in a store."""

    def __init__(self, parts: Assembly, folder: Path) -> None:
        self.parts = parts
        self._folder = folder

    def prepared(self, asked: Request) -> Spec:
        folder = self._folder / asked.id
        folder.mkdir()
        parts = self.parts
        return prepare(asked, parts.blobs, parts.datasets, parts.trees, folder, threads=2)

    def refused(self, asked: Request) -> UsageError:
        with pytest.raises(UsageError) as caught:
            self.prepared(asked)
        return caught.value

    def dataset(self, content: bytes, **facts: Any) -> str:
        given: dict[str, Any] = {
            "id": new_id("ds"),
            "tenant": "ada",
            "name": None,
            "role": None,
            "status": "ready",
            "format": "json",
            "member": None,
            "shape": None,
            "dtype": None,
            "bytes": len(content),
            "sha256": "",
            "created_at": now(),
            "problem": None,
        }
        made = Dataset(**given | facts)
        self.parts.blobs.put(layout.dataset(made.tenant, made.id, CONTENT), content)
        self.parts.datasets.create(made)
        return made.id

    def finished(self, **changed: Any) -> tuple[Request, Outcome]:
        """A job on inline logits, run and published."""
        asked = request(method="l2h", params={}, inputs={"logits": "inline"}, **changed)
        ledger = self.parts.ledger
        ledger.submit(asked, {"logits": json.dumps(LOGITS).encode()})
        claim = ledger.claim(asked.id, "w")
        assert claim is not None
        spec = self.prepared(asked)
        outcome = run(spec, lambda _: None)
        assert ledger.finish(claim, _end(claim, outcome), spec.folder)
        return asked, outcome


def _end(claim: Claim, outcome: Outcome) -> End:
    assert outcome.error is None
    return End(
        job=claim.request.id,
        status="succeeded",
        attempt=claim.attempt,
        fence=claim.fence,
        started_at=claim.started_at,
        finished_at=now(),
        result=outcome.result,
        tree=outcome.tree,
    )


@pytest.fixture
def desk(assembly: Assembly, tmp_path: Path) -> Desk:
    folder = tmp_path / "desk"
    folder.mkdir()
    return Desk(assembly, folder)


def fit(**inputs: Any) -> Request:
    return request(method="l2h", params={}, inputs=inputs)


def test_datasets_and_inline_lists_become_files(desk: Desk) -> None:
    logits = desk.dataset(b"1,2\n3,4\n", format="csv", member="m")
    asked = fit(logits=logits, names="inline")
    desk.parts.blobs.put(layout.inline("ada", asked.id, "names"), b'["a", "b"]')
    spec = desk.prepared(asked)
    assert spec.threads == 2
    table, names = of_role(spec.sources, "logits"), of_role(spec.sources, "names")
    assert (table.kind, table.format, table.member) == ("dataset", "csv", "m")
    assert table.path.read_bytes() == b"1,2\n3,4\n"
    assert (names.kind, names.format) == ("inline", None)
    assert json.loads(names.path.read_bytes()) == ["a", "b"]


def test_a_spec_travels_as_json(desk: Desk) -> None:
    spec = desk.prepared(fit(logits=desk.dataset(b"[[1, 2]]")))
    assert Spec.model_validate_json(spec.model_dump_json()) == spec


def test_a_fit_then_a_prediction_and_an_evaluation(desk: Desk) -> None:
    made, _ = desk.finished()
    tree_id = sibling(made.id, "tr")
    rows = desk.dataset(json.dumps(LOGITS).encode())
    options = {"tree": tree_id}
    spec = desk.prepared(request(kind="predict", inputs={"logits": rows}, options=options))
    assert set(of_role(spec.sources, "tree").files) == {
        results.TREE,
        results.LEAF_OF_POINT,
        results.MODEL,
    }
    outcome = run(spec, lambda _: None)
    assert outcome.result == {"tree": tree_id, "predictions": {"n_rows": 4}}

    labels = desk.dataset(b"[0, 1, 2, 0]")
    inputs = {"labels": labels, "hierarchy": tree_id}
    spec = desk.prepared(request(kind="evaluate", inputs=inputs, options=options))
    # What measures needs no model.
    assert set(of_role(spec.sources, "tree").files) == {results.TREE, results.LEAF_OF_POINT}
    assert set(of_role(spec.sources, "hierarchy").files) == {results.TREE, results.LEAF_OF_POINT}


def test_an_import_and_an_inspection(desk: Desk) -> None:
    asked = request(kind="import", inputs={}, options={"format": "newick"})
    desk.parts.blobs.put(layout.inline("ada", asked.id, "content"), b"(a,b);")
    assert of_role(desk.prepared(asked).sources, "content").path.read_bytes() == b"(a,b);"

    found = desk.dataset(b"a,b\n1,2\n", format="csv", status="inspecting")
    spec = desk.prepared(request(kind="inspect", inputs={}, options={"dataset": found}))
    outcome = run(spec, lambda _: None)
    assert outcome.result is not None
    assert outcome.result["dataset"]["shape"] == [1, 2]


def test_a_deleted_dataset(desk: Desk) -> None:
    logits = desk.dataset(b"[[1, 2]]")
    desk.parts.datasets.delete("ada", logits)
    error = desk.refused(fit(logits=logits))
    assert error.code == "input-deleted"
    assert error.where == {"role": "logits"}
    assert logits in error.detail


def test_a_dataset_whose_content_is_gone(desk: Desk) -> None:
    logits = desk.dataset(b"[[1, 2]]")
    desk.parts.blobs.delete(layout.dataset("ada", logits, CONTENT))
    assert desk.refused(fit(logits=logits)).code == "input-deleted"


def test_an_inline_input_that_is_gone(desk: Desk) -> None:
    assert desk.refused(fit(logits="inline")).code == "input-deleted"


def test_a_deleted_tree(desk: Desk) -> None:
    made, _ = desk.finished()
    tree_id = sibling(made.id, "tr")
    assert desk.parts.trees.delete("ada", tree_id)
    asked = request(kind="evaluate", inputs={}, options={"tree": tree_id})
    assert desk.refused(asked).code == "input-deleted"


def test_what_is_another_tenants_is_not_there(desk: Desk) -> None:
    made, _ = desk.finished()
    logits = desk.dataset(b"[[1, 2]]")
    asked = request("bob", method="l2h", params={}, inputs={"logits": logits})
    assert desk.refused(asked).code == "input-deleted"
    options = {"tree": sibling(made.id, "tr")}
    assert desk.refused(request("bob", kind="evaluate", inputs={}, options=options)).code == (
        "input-deleted"
    )


def test_an_invalid_dataset_gives_its_own_problem(desk: Desk) -> None:
    why = problem("ragged", "The input", 422, "Row 3 has 4 values.", where={"row": 3})
    logits = desk.dataset(b"x", status="invalid", problem=why)
    error = desk.refused(fit(logits=logits))
    assert (error.code, error.detail) == ("ragged", "Row 3 has 4 values.")
    assert error.where == {"row": 3, "role": "logits", "dataset": logits}
    # An inspection may look again.
    desk.prepared(request(kind="inspect", inputs={}, options={"dataset": logits}))


def test_the_result_of_a_published_job_is_what_was_fitted(desk: Desk) -> None:
    made, outcome = desk.finished()
    tree = desk.parts.trees.load("ada", sibling(made.id, "tr"))
    assert tree is not None
    assert outcome.tree is not None
    assert tree.n_nodes == outcome.tree["n_nodes"] == 5
    classes = [int(tree.name[leaf]) for leaf in tree.leaf_of_point]
    np.testing.assert_array_equal(np.argmax(LOGITS, axis=1), classes)
