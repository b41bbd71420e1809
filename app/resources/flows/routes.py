"""The clusters of several levels, and how rows flow from level to level."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from app.http.dependencies import ServiceDep, Tenant, TreeId, is_id
from app.http.etags import etag_of
from app.http.forms import Form, mount, respond
from app.http.late import LateRoute
from app.http.picture_forms import DOCUMENTED
from app.http.problems import ANYWHERE, not_found, responses
from app.http.queries import ONLY_KNOWN
from app.http.stored import record_of, tree_of
from app.http.streaming import turn
from app.resources.flows.forms import FORMS, Flows
from app.resources.flows.schemas import FlowsBody, FlowsQuery

router = APIRouter(
    prefix="/v1/trees", tags=["trees"], dependencies=ONLY_KNOWN, route_class=LateRoute
)

_BINARY = {"schema": {"type": "string", "format": "binary"}}
_DOCUMENTED: dict[int | str, dict[str, Any]] = {
    200: {
        "model": FlowsBody,
        "description": "The graph of clusters.",
        "content": {
            "text/csv": {
                "schema": {"type": "string"},
                "example": "source,target,rows,in_proportion,out_proportion,core\r\n"
                "0,1,3,1.0,0.75,True\r\n",
            },
            "application/graphml+xml": _BINARY,
            **DOCUMENTED,
        },
    },
    304: {"description": "The client has the current version."},
    **responses(
        *ANYWHERE,
        *("not-found", "not-acceptable", "invalid-request", "wrong-shape"),
        "too-large",
    ),
}


@mount(
    router,
    "/{tree_id}/flows",
    FORMS,
    summary="Clusters of several levels, and how rows flow between them",
    responses=_DOCUMENTED,
)
async def get_flows(
    request: Request,
    service: ServiceDep,
    tenant: Tenant,
    tree_id: TreeId,
    form: Form[Flows],
    query: Annotated[FlowsQuery, Query()],
) -> Response:
    """The graph that the R package clustree draws: a node for each cluster of each level, an edge
    where a cluster has rows in common with one of the next level. Levels are what a tree of
    `clustree` was made of; with `levels` the cuts of any tree, and with `other` then cuts of
    another tree of the same rows, matched as for `tangle`. A picture has a row of circles for each
    level, their area by rows, and lines by flow, the stronger the larger the in-proportion.
    """
    record = await record_of(service, tenant, tree_id)
    other = query.other
    if other is not None:
        if not is_id(other, "tr"):
            raise not_found("tree", other)
        await record_of(service, tenant, other)

    def load() -> tuple[Flows, dict[str, str]]:
        tree, sheet = tree_of(service, tenant, tree_id), query.sheet(service.settings.fonts)
        if query.levels is None:
            return Flows.of_method(tree, record.method or "", query, sheet), {}
        second = None if other is None else tree_of(service, tenant, other)
        return Flows.of_cuts(tree, second, query, sheet), {}

    # Another tree never changes, but it may be removed.
    etag = None if other else etag_of(f"{record.etag} flows {form.suffix} {query}".encode())
    return await respond(request, form, load, turn(record, "export"), etag=etag)
