"""Editions: what people change of a tree, without changing the tree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Request, Response

from app.creation.allowances import room_of
from app.creation.creation import LOCATION
from app.creation.lists import NameFilter
from app.http import threads
from app.http.addresses import address
from app.http.bodies import StrictRoute
from app.http.dependencies import (
    Caller,
    EditionId,
    OnceDep,
    Service,
    ServiceDep,
    Tenant,
    TreeId,
)
from app.http.etags import IfMatch, answer, changed_meanwhile, etag_of, require_match
from app.http.keyring import Access
from app.http.paging import ByTime, ByTimeOrName, Page, Words, example_page, having
from app.http.problems import ANYWHERE, Refused, not_found, refused_at, responses
from app.http.queries import ONLY_KNOWN
from app.http.stored import look_turn, record_of, tree_of
from app.http.streaming import in_turn
from app.resources.editions.schemas import (
    CHANGE_EXAMPLE,
    EDITED_EXAMPLE,
    EXAMPLE,
    ChangeBody,
    EditedBody,
    EditionBody,
    EditionChanges,
    EditionRequest,
    OperationsRequest,
    Redo,
    Undo,
)
from app.resources.trees.shown import edition_of
from models.editions.state import Operation
from models.errors import UsageError, listed
from workers.artifacts.editions import (
    MOST_BYTES,
    MOST_CHANGES,
    MOST_EDITIONS,
    Change,
    Edition,
    id_beside,
)
from workers.model import now

router = APIRouter(prefix="/v1", tags=["trees"], route_class=StrictRoute, dependencies=ONLY_KNOWN)

_WRITING = (
    "malformed",
    "unauthenticated",
    "forbidden",
    "not-found",
    "conflict",
    "quota-exceeded",
    "too-large",
    "unsupported-format",
    "invalid-request",
    "unavailable",
    "full",
)
_ETAG = {"ETag": {"description": "Its ETag, for `If-Match`.", "schema": {"type": "string"}}}


def _documented(example: dict[str, Any]) -> dict[str, Any]:
    return {"headers": _ETAG, "content": {"application/json": {"example": example}}}


@router.post(
    "/trees/{tree_id}/editions",
    operation_id="create_edition",
    summary="Begin an edition of a tree",
    status_code=201,
    response_model=EditionBody,
    responses={
        201: {**_documented(EXAMPLE), "headers": {**LOCATION, **_ETAG}},
        **responses(*_WRITING, "unknown-input", "wrong-input", "idempotency-mismatch"),
    },
)
async def create_edition(
    request: Request,
    service: ServiceDep,
    caller: Caller,
    once: OnceDep,
    tree_id: TreeId,
    body: EditionRequest,
) -> Response:
    """An edition keeps what people change of the tree: names, notes, colours, the order of
    siblings, collapsed, merged and dissolved nodes. The tree stays unchanged; its forms, views,
    cuts, nodes and pictures show an edition with `edition`, as in
    `GET /v1/trees/{id}.nwk?edition=ed_...`. With `from` it starts as another edition of the tree
    is now. A tree has at most 100 editions, which are removed with it.
    """
    tenant = caller.tenant
    await record_of(service, tenant, tree_id)
    edition_id = id_beside(tree_id, "ed")

    def create() -> Edition:
        operations: list[Operation] = []
        if body.source is not None:
            operations = edition_of(service, tenant, tree_id, body.source, "from").operations
        if len(service.editions.of_tree(tenant, tree_id)) >= MOST_EDITIONS:
            raise Refused(
                "conflict", f"The tree has {MOST_EDITIONS} editions, as many as it may; delete one."
            )
        edition = service.editions.create(
            tenant,
            edition_id,
            by=caller.called,
            name=body.name,
            operations=operations,
            room=room_of(service, caller),
        )
        if service.trees.record(tenant, tree_id) is None:
            service.editions.delete(tenant, edition_id)
            raise not_found("tree", tree_id)
        return edition

    async def make() -> Response:
        return begun(await threads.run_sync(create))

    async def again(earlier_id: str) -> Response | None:
        earlier = await threads.run_sync(service.editions.get, tenant, earlier_id)
        return None if earlier is None else begun(earlier)

    def begun(edition: Edition) -> Response:
        location = {"Location": address(request, f"/v1/editions/{edition.id}")}
        return _answer(request, edition, status=201, headers=location)

    return await once.answer(edition_id, await request.body(), make, again)


@router.get(
    "/trees/{tree_id}/editions",
    operation_id="list_editions",
    summary="The editions of a tree, newest first",
    response_model=Page[EditionBody],
    responses={200: example_page(EXAMPLE), **responses(*ANYWHERE, "not-found")},
)
async def list_editions(
    response: Response,
    service: ServiceDep,
    tenant: Tenant,
    tree_id: TreeId,
    paging: ByTimeOrName,
    name: NameFilter = None,
    q: Words = None,
) -> Page[EditionBody]:
    """At most 100."""
    await record_of(service, tenant, tree_id)

    def read() -> list[Edition]:
        ids = service.editions.of_tree(tenant, tree_id)
        editions = (service.editions.get(tenant, edition_id) for edition_id in ids)
        return [
            edition
            for edition in editions
            if edition is not None
            and name in (None, edition.name)
            and having(q, edition.id, edition.name)
        ]

    return paging.cut(
        response,
        await threads.run_sync(read),
        EditionBody.of,
        own=lambda edition: edition.id,
        name=lambda edition: edition.name,
    )


@router.get(
    "/editions/{edition_id}",
    operation_id="get_edition",
    summary="One edition",
    response_model=EditionBody,
    responses={
        200: _documented(EXAMPLE),
        304: {"description": "Unchanged since the ETag in If-None-Match."},
        **responses(*ANYWHERE, "not-found"),
    },
)
async def get_edition(
    request: Request, service: ServiceDep, tenant: Tenant, edition_id: EditionId
) -> Response:
    """Its name and how far it is; `GET /v1/trees/{id}?edition=` has the nodes."""
    return _answer(request, await _found(service, tenant, edition_id))


@router.patch(
    "/editions/{edition_id}",
    operation_id="update_edition",
    summary="Change an edition's name",
    response_model=EditionBody,
    openapi_extra={
        "requestBody": {
            "content": {
                "application/merge-patch+json": {
                    "schema": {"$ref": "#/components/schemas/EditionChanges"},
                    "example": {"name": "for the paper, final"},
                }
            }
        }
    },
    responses={200: _documented(EXAMPLE), **responses(*_WRITING, "precondition-failed")},
)
async def update_edition(
    request: Request,
    service: ServiceDep,
    caller: Caller,
    edition_id: EditionId,
    body: EditionChanges,
    if_match: IfMatch = None,
) -> Response:
    """A JSON merge patch. The new name is a change of the edition, with a new ETag; `undo` does not
    take it back.
    """
    while True:
        edition = await _found(service, caller.tenant, edition_id)
        require_match(if_match, _etag(edition))
        if "name" not in body.model_fields_set or body.name == edition.name:
            return _answer(request, edition)
        change = _change(edition, caller, kind="title", name=body.name)
        renamed = await threads.run_sync(_changed, service, caller, edition, change)
        if renamed is not None:
            return _answer(request, renamed)


@router.delete(
    "/editions/{edition_id}",
    status_code=204,
    operation_id="delete_edition",
    summary="Remove an edition",
    responses=responses(*ANYWHERE, "not-found", "precondition-failed"),
)
async def delete_edition(
    service: ServiceDep, tenant: Tenant, edition_id: EditionId, if_match: IfMatch = None
) -> None:
    """Removes the edition with its history; the tree stays. Links to it show nothing."""
    edition = await _found(service, tenant, edition_id)
    require_match(if_match, _etag(edition))
    await threads.run_sync(service.editions.delete, tenant, edition_id)


@router.post(
    "/editions/{edition_id}/changes",
    operation_id="change_edition",
    summary="Change nodes of an edition",
    status_code=200,
    response_model=EditedBody,
    responses={
        200: _documented(EDITED_EXAMPLE),
        **responses(
            *_WRITING, "precondition-failed", "precondition-required", "idempotency-mismatch"
        ),
    },
)
async def change_edition(
    request: Request,
    service: ServiceDep,
    caller: Caller,
    once: OnceDep,
    edition_id: EditionId,
    body: OperationsRequest,
    if_match: IfMatch = None,
) -> Response:
    """Applies operations in their order, all or none, as one edit that `undo` takes back.

    `rename`, `note` and `colour` say something of a node; null takes it back. `reorder` lists the
    children of a node in their new order. `collapse` shows an inner node folded, `expand` opens it
    again. `merge` puts siblings under one new inner node, halfway between them and their parent,
    where the first of them stood; `new_nodes` has its id. `dissolve` takes an inner node out, and
    its children take its place. All other nodes keep their ids.

    `If-Match` names the ETag of the edition that the change was made for: 428 without, 412 if
    somebody was faster. An edition takes 2,000 changes and 1 MiB of them; another edition goes on
    `from` it.
    """
    edition = await _found(service, caller.tenant, edition_id)
    if if_match is None:
        raise Refused(
            "precondition-required",
            "Send `If-Match` with the ETag of the edition that the change was made for, as GET "
            f"/v1/editions/{edition_id} gives it.",
        )
    look = await look_turn(service, caller.tenant, edition.tree)

    async def make() -> Response:
        require_match(if_match, _etag(edition))
        return await answered(lambda: _edited(service, caller, edition, body))

    async def again(number: str) -> Response | None:
        last = int(number)
        kept = edition.changes[last - 1] if last <= edition.revision else None
        if kept is None or kept.operations != tuple(_operations(body)):
            return None
        then = Edition(edition.id, edition.tenant, edition.changes[:last])
        return await answered(lambda: then)

    async def answered(edit: Callable[[], Edition]) -> Response:
        def made() -> tuple[EditedBody, str]:
            edited = edit()
            fields = EditionBody.of(edited).model_dump()
            body = EditedBody(
                **fields, new_nodes=_new_nodes(service, edited), warnings=_warnings(service, edited)
            )
            return body, _etag(edited)

        shown, etag = await in_turn(made, look)
        return answer(request, shown, etag=etag)

    fingerprint = f"{if_match}\n".encode() + await request.body()
    return await once.answer(str(edition.revision + 1), fingerprint, make, again)


@router.get(
    "/editions/{edition_id}/history",
    operation_id="get_edition_history",
    summary="The changes of an edition, newest first",
    response_model=Page[ChangeBody],
    responses={
        200: example_page(CHANGE_EXAMPLE),
        **responses(*ANYWHERE, "not-found"),
    },
)
async def get_edition_history(
    response: Response,
    service: ServiceDep,
    tenant: Tenant,
    edition_id: EditionId,
    paging: ByTime,
) -> Page[ChangeBody]:
    """Who changed what, and when; undone edits too, which `holds` tells from the others."""
    edition = await _found(service, tenant, edition_id)
    holding = {1, *(change.number for change in edition.steps[0])}
    return paging.cut(
        response,
        edition.changes,
        lambda change: ChangeBody.of(change, holding),
        own=lambda change: f"{change.number:06d}",
    )


def _edited(service: Service, caller: Access, edition: Edition, body: OperationsRequest) -> Edition:
    """The edition with one more edit. Blocks. Raises Refused."""
    edited = _changed(service, caller, edition, _checked(service, caller, edition, body))
    if edited is None:
        if service.editions.get(edition.tenant, edition.id) is None:
            raise not_found("edition", edition.id)
        raise changed_meanwhile()
    return edited


def _changed(service: Service, caller: Access, edition: Edition, change: Change) -> Edition | None:
    """As `Editions.change`. Raises Refused where the edition is full, and OverLimit."""
    if edition.revision >= MOST_CHANGES or (
        edition.n_bytes + len(change.model_dump_json()) > MOST_BYTES
    ):
        raise Refused(
            "conflict",
            f"An edition takes {MOST_CHANGES:,} changes and {MOST_BYTES:,} bytes of them; begin "
            f"another one `from` {edition.id!r}.",
        )
    return service.editions.change(edition, change, room_of(service, caller))


def _checked(service: Service, caller: Access, edition: Edition, body: OperationsRequest) -> Change:
    """The change, once its operations have been applied to the tree. Raises Refused."""
    for number, operation in enumerate(body.operations):
        if not isinstance(operation, Undo | Redo):
            continue
        if len(body.operations) > 1:
            raise refused_at(
                "invalid-request",
                f"Operation {number} ({operation.op}) stands alone in a request.",
                "operations",
                number,
            )
        if not edition.steps[operation.op == "redo"]:
            raise Refused("conflict", f"There is nothing to {operation.op}.")
        return _change(edition, caller, kind=operation.op)
    operations = _operations(body)
    try:
        edition.state(tree_of(service, edition.tenant, edition.tree)).apply(operations)
    except UsageError as error:
        raise refused_at(
            "invalid-request",
            error.detail,
            "operations",
            error.where["operation"],
            error.where["field"],
        ) from None
    return _change(edition, caller, kind="edit", operations=operations)


def _operations(body: OperationsRequest) -> list[Operation]:
    return [each for each in body.operations if not isinstance(each, Undo | Redo)]


def _new_nodes(service: Service, edition: Edition) -> list[int]:
    """The ids of the nodes that the merges of the last change made, if they are still there."""
    n_merges = sum(each.op == "merge" for each in edition.changes[-1].operations)
    if not n_merges:
        return []
    state = edition.state(tree_of(service, edition.tenant, edition.tree))
    made = range(state.n_ids - n_merges, state.n_ids)
    return [node for node in made if node not in state.gone]


def _warnings(service: Service, edition: Edition) -> list[str]:
    if not any(each.op == "rename" for each in edition.operations):
        return []
    shared = edition.state(tree_of(service, edition.tenant, edition.tree)).shared_names()
    if not shared:
        return []
    return [
        f"{len(shared)} name(s) given to leaves are names of other leaves too, which nobody tells "
        f"apart by them then: {listed(shared)}; `?labels=id` writes node ids instead."
    ]


def _change(edition: Edition, caller: Access, **fields: Any) -> Change:
    return Change(number=edition.revision + 1, at=now(), by=caller.called, **fields)


async def _found(service: Service, tenant: str, edition_id: str) -> Edition:
    """Raises Refused `not-found`, also where its tree is gone."""

    def find() -> Edition:
        edition = service.editions.get(tenant, edition_id)
        if edition is None or service.trees.record(tenant, edition.tree) is None:
            raise not_found("edition", edition_id)
        return edition

    return await threads.run_sync(find)


def _etag(edition: Edition) -> str:
    return etag_of(f"{edition.id} {edition.revision}".encode())


def _answer(request: Request, edition: Edition, **options: Any) -> Response:
    return answer(request, EditionBody.of(edition), etag=_etag(edition), **options)
