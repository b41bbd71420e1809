"""Predictions: new rows placed in a tree."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import numpy as np
from anyio import to_thread
from fastapi import APIRouter, Header, Request, Response
from starlette.responses import StreamingResponse

from app.forms import tree
from app.http import streaming
from app.http.bodies import StrictRoute
from app.http.dependencies import JobId, OnceDep, RequestId, Service, ServiceDep, Tenant, TreeId
from app.http.problems import Refused, not_found, responses
from app.http.waiting import Prefer
from app.routes.trees import ANYWHERE
from app.schemas.jobs import JobBody
from app.schemas.predictions import PredictionRequest, Predictions
from app.submission import tree_jobs
from app.submission.inputs import resolve
from workers import model
from workers.artifacts import results
from workers.model import Record

if TYPE_CHECKING:
    import pyarrow as pa

_Row: TypeAlias = tuple[int, list[int], list[float], tuple[Any, ...]]

router = APIRouter(tags=["trees"], route_class=StrictRoute)

Accept = Annotated[str | None, Header(description="JSON, Arrow or CSV.")]

_AT_ONCE = 8_192
"""About so many nodes of paths are written at a time: a path may be as long as the tree is deep."""
_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class _Placement:
    """Predictions as stored: an Arrow file, mapped and not read; it may be deleted meanwhile."""

    file: pa.MemoryMappedFile
    table: pa.Table

    @classmethod
    def at(cls, path: FilePath) -> _Placement:
        import pyarrow as pa

        file = pa.memory_map(str(path))
        return cls(file, pa.ipc.open_file(file).read_all())

    @property
    def short(self) -> bool:
        return bool(self.table.nbytes <= _BYTES)

    @property
    def own(self) -> list[str]:
        """The columns that the method has besides."""
        return [str(name) for name in self.table.column_names[3:]]

    def rows(self) -> Iterator[list[_Row]]:
        """Rows with their path, probabilities and own columns, some at a time."""
        for batch in self.table.to_batches():
            leaf = batch.column("leaf").to_numpy()
            path, probability = batch.column("path"), batch.column("probabilities")
            ends = path.offsets.to_numpy()
            # Both columns are written with the same offsets.
            nodes, shares = path.values.to_numpy(), probability.values.to_numpy()
            start = 0
            while start < len(leaf):
                stop = int(np.searchsorted(ends, ends[start] + _AT_ONCE, side="right")) - 1
                stop = min(max(stop, start + 1), start + _AT_ONCE, len(leaf))
                low, high = ends[start], ends[stop]
                node, share = nodes[low:high].tolist(), shares[low:high].tolist()
                at = (ends[start : stop + 1] - low).tolist()
                some = batch.slice(start, stop - start)
                own = zip(*(some.column(name).to_pylist() for name in self.own), strict=True)
                yield [
                    (one, node[begin:end], share[begin:end], next(own, ()))
                    for one, begin, end in zip(leaf[start:stop].tolist(), at, at[1:], strict=False)
                ]
                start = stop


def _json(placed: _Placement) -> Iterator[bytes]:
    lead = b'{"items": ['
    for rows in placed.rows():
        items = [
            {
                "leaf": leaf,
                "path": path,
                "probabilities": shares,
                **dict(zip(placed.own, own, strict=True)),
            }
            for leaf, path, shares, own in rows
        ]
        yield lead + json.dumps(items, allow_nan=False)[1:-1].encode()
        lead = b", "
    yield (lead if lead != b", " else b"") + b"]}\n"


def _csv(placed: _Placement) -> Iterator[bytes]:
    yield ",".join(["row", "leaf", "path", "probabilities", *placed.own]).encode() + b"\r\n"
    number = 0
    for rows in placed.rows():
        text = io.StringIO()
        csv.writer(text).writerows(
            (row, leaf, " ".join(map(str, path)), " ".join(map(repr, shares)), *map(_cell, own))
            for row, (leaf, path, shares, own) in enumerate(rows, number)
        )
        number += len(rows)
        yield text.getvalue().encode()


def _cell(value: object) -> str:
    return tree.cell(value) if isinstance(value, str) else repr(value)


def _arrow(placed: _Placement) -> Iterator[bytes]:
    placed.file.seek(0)
    while piece := placed.file.read(_BYTES):
        yield piece


FORMS: tuple[tree.Form[_Placement], ...] = (
    tree.Form("json", "application/json", _json),
    tree.Form("arrow", "application/vnd.apache.arrow.file", _arrow),
    tree.Form("csv", "text/csv", _csv),
)

PLACED: dict[int | str, dict[str, Any]] = {
    200: {
        "model": Predictions,
        "description": "Where the rows lie, in the order given.",
        "content": {
            "text/csv": {
                "schema": {"type": "string"},
                "example": "row,leaf,path,probabilities\r\n0,17,0 3 17,1.0 0.9 0.7\r\n",
            },
            "application/vnd.apache.arrow.file": {"schema": {"type": "string", "format": "binary"}},
        },
    }
}


@router.post(
    "/v1/trees/{tree_id}/predictions",
    operation_id="predict",
    summary="Place new rows in a tree",
    response_class=Response,
    responses={
        **PLACED,
        202: {"model": JobBody, "description": "It takes longer; follow the job."},
        **responses(*tree_jobs.REFUSALS, "not-acceptable"),
    },
)
async def predict(
    request: Request,
    service: ServiceDep,
    tenant: Tenant,
    request_id: RequestId,
    tree_id: TreeId,
    body: PredictionRequest,
    once: OnceDep,
    prefer: Prefer = None,
    accept: Accept = None,
) -> Response:
    """New rows by the inputs that the tree's method takes: each one's leaf, its path from the root
    and the probability of every node on it. Long ones become a job whose `result.predictions` says
    where the answer lies.
    """
    form = tree.by_accept(accept, FORMS)
    record = await tree_jobs.tree_of(service, tenant, tree_id)
    job_id = model.new_id("job")
    content = await request.body()

    async def make() -> Response:
        given = await to_thread.run_sync(resolve, service, tenant, body.inputs)
        asked_for = tree_jobs.asked(
            "predict",
            job_id,
            tenant,
            request_id,
            once=once,
            mark=content,
            method=record.method,
            inputs=given.refs,
            options={"tree": tree_id},
        )
        done, answer, headers = await tree_jobs.outcome(
            request, service, asked_for, given.inline, prefer
        )
        return answer or await _placed(service, done, form, headers)

    async def again(made_id: str) -> Response | None:
        earlier = await to_thread.run_sync(service.ledger.get, tenant, made_id)
        if earlier is None:
            return None
        done, answer = tree_jobs.settled(request, service, earlier)
        return answer or await _placed(service, done, form, {})

    return await once.answer(job_id, content, make, again)


@router.get(
    "/v1/jobs/{job_id}/predictions",
    operation_id="get_predictions",
    summary="Predictions of a job",
    response_class=Response,
    responses={
        **PLACED,
        **responses(*ANYWHERE, "not-found", "not-acceptable", "conflict"),
    },
)
async def get_predictions(
    service: ServiceDep, tenant: Tenant, job_id: JobId, accept: Accept = None
) -> Response:
    """What a job of predictions found, once it has succeeded."""
    form = tree.by_accept(accept, FORMS)
    record = await to_thread.run_sync(service.ledger.get, tenant, job_id)
    if record is None or record.kind != "predict":
        raise not_found("job of predictions", job_id)
    if record.status != "succeeded":
        raise Refused("conflict", f"Job {job_id!r} is {record.status}; it has no predictions.")
    return await _placed(service, record, form, {})


async def _placed(
    service: Service,
    done: Record | None,
    form: tree.Form[_Placement],
    headers: dict[str, str],
) -> Response:
    assert done is not None

    def opened() -> _Placement:
        tree_id = model.sibling(done.id, "tr")
        path = service.trees.file(done.tenant, tree_id, results.PREDICTIONS)
        if path is None:
            raise not_found("job of predictions", done.id)
        return _Placement.at(path)

    def write() -> bytes | Iterator[bytes]:
        placed = opened()
        chunks = form.write(placed)
        # A short answer is whole, so that an Idempotency-Key can keep it.
        return b"".join(chunks) if placed.short else chunks

    content = await streaming.in_turn(write, None)
    headers = {**headers, "Vary": "Accept"}
    if isinstance(content, bytes):
        return Response(content, media_type=form.media, headers=headers)
    return StreamingResponse(streaming.pieces(content), media_type=form.media, headers=headers)
