"""Which classes of a tree are taken for which."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from app.http.dependencies import ServiceDep, Tenant, TreeId
from app.http.etags import etag_of
from app.http.forms import Form, mount, respond
from app.http.late import LateRoute
from app.http.picture_forms import DOCUMENTED
from app.http.problems import ANYWHERE, responses
from app.http.queries import ONLY_KNOWN
from app.http.stored import record_of, tree_of
from app.http.streaming import turn
from app.resources.confusions.forms import FORMS, Confused, confusions_of
from app.resources.confusions.schemas import ConfusionsBody, ConfusionsQuery
from models.tree.walk import require_node

router = APIRouter(
    prefix="/v1/trees", tags=["trees"], dependencies=ONLY_KNOWN, route_class=LateRoute
)

_DOCUMENTED: dict[int | str, dict[str, Any]] = {
    200: {
        "model": ConfusionsBody,
        "description": "The pairs of classes, those with the largest mass first.",
        "content": {
            "text/csv": {
                "schema": {"type": "string"},
                "example": "node,name,taken_for,taken_for_name,mass,share,cost,meet,height\r\n"
                "3,Danish,4,Norwegian,7,0.07,0.05,1,2\r\n",
            },
            "application/x-npy": {"schema": {"type": "string", "format": "binary"}},
            **DOCUMENTED,
        },
    },
    304: {"description": "The client has the current version."},
    **responses(
        *ANYWHERE,
        *("not-found", "not-acceptable", "invalid-request", "wrong-shape", "too-large"),
        "unusable-input",
    ),
}


@mount(
    router,
    "/{tree_id}/confusions",
    FORMS,
    summary="Which classes are taken for which",
    responses=_DOCUMENTED,
)
async def get_confusions(
    request: Request,
    service: ServiceDep,
    tenant: Tenant,
    tree_id: TreeId,
    form: Form[Confused],
    query: Annotated[ConfusionsQuery, Query()],
) -> Response:
    """With `labels`, the rows of each class that lie in the leaf of another; without, what the
    method found by itself: of `l2h` the softmax probability that rows of one class, whose largest
    logit it is, give to another, added up; `share` is then its mean, the expected confusion. Pairs
    are ordered by mass, classes as in the tree; `nodes` adds up the pairs that meet at each node.
    CSV has all pairs, the matrix (row: the class, column: what it is taken for) all classes in the
    order of `classes`; a picture has the matrix as shares of each class's rows.
    """
    record = await record_of(service, tenant, tree_id)

    def load() -> tuple[Confused, dict[str, str]]:
        tree = tree_of(service, tenant, tree_id)
        confusions, source, warnings = confusions_of(service, tenant, tree_id, tree, query.labels)
        if query.root:
            require_node(tree, query.root)
            confusions = confusions.under(tree, query.root)
        sheet = query.sheet(service.settings.fonts)
        return Confused(tree, confusions, source, query, sheet, warnings), {}

    # A dataset never changes, but it may be removed.
    etag = None if query.labels else etag_of(f"{record.etag} {form.suffix} {query}".encode())
    return await respond(request, form, load, turn(record, "export"), etag=etag)
