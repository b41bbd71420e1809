"""Drifts: two samples of rows compared in a tree, and what moved from one to the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from app.creation.creation import Draft, SubmissionDep, Work
from app.creation.inputs import ResolvedInputs, resolve
from app.creation.named import NamedJobs
from app.creation.steps import image_roles
from app.http.bodies import StrictRoute
from app.http.dependencies import Service, ServiceDep, Tenant, TreeId
from app.http.etags import etag_of
from app.http.forms import Form, mount, respond
from app.http.picture_forms import DOCUMENTED
from app.http.picture_queries import PictureQuery
from app.http.problems import ANYWHERE, Refused, refused_at, responses
from app.http.queries import ONLY_KNOWN
from app.http.stored import record_of
from app.http.streaming import Turn
from app.http.tables import TABLE, documented_table, mapped
from app.resources.drifts.forms import FORMS, DriftExport
from app.resources.drifts.schemas import (
    EXAMPLE,
    NODE_EXAMPLE,
    DriftBody,
    DriftNodes,
    DriftRequest,
    SampleBody,
)
from models.errors import UsageError
from workers.artifacts import results
from workers.formats.strict_json import SAMPLES
from workers.kinds.drift import DriftOptions

if TYPE_CHECKING:
    pass

router = APIRouter(
    prefix="/v1", tags=["predictions"], route_class=StrictRoute, dependencies=ONLY_KNOWN
)
DRIFTS = NamedJobs("drift", DriftBody)
DriftId = Annotated[str, DRIFTS.checked_id]

_CSV = (
    "aspect,node,name,parent,parent_name,direction,before,after,low,high,p_value,n_before,"
    'n_after,label\r\nmass,17,rose,3,"rose, tulip",gained,0.41,0.63,0.14,0.3,2.1e-08,164,252,\r\n'
)


@DRIFTS.create(
    router,
    "/trees/{tree_id}/drifts",
    EXAMPLE,
    operation_id="create_drift",
    summary="Compare two samples in a tree",
)
async def create_drift(submission: SubmissionDep, tree_id: TreeId, body: DriftRequest) -> Work:
    """Places a reference and a batch in the tree, and finds the nodes that gained or lost mass,
    confidence or, with labels, purity, under control of false discoveries. A split is compared
    among the rows that reach it, so that a change is found where it happens. A `webhook` gets
    `n_moves`.
    """
    service, tenant = submission.service, submission.tenant
    record = await record_of(service, tenant, tree_id)

    def draft() -> Draft:
        refs: dict[str, Any] = {}
        inline: dict[str, bytes] = {}
        for name in SAMPLES:
            inputs = _resolved(service, tenant, name, getattr(body, name), record.method)
            refs |= {f"{name}.{role}": ref for role, ref in inputs.refs.items()}
            inline |= {f"{name}.{role}": content for role, content in inputs.inline.items()}
        return Draft(
            options=DriftOptions(tree=tree_id, level=body.level),
            inputs=refs,
            inline=inline,
        )

    return Work(draft)


def _resolved(
    service: Service, tenant: str, name: str, sample: SampleBody, method_id: str
) -> ResolvedInputs:
    """The inputs of a sample. Raises Refused and UsageError that name it."""
    if "labels" in sample.inputs:
        detail = f"Give the labels of the {name} beside its `inputs`."
        raise refused_at("wrong-input", detail, name, "inputs", "labels")
    values = dict(sample.inputs)
    if sample.labels is not None:
        values["labels"] = sample.labels
    try:
        inputs = resolve(service, tenant, values, image_roles(method_id))
    except Refused as refused:
        refused.problem["detail"] = f"In the {name}: {refused.problem['detail']}"
        for error in refused.problem.get("errors", ()):
            error["pointer"] = [name, *error["pointer"]]
        raise
    except UsageError as error:
        raise UsageError(
            f"In the {name}: {error.detail}", code=error.code, **{**error.where, "sample": name}
        ) from error
    lengths = {role: shape[0] for role, shape in inputs.shapes.items()}
    n_labels = lengths.pop("labels", None)
    n_rows = next(iter(lengths.values()), None)
    if n_labels is not None and n_rows is not None and n_labels != n_rows:
        detail = f"The {name} has {n_labels} labels for {n_rows} rows; each needs one."
        raise refused_at("wrong-shape", detail, name, "labels")
    return inputs


DRIFTS.mount(router, EXAMPLE)


@mount(
    router,
    "/drifts/{drift_id}",
    FORMS,
    summary="One drift",
    responses={
        200: {
            "model": DriftBody,
            "description": "The state of the drift; all that moved, as a table or a picture.",
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
async def get_drift(
    request: Request,
    service: ServiceDep,
    tenant: Tenant,
    drift_id: DriftId,
    form: Form[DriftExport],
    query: Annotated[PictureQuery, Query()],
) -> Response:
    """The state of a drift with what moved, the surest first; as CSV all that moved, as a picture
    the 60 surest changes, each from before to after.
    """
    find = DRIFTS.find if form.suffix == "json" else DRIFTS.succeeded
    body = DriftBody.of(await find(service, tenant, drift_id))

    def load() -> tuple[DriftExport, dict[str, str]]:
        def moves() -> Any:
            return mapped(DRIFTS.file(service, tenant, drift_id, results.MOVES))

        return DriftExport(body, moves, query, query.sheet(service.settings.fonts)), {}

    requested = f"{form.suffix} {query.model_dump_json(exclude_defaults=True)}"
    content = body.model_dump_json()
    etag = etag_of((content if form.suffix == "json" else f"{content} {requested}").encode())
    return await respond(request, form, load, Turn("look", waits=False), etag=etag)


@mount(
    router,
    "/drifts/{drift_id}/nodes",
    TABLE,
    summary="Nodes of a drift",
    responses=documented_table(
        DriftNodes,
        "Every node, before and after.",
        {"items": [NODE_EXAMPLE]},
        f"{','.join(NODE_EXAMPLE)}\r\n17,3,rose,164,252,0.082,0.126,0.025,0.063,,0.41,0.63,0.14,"
        "0.3,2.1e-08,True\r\n",
    ),
)
async def get_drift_nodes(
    request: Request, service: ServiceDep, tenant: Tenant, drift_id: DriftId, form: Form[Any]
) -> Response:
    """Every node of the tree with its rows, mass, share of its parent's rows, confidence and
    purity in both samples, the interval of each change, its p-value and whether it was found.
    """
    return await DRIFTS.table(request, service, tenant, drift_id, form, results.DRIFT)
