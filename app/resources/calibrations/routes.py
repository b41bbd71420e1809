"""Calibrations: answers of a tree that hold the truth as often as promised."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from app.creation.creation import Draft, SubmissionDep, Work
from app.creation.inputs import resolve
from app.creation.named import Named, NamedJobs
from app.creation.steps import image_roles
from app.http.bodies import StrictRoute
from app.http.dependencies import ServiceDep, Tenant, TreeId
from app.http.etags import etag_of
from app.http.forms import Form, mount, respond
from app.http.picture_forms import DOCUMENTED
from app.http.picture_queries import PictureQuery
from app.http.problems import ANYWHERE, refused_at, responses
from app.http.queries import ONLY_KNOWN
from app.http.stored import record_of
from app.http.streaming import Turn
from app.http.tables import TABLE, documented_table, mapped
from app.resources.calibrations.forms import FORMS, CurveExport
from app.resources.calibrations.schemas import (
    CURVE_EXAMPLE,
    EXAMPLE,
    GROUPS_EXAMPLE,
    PAIRS_EXAMPLE,
    SUSPECTS_EXAMPLE,
    CalibrationBody,
    CalibrationRequest,
    CurveBody,
    GroupsBody,
    PairsBody,
    SuspectsBody,
)
from models.calibration.calibration import CalibrationTerms
from workers.artifacts import results
from workers.kinds.calibrate import CalibrationOptions

if TYPE_CHECKING:
    pass

if TYPE_CHECKING:
    pass

router = APIRouter(
    prefix="/v1", tags=["predictions"], route_class=StrictRoute, dependencies=ONLY_KNOWN
)
CALIBRATIONS = NamedJobs("calibrate", CalibrationBody)
CalibrationId = Annotated[str, CALIBRATIONS.checked_id]

_CHILDREN = {"level": 1}


@CALIBRATIONS.create(
    router,
    "/trees/{tree_id}/calibrations",
    EXAMPLE,
    operation_id="create_calibration",
    summary="Calibrate answers",
)
async def create_calibration(
    submission: SubmissionDep, tree_id: TreeId, body: CalibrationRequest
) -> Work:
    """Learns from rows with known classes, which the model must not have seen, how deep answers may
    go. Predictions that name it answer by the deepest node, or the fewest nodes, that hold a row's
    class with probability at least 1 - `alpha`, keep an expected loss below it, or cost least, if
    new rows are like those given, or differ as a `drift` says. With `after`, levels follow rows
    whose classes became known: a promise of all of them, whatever comes.
    """
    service, tenant = submission.service, submission.tenant
    record = await record_of(service, tenant, tree_id)
    for role in ("labels", "costs"):
        if role in body.inputs:
            raise refused_at("wrong-input", f"Give `{role}` beside `inputs`.", "inputs", role)

    def draft() -> Draft:
        values = {**body.inputs, "labels": body.labels}
        if body.costs is not None:
            values["costs"] = body.costs
        for kind, given_id, pointer in (
            ("drift", body.drift, "drift"),
            ("calibrate", body.after, "after"),
        ):
            if given_id is not None:
                Named(kind).require_of_tree(service, tenant, given_id, tree_id, pointer)
        inputs = resolve(service, tenant, values, image_roles(record.method))
        given = body.model_dump(include=set(CalibrationTerms.model_fields), exclude_unset=True)
        options: dict[str, Any] = {"tree": tree_id, "drift": body.drift, "after": body.after}
        options |= given
        if body.per == "subtree":
            cut = body.cut
            options["cut"] = _CHILDREN if cut is None else cut.model_dump(exclude_none=True)
        return Draft(
            options=CalibrationOptions.model_validate(options),
            inputs=inputs.refs,
            inline=inputs.inline,
        )

    return Work(draft)


CALIBRATIONS.mount_get(
    router, EXAMPLE, "The state of a calibration, and what it learned once it has succeeded."
)


CALIBRATIONS.mount(router, EXAMPLE)


@mount(
    router,
    "/calibrations/{calibration_id}/curve",
    FORMS,
    summary="Selective curve of a calibration",
    responses={
        200: {
            "model": CurveBody,
            "description": "The curve, as numbers or a picture.",
            "headers": {
                "ETag": {"description": "ETag of this form.", "schema": {"type": "string"}}
            },
            "content": {
                "application/json": {"example": CURVE_EXAMPLE},
                "text/csv": {
                    "schema": {"type": "string"},
                    "example": "threshold,coverage,error,depth\r\n-1.0,1.0,0.12,6.2\r\n",
                },
                **DOCUMENTED,
            },
        },
        304: {"description": "The client has the current version."},
        **responses(*ANYWHERE, "not-found", "not-acceptable", "conflict"),
    },
)
async def get_selective_curve(
    request: Request,
    service: ServiceDep,
    tenant: Tenant,
    calibration_id: CalibrationId,
    form: Form[CurveExport],
    query: Annotated[PictureQuery, Query()],
) -> Response:
    """What every threshold of single nodes would answer to the calibration's rows, and how often
    that would be wrong: the whole trade between depth and errors.
    """
    record = await CALIBRATIONS.succeeded(service, tenant, calibration_id)

    def load() -> tuple[CurveExport, dict[str, str]]:
        path = CALIBRATIONS.file(service, tenant, calibration_id, results.CURVE)
        facts = CalibrationBody.of(record).result
        assert facts is not None
        threshold = facts.threshold if facts.answer == "node" else None
        return CurveExport(
            mapped(path), facts.area, threshold, query, query.sheet(service.settings.fonts)
        ), {}

    # A calibration never changes once it has succeeded.
    etag = etag_of(
        f"{calibration_id} {form.suffix} {query.model_dump_json(exclude_defaults=True)}".encode()
    )
    return await respond(request, form, load, Turn("look", waits=False), etag=etag)


@mount(
    router,
    "/calibrations/{calibration_id}/groups",
    TABLE,
    summary="Groups of a calibration",
    responses=documented_table(
        GroupsBody,
        "Each group's threshold.",
        GROUPS_EXAMPLE,
        "node,name,n_rows,threshold,promised\r\n3,rose,40,0.71,True\r\n",
    ),
)
async def get_calibration_groups(
    request: Request,
    service: ServiceDep,
    tenant: Tenant,
    calibration_id: CalibrationId,
    form: Form[Any],
) -> Response:
    """The thresholds of a calibration at its `alpha`: one for all rows, or for each subtree or
    class, and what it promises.
    """
    return await CALIBRATIONS.table(request, service, tenant, calibration_id, form, results.GROUPS)


@mount(
    router,
    "/calibrations/{calibration_id}/suspects",
    TABLE,
    summary="Labels that look wrong",
    responses=documented_table(
        SuspectsBody,
        "The rows, the likeliest errors first.",
        SUSPECTS_EXAMPLE,
        "row,label,label_name,likely,likely_name,meet,meet_name,of_label,of_likely,n_classes\r\n"
        "17,3,rose,4,tulip,1,,0.02,0.95,2\r\n",
    ),
)
async def get_suspected_labels(
    request: Request,
    service: ServiceDep,
    tenant: Tenant,
    calibration_id: CalibrationId,
    form: Form[Any],
) -> Response:
    """Rows for which another class is at least as probable as on average in rows labelled so
    (confident learning), the likeliest errors first.
    """
    return await CALIBRATIONS.table(
        request, service, tenant, calibration_id, form, results.SUSPECTS
    )


@mount(
    router,
    "/calibrations/{calibration_id}/pairs",
    TABLE,
    summary="Pairs that need more data",
    responses=documented_table(
        PairsBody,
        "The pairs, those that would gain most first.",
        PAIRS_EXAMPLE,
        "of,node,node_name,other,other_name,meet,meet_name,n_rows,n_confused,rate,low,high,"
        "expected,learned,gain,sure\r\n"
        'classes,3,rose,4,tulip,1,"rose, tulip",60,15,0.25,0.154,0.37,0.08,0.1,0.167,0.9999\r\n',
    ),
)
async def get_pairs_needing_data(
    request: Request,
    service: ServiceDep,
    tenant: Tenant,
    calibration_id: CalibrationId,
    form: Form[Any],
) -> Response:
    """Classes, and sibling subtrees, that more data would tell apart better, by falling excess of
    confused rows over what the model expects and what a classifier of the other rows leaves.
    """
    return await CALIBRATIONS.table(request, service, tenant, calibration_id, form, results.PAIRS)
