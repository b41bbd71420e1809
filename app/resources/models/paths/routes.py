"""The paths of a model's clusters over time: numbers, a table, a picture."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from app.http import threads
from app.http.dependencies import ModelId, ServiceDep, Tenant
from app.http.etags import etag_of
from app.http.forms import Form, mount, respond
from app.http.late import LateRoute
from app.http.paging import LINK_HEADER, next_link
from app.http.picture_forms import DOCUMENTED
from app.http.problems import ANYWHERE, not_found, responses
from app.http.queries import ONLY_KNOWN
from app.http.stored import look_turn, tree_of
from app.pictures.stream import MOST_SHOWN
from app.resources.models.paths.clusters import paths_in
from app.resources.models.paths.forms import FORMS, PathsExport
from app.resources.models.paths.schemas import PathsBody, PathsQuery
from workers.artifacts import results
from workers.model import sibling

router = APIRouter(
    prefix="/v1/models", tags=["models"], dependencies=ONLY_KNOWN, route_class=LateRoute
)

_DOCUMENTED: dict[int | str, dict[str, Any]] = {
    200: {
        "model": PathsBody,
        "description": "A page of the periods; all of them as CSV; or a picture.",
        "headers": {
            **LINK_HEADER,
            "ETag": {"description": "ETag of this form.", "schema": {"type": "string"}},
        },
        "content": {
            "text/csv": {
                "schema": {"type": "string"},
                "example": "period,label,until,n_rows,cluster,name,weight,drift\r\n"
                "1,2024-02-01T00:00:00Z,,240,0,engine,0.625,14.8\r\n",
            },
            **DOCUMENTED,
        },
    },
    304: {"description": "The client has the current version."},
    **responses(*ANYWHERE, "not-found", "not-acceptable", "invalid-request"),
}


@mount(
    router,
    "/{model_id}/paths",
    FORMS,
    summary="Clusters over time",
    responses=_DOCUMENTED,
)
async def get_paths(
    request: Request,
    service: ServiceDep,
    tenant: Tenant,
    model_id: ModelId,
    form: Form[PathsExport],
    query: Annotated[PathsQuery, Query()],
) -> Response:
    """The path of each cluster of a model whose clusters move with time (`tvmf`): for every period
    its weight, the degrees that its mean has turned since the previous and since the first period,
    and its most distinctive features. One page as JSON, all periods as CSV, or a picture.

    A picture shows the weights as bands, and below them the turns from period to period, for at
    most 12 clusters; the others are one grey band. 404 for models without periods.
    """
    stored = await threads.run_sync(service.trees.stored, tenant, model_id, results.MODEL)
    path = await threads.run_sync(service.trees.file, tenant, model_id, results.MODEL)
    if stored is None or path is None:
        raise not_found("model", model_id)
    tree_id = sibling(model_id, "tr")
    most = MOST_SHOWN if form.drawn else None

    def load() -> tuple[PathsExport, dict[str, str]]:
        paths = paths_in(path, model_id, query.chosen_clusters, most)
        export = PathsExport(
            paths, tree_of(service, tenant, tree_id), query, query.sheet(service.settings.fonts)
        )
        paged = form.suffix == "json"
        return export, next_link(request, export.next_cursor) if paged else {}

    etag = etag_of(
        f"{stored.sha256} {form.suffix} {query.model_dump_json(exclude_defaults=True)}".encode()
    )
    turn = await look_turn(service, tenant, tree_id)
    return await respond(request, form, load, turn, etag=etag)
