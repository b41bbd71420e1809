"""Comparisons: several methods and seeds on the same inputs, one table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Request, Response

from app.creation.creation import OF_FIT, Draft, SubmissionDep, Work, mount_create
from app.creation.inputs import resolve
from app.creation.named import NamedJobs
from app.creation.result_schemas import Row
from app.creation.steps import check_shapes, expected_s, find_method, image_roles, queue_of
from app.http.bodies import StrictRoute
from app.http.dependencies import Service, ServiceDep, Tenant
from app.http.etags import etag_of
from app.http.forms import Chunks, Form, mount, respond
from app.http.problems import Refused, refused_at, responses
from app.http.queries import ONLY_KNOWN
from app.http.streaming import Turn
from app.resources.comparisons.schemas import EXAMPLE, MOST_FITS, Comparison, NewComparison, RunBody
from app.resources.jobs.schemas import NewJob
from app.resources.jobs.steps import check_steps
from models.roles import ROLES
from workers.formats.table_writers import csv_chunks, pieces_of_rows
from workers.kinds.compare import ComparisonOptions, Contender

if TYPE_CHECKING:
    pass

router = APIRouter(
    prefix="/v1/comparisons", tags=["comparisons"], route_class=StrictRoute, dependencies=ONLY_KNOWN
)
MEASURED = tuple(role.name for role in ROLES.values() if role.measured)
"""Inputs that metrics use and methods do not get."""
COMPARISONS = NamedJobs("compare", Comparison, of_tree=False)
ComparisonId = Annotated[str, COMPARISONS.checked_id]


_DONE: dict[str, Any] = {"application/json": {"example": EXAMPLE}}
_WAITING = {**EXAMPLE, "status": "queued", "table": None, "best": None, "finished_at": None}


@mount_create(
    router,
    "",
    COMPARISONS.kind_name,
    operation_id="create_comparison",
    summary="Compare methods",
    status_code=202,
    response_model=Comparison,
    ended={
        "description": "The comparison has ended within the wait that `Prefer` requests.",
        "model": Comparison,
        "content": _DONE,
    },
    waiting_example=_WAITING,
    resource=COMPARISONS,
    refusals=(*OF_FIT, "unknown-metric"),
    awaited=False,
)
async def create_comparison(body: NewComparison, submission: SubmissionDep) -> Work:
    """Every run is fitted and evaluated with every seed, on all workers. The table gives mean,
    spread and time, and the best run by each metric. Each run gets the inputs that its method
    takes. A run that fails has its problem in the table; the others go on.
    """

    return Work(lambda: _draft(submission.service, submission.tenant, body))


def _json(comparison: Comparison) -> Chunks:
    yield comparison.model_dump_json().encode()


def _csv(comparison: Comparison) -> Chunks:
    table = comparison.table or []
    metrics = list(dict.fromkeys(name for row in table for name in row.metrics))
    spreads = [f"{name}_{part}" for name in (*metrics, "seconds") for part in ("mean", "std")]
    names = [
        "row",
        "method",
        "params",
        "preprocess",
        "then",
        "seeds",
        *spreads,
        "best",
        "error",
        "tree",
    ]
    rows = (_csv_row(comparison, number, row, metrics) for number, row in enumerate(table))
    return csv_chunks(names, pieces_of_rows(rows))


def _csv_row(
    comparison: Comparison, number: int, row: Row, metrics: Sequence[str]
) -> Sequence[Any]:
    then = None if row.then is None else row.then.model_dump()
    spreads = [row.metrics.get(name) for name in metrics] + [row.seconds]
    best = " ".join(name for name, place in (comparison.best or {}).items() if place == number)
    return [
        number,
        row.method,
        json.dumps(row.params),
        json.dumps(row.preprocess),
        json.dumps(then),
        row.seeds,
        *(
            value
            for spread in spreads
            for value in ((None, None) if spread is None else (spread.mean, spread.std))
        ),
        best,
        None if row.error is None else row.error["detail"],
        row.tree,
    ]


FORMS: tuple[Form[Comparison], ...] = (
    Form("json", "application/json", _json),
    Form("csv", "text/csv", _csv),
)

_DOCUMENTED: dict[int | str, dict[str, Any]] = {
    200: {
        "model": Comparison,
        "description": "The state of the comparison, with the table once it has ended.",
        "content": {
            **_DONE,
            "text/csv": {
                "schema": {"type": "string"},
                "example": "row,method,params,preprocess,then,seeds,nmi_mean,nmi_std,"
                "seconds_mean,seconds_std,best,error,tree\r\n",
            },
        },
    },
    304: {"description": "Unchanged since the ETag in If-None-Match."},
    **responses("unauthenticated", "forbidden", "not-found", "not-acceptable", "unavailable"),
}


@mount(
    router,
    "/{comparison_id}",
    FORMS,
    summary="One comparison",
    responses=_DOCUMENTED,
)
async def get_comparison(
    request: Request,
    service: ServiceDep,
    tenant: Tenant,
    comparison_id: ComparisonId,
    form: Form[Comparison],
) -> Response:
    """The state of a comparison, and its table once it has ended; as CSV, one row for each run."""
    comparison = Comparison.of(await COMPARISONS.find(service, tenant, comparison_id))
    etag = _etag(comparison, form)
    turn = Turn("look", waits=False)
    return await respond(request, form, lambda: (comparison, {}), turn, etag=etag)


def _etag(comparison: Comparison, form: Form[Comparison]) -> str:
    return etag_of(b"".join(form.write(comparison)))


COMPARISONS.mount(router, EXAMPLE, lambda one: [_etag(one, form) for form in FORMS])


def _draft(service: Service, tenant: str, body: NewComparison) -> Draft:
    """The job, after everything that can be checked now. Raises Refused and UsageError."""
    from models.metrics.catalogue import METRICS

    measured_on = {
        role: getattr(body, role) for role in MEASURED if getattr(body, role) is not None
    }
    for role in body.inputs:
        if role in MEASURED:
            detail = f"{role!r} is not an input of a comparison's runs; put it next to `inputs`."
            raise refused_at("wrong-input", detail, "inputs", role)
    for name in body.metrics or ():
        if name not in METRICS:
            detail = f"There is no metric {name!r}; there are {', '.join(METRICS)}."
            raise refused_at("unknown-metric", detail, "metrics")
    runs = [_checked(number, run, body) for number, run in enumerate(body.runs)]
    unused = set(body.inputs).difference(*(find_method(run.method).inputs for run in runs))
    if unused:
        role = min(unused)
        detail = f"None of the methods takes an input {role!r}."
        raise refused_at("wrong-input", detail, "inputs", role)
    plan = ComparisonOptions(
        runs=tuple(runs),
        seeds=body.seeds,
        metrics=tuple(body.metrics) if body.metrics else None,
        cut=None if body.cut is None else body.cut.model_dump(exclude_none=True),
        keep_trees=body.keep_trees,
    )
    n_fits = len(plan.pieces())
    if n_fits > MOST_FITS:
        raise Refused(
            "invalid-request",
            f"The comparison needs {n_fits} fits; the most are {MOST_FITS}.",
        )
    images = frozenset.intersection(
        *(frozenset() if run.preprocess else image_roles(run.method) for run in runs)
    )
    inputs = resolve(service, tenant, {**body.inputs, **measured_on}, images)
    for run in plan.runs:
        check_shapes(service, run.method, run.params, run.preprocess, inputs)
    steps = [run.plan(0).steps for run in plan.runs]
    costs = [
        expected_s(own, run.preprocess, inputs) for own, run in zip(steps, plan.runs, strict=True)
    ]
    known = [cost for cost in costs if cost is not None]
    return Draft(
        plan,
        inputs=inputs.refs,
        inline=inputs.inline,
        queue=queue_of(*chain.from_iterable(steps)),
        cost_s=body.seeds * sum(known) if len(known) == len(costs) else None,
    )


def _checked(number: int, run: RunBody, body: NewComparison) -> Contender:
    """The run with defaults filled in. Raises Refused, which points into the run."""
    at = ("runs", number)
    roles = find_method(run.method, at).inputs
    job = NewJob(
        method=run.method,
        params=run.params,
        preprocess=run.preprocess,
        then=run.then,
        inputs={role: value for role, value in body.inputs.items() if role in roles},
    )
    try:
        step, then = check_steps(job)
    except Refused as refused:
        for error in refused.problem.get("errors", ()):
            if error["pointer"][0] != "inputs":
                error["pointer"] = [*at, *error["pointer"]]
        raise
    preprocess = tuple(part.model_dump(mode="json") for part in run.preprocess)
    return Contender(method=step.method, params=step.params, preprocess=preprocess, then=then)
