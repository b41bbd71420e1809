"""Heatmaps: clusters by features, or by their distances, in the order of the tree."""

from __future__ import annotations

import json
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Path, Query, Request, Response

from app.creation.creation import Draft, SubmissionDep, Work
from app.creation.fit_rows import fit_rows, require_fit_rows, require_n_rows
from app.creation.inputs import resolve
from app.creation.named import NamedJobs
from app.http import threads
from app.http.bodies import StrictRoute
from app.http.dependencies import Service, ServiceDep, Tenant, TreeId
from app.http.etags import etag_of
from app.http.forms import Form, mount, respond, warning
from app.http.picture_forms import DOCUMENTED
from app.http.picture_queries import SizedPictureQuery
from app.http.problems import ANYWHERE, not_found, refused_at, responses
from app.http.queries import ONLY_KNOWN
from app.http.stored import record_of, tree_of
from app.http.streaming import Turn
from app.resources.heatmaps.forms import FORMS, HeatmapExport, HeatmapOverview, ids_of_nodes
from app.resources.heatmaps.schemas import (
    AXES_EXAMPLE,
    EXAMPLE,
    AxesBody,
    HeatmapBody,
    HeatmapRequest,
)
from models.heatmaps.heatmap import OF_TREE, pooled_range, quantised, tile
from workers.artifacts import results
from workers.kinds.of_fit import OfFit

router = APIRouter(
    prefix="/v1", tags=["heatmaps"], route_class=StrictRoute, dependencies=ONLY_KNOWN
)
HEATMAPS = NamedJobs("heatmap", HeatmapBody)
HeatmapId = Annotated[str, HEATMAPS.checked_id]

_AXES: Form[bytes] = Form("json", "application/json", lambda content: iter([content]))
_TILE: Form[bytes] = Form("bin", "application/octet-stream", lambda content: iter([content]))
_UNCHANGED: dict[int | str, dict[str, Any]] = {
    304: {"description": "Unchanged since the ETag in If-None-Match."}
}


@HEATMAPS.create(
    router,
    "/trees/{tree_id}/heatmaps",
    EXAMPLE,
    operation_id="create_heatmap",
    summary="Clusters of a tree as a matrix",
)
async def create_heatmap(submission: SubmissionDep, tree_id: TreeId, body: HeatmapRequest) -> Work:
    """A matrix with a row for each cluster or leaf in the order of the tree: of `features`, the
    columns ordered by a tree of their own, or of the `distances` between the rows. It is read in
    tiles. The heatmap is removed with its tree; it expires with it unless `expires_at` says
    otherwise.
    """
    service, tenant = submission.service, submission.tenant
    tree = await record_of(service, tenant, tree_id)

    def draft() -> Draft:
        given = {str(role): value for role, value in body.inputs.items()}
        rows = fit_rows(service, tree)
        needs_rows = body.metric not in OF_TREE
        if given and not needs_rows:
            raise refused_at(
                "wrong-input",
                f"Distances {body.metric!r} are of the tree: leave out `inputs`.",
                "inputs",
            )
        if needs_rows and "features" not in given:
            require_fit_rows(rows, tree)
        inputs = resolve(service, tenant, given)
        require_n_rows(tree, inputs.shapes.get("features"))
        of_fit = needs_rows and "features" not in given
        of_names = of_fit and "feature_names" not in given and body.what == "features"
        cut = None if body.cut is None else body.cut.model_dump(exclude_none=True)
        return Draft(
            params={**body.own(), "cut": cut},
            options=OfFit(
                tree=tree_id,
                of_fit=rows.role if of_fit else None,
                names_of_fit=rows.names if of_names else None,
                preprocess=tuple(rows.preprocess if of_fit else ()),
            ),
            inputs=inputs.refs,
            inline=inputs.inline,
            expires_at=rows.expires_at,
        )

    return Work(draft)


HEATMAPS.mount_of_tree(router, EXAMPLE)


HEATMAPS.mount(router, EXAMPLE)


@mount(
    router,
    "/heatmaps/{heatmap_id}",
    FORMS,
    summary="One heatmap",
    responses={
        200: {
            "model": HeatmapBody,
            "description": "The state of the heatmap, or its picture.",
            "headers": {
                "ETag": {"description": "ETag of this form.", "schema": {"type": "string"}}
            },
            "content": {"application/json": {"example": EXAMPLE}, **DOCUMENTED},
        },
        **_UNCHANGED,
        **responses(*ANYWHERE, "not-found", "not-acceptable", "conflict"),
    },
)
async def get_heatmap(
    request: Request,
    service: ServiceDep,
    tenant: Tenant,
    heatmap_id: HeatmapId,
    form: Form[HeatmapExport],
    query: Annotated[SizedPictureQuery, Query()],
) -> Response:
    """The state of a heatmap, and what it shows once it has succeeded. As a picture its cells with
    the trees over rows and columns, and names where there is room; of more than 256 rows or columns
    cells are averages, as a `Warning` says.
    """
    find = HEATMAPS.succeeded if form.drawn else HEATMAPS.find
    body = HeatmapBody.of(await find(service, tenant, heatmap_id))

    def load() -> tuple[HeatmapExport, dict[str, str]]:
        overview = _overview(service, tenant, body) if form.drawn else None
        export = HeatmapExport(body, overview, query, query.sheet(service.settings.fonts))
        return export, warning(None if overview is None else overview.warning())

    requested = f"{form.suffix} {query.model_dump_json(exclude_defaults=True)}"
    content = body.model_dump_json()
    etag = etag_of((f"{content} {requested}" if form.drawn else content).encode())
    return await respond(request, form, load, Turn("look", waits=form.drawn), etag=etag)


def _overview(service: Service, tenant: str, body: HeatmapBody) -> HeatmapOverview:
    """The cells of a heatmap that has succeeded, for a picture. Blocks."""
    assert body.result is not None
    values = HEATMAPS.file(service, tenant, body.id, results.HEATMAP)
    return HeatmapOverview.of(
        np.load(values, mmap_mode="r", allow_pickle=False),
        body.result,
        AxesBody.model_validate_json(_axes(service, tenant, body)),
        tree_of(service, tenant, body.tree or ""),
    )


def _axes(service: Service, tenant: str, body: HeatmapBody) -> bytes:
    """The axes as JSON, with the ids of rows that are one point, where points have ids. Blocks;
    O(n_points log n_points) with ids. Raises Refused for a heatmap that is gone."""
    content = HEATMAPS.file(service, tenant, body.id, results.AXES).read_bytes()
    ids = service.trees.ids(tenant, body.tree or "")
    if ids is None:
        return content
    axes = json.loads(content)
    axes["rows"]["id"] = ids_of_nodes(
        tree_of(service, tenant, body.tree or ""), axes["rows"]["node"], ids
    )
    return json.dumps(axes, allow_nan=False).encode()


@router.get(
    "/heatmaps/{heatmap_id}/axes",
    operation_id="get_heatmap_axes",
    summary="The rows and columns of a heatmap",
    response_model=AxesBody,
    responses={
        200: {"content": {"application/json": {"example": AXES_EXAMPLE}}},
        **_UNCHANGED,
        **responses(*ANYWHERE, "not-found", "conflict"),
    },
)
async def get_heatmap_axes(
    request: Request, service: ServiceDep, tenant: Tenant, heatmap_id: HeatmapId
) -> Response:
    """The nodes that are rows, and the features that are columns, with the tree over them."""
    body = HeatmapBody.of(await HEATMAPS.succeeded(service, tenant, heatmap_id))
    await threads.run_sync(HEATMAPS.file, service, tenant, heatmap_id, results.AXES)
    etag = etag_of(f"{heatmap_id} axes".encode())
    waits = Turn("json", waits=False)
    return await respond(
        request, _AXES, lambda: (_axes(service, tenant, body), {}), waits, etag=etag
    )


@router.get(
    "/heatmaps/{heatmap_id}/tiles/{level}/{row}/{column}",
    operation_id="get_heatmap_tile",
    summary="A tile of a heatmap",
    response_class=Response,
    responses={
        200: {
            "description": "Cells by rows, each two bytes, the lower one first.",
            "content": {
                "application/octet-stream": {"schema": {"type": "string", "format": "binary"}}
            },
        },
        **_UNCHANGED,
        **responses(*ANYWHERE, "not-found", "conflict"),
    },
)
async def get_heatmap_tile(
    request: Request,
    service: ServiceDep,
    tenant: Tenant,
    heatmap_id: HeatmapId,
    level: Annotated[int, Path(ge=0, le=31, description="The level of detail, from 0.")],
    row: Annotated[int, Path(ge=0, le=2**31 - 1, description="The tile's row of tiles.")],
    column: Annotated[int, Path(ge=0, le=2**31 - 1, description="Its column of tiles.")],
) -> Response:
    """A tile of up to 256 x 256 cells. At the last level a cell is one value; at each level above
    it averages twice as many rows and columns, if there are more than fit: mean values, mean
    cosine and cophenetic distances, root mean square Euclidean ones. A cell `q`, an unsigned
    number of 16 bits, stands for `low + q / 65535 * (high - low)`,
    but for `missing`, which stands for no value.
    """
    record = await HEATMAPS.succeeded(service, tenant, heatmap_id)
    body = HeatmapBody.of(record)
    shape = body.result
    assert shape is not None
    ranges = [pooled_range(shape.n_rows, level, row), pooled_range(shape.n_columns, level, column)]
    if level >= shape.n_levels or ranges[0] is None or ranges[1] is None:
        raise not_found("tile", f"{level}/{row}/{column}")
    rows, columns = ranges[0], ranges[1]
    path = await threads.run_sync(HEATMAPS.file, service, tenant, heatmap_id, results.HEATMAP)

    def load() -> tuple[bytes, dict[str, str]]:
        values = np.load(path, mmap_mode="r", allow_pickle=False)
        averages = tile(values, shape.what, shape.metric, rows, columns)
        return quantised(averages, shape.low, shape.high).tobytes(), {}

    etag = etag_of(f"{heatmap_id} {level} {row} {column}".encode())
    return await respond(request, _TILE, load, Turn("look", waits=True), etag=etag)
