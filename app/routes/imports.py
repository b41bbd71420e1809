"""Trees that come from elsewhere: ground-truth hierarchies and other tools' trees."""

from __future__ import annotations

from hashlib import sha256
from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Query, Request, Response

from app.forms.stored import record_of
from app.http import etags
from app.http.addresses import address
from app.http.bodies import read_bounded
from app.http.dependencies import OnceDep, RequestId, ServiceDep, Tenant
from app.http.problems import Refused, responses
from app.http.waiting import Prefer
from app.schemas.jobs import JobBody
from app.schemas.trees import TREE_EXAMPLE, TreeSummary
from app.submission import tree_jobs
from workers import model
from workers.formats.trees import FORMATS

router = APIRouter(prefix="/v1/trees", tags=["trees"])


def _import_body() -> dict[str, Any]:
    text = {"type": "string"}
    return {
        "requestBody": {
            "required": True,
            "content": {
                "text/x-nh": {"schema": text, "example": "((rose:1,tulip:1):1,oak:2);"},
                # Without a type: every text is a class path, also one that looks like a number.
                "text/plain": {"schema": {}, "example": "flower/rose\nflower/tulip\ntree/oak"},
                "application/x-npy": {"schema": {"type": "string", "format": "binary"}},
                "application/json": {
                    "schema": {"type": "object"},
                    "example": {
                        "nodes": [
                            {"id": "a", "parent": None, "height": 1.0},
                            {"id": "b", "parent": "a", "name": "rose", "height": 0.0},
                            {"id": "c", "parent": "a", "name": "tulip", "height": 0.0},
                        ]
                    },
                },
            },
        }
    }


@router.post(
    "",
    status_code=201,
    operation_id="import_tree",
    summary="Import a tree",
    response_model=TreeSummary,
    responses={
        201: {
            "content": {"application/json": {"example": TREE_EXAMPLE}},
            "headers": {"Location": {"description": "The tree.", "schema": {"type": "string"}}},
        },
        202: {"model": JobBody, "description": "It takes longer; follow the job."},
        **responses(
            "unauthenticated",
            "forbidden",
            "malformed",
            "conflict",
            "too-large",
            "unsupported-format",
            "unusable-input",
            "idempotency-mismatch",
            "unavailable",
            "full",
        ),
    },
    openapi_extra=_import_body(),
)
async def import_tree(
    request: Request,
    service: ServiceDep,
    tenant: Tenant,
    request_id: RequestId,
    once: OnceDep,
    name: Annotated[str | None, Query(max_length=1000, description="Any text.")] = None,
    prefer: Prefer = None,
) -> Response:
    """A ground-truth hierarchy or another tool's tree: Newick (`text/x-nh`), JSON flat or nested,
    a SciPy linkage (`application/x-npy`) or class paths `a/b/c` a line (`text/plain`). Rows are the
    leaves in order; a missing branch length is 1.
    """
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media not in FORMATS:
        raise Refused(
            "unsupported-format",
            f"A tree is imported as one of {', '.join(FORMATS)}, not {media or 'no type'!r}.",
        )
    limit = service.settings.max_tree_bytes
    content = await read_bounded(request, limit, "An uploaded tree")
    job_id = model.new_id("job")
    digest = await to_thread.run_sync(lambda: sha256(content).hexdigest())
    mark = "\n".join([digest, media, repr(name)]).encode()

    async def make() -> Response:
        asked_for = tree_jobs.asked(
            "import",
            job_id,
            tenant,
            request_id,
            once=once,
            mark=mark,
            method="import",
            options={"format": FORMATS[media]},
            name=name,
        )
        done, answer, headers = await tree_jobs.outcome(
            request, service, asked_for, {"content": content}, prefer or "wait=30"
        )
        if done is None:
            assert answer is not None
            return answer
        return await imported(done.id, headers if prefer else {})

    async def imported(done_id: str, headers: dict[str, str]) -> Response:
        tree_id = model.sibling(done_id, "tr")
        record = await record_of(service, tenant, tree_id)
        location = {"Location": address(request, f"/v1/trees/{tree_id}"), **headers}
        return etags.answer(request, TreeSummary.of(record), status=201, headers=location)

    async def again(made_id: str) -> Response | None:
        record = await to_thread.run_sync(service.ledger.get, tenant, made_id)
        if record is None or not record.ended:
            return None
        done, answer = tree_jobs.settled(request, service, record)
        return answer if done is None else await imported(done.id, {})

    return await once.answer(job_id, mark, make, again)
