"""Calibrations: answers of a tree that hold the truth as often as promised."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from anyio import to_thread
from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel

from app.forms.form import Form, mount, respond
from app.forms.selective_curve import FORMS, CurveExport
from app.forms.stored import calibration_record, record_of
from app.forms.tables import TABLE, mapped
from app.http import problems
from app.http.bodies import StrictRoute
from app.http.dependencies import CalibrationId, Service, ServiceDep, Tenant, TreeId
from app.http.etags import IfMatch, answer, body_etag, etag_of, require_match
from app.http.paging import LINK_HEADER, Cursor, Limit, next_link
from app.http.problems import ANYWHERE, Refused, not_found, refused_at, responses
from app.http.streaming import Turn
from app.http.waiting import Prefer
from app.schemas.annotations import NameFilter, TagFilter
from app.schemas.calibrations import (
    CURVE_EXAMPLE,
    EXAMPLE,
    GROUPS_EXAMPLE,
    SUSPECTS_EXAMPLE,
    CalibrationBody,
    CalibrationRequest,
    CurveBody,
    CurveQuery,
    GroupsBody,
    SuspectsBody,
)
from app.schemas.pages import Page
from app.submission.inputs import resolve
from app.submission.jobs import Draft, Headers, SubmissionDep, presented, submitted
from app.submission.steps import image_roles
from app.submission.tree_jobs import REFUSALS
from models.calibration.options import CalibrationTerms
from workers.artifacts import results
from workers.model import Record, Status, sibling

if TYPE_CHECKING:
    import pyarrow as pa

router = APIRouter(prefix="/v1", tags=["predictions"], route_class=StrictRoute)

_METHOD = "calibrate"
"""What jobs of calibrations have as their method."""
_LOCATION = {
    "Location": {"description": "Address of the calibration.", "schema": {"type": "string"}}
}
_CHILDREN = {"level": 1}


def _documented(
    model: type[BaseModel], description: str, example: dict[str, Any], csv: str
) -> dict[int | str, dict[str, Any]]:
    """The responses with a table."""
    etag = {"description": "ETag of this form.", "schema": {"type": "string"}}
    return {
        200: {
            "model": model,
            "description": description,
            "headers": {"ETag": etag},
            "content": {
                "application/json": {"example": example},
                "text/csv": {"schema": {"type": "string"}, "example": csv},
                "application/vnd.apache.arrow.file": {
                    "schema": {"type": "string", "format": "binary"}
                },
            },
        },
        304: {"description": "The client has the current version."},
        **responses(*ANYWHERE, "not-found", "not-acceptable", "conflict"),
    }


@router.post(
    "/trees/{tree_id}/calibrations",
    operation_id="create_calibration",
    summary="Calibrate answers",
    status_code=201,
    response_model=CalibrationBody,
    responses={
        201: {"headers": _LOCATION, "content": {"application/json": {"example": EXAMPLE}}},
        202: {
            "model": CalibrationBody,
            "description": "It takes longer; ask for it again, or follow its job.",
            "headers": _LOCATION,
        },
        **responses(*REFUSALS),
    },
)
async def create_calibration(
    submission: SubmissionDep, tree_id: TreeId, body: CalibrationRequest, prefer: Prefer = None
) -> Response:
    """Learns from rows with known classes, which the tree's model must not have seen, how deep its
    answers may go. Predictions that name the calibration then answer by the deepest node, or the
    fewest nodes, that hold the class of a row with probability at least 1 - `alpha`: over all rows,
    for each subtree, or for each class; or that keep an expected loss below `alpha`. This holds if
    new rows are like those given. A share of the rows fits a temperature, the others set the
    thresholds.
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
        inputs = resolve(service, tenant, values, image_roles(record.method))
        given = body.model_dump(include=set(CalibrationTerms.model_fields), exclude_unset=True)
        options: dict[str, Any] = {"tree": tree_id, **given}
        if body.per == "subtree":
            cut = body.cut
            options["cut"] = _CHILDREN if cut is None else cut.model_dump(exclude_none=True)
        fields = {
            "method": _METHOD,
            "inputs": inputs.refs,
            "options": options,
            "name": body.name,
            "expires_at": body.expires_at,
            "description": body.description,
            "tags": tuple(body.tags),
        }
        return Draft(fields, inputs.inline)

    async def present(status: Literal[201, 202], done: Record, headers: Headers) -> Response:
        if done.status == "failed" and done.error is not None:
            return problems.respond(submission.request_id, done.error)
        calibration = CalibrationBody.of(done)
        path = f"/v1/calibrations/{calibration.id}"
        return presented(submission, calibration, path, status, headers)

    content = await submission.request.body()
    return await submitted(
        "calibrate",
        submission,
        content,
        draft,
        present,
        prefer=prefer,
        default_wait_s=service.settings.default_wait_s,
    )


@router.get(
    "/calibrations",
    operation_id="list_calibrations",
    summary="Calibrations, newest first",
    response_model=Page[CalibrationBody],
    responses={
        200: {
            "headers": LINK_HEADER,
            "content": {"application/json": {"example": {"items": [EXAMPLE], "next_cursor": None}}},
        },
        **responses(*ANYWHERE),
    },
)
async def list_calibrations(
    request: Request,
    response: Response,
    service: ServiceDep,
    tenant: Tenant,
    status: Annotated[
        Status | None, Query(description="Only calibrations with this status.")
    ] = None,
    name: NameFilter = None,
    tags: TagFilter = (),
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[CalibrationBody]:
    """One page of the caller's calibrations. Their names and tags are those of their jobs (`PATCH
    /v1/jobs/{job_id}`).
    """
    records, following = await to_thread.run_sync(
        lambda: service.ledger.page(
            tenant,
            status=status,
            method=_METHOD,
            name=name,
            tags=tags,
            limit=limit,
            cursor=cursor,
        )
    )
    response.headers.update(next_link(request, following))
    return Page(items=[CalibrationBody.of(record) for record in records], next_cursor=following)


@router.get(
    "/calibrations/{calibration_id}",
    operation_id="get_calibration",
    summary="One calibration",
    response_model=CalibrationBody,
    responses={
        200: {"content": {"application/json": {"example": EXAMPLE}}},
        304: {"description": "Unchanged since the ETag in If-None-Match."},
        **responses("unauthenticated", "forbidden", "not-found", "unavailable"),
    },
)
async def get_calibration(
    request: Request, service: ServiceDep, tenant: Tenant, calibration_id: CalibrationId
) -> Response:
    """The state of a calibration, and what it learned once it has succeeded."""
    return answer(request, CalibrationBody.of(await _find(service, tenant, calibration_id)))


@router.delete(
    "/calibrations/{calibration_id}",
    operation_id="delete_calibration",
    summary="Remove a calibration",
    status_code=204,
    responses={
        204: {"description": "The calibration was removed."},
        **responses(
            "unauthenticated", "forbidden", "not-found", "precondition-failed", "unavailable"
        ),
    },
)
async def delete_calibration(
    service: ServiceDep, tenant: Tenant, calibration_id: CalibrationId, if_match: IfMatch = None
) -> Response:
    """Removes the calibration and its job, which is cancelled first if it is running. Predictions
    that were made with it stay.
    """
    calibration = CalibrationBody.of(await _find(service, tenant, calibration_id))
    if if_match is not None:
        require_match(if_match, body_etag(calibration))
    await to_thread.run_sync(service.ledger.delete, tenant, sibling(calibration_id, "job"))
    return Response(status_code=204)


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
                "image/svg+xml": {"schema": {"type": "string", "format": "binary"}},
                "image/png": {"schema": {"type": "string", "format": "binary"}},
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
    query: Annotated[CurveQuery, Query()],
) -> Response:
    """What every threshold of single nodes would answer to the calibration's rows, and how often
    that would be wrong: the whole trade between depth and errors.
    """
    record = await _succeeded(service, tenant, calibration_id)

    def load() -> tuple[CurveExport, dict[str, str]]:
        path = _file(service, tenant, calibration_id, results.CURVE)
        facts = CalibrationBody.of(record).result
        assert facts is not None
        threshold = facts.threshold if facts.answer == "node" else None
        return CurveExport(mapped(path), facts.area, threshold, query), {}

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
    responses=_documented(
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
    """The thresholds of a calibration at its `alpha`: one for all rows, or one for each subtree or
    class, with the number of its rows and whether that is enough for a promise.
    """
    return await _table(request, service, tenant, calibration_id, form, results.GROUPS)


@mount(
    router,
    "/calibrations/{calibration_id}/suspects",
    TABLE,
    summary="Labels that look wrong",
    responses=_documented(
        SuspectsBody,
        "The rows, those that siblings are taken for first.",
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
    """The calibration's rows whose labels look wrong, by confident learning: another class is at
    least as probable as it is on average in the rows labelled so. First those whose label and
    likely class part latest in the tree, siblings before all; among these the surest. Rows whose
    most probable class is their label are left out.
    """
    return await _table(request, service, tenant, calibration_id, form, results.SUSPECTS)


async def _table(
    request: Request,
    service: Service,
    tenant: str,
    calibration_id: str,
    form: Form[Any],
    name: str,
) -> Response:
    """A table that the calibration left."""
    await _succeeded(service, tenant, calibration_id)

    def load() -> tuple[pa.Table, dict[str, str]]:
        return mapped(_file(service, tenant, calibration_id, name)), {}

    etag = etag_of(f"{calibration_id} {name} {form.suffix}".encode())
    return await respond(request, form, load, Turn("export", waits=False), etag=etag)


async def _find(service: Service, tenant: str, calibration_id: str) -> Record:
    record = await to_thread.run_sync(calibration_record, service, tenant, calibration_id)
    if record is None:
        raise not_found("calibration", calibration_id)
    return record


async def _succeeded(service: Service, tenant: str, calibration_id: str) -> Record:
    record = await _find(service, tenant, calibration_id)
    if record.status != "succeeded":
        raise Refused(
            "conflict", f"Calibration {calibration_id!r} is {record.status}; it has no results."
        )
    return record


def _file(service: Service, tenant: str, calibration_id: str, name: str) -> Path:
    path = service.trees.file(tenant, calibration_id, name)
    if path is None:
        raise not_found("calibration", calibration_id)
    return path
