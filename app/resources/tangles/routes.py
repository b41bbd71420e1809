"""Two trees of the same rows side by side."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from app.http.dependencies import ServiceDep, Tenant, TreeId, is_id
from app.http.forms import Form, mount, respond
from app.http.late import LateRoute
from app.http.picture_forms import DOCUMENTED
from app.http.problems import ANYWHERE, not_found, responses
from app.http.queries import ONLY_KNOWN
from app.http.stored import look_turn, tree_of
from app.http.streaming import Turn
from app.resources.tangles.forms import FORMS, TangleExport
from app.resources.tangles.schemas import TangleBody, TangleQuery

router = APIRouter(
    prefix="/v1/trees", tags=["trees"], dependencies=ONLY_KNOWN, route_class=LateRoute
)

_DOCUMENTED: dict[int | str, dict[str, Any]] = {
    200: {
        "model": TangleBody,
        "description": "Both trees; what moved as CSV.",
        "content": {
            **DOCUMENTED,
            "text/csv": {
                "schema": {"type": "string"},
                "example": "name,share,left,right,from_node,from_name,from_with,to_node,to_name,"
                "to_with\r\ncat,0.625,3,9,2,animals,dog; cow,7,plants,oak; elm\r\n",
            },
        },
    },
    **responses(*ANYWHERE, "not-found", "not-acceptable", "invalid-request", "wrong-shape"),
}


@mount(
    router,
    "/{tree_id}/tangle",
    FORMS,
    summary="Two trees side by side",
    responses=_DOCUMENTED,
)
async def tangle_trees(
    request: Request,
    service: ServiceDep,
    tenant: Tenant,
    tree_id: TreeId,
    form: Form[TangleExport],
    query: Annotated[TangleQuery, Query()],
) -> Response:
    """Both trees laid out for drawing, their visible ends, and the number of rows that each pair of
    ends shares. Trees of different rows, say a tree of classes beside a hierarchy of the same
    classes, are compared by the names of their leaves, if at least three are the same; `warnings`
    say what is not shared. `moved` lists the leaves that are in another group; as CSV it is all
    there is. Siblings are turned so that fewer links cross; the entanglement (0 to 1, as in
    dendextend with L = 1.5) is given before and after that.
    """
    other = query.other
    if not is_id(other, "tr"):
        raise not_found("tree", other)
    turns = [await look_turn(service, tenant, either) for either in (tree_id, other)]

    def load() -> tuple[TangleExport, dict[str, str]]:
        left, right = (tree_of(service, tenant, either) for either in (tree_id, other))
        sheet = query.sheet(service.settings.fonts)
        return TangleExport.of(left, right, query, sheet), {}

    turn = Turn("look", any(turn.waits for turn in turns))
    return await respond(request, form, load, turn)
