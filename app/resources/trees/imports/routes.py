"""Imported trees: ground-truth hierarchies and other tools' trees."""

from __future__ import annotations

from hashlib import sha256
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from app.creation.annotation_schemas import DescriptionQuery, TagsQuery
from app.creation.creation import OF_TREE, Draft, Headers, SubmissionDep, Work, mount_create
from app.creation.expiry import ExpiresAt
from app.creation.fields import (
    AttemptsQuery,
    BackoffQuery,
    NewWork,
    RetryOnQuery,
    WebhookQuery,
)
from app.http import threads
from app.http.addresses import address
from app.http.bodies import read_mapped
from app.http.etags import answer
from app.http.late import LateRoute
from app.http.problems import Refused
from app.http.queries import ONLY_KNOWN
from app.http.stored import record_of
from app.resources.trees.forms import FORMS, form_etag
from app.resources.trees.schemas import TREE_EXAMPLE, TreeSummary
from workers.formats.refusals import by_curl
from workers.formats.trees import FORMATS
from workers.kinds.import_ import ImportOptions
from workers.model import Record, sibling

router = APIRouter(
    prefix="/v1/trees", tags=["trees"], dependencies=ONLY_KNOWN, route_class=LateRoute
)

WAIT_S = 30.0
"""How long an import is awaited without `Prefer`."""


def _import_body() -> dict[str, Any]:
    text = {"type": "string"}
    document = {"type": ["object", "array", "string"], "items": {}}
    return {
        "requestBody": {
            "required": True,
            "content": {
                "text/x-nh": {"schema": text, "example": "((rose:1,tulip:1):1,oak:2);"},
                "text/x-nexus": {
                    "schema": text,
                    "example": "#NEXUS\nBEGIN TREES;\nTREE one = ((rose:1,tulip:1):1,oak:2);\nEND;",
                },
                # Without a type, since every text is a class path, even one that looks like a
                # number.
                "text/plain": {"schema": {}, "example": "flower/rose\nflower/tulip\ntree/oak"},
                "application/x-npy": {"schema": {"type": "string", "format": "binary"}},
                "application/vnd.umbel.hclust+json": {
                    "schema": document,
                    "example": {
                        "merge": [[-1, -2], [-3, 1]],
                        "height": [1.0, 2.0],
                        "order": [3, 1, 2],
                        "labels": ["rose", "tulip", "oak"],
                    },
                },
                "application/json": {
                    "schema": document,
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


@mount_create(
    router,
    "",
    "import",
    operation_id="import_tree",
    summary="Import a tree",
    response_model=TreeSummary,
    ended={"content": {"application/json": {"example": TREE_EXAMPLE}}},
    refusals=tuple(code for code in OF_TREE if code not in ("not-found", "invalid-request")),
    default_wait_s=WAIT_S,
    openapi_extra=_import_body(),
)
async def import_tree(
    submission: SubmissionDep,
    name: Annotated[str | None, Query(max_length=1000, description="Any text.")] = None,
    description: DescriptionQuery = None,
    tags: TagsQuery = (),
    webhook: WebhookQuery = None,
    expires_at: ExpiresAt = None,
    attempts: AttemptsQuery = None,
    backoff: BackoffQuery = None,
    retry_on: RetryOnQuery = None,
) -> Work:
    """A ground-truth hierarchy or another tool's tree: Newick (`text/x-nh`), Nexus with one tree
    (`text/x-nexus`), flat or nested JSON, R's hclust as JSON, a SciPy linkage
    (`application/x-npy`), or one class path `a/b/c` per line (`text/plain`). Rows are the leaves in
    order, of a flat list as listed; leaves named by the numbers 0 to n - 1 are these rows. A
    missing branch length is 1. Support is read wherever programs write it, and numbers as labels of
    all inner nodes are support. Leaves of JSON whose field `noise` is true are noise. What was left
    out or decided is in `warnings`.
    """
    request, service, tenant = submission.request, submission.service, submission.tenant
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media not in FORMATS:
        raise Refused(
            "unsupported-format",
            f"A tree is imported as one of {', '.join(FORMATS)}, not {media or 'no type'!r}"
            f"{by_curl(media, 'text/x-nh')}.",
        )
    settings = service.settings
    content = await read_mapped(
        request, settings.max_tree_bytes, "An uploaded tree", settings.scratch_dir
    )
    digest = await threads.run_sync(lambda: sha256(content).hexdigest())

    def draft() -> Draft:
        return Draft(ImportOptions(format=FORMATS[media]), inline={"content": content})

    async def result(done: Record, headers: Headers) -> Response:
        tree_id = sibling(done.id, "tr")
        record = await record_of(service, tenant, tree_id)
        own = {"Location": address(request, f"/v1/trees/{tree_id}")}
        return answer(
            request,
            TreeSummary.of(record),
            status=201,
            headers={**own, **headers},
            etag=form_etag(record, FORMS[0]),
        )

    new = NewWork(
        name=name,
        description=description,
        tags=list(tags),
        webhook=webhook,
        expires_at=expires_at,
        attempts=attempts,
        backoff=backoff,
        retry_on=retry_on,
    )
    # As before webhooks: the same request has the same fingerprint in a repeat after an update.
    later = (webhook, expires_at, new.retrying.stated())
    requested = (name, description, tags, *(each for each in later if each))
    fingerprint = "\n".join([digest, media, repr(requested)]).encode()
    return Work(draft, result, new, fingerprint)
