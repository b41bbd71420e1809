"""What it would gain and lose to make one class of several."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from app.http.dependencies import ServiceDep, Tenant, TreeId
from app.http.etags import etag_of
from app.http.forms import Form, mount, respond
from app.http.late import LateRoute
from app.http.problems import ANYWHERE, responses
from app.http.queries import ONLY_KNOWN
from app.http.stored import record_of, tree_of
from app.http.streaming import turn
from app.resources.confusions.forms import confusions_of
from app.resources.confusions.merges.forms import FORMS, Merged
from app.resources.confusions.merges.schemas import MergesBody, MergesQuery
from models.answers.confusions import merges

router = APIRouter(
    prefix="/v1/trees", tags=["trees"], dependencies=ONLY_KNOWN, route_class=LateRoute
)

_DOCUMENTED: dict[int | str, dict[str, Any]] = {
    200: {
        "model": MergesBody,
        "description": "The curve, and the nodes that gain most.",
        "content": {
            "text/csv": {
                "schema": {"type": "string"},
                "example": "node,name,n_classes,accuracy,bits,ratio,accuracy_low,accuracy_high\r\n"
                ",,3,0.9,1.585,,0.9,0.9\r\n1,rose or tulip,2,0.98,0.918,0.12,0.98,0.98\r\n",
            }
        },
    },
    304: {"description": "The client has the current version."},
    **responses(
        *ANYWHERE,
        *("not-found", "not-acceptable", "invalid-request", "wrong-shape", "unusable-input"),
    ),
}


@mount(
    router,
    "/{tree_id}/merges",
    FORMS,
    summary="What merging classes gains and loses",
    responses=_DOCUMENTED,
)
async def get_merges(
    request: Request,
    service: ServiceDep,
    tenant: Tenant,
    tree_id: TreeId,
    form: Form[Merged],
    query: Annotated[MergesQuery, Query()],
) -> Response:
    """If all classes under a node were one, rows that are taken for another of them would be right,
    and what tells them apart would be lost. Each step of the curve merges the node that makes most
    rows right for each bit that is lost; no other merges are better at any price of a bit. Classes
    and `labels` are as for `confusions`. By logits, of each row the best classes are known one by
    one and all others in sum: accuracies and gains are then estimates between stated bounds, to the
    last step, which is exact.
    """
    record = await record_of(service, tenant, tree_id)

    def load() -> tuple[Merged, dict[str, str]]:
        tree = tree_of(service, tenant, tree_id)
        confusions, source, warnings = confusions_of(service, tenant, tree_id, tree, query.labels)
        curve = merges(tree, confusions)
        warnings = (*warnings, *curve.warnings)
        return Merged(tree, curve, confusions.n_rows, source, query.limit, warnings), {}

    # A dataset never changes, but it may be removed.
    etag = None if query.labels else etag_of(f"{record.etag} {form.suffix} {query}".encode())
    return await respond(request, form, load, turn(record, "export"), etag=etag)
