"""Maps: the points of a tree in the plane, and the node that fits an outline on one."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Request, Response
from fastapi import Path as InPath
from pydantic import BaseModel

from app.creation.creation import Draft, SubmissionDep, Work
from app.creation.fit_rows import require_n_rows
from app.creation.inputs import resolve
from app.creation.named import NamedJobs
from app.http import threads
from app.http.bodies import StrictRoute
from app.http.dependencies import Service, ServiceDep, Tenant, TreeId
from app.http.etags import etag_of
from app.http.forms import Form, mount, respond, warning
from app.http.picture_forms import DOCUMENTED
from app.http.picture_queries import EditionOf
from app.http.problems import ANYWHERE, not_found, responses
from app.http.queries import ONLY_KNOWN
from app.http.stored import record_of, tree_of
from app.http.streaming import in_turn, turn
from app.resources.maps.forms import FORMS, Positions
from app.resources.maps.schemas import (
    EXAMPLE,
    PLACE_EXAMPLE,
    POSITIONS_EXAMPLE,
    SELECTION_EXAMPLE,
    FittingNode,
    MapBody,
    MapRequest,
    PlaceBody,
    PositionsBody,
    PositionsQuery,
    SelectionBody,
    SelectionQuery,
)
from app.resources.maps.submission import subject
from app.resources.trees.shown import categories_of, shown_etag, shown_tree_of
from models.editions.edited import EditedTree
from models.maps.selection import best_fits, inside
from models.tree import walk
from models.tree.cluster_names import cluster_names
from models.tree.walk import points_before, points_in_order
from workers.artifacts import results
from workers.artifacts.trees import TreeRecord
from workers.kinds.of_fit import OfFit

if TYPE_CHECKING:
    import pyarrow as pa

router = APIRouter(prefix="/v1", tags=["maps"], route_class=StrictRoute, dependencies=ONLY_KNOWN)
MAPS = NamedJobs("map", MapBody)
MapId = Annotated[str, MAPS.checked_id]

_ETAG = {"ETag": {"description": "ETag of this form.", "schema": {"type": "string"}}}
_UNCHANGED: dict[int | str, dict[str, Any]] = {
    304: {"description": "Unchanged since the ETag in If-None-Match."}
}


@MAPS.create(
    router,
    "/trees/{tree_id}/maps",
    EXAMPLE,
    operation_id="create_map",
    summary="Map the points of a tree",
    refusals=("method-unavailable",),
)
async def create_map(submission: SubmissionDep, tree_id: TreeId, body: MapRequest) -> Work:
    """Lays the points of the tree out in the plane: by principal components, by the neighbours of
    each point (UMAP, t-SNE), or where its method placed them in the Poincaré disc. The map is
    removed with its tree; it expires with it unless `expires_at` says otherwise.
    """
    service, tenant = submission.service, submission.tenant
    tree = await record_of(service, tenant, tree_id)

    def draft() -> Draft:
        inputs = resolve(service, tenant, {str(role): value for role, value in body.inputs.items()})
        require_n_rows(tree, inputs.shapes.get("features"))
        mapped = subject(service, tree, body)
        return Draft(
            params=body.own(),
            options=OfFit(tree=tree_id, of_fit=mapped.role, preprocess=tuple(mapped.preprocess)),
            inputs=inputs.refs,
            inline=inputs.inline,
            expires_at=mapped.expires_at,
        )

    return Work(draft)


MAPS.mount_of_tree(router, EXAMPLE)


MAPS.mount_get(router, EXAMPLE, "The state of a map, and what it shows once it has succeeded.")


MAPS.mount(router, EXAMPLE)


def _documented(
    model: type[BaseModel], description: str, content: dict[str, Any]
) -> dict[int | str, dict[str, Any]]:
    return {
        200: {
            "model": model,
            "description": description,
            "headers": _ETAG,
            "content": content,
        },
        304: {"description": "The client has the current version."},
        **responses(*ANYWHERE, "not-found", "not-acceptable", "conflict", "invalid-request"),
    }


@mount(
    router,
    "/maps/{map_id}/positions",
    FORMS,
    summary="Where the points lie",
    responses=_documented(
        PositionsBody,
        "The positions.",
        {
            "application/json": {"example": POSITIONS_EXAMPLE},
            "text/csv": {"schema": {"type": "string"}, "example": "row,x,y\r\n0,1.25,-0.5\r\n"},
            "application/x-npy": {"schema": {"type": "string", "format": "binary"}},
            "application/vnd.apache.arrow.file": {"schema": {"type": "string", "format": "binary"}},
            **DOCUMENTED,
        },
    ),
)
async def get_positions(
    request: Request,
    service: ServiceDep,
    tenant: Tenant,
    map_id: MapId,
    form: Form[Positions],
    query: Annotated[PositionsQuery, Query()],
) -> Response:
    """Where each point lies, in float32: by row, or by the leaves of the tree from left to right.
    As `.npy` a matrix of two columns, x and y. Points of the Poincaré disc lie within the unit
    circle. A picture of more than 20,000 points has them as one image.
    """
    record, path = await _made(service, tenant, map_id)
    result = MapBody.of(await MAPS.succeeded(service, tenant, map_id)).result
    assert result is not None

    def load() -> tuple[Positions, dict[str, str]]:
        xy = np.load(path, mmap_mode="r", allow_pickle=False)
        row, tree, categories = np.arange(len(xy)), None, None
        if query.order == "leaves" or form.drawn:
            shown = shown_tree_of(service, tenant, record.id, None, query.edition)
            tree = shown.tree
            if query.order == "leaves":
                row = points_in_order(tree)
                xy = xy[row]
            if form.drawn:
                categories = categories_of(service, tenant, record.id, shown, query.color_by)
        sheet = query.sheet(service.settings.fonts)
        ids = None if form.drawn else service.trees.ids(tenant, record.id)
        positions = Positions(row, xy, result, query, sheet, tree, categories, ids)
        return positions, warning(positions.warning()) if form.drawn else {}

    # A map never changes once it has succeeded; the order of leaves may.
    requested = query.model_dump_json(exclude_defaults=True)
    etag = etag_of(f"{map_id} {form.suffix} {requested}".encode())
    etag = await shown_etag(service, tenant, record.id, None, query.edition, etag)
    return await respond(request, form, load, turn(record, "export"), etag=etag)


@router.get(
    "/maps/{map_id}/selection",
    operation_id="select_on_map",
    summary="The node that fits an outline",
    response_model=SelectionBody,
    responses={
        200: {"content": {"application/json": {"example": SELECTION_EXAMPLE}}},
        **responses(*ANYWHERE, "not-found", "conflict", "invalid-request"),
    },
)
async def select_on_map(
    service: ServiceDep,
    tenant: Tenant,
    map_id: MapId,
    query: Annotated[SelectionQuery, Query()],
) -> SelectionBody:
    """The number of points within a closed outline, and which nodes of the whole tree have these
    points and few others: by F1, with purity and recall of each.
    """
    record, path = await _made(service, tenant, map_id)

    def fits() -> SelectionBody:
        tree = tree_of(service, tenant, record.id)
        positions = np.load(path, mmap_mode="r", allow_pickle=False)
        selected = inside(positions, query.corners())
        best = best_fits(tree, selected, query.limit)
        names = cluster_names(tree, np.array([fit.node for fit in best], dtype=np.int64))
        items = [
            FittingNode(
                name=name,
                size=int(tree.size[fit.node]),
                path=walk.path(tree, fit.node).tolist(),
                **asdict(fit),
            )
            for fit, name in zip(best, names, strict=True)
        ]
        return SelectionBody(n_points=int(selected.sum()), items=items)

    return await in_turn(fits, turn(record, "look"))


@router.get(
    "/trees/{tree_id}/places/{place}",
    operation_id="get_place",
    summary="One point",
    response_model=PlaceBody,
    response_model_exclude_unset=True,
    responses={
        200: {"content": {"application/json": {"example": PLACE_EXAMPLE}}},
        **responses(*ANYWHERE, "not-found"),
    },
)
async def get_place(
    service: ServiceDep,
    tenant: Tenant,
    tree_id: TreeId,
    place: Annotated[
        int,
        InPath(
            ge=0, le=2**31 - 1, description="A point's number from left to right.", examples=[0]
        ),
    ],
    edition: EditionOf = None,
) -> PlaceBody:
    """The point at a place of the tree, where points are from left to right as their leaves, and
    within a leaf by row: its row, and the leaf that holds it.
    """
    record = await record_of(service, tenant, tree_id)
    if place >= record.n_points:
        raise not_found("place", str(place))
    return await in_turn(
        lambda: _place(
            shown_tree_of(service, tenant, tree_id, None, edition),
            place,
            service.trees.ids(tenant, tree_id),
        ),
        turn(record, "look"),
    )


def _place(shown: EditedTree, place: int, ids: pa.Array | None) -> PlaceBody:
    """ids : of all rows, where they have any. O(n_leaves + n_points)."""
    tree = shown.tree
    leaves = tree.leaves[tree.size[tree.leaves] > 0]
    before = points_before(tree)[leaves]
    leaf = int(leaves[np.where(before <= place, before, -1).argmax()])
    (rows,) = np.nonzero(tree.leaf_of_point == leaf)
    row = int(rows[place - int(points_before(tree)[leaf])])
    return PlaceBody(
        place=place,
        row=row,
        **({} if ids is None else {"id": ids[row].as_py()}),
        leaf=shown.id(leaf),
        name=tree.name[leaf],
        path=shown.ids_of(walk.path(tree, leaf)).tolist(),
    )


async def _made(service: Service, tenant: str, map_id: str) -> tuple[TreeRecord, Path]:
    """The tree of a map that has succeeded, and the file with its positions."""
    record = await MAPS.succeeded(service, tenant, map_id)
    path = await threads.run_sync(MAPS.file, service, tenant, map_id, results.POSITIONS)
    return await record_of(service, tenant, MapBody.of(record).tree or ""), path
