"""Datasets uploaded in parts: in any order, each checked by its sha256, resumable."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Header, Path, Query, Request, Response

from app.creation.allowances import Allowance
from app.creation.annotation_schemas import DescriptionQuery, TagsQuery
from app.creation.expiry import ExpiresAt
from app.http import threads
from app.http.addresses import address
from app.http.bodies import PartsRoute, content_length, too_large
from app.http.dependencies import (
    Caller,
    OnceDep,
    RequestId,
    Service,
    ServiceDep,
    Tenant,
    UploadId,
)
from app.http.etags import IfMatch, answer, body_etag, require_match
from app.http.keyring import Access
from app.http.problems import Refused, not_found, responses
from app.http.queries import ONLY_KNOWN
from app.resources.datasets import duplicates
from app.resources.datasets import submission as uploads
from app.resources.datasets.routes import CONTENT_ENCODING, REPEATED, created, repeated
from app.resources.datasets.schemas import EXAMPLE as DATASET
from app.resources.datasets.schemas import (
    ColumnChoice,
    DatasetBody,
    Hint,
    Member,
    Name,
    NFeatures,
)
from app.resources.datasets.uploads.schemas import (
    EXAMPLE,
    CompleteBody,
    Sha256,
    StatedPart,
    UploadBody,
)
from workers.artifacts.datasets import Dataset
from workers.artifacts.uploads import MOST_OPEN, MOST_PARTS, Part, Upload
from workers.errors import Missing
from workers.formats.column_roles import UNCHOSEN
from workers.model import new_id, now

router = APIRouter(
    prefix="/v1/uploads", tags=["datasets"], route_class=PartsRoute, dependencies=ONLY_KNOWN
)

_DIGEST = re.compile(r"(?:^|,)\s*sha-256=:([A-Za-z0-9+/=]*):\s*(?:,|$)")
_LOCATION = {
    "Location": {"description": "Address of the new resource.", "schema": {"type": "string"}}
}


@router.post(
    "",
    operation_id="create_upload",
    summary="Begin an upload in parts",
    status_code=201,
    response_model=UploadBody,
    responses={
        201: {
            "headers": _LOCATION,
            "content": {"application/json": {"example": {**EXAMPLE, "parts": [], "bytes": 0}}},
        },
        **responses(
            "unauthenticated",
            "forbidden",
            "conflict",
            "invalid-request",
            "idempotency-mismatch",
            "unavailable",
            "full",
        ),
    },
)
async def create_upload(
    request: Request,
    service: ServiceDep,
    caller: Caller,
    once: OnceDep,
    name: Name = None,
    role: Hint = None,
    member: Member = None,
    n_features: NFeatures = None,
    choice: ColumnChoice = UNCHOSEN,
    media_type: Annotated[
        str | None,
        Query(
            max_length=200,
            description="The media type of the file; by default it follows from the content.",
        ),
    ] = None,
    expires_at: ExpiresAt = None,
    description: DescriptionQuery = None,
    tags: TagsQuery = (),
) -> Response:
    """For files too large for one request, or for unreliable connections: send parts, then complete
    the upload.

    An upload that gets no part for seven days (`UMBEL_UPLOAD_KEEP_S`) is removed.
    """
    tenant = caller.tenant
    uploads.require_room(service, 0)
    upload = Upload(
        id=new_id("up"),
        tenant=tenant,
        name=name,
        role=role,
        member=member,
        media_type=media_type,
        created_at=now(),
        n_features=n_features,
        choice=choice,
        key=caller.key_id,
        expires_at=expires_at,
        description=description,
        tags=caller.tagged(tags),
    )

    async def make() -> Response:
        before = datetime.now(UTC) - timedelta(seconds=service.settings.upload_keep_s)
        if await threads.run_sync(service.parts.forget, tenant, before) >= MOST_OPEN:
            raise Refused(
                "conflict",
                f"Your tenant has {MOST_OPEN} uploads that are not complete, and may have no more: "
                "complete some, or delete them.",
            )
        await threads.run_sync(service.parts.create, upload)
        return begun(upload)

    async def again(earlier_id: str) -> Response | None:
        earlier = await threads.run_sync(service.parts.get, tenant, earlier_id)
        return None if earlier is None else begun(earlier)

    def begun(upload: Upload) -> Response:
        location = {"Location": address(request, f"/v1/uploads/{upload.id}")}
        return answer(request, UploadBody.of(upload), status=201, headers=location)

    return await once.answer(upload.id, request.url.query.encode(), make, again)


@router.get(
    "/{upload_id}",
    operation_id="get_upload",
    summary="The parts sent so far",
    response_model=UploadBody,
    responses={
        200: {"content": {"application/json": {"example": EXAMPLE}}},
        **responses("unauthenticated", "forbidden", "not-found", "unavailable"),
    },
)
async def get_upload(
    request: Request, service: ServiceDep, tenant: Tenant, upload_id: UploadId
) -> Response:
    """The parts that need not be sent again after an interruption; once complete, the dataset."""
    return answer(request, await threads.run_sync(_shown, service, tenant, upload_id))


@router.put(
    "/{upload_id}/parts/{number}",
    operation_id="put_part",
    summary="Send a part",
    status_code=204,
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "application/octet-stream": {
                    "schema": {"type": "string", "format": "binary"},
                    "example": "x,y\n0.5,1.5\n",
                }
            },
        },
        "parameters": [CONTENT_ENCODING],
    },
    responses={
        204: {
            "description": "The part is stored and replaces any earlier one with this number.",
            "headers": {
                "ETag": {"description": "The part's sha256, quoted.", "schema": {"type": "string"}}
            },
        },
        **responses(
            "malformed",
            "unauthenticated",
            "forbidden",
            "not-found",
            "conflict",
            "precondition-failed",
            "too-large",
            "unsupported-format",
            "digest-mismatch",
            "empty",
            "invalid-request",
            "quota-exceeded",
            "unavailable",
            "full",
        ),
    },
)
async def put_part(
    request: Request,
    service: ServiceDep,
    caller: Caller,
    upload_id: UploadId,
    number: Annotated[
        int,
        Path(
            ge=0,
            lt=MOST_PARTS,
            description="Number of the part; the first is 0 or 1.",
            examples=[1],
        ),
    ],
    sha256: Annotated[
        Sha256 | None, Query(description="SHA-256 of the part, in hexadecimal.")
    ] = None,
    content_digest: Annotated[
        str | None,
        Header(description="The digest of the part as in RFC 9530: `sha-256=:<base64>:`."),
    ] = None,
    if_match: IfMatch = None,
) -> Response:
    """Parts may be sent in any order, concurrently, and repeatedly. Bytes that do not match the
    stated hash are refused and leave the part as it was.
    """
    stated = _stated_digest(sha256, content_digest)
    upload = await _find(service, caller.tenant, upload_id)
    if await threads.run_sync(service.parts.completed, upload) is not None:
        raise Refused("conflict", "The upload is complete; begin another one.")
    if if_match is not None:
        parts = await threads.run_sync(service.parts.list, upload)
        earlier = [f'"{part.sha256}"' for part in parts if part.number == number]
        require_match(if_match, *earlier)
    length = content_length(request)
    async with Allowance(service, caller, datasets=0, stated=length) as allowance:
        body = uploads.bounded_body(service, request, allowance)
        part = await service.parts.receive(upload, number, body)
        refused = None
        if not part.bytes:
            refused = Refused("empty", f"Part {number} is empty.")
        elif stated is not None and part.sha256 != stated:
            detail = (
                f"The sha256 of part {number} is {part.sha256}; stated was {stated}. Send it again."
            )
            refused = Refused("digest-mismatch", detail)
        if refused is not None:
            await threads.run_sync(service.parts.drop, upload, part)
            raise refused
        if not await threads.run_sync(service.parts.add, upload, part):
            raise not_found("upload", upload_id)
    return Response(status_code=204, headers={"ETag": f'"{part.sha256}"'})


@router.post(
    "/{upload_id}/complete",
    operation_id="complete_upload",
    summary="Join the parts to a dataset",
    status_code=201,
    response_model=DatasetBody,
    responses={
        200: REPEATED,
        201: {"headers": _LOCATION, "content": {"application/json": {"example": DATASET}}},
        **responses(
            "malformed",
            "unauthenticated",
            "forbidden",
            "not-found",
            "conflict",
            "precondition-failed",
            "too-large",
            "unsupported-format",
            "digest-mismatch",
            "invalid-request",
            "unusable-input",
            "quota-exceeded",
            "unavailable",
            "full",
        ),
    },
)
async def complete_upload(
    request: Request,
    service: ServiceDep,
    caller: Caller,
    request_id: RequestId,
    upload_id: UploadId,
    body: CompleteBody | None = None,
    if_match: IfMatch = None,
    prefer: duplicates.Prefer = None,
) -> Response:
    """The file is the parts in order of their numbers, which have no gaps. A repeated request gets
    the same dataset. A file that is packed by gzip or zstd is unpacked; a stated `sha256` is that
    of the file inside.

    If the request is refused the parts stay, so that wrong ones can be sent again.
    """
    upload = await _find(service, caller.tenant, upload_id)
    if if_match is not None:
        shown = await threads.run_sync(_shown, service, caller.tenant, upload_id)
        require_match(if_match, body_etag(shown))
    dataset = await threads.run_sync(_earlier_dataset, service, upload)
    # Its bytes were admitted with the parts. A dataset that is recorded was admitted before.
    admitted = dataset is not None
    deduped = False
    allowance = Allowance(service, caller, datasets=1, stated=0, lenient=admitted)
    async with allowance:
        if dataset is None:
            dedupe = duplicates.wanted(prefer)
            dataset, deduped = await _joined(
                service, caller, upload, body or CompleteBody(), dedupe, allowance
            )
        if not deduped:
            await threads.run_sync(_ensure, service, dataset, request_id)
        await threads.run_sync(service.parts.clear, upload)
    return repeated(request, dataset) if deduped else created(request, dataset)


@router.delete(
    "/{upload_id}",
    operation_id="delete_upload",
    summary="Abandon an upload",
    status_code=204,
    responses={
        204: {"description": "The upload and its parts were removed."},
        **responses(
            "unauthenticated", "forbidden", "not-found", "precondition-failed", "unavailable"
        ),
    },
)
async def delete_upload(
    service: ServiceDep, tenant: Tenant, upload_id: UploadId, if_match: IfMatch = None
) -> Response:
    """A dataset that was made from it stays."""
    upload = await threads.run_sync(_shown, service, tenant, upload_id)
    require_match(if_match, body_etag(upload))
    await threads.run_sync(service.parts.delete, tenant, upload_id)
    return Response(status_code=204)


def _shown(service: Service, tenant: str, upload_id: str) -> UploadBody:
    """The upload as clients see it; blocks. Raises Refused `not-found`."""
    upload = service.parts.get(tenant, upload_id)
    if upload is None:
        raise not_found("upload", upload_id)
    parts, dataset = service.parts.list(upload), service.parts.completed(upload)
    return UploadBody.of(upload, parts, dataset)


async def _find(service: Service, tenant: str, upload_id: str) -> Upload:
    upload = await threads.run_sync(service.parts.get, tenant, upload_id)
    if upload is None:
        raise not_found("upload", upload_id)
    return upload


async def _joined(
    service: Service,
    caller: Access,
    upload: Upload,
    body: CompleteBody,
    dedupe: bool,
    allowance: Allowance,
) -> tuple[Dataset, bool]:
    """The dataset of the parts, with its bytes stored; the first one if several requests race.

    dedupe : whether a dataset that the tenant has already will do. Returns also whether it does.
    """
    parts = await threads.run_sync(service.parts.list, upload)
    _require_whole(parts, body.parts)
    size = sum(part.bytes for part in parts)
    if size > service.settings.max_dataset_bytes:
        raise too_large("A dataset", service.settings.max_dataset_bytes)
    uploads.require_room(service, size)
    new = uploads.NewDataset(
        upload.tenant,
        new_id("ds"),
        upload.name,
        upload.role,
        upload.member,
        upload.media_type,
        upload.n_features,
        upload.choice,
        key=upload.key,
        expires_at=upload.expires_at,
        description=upload.description,
        tags=upload.tags,
    )
    try:
        dataset = await uploads.store(
            service,
            new,
            _from_thread(service.parts.read(upload, parts)),
            size,
            allowance,
            service.settings.max_dataset_bytes,
        )
    except Missing:
        first = await threads.run_sync(service.parts.completed, upload)
        if first is None:
            detail = "A part was sent again meanwhile; complete the upload once more."
            raise Refused("conflict", detail) from None
        return first, False
    if body.sha256 is not None and dataset.sha256 != body.sha256.lower():
        await threads.run_sync(service.datasets.discard, upload.tenant, dataset.id)
        stated = body.sha256.lower()
        detail = f"The sha256 of the whole is {dataset.sha256}; stated was {stated}."
        raise Refused("digest-mismatch", detail)
    same = None
    if dedupe:
        same = await threads.run_sync(duplicates.earlier, service, dataset, caller)
    first = await threads.run_sync(service.parts.complete, upload, same or dataset)
    if first.id != dataset.id:
        await threads.run_sync(service.datasets.discard, upload.tenant, dataset.id)
    return first, same is not None and first.id == same.id


def _earlier_dataset(service: Service, upload: Upload) -> Dataset | None:
    """The dataset of an earlier request. Raises Refused `not-found` if it was deleted since."""
    dataset = service.parts.completed(upload)
    if dataset is None or service.datasets.get(dataset.tenant, dataset.id) is not None:
        return dataset
    if service.blobs.size(service.datasets.content_key(dataset.tenant, dataset.id)) is not None:
        return dataset
    if not service.parts.list(upload):
        # A request that removed them may have died in between.
        service.parts.clear(upload)
        raise not_found("dataset", dataset.id)
    service.parts.reopen(upload)
    return None


def _ensure(service: Service, dataset: Dataset, request_id: str) -> None:
    """Create the dataset unless it exists. Raises Refused `not-found` if it was deleted since."""
    if not service.ledger.inspections.complete(dataset, request_id):
        raise not_found("dataset", dataset.id)


def _stated_digest(sha256: str | None, content_digest: str | None) -> str | None:
    """The sha256 that a request states for a part.

    Raises Refused `malformed` for an unreadable header, `digest-mismatch` if header and query
    differ.
    """
    if content_digest is None:
        return None if sha256 is None else sha256.lower()
    match = _DIGEST.search(content_digest)
    try:
        digest = b"" if match is None else base64.b64decode(match[1], validate=True)
    except binascii.Error:
        digest = b""
    if len(digest) != 32:
        raise Refused(
            "malformed", "Content-Digest has no sha256; send `sha-256=:<base64 of 32 bytes>:`."
        )
    if sha256 is not None and sha256.lower() != digest.hex():
        raise Refused(
            "digest-mismatch",
            f"Content-Digest states the sha256 {digest.hex()}, the query {sha256.lower()}; they "
            "must be the same.",
        )
    return digest.hex()


def _require_whole(parts: Sequence[Part], stated: Sequence[StatedPart] | None) -> None:
    """Raise Refused `conflict` if parts are missing, superfluous or other than stated."""
    sent = {part.number: part.sha256 for part in parts}
    if not sent:
        raise Refused("conflict", "No part has been sent.")
    if stated is not None:
        expected = {part.number: part.sha256 for part in stated}
        _refuse_numbers(sorted(expected.keys() - sent.keys()), "not been sent")
        _refuse_numbers(sorted(sent.keys() - expected.keys()), "been sent but are not stated")
        other = [n for n, own in expected.items() if own is not None and own.lower() != sent[n]]
        _refuse_numbers(sorted(other), "another sha256 than is stated")
    first, last = min(1, min(sent)), max(sent)
    _refuse_numbers([n for n in range(first, last) if n not in sent], "not been sent")


def _refuse_numbers(numbers: Sequence[int], why: str) -> None:
    if numbers:
        shown = ", ".join(map(str, numbers[:20])) + (", ..." if len(numbers) > 20 else "")
        raise Refused("conflict", f"Parts have {why}: {shown}.", parts=list(numbers[:1000]))


async def _from_thread(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """The pieces, each read in a thread."""
    while (piece := await threads.run_sync(next, pieces, b"")) != b"":
        yield piece
