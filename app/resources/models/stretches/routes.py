"""The features that a model's transformation stretches: numbers, a table, a picture."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from app.http import threads
from app.http.dependencies import ModelId, ServiceDep, Tenant
from app.http.etags import etag_of
from app.http.forms import Form, mount, respond
from app.http.late import LateRoute
from app.http.picture_forms import DOCUMENTED
from app.http.problems import ANYWHERE, not_found, responses
from app.http.queries import ONLY_KNOWN
from app.http.stored import look_turn
from app.resources.models.stretches.forms import FORMS, StretchesExport, stretches_in
from app.resources.models.stretches.schemas import StretchesBody, StretchesQuery
from workers.artifacts import results
from workers.model import sibling

router = APIRouter(
    prefix="/v1/models", tags=["models"], dependencies=ONLY_KNOWN, route_class=LateRoute
)

_DOCUMENTED: dict[int | str, dict[str, Any]] = {
    200: {
        "model": StretchesBody,
        "description": "The features that are stretched most, as numbers or a picture.",
        "headers": {"ETag": {"description": "ETag of this form.", "schema": {"type": "string"}}},
        "content": {
            "text/csv": {
                "schema": {"type": "string"},
                "example": "rank,feature,column,stretch,spread,reach\r\n"
                "1,petal length,2,2.5,1.75,4.375\r\n",
            },
            **DOCUMENTED,
        },
    },
    304: {"description": "The client has the current version."},
    **responses(*ANYWHERE, "not-found", "not-acceptable", "invalid-request"),
}


@mount(
    router,
    "/{model_id}/features",
    FORMS,
    summary="What a transformation stretches",
    responses=_DOCUMENTED,
)
async def get_stretched_features(
    request: Request,
    service: ServiceDep,
    tenant: Tenant,
    model_id: ModelId,
    form: Form[StretchesExport],
    query: Annotated[StretchesQuery, Query()],
) -> Response:
    """How far each feature moves a row under the transformation that the model's method learned
    (`outputs` in the catalogue has `transformation`), the farthest first: for a growth by 1
    (`stretch`) and by the feature's standard deviation (`reach`). Features are those after
    `preprocess`. A picture shows them as bars. 404 for models without a transformation.
    """
    stored = await threads.run_sync(service.trees.stored, tenant, model_id, results.MODEL)
    path = await threads.run_sync(service.trees.file, tenant, model_id, results.MODEL)
    if stored is None or path is None:
        raise not_found("model", model_id)

    def load() -> tuple[StretchesExport, dict[str, str]]:
        return stretches_in(path, model_id, query, query.sheet(service.settings.fonts)), {}

    etag = etag_of(
        f"{stored.sha256} {form.suffix} {query.model_dump_json(exclude_defaults=True)}".encode()
    )
    turn = await look_turn(service, tenant, sibling(model_id, "tr"))
    return await respond(request, form, load, turn, etag=etag)
