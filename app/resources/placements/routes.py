"""Placements: what hangs out of place in a hierarchy, by a tree of the same classes."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from app.creation.creation import Draft, SubmissionDep, Work
from app.creation.fit_rows import fit_rows
from app.creation.inputs import resolve
from app.creation.named import NamedJobs
from app.http.bodies import StrictRoute
from app.http.dependencies import Service, ServiceDep, Tenant, TreeId
from app.http.etags import etag_of
from app.http.forms import Form, mount, respond
from app.http.picture_forms import DOCUMENTED
from app.http.picture_queries import PictureQuery
from app.http.problems import ANYWHERE, responses
from app.http.queries import ONLY_KNOWN
from app.http.stored import record_of
from app.http.streaming import Turn
from app.http.tables import mapped
from app.resources.placements.forms import FORMS, PlacementExport
from app.resources.placements.schemas import EXAMPLE, PlacementBody, PlacementRequest
from workers.artifacts import results
from workers.artifacts.trees import TreeRecord
from workers.kinds.place import PlacementOptions

router = APIRouter(prefix="/v1", tags=["trees"], route_class=StrictRoute, dependencies=ONLY_KNOWN)
PLACEMENTS = NamedJobs("place", PlacementBody)
PlacementId = Annotated[str, PLACEMENTS.checked_id]

_CSV = (
    "what,name,node,n_classes,under,under_name,place,place_name,beside,fit,best_fit,margin,"
    "p_value,adjusted,odd,alike,taken_for,examples\r\n"
    'class,snail,31,1,12,jug,4,gastropod,"[""slug""]",0.08,0.71,0.63,2.1e-08,4e-06,true,'
    '"[""slug""]",[],[17]\r\n'
)


@PLACEMENTS.create(
    router,
    "/trees/{tree_id}/placements",
    EXAMPLE,
    operation_id="create_placement",
    summary="Find what is out of place in a hierarchy",
)
async def create_placement(
    submission: SubmissionDep, tree_id: TreeId, body: PlacementRequest
) -> Work:
    """Holds a tree of classes beside a hierarchy of the same classes, matched by name, and lists
    the classes and subtrees of the hierarchy that would fit better elsewhere, those most out of
    place first, with a p-value under control of the rate of false discoveries, where each would
    have to hang, what it is like and taken for, and rows that show it. Classes are compared by the
    logits of the tree's fit where these are still there, and by the tree.
    """
    service, tenant = submission.service, submission.tenant
    tree = await record_of(service, tenant, tree_id)

    def draft() -> Draft:
        inputs = resolve(service, tenant, {"hierarchy": body.hierarchy})
        role, preprocess = _logits(service, tenant, tree)
        options = PlacementOptions(
            tree=tree_id, of_fit=role, preprocess=preprocess, level=body.level
        )
        return Draft(options=options, inputs=inputs.refs, inline=inputs.inline)

    return Work(draft)


def _logits(
    service: Service, tenant: str, tree: TreeRecord
) -> tuple[str | None, tuple[dict[str, Any], ...]]:
    """(the role of the fit's logits, None where it had none or they were removed; its steps)."""
    rows = fit_rows(service, tree)
    kept = all(each == "inline" or service.datasets.get(tenant, each) for each in rows.inputs)
    if rows.role != "logits" or not kept:
        return None, ()
    return rows.role, tuple(rows.preprocess)


PLACEMENTS.mount(router, EXAMPLE)


@mount(
    router,
    "/placements/{placement_id}",
    FORMS,
    summary="One placement",
    responses={
        200: {
            "model": PlacementBody,
            "description": "The state of the placement; all classes and subtrees, as a table or a "
            "picture.",
            "headers": {
                "ETag": {"description": "ETag of this form.", "schema": {"type": "string"}}
            },
            "content": {
                "application/json": {"example": EXAMPLE},
                "text/csv": {"schema": {"type": "string"}, "example": _CSV},
                **DOCUMENTED,
            },
        },
        304: {"description": "The client has the current version."},
        **responses(*ANYWHERE, "not-found", "not-acceptable", "conflict"),
    },
)
async def get_placement(
    request: Request,
    service: ServiceDep,
    tenant: Tenant,
    placement_id: PlacementId,
    form: Form[PlacementExport],
    query: Annotated[PictureQuery, Query()],
) -> Response:
    """The state of a placement with what is out of place, the oddest first; as CSV all classes,
    then all subtrees, as a picture the 45 classes and 15 subtrees first.
    """
    find = PLACEMENTS.find if form.suffix == "json" else PLACEMENTS.succeeded
    body = PlacementBody.of(await find(service, tenant, placement_id))

    def load() -> tuple[PlacementExport, dict[str, str]]:
        def items() -> Any:
            return mapped(PLACEMENTS.file(service, tenant, placement_id, results.PLACEMENTS))

        return PlacementExport(body, items, query, query.sheet(service.settings.fonts)), {}

    content = body.model_dump_json()
    requested = f"{content} {form.suffix} {query.model_dump_json(exclude_defaults=True)}"
    etag = etag_of((content if form.suffix == "json" else requested).encode())
    return await respond(request, form, load, Turn("look", waits=False), etag=etag)
