"""The path of each cluster of a model over time: numbers, a table, a picture."""

from __future__ import annotations

from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Header, Path, Query, Request, Response

from app.forms import parts, tree
from app.forms.cluster_paths import opened
from app.forms.paths import FORMS, Wanted
from app.http import etags
from app.http.dependencies import ModelId, Service, ServiceDep, Tenant
from app.http.paging import LINK_HEADER, link_next
from app.http.problems import not_found, responses
from app.http.streaming import in_turn
from app.pictures.stream import MOST_SHOWN
from app.routes.trees import ANYWHERE, loaded
from app.schemas.paths import PathsBody, PathsQuery
from workers.artifacts import results
from workers.model import sibling

router = APIRouter(prefix="/v1/models", tags=["models"])

_DOCUMENTED: dict[int | str, dict[str, Any]] = {
    200: {
        "model": PathsBody,
        "description": "A page of the periods; as CSV, all of them; or a picture.",
        "headers": {
            **LINK_HEADER,
            "ETag": {"description": "Of this form.", "schema": {"type": "string"}},
        },
        "content": {
            "text/csv": {
                "schema": {"type": "string"},
                "example": "period,label,until,n_rows,cluster,name,weight,drift\r\n"
                "1,2024-02-01T00:00:00Z,,240,0,engine,0.625,14.8\r\n",
            },
            "image/svg+xml": {"schema": {"type": "string", "format": "binary"}},
            "image/png": {"schema": {"type": "string", "format": "binary"}},
        },
    },
    304: {"description": "The client has it."},
    **responses(*ANYWHERE, "not-found", "not-acceptable", "invalid-request"),
}


@router.get(
    "/{model_id}/paths.{suffix}",
    operation_id="get_paths_as",
    summary="Clusters over time in the form of a suffix",
    response_class=Response,
    responses=_DOCUMENTED,
)
async def get_paths_as(
    request: Request,
    service: ServiceDep,
    tenant: Tenant,
    model_id: ModelId,
    suffix: Annotated[str, Path(description="json, csv, svg or png.", examples=["csv"])],
    query: Annotated[PathsQuery, Query()],
) -> Response:
    """As without a suffix, the suffix saying which form."""
    form = tree.by_suffix(suffix, FORMS)
    return await _serve(request, service, tenant, model_id, form, query)


@router.get(
    "/{model_id}/paths",
    operation_id="get_paths",
    summary="Clusters over time",
    response_class=Response,
    responses=_DOCUMENTED,
)
async def get_paths(
    request: Request,
    service: ServiceDep,
    tenant: Tenant,
    model_id: ModelId,
    query: Annotated[PathsQuery, Query()],
    accept: Annotated[str | None, Header(description="JSON, CSV, SVG or PNG.")] = None,
) -> Response:
    """The path of each cluster of a model whose clusters move with time (`tvmf`): in every period
    its weight, the degrees that its mean has turned since the period before and since the first,
    and the features that tell it there. Page by page as JSON, all at once as CSV, or drawn.

    A picture has the weights as bands and below them the turns from period to period, of at most
    12 clusters; the others are one grey band. 404 for models that know no periods.
    """
    form = tree.by_accept(accept, FORMS)
    return await _serve(request, service, tenant, model_id, form, query)


async def _serve(
    request: Request,
    service: Service,
    tenant: str,
    model_id: str,
    form: tree.Form[Wanted],
    query: PathsQuery,
) -> Response:
    stored = await to_thread.run_sync(service.trees.stored, tenant, model_id, results.MODEL)
    path = await to_thread.run_sync(service.trees.file, tenant, model_id, results.MODEL)
    if stored is None or path is None:
        raise not_found("model", model_id)
    asked = query.model_dump_json(exclude_defaults=True)
    etag = etags.etag_of(f"{stored.sha256} {form.suffix} {asked}".encode())
    headers = {"ETag": etag, "Vary": "Accept", "Cache-Control": "private, no-cache"}
    tree_id = sibling(model_id, "tr")
    which = await parts.look_turn(service, tenant, tree_id)
    most = MOST_SHOWN if form.media.startswith("image/") else None
    paths = await in_turn(lambda: opened(model_id, path, query.wanted, most), which)
    if etags.matches(request.headers.get("if-none-match"), etag):
        return Response(status_code=304, headers=headers)
    wanted = await in_turn(lambda: Wanted(paths, loaded(service, tenant, tree_id), query), which)
    turn = "png" if form.suffix == "png" else which
    answer = await parts.written(form.write(wanted), turn, form.media)
    answer.headers.update(headers)
    if form.suffix == "json":
        link_next(request, answer, wanted.following)
    return answer
