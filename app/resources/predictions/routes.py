"""Predictions: new rows placed in a tree."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from fastapi import APIRouter, Header, Request, Response

from app.creation.creation import OF_TREE, Draft, Headers, SubmissionDep, Work, mount_create
from app.creation.inputs import resolve
from app.creation.named import Named
from app.creation.steps import image_roles
from app.http import threads
from app.http.bodies import StrictRoute
from app.http.dependencies import JobId, ModelId, Service, ServiceDep, Tenant, TreeId
from app.http.forms import Chunks, Form, by_accept, respond, warning
from app.http.json_parts import json_object
from app.http.problems import ANYWHERE, Refused, not_found, responses
from app.http.queries import ONLY_KNOWN
from app.http.stored import model_file, record_of
from app.http.streaming import Turn
from app.resources.predictions.schemas import PredictionRequest, Predictions
from workers import model
from workers.artifacts import results
from workers.formats.table_writers import Column, Piece, csv_chunks, json_rows, python_values
from workers.kinds.predict import PredictionTerms
from workers.model import Record, sibling

if TYPE_CHECKING:
    import pyarrow as pa

router = APIRouter(tags=["trees"], route_class=StrictRoute, dependencies=ONLY_KNOWN)
of_models = APIRouter(tags=["models"], route_class=StrictRoute, dependencies=ONLY_KNOWN)

Accept = Annotated[str | None, Header(description="JSON, Arrow or CSV.")]

PIECE_NODES = 8_192
"""The approximate number of list items in a piece: a path may be as long as the tree is deep, and a
row may have as many labels as there are classes."""
TEXT_LISTS = ("labels", "top", "node_names")
"""Columns that CSV has as JSON, since a label may contain any character."""
_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Placement:
    """Predictions as stored: an Arrow file, mapped and not read; it may be deleted meanwhile."""

    file: pa.MemoryMappedFile
    table: pa.Table

    @classmethod
    def at(cls, path: FilePath) -> Placement:
        import pyarrow as pa

        file = pa.memory_map(str(path))
        return cls(file, pa.ipc.open_file(file).read_all())

    @property
    def columns(self) -> list[str]:
        """Leaf, path and probabilities, then the method's own columns."""
        return list(map(str, self.table.column_names))

    def pieces(self) -> Iterator[Piece]:
        """The table, in pieces of rows with about `PIECE_NODES` list items."""
        for batch in self.table.to_batches():
            n_rows = batch.num_rows
            lists = {"path", "nodes", *TEXT_LISTS} & set(self.columns)
            ends = sum(batch.column(name).offsets.to_numpy() for name in lists)
            start = 0
            while start < n_rows:
                stop = int(np.searchsorted(ends, ends[start] + PIECE_NODES, side="right")) - 1
                stop = min(max(stop, start + 1), start + PIECE_NODES, n_rows)
                rows = batch.slice(start, stop - start)
                yield [python_values(column) for column in rows.columns]
                start = stop


def _json(placement: Placement) -> Chunks:
    yield from json_object({"items": json_rows(placement.columns, placement.pieces())})
    yield b"\n"


def _csv(placement: Placement) -> Chunks:
    def numbered() -> Iterator[Piece]:
        first = 0
        for piece in placement.pieces():
            cells = [
                _as_json(column) if name in TEXT_LISTS else column
                for name, column in zip(placement.columns, piece, strict=True)
            ]
            yield [range(first, first + len(cells[0])), *cells]
            first += len(cells[0])

    return csv_chunks(["row", *placement.columns], numbered())


def _as_json(column: Column) -> list[str]:
    return [json.dumps(value, ensure_ascii=False) for value in column]


def _arrow(placement: Placement) -> Chunks:
    placement.file.seek(0)
    while some := placement.file.read(_BYTES):
        yield some


FORMS: tuple[Form[Placement], ...] = (
    Form("json", "application/json", _json),
    Form("arrow", "application/vnd.apache.arrow.file", _arrow),
    Form("csv", "text/csv", _csv),
)

PLACED: dict[str, Any] = {
    "model": Predictions,
    "description": "The places of the rows, in the given order.",
    "headers": {
        "Warning": {
            "description": "Why there are fewer clusters than `k`; how rows were placed, if "
            "the method itself has no rule for new rows.",
            "schema": {"type": "string"},
        }
    },
    "content": {
        "text/csv": {
            "schema": {
                "type": "string",
                "description": "Lists have spaces between their items; `labels`, `top` and "
                "`node_names` are JSON.",
            },
            "example": "row,leaf,path,probabilities\r\n0,17,0 3 17,1.0 0.9 0.7\r\n",
        },
        "application/vnd.apache.arrow.file": {"schema": {"type": "string", "format": "binary"}},
    },
}


@mount_create(
    router,
    "/v1/trees/{tree_id}/predictions",
    "predict",
    operation_id="predict",
    summary="Place new rows in a tree",
    status_code=200,
    ended=PLACED,
    refusals=(*OF_TREE, "not-acceptable"),
)
async def predict(
    submission: SubmissionDep,
    tree_id: TreeId,
    body: PredictionRequest,
    accept: Accept = None,
) -> Work:
    """Places new rows, given as the inputs that the tree's method takes: the leaf of each row, the
    path from the root, and the probability of every node on it. Classifiers add the labels, which
    `threshold` and `confidence` change, and their `top_k` best classes. A prediction that takes
    longer becomes a job whose `result.predictions` is the address of the answer.
    """
    form = by_accept(accept, FORMS)
    request, service, tenant = submission.request, submission.service, submission.tenant
    record = await record_of(service, tenant, tree_id)

    def draft() -> Draft:
        if body.calibration is not None:
            Named("calibrate").require_of_tree(
                service, tenant, body.calibration, tree_id, "calibration"
            )
        inputs = resolve(service, tenant, body.inputs, image_roles(record.method))
        given = body.model_dump(include=set(PredictionTerms.model_fields), exclude_none=True)
        return Draft(
            PredictionTerms(tree=tree_id, **given), record.method, inputs.refs, inputs.inline
        )

    async def result(done: Record, headers: Headers) -> Response:
        return await _placed(request, service, done, form, headers)

    return Work(draft, result)


@mount_create(
    of_models,
    "/v1/models/{model_id}/predictions",
    "predict",
    operation_id="predict_with_model",
    summary="Place new rows with a model",
    status_code=200,
    ended=PLACED,
    refusals=(*OF_TREE, "not-acceptable"),
)
async def predict_with_model(
    submission: SubmissionDep,
    model_id: ModelId,
    body: PredictionRequest,
    accept: Accept = None,
) -> Work:
    """As predictions with the model's tree."""
    await threads.run_sync(model_file, submission.service, submission.tenant, model_id)
    return await predict(submission, sibling(model_id, "tr"), body, accept)


@router.get(
    "/v1/jobs/{job_id}/predictions",
    operation_id="get_predictions",
    summary="Predictions of a job",
    response_class=Response,
    responses={
        200: PLACED,
        **responses(*ANYWHERE, "not-found", "not-acceptable", "conflict"),
    },
)
async def get_predictions(
    request: Request, service: ServiceDep, tenant: Tenant, job_id: JobId, accept: Accept = None
) -> Response:
    """The predictions of a job, once it has succeeded."""
    form = by_accept(accept, FORMS)
    record = await threads.run_sync(service.ledger.get, tenant, job_id)
    if record is None or record.kind != "predict":
        raise not_found("job of predictions", job_id)
    if record.status != "succeeded":
        raise Refused("conflict", f"Job {job_id!r} is {record.status}; it has no predictions.")
    return await _placed(request, service, record, form, {})


async def _placed(
    request: Request,
    service: Service,
    done: Record,
    form: Form[Placement],
    headers: Headers,
) -> Response:
    def load() -> tuple[Placement, Headers]:
        tree_id = model.sibling(done.id, "tr")
        path = service.trees.file(done.tenant, tree_id, results.PREDICTIONS)
        if path is None:
            raise not_found("job of predictions", done.id)
        return Placement.at(path), {**headers, **warning(" ".join(done.warnings) or None)}

    return await respond(request, form, load, Turn("export", waits=False))
