"""The cluster of each input row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from app.http.dependencies import ServiceDep, Tenant, TreeId
from app.http.etags import etag_of
from app.http.forms import Form, mount, respond, warning
from app.http.late import LateRoute
from app.http.picture_queries import AssignmentsQuery
from app.http.problems import ANYWHERE, responses
from app.http.queries import ONLY_KNOWN
from app.http.stored import record_of
from app.http.streaming import turn
from app.resources.trees.assignments.forms import FORMS, Assigned, LeavesOfCut, OneCut, Taxonomy
from app.resources.trees.schemas import Assignments, LeafAssignments, NestedAssignments
from app.resources.trees.shown import shown_etag, shown_tree_of
from models.tree.cut import cut
from models.tree.rows import names_of_rows
from models.tree.tree import Tree

if TYPE_CHECKING:
    import pyarrow as pa

router = APIRouter(
    prefix="/v1/trees", tags=["trees"], dependencies=ONLY_KNOWN, route_class=LateRoute
)


_DOCUMENTED: dict[int | str, dict[str, Any]] = {
    200: {
        "model": Assignments | NestedAssignments | LeafAssignments,
        "description": "The clusters, and the cluster of every input row or leaf.",
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
                "description": "Why there are fewer clusters than `k`, or noise in them.",
                "schema": {"type": "string"},
            }
        },
    },
    304: {"description": "The client has the current version."},
    **responses(*ANYWHERE, "not-found", "not-acceptable", "invalid-request"),
}


@mount(
    router,
    "/{tree_id}/assignments",
    FORMS,
    summary="The cluster of every row, or of every leaf",
    responses=_DOCUMENTED,
)
async def get_assignments(
    request: Request,
    service: ServiceDep,
    tenant: Tenant,
    tree_id: TreeId,
    form: Form[Assigned],
    query: Annotated[AssignmentsQuery, Query()],
) -> Response:
    """The flat clustering of a cut by `k`, `height` or `level`; without a cut, of the leaves. With
    `levels`, the clusterings of several cuts, nested in each other: a taxonomy of the rows. With
    `of=leaves`, a line for each leaf in place of each row, with its name, its cluster and, where
    the tree has it, the cluster's support.

    Rows that the method takes for noise have the cluster -1. `k` does not count noise. A cut that
    is too coarse to have the noise apart, such as into the root alone, has it in its clusters, and
    warns of that.
    """
    record = await record_of(service, tenant, tree_id)
    bounds = query.model_dump(exclude_none=True, exclude={"of", "names", "edition"})

    def load() -> tuple[Assigned, dict[str, str]]:
        shown = shown_tree_of(service, tenant, tree_id, query.names, query.edition)
        tree = shown.tree
        assigned: Assigned
        ids = _ids_of(service.trees.ids(tenant, tree_id), tree)
        if query.levels is None and query.of == "leaves":
            assigned = LeavesOfCut(shown, bounds, cut(tree, **bounds))
        elif query.levels is None:
            columns = service.trees.points(tenant, tree_id)
            assigned = OneCut(shown, bounds, cut(tree, **bounds), columns, ids)
        else:
            numbers = query.numbers()
            assigned = Taxonomy(shown, numbers, [cut(tree, k=k) for k in numbers], ids)
        return assigned, warning(assigned.warning)

    etag = etag_of(
        f"{record.etag} assignments with noise and names {form.suffix} {query.of} {bounds}".encode()
    )
    etag = await shown_etag(service, tenant, tree_id, query.names, query.edition, etag)
    return await respond(request, form, load, turn(record, "export"), etag=etag)


def _ids_of(ids: pa.Array | None, tree: Tree) -> pa.Array | None:
    """The ids of the rows, else their names; None where rows have neither."""
    if ids is not None or (names := names_of_rows(tree)) is None:
        return ids
    import pyarrow as pa

    return pa.array(names, pa.large_string())
