"""Which cluster each input row lies in."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Header, Path, Query, Request, Response
from starlette.responses import StreamingResponse

from app.forms import tree as forms
from app.http import etags, streaming
from app.http.dependencies import Service, ServiceDep, Tenant, TreeId
from app.http.problems import not_found, responses
from app.routes.trees import ANYWHERE
from app.schemas.parts import CutQuery
from app.schemas.trees import Assignments
from app.submission import tree_jobs
from models.tree.cut import Cut, cut
from models.tree.tree import Tree

router = APIRouter(prefix="/v1/trees", tags=["trees"])

_ROWS = 16_384


@dataclass(frozen=True, slots=True)
class _Assigned:
    """columns : what the method says of each point, by name."""

    tree: Tree
    asked: dict[str, Any]
    cut: Cut
    columns: dict[str, Any]


def _json(assigned: _Assigned) -> Iterator[bytes]:
    # The encoder keeps the interpreter to itself, so it gets short lists.
    found, tree = assigned.cut, assigned.tree
    yield b'{"cut": ' + json.dumps(assigned.asked).encode() + b', "clusters": ['
    for start in range(0, found.n_clusters, _ROWS // 4):
        rows = slice(start, start + _ROWS // 4)
        nodes = found.nodes[rows]
        clusters = [
            {"id": start + offset, "node": node, "size": size, "name": name}
            for offset, (node, size, name) in enumerate(
                zip(nodes.tolist(), found.sizes[rows].tolist(), tree.name[nodes], strict=True)
            )
        ]
        yield _listed(clusters, start)
    yield b'], "assignments": ['
    for start in range(0, tree.n_points, _ROWS):
        yield _listed(found.cluster_of_point[start : start + _ROWS].tolist(), start)
    yield b"]"
    if assigned.columns:
        yield b', "columns": {'
    for number, (name, values) in enumerate(assigned.columns.items()):
        yield (b", " if number else b"") + json.dumps(name).encode() + b": ["
        for start in range(0, tree.n_points, _ROWS):
            yield _listed(values[start : start + _ROWS].tolist(), start)
        yield b"]"
    warnings = [found.warning] if found.warning else []
    if assigned.columns:
        yield b"}"
    yield b', "warnings": ' + json.dumps(warnings).encode() + b"}\n"


def _listed(items: list[Any], start: int) -> bytes:
    return (b", " if start else b"") + json.dumps(items)[1:-1].encode()


def _csv(assigned: _Assigned) -> Iterator[bytes]:
    found, tree = assigned.cut, assigned.tree
    extra = assigned.columns
    yield ",".join(["row,cluster,node,name", *extra]).encode() + b"\r\n"
    for start in range(0, tree.n_points, _ROWS):
        clusters = found.cluster_of_point[start : start + _ROWS]
        nodes = found.nodes[clusters]
        text = io.StringIO()
        csv.writer(text).writerows(
            (start + offset, cluster, node, "" if name is None else forms.cell(name), *more)
            for offset, (cluster, node, name, *more) in enumerate(
                zip(
                    clusters.tolist(),
                    nodes.tolist(),
                    tree.name[nodes],
                    *(values[start : start + _ROWS].tolist() for values in extra.values()),
                    strict=True,
                )
            )
        )
        yield text.getvalue().encode()


def _npy(assigned: _Assigned) -> Iterator[bytes]:
    yield from forms.npy_chunks(assigned.cut.cluster_of_point.astype(np.int64, copy=False))


def _arrow(assigned: _Assigned) -> Iterator[bytes]:
    import pyarrow as pa

    found = assigned.cut
    rows = found.cluster_of_point
    yield from forms.arrow_chunks(
        pa.table({"cluster": rows, "node": found.nodes[rows], **assigned.columns})
    )


FORMS: tuple[forms.Form[_Assigned], ...] = (
    forms.Form("json", "application/json", _json),
    forms.Form("csv", "text/csv", _csv),
    forms.Form("npy", "application/x-npy", _npy),
    forms.Form("arrow", "application/vnd.apache.arrow.file", _arrow),
)

_DOCUMENTED: dict[int | str, dict[str, Any]] = {
    200: {
        "model": Assignments,
        "description": "The clusters, and the cluster of every input row.",
        "content": {
            "text/csv": {
                "schema": {"type": "string"},
                "example": "row,cluster,node,name\r\n0,0,1,rose\r\n",
            },
            "application/x-npy": {"schema": {"type": "string", "format": "binary"}},
            "application/vnd.apache.arrow.file": {"schema": {"type": "string", "format": "binary"}},
        },
        "headers": {
            "Warning": {
                "description": "Why there are fewer clusters than `k`.",
                "schema": {"type": "string"},
            }
        },
    },
    304: {"description": "The client has it."},
    **responses(*ANYWHERE, "not-found", "not-acceptable", "invalid-request"),
}


@router.get(
    "/{tree_id}/assignments.{suffix}",
    operation_id="get_assignments_as",
    summary="Cluster of every row in the form of a suffix",
    response_class=Response,
    responses=_DOCUMENTED,
)
async def get_assignments_as(
    request: Request,
    service: ServiceDep,
    tenant: Tenant,
    tree_id: TreeId,
    suffix: Annotated[str, Path(description="json, csv, npy or arrow.", examples=["csv"])],
    query: Annotated[CutQuery, Query()],
) -> Response:
    """As without a suffix, the suffix saying which form."""
    form = forms.by_suffix(suffix, FORMS)
    return await _serve(request, service, tenant, tree_id, form, query)


@router.get(
    "/{tree_id}/assignments",
    operation_id="get_assignments",
    summary="Cluster of every row",
    response_class=Response,
    responses=_DOCUMENTED,
)
async def get_assignments(
    request: Request,
    service: ServiceDep,
    tenant: Tenant,
    tree_id: TreeId,
    query: Annotated[CutQuery, Query()],
    accept: Annotated[str | None, Header(description="JSON, CSV, npy or Arrow.")] = None,
) -> Response:
    """The flat clustering that a cut by `k`, `height` or `level` gives; without one, the leaves."""
    form = forms.by_accept(accept, FORMS)
    return await _serve(request, service, tenant, tree_id, form, query)


async def _serve(
    request: Request,
    service: Service,
    tenant: str,
    tree_id: str,
    form: forms.Form[_Assigned],
    query: CutQuery,
) -> Response:
    record = await tree_jobs.tree_of(service, tenant, tree_id)
    asked = query.model_dump(exclude_none=True)
    etag = etags.etag_of(f"{record.etag} assignments {form.suffix} {asked}".encode())
    headers = {"ETag": etag, "Vary": "Accept", "Cache-Control": "private, no-cache"}
    if etags.matches(request.headers.get("if-none-match"), etag):
        return Response(status_code=304, headers=headers)

    def assigned() -> _Assigned:
        tree = service.trees.load(tenant, tree_id)
        if tree is None:
            raise not_found("tree", tree_id)
        return _Assigned(tree, asked, cut(tree, **asked), service.trees.points(tenant, tree_id))

    def write() -> tuple[bytes | Iterator[bytes], str | None]:
        found = assigned()
        chunks = form.write(found)
        content = b"".join(chunks) if found.tree.n_points <= _ROWS // 4 else chunks
        return content, found.cut.warning

    content, warning = await streaming.in_turn(write, streaming.turn(record, "export"))
    if warning:
        headers["Warning"] = f'199 - "{warning}"'
    if isinstance(content, bytes):
        return Response(content, media_type=form.media, headers=headers)
    return StreamingResponse(streaming.pieces(content), media_type=form.media, headers=headers)
