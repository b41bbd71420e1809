"""Aliases of trees: set, moved on, moved back, with their history."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from app.creation.allowances import room_of
from app.creation.creation import LOCATION
from app.creation.named import OfTreeQuery, require_tree_id
from app.creation.steps import check_webhook
from app.creation.webhooks import callbacks
from app.http import threads
from app.http.addresses import address
from app.http.bodies import StrictRoute
from app.http.dependencies import Caller, Service, ServiceDep, Tenant, is_id
from app.http.etags import IfMatch, answer, body_etag, changed_meanwhile, require_match
from app.http.paging import ByName, ByTime, Page, Words, example_page, having
from app.http.problems import ANYWHERE, Refused, not_found, refused_at, responses
from app.http.queries import ONLY_KNOWN
from app.resources.aliases.schemas import (
    EXAMPLE,
    MOVE_EXAMPLE,
    AliasBody,
    AliasMoveBody,
    AliasMoved,
    AliasRequest,
    RollbackRequest,
)
from models.errors import shown
from workers.artifacts.aliases import MOST_ALIASES, NAME, Alias
from workers.model import sibling

router = APIRouter(
    prefix="/v1/aliases", tags=["trees"], route_class=StrictRoute, dependencies=ONLY_KNOWN
)

_WRITING = (
    *("malformed", "unauthenticated", "forbidden", "conflict", "too-large"),
    *("unsupported-format", "invalid-request", "precondition-failed", "unavailable", "full"),
    "quota-exceeded",
)
_ETAG = {"ETag": {"description": "Its ETag, for `If-Match`.", "schema": {"type": "string"}}}
_CONTENT = {"application/json": {"example": EXAMPLE}}

Name = Annotated[
    str,
    Path(
        alias="alias",
        pattern=f"^{NAME}$",
        description="An alias, without `@`: small letters, digits, `-` and `_`.",
        examples=["champion"],
    ),
]


@router.get(
    "",
    operation_id="list_aliases",
    summary="The aliases, by name",
    response_model=Page[AliasBody],
    responses={200: example_page(EXAMPLE), **responses(*ANYWHERE)},
)
async def list_aliases(
    response: Response,
    service: ServiceDep,
    tenant: Tenant,
    paging: ByName,
    tree: OfTreeQuery = None,
    q: Words = None,
) -> Page[AliasBody]:
    """At most 100; the newest are those that were moved last."""
    require_tree_id(tree)

    def read() -> list[AliasBody]:
        return [
            _body(service, alias)
            for alias in service.aliases.of_tenant(tenant)
            if tree in (None, alias.tree)
            and having(q, alias.name, alias.tree, alias.moves[-1].note)
        ]

    return paging.cut(
        response,
        await threads.run_sync(read),
        lambda body: body,
        own=lambda body: body.name,
        when=lambda body: body.moved_at,
        name=lambda body: body.name,
    )


@router.get(
    "/{alias}",
    operation_id="get_alias",
    summary="One alias",
    response_model=AliasBody,
    responses={
        200: {"headers": _ETAG, "content": _CONTENT},
        304: {"description": "Unchanged since the ETag in If-None-Match."},
        **responses(*ANYWHERE, "not-found"),
    },
)
async def get_alias(request: Request, service: ServiceDep, tenant: Tenant, name: Name) -> Response:
    """The tree that it names now, who moved it there and why."""
    alias = await _found(service, tenant, name)
    return await _answer(request, service, alias)


@router.put(
    "/{alias}",
    operation_id="set_alias",
    summary="Point an alias at a tree",
    response_model=AliasBody,
    responses={
        200: {"headers": _ETAG, "content": _CONTENT},
        201: {
            "description": "The alias is new.",
            "model": AliasBody,
            "headers": {**LOCATION, **_ETAG},
            "content": _CONTENT,
        },
        **responses(*_WRITING, "unknown-input"),
    },
    callbacks=callbacks("alias_moved", "alias_moved", "An alias was moved", AliasMoved),
)
async def set_alias(
    request: Request,
    service: ServiceDep,
    caller: Caller,
    name: Name,
    body: AliasRequest,
    if_match: IfMatch = None,
) -> Response:
    """From the answer on, `@champion` stands for this tree wherever an id of a tree, a model or a
    job may stand: in paths (`GET /v1/trees/@champion.nwk`, and with `POST`
    `/v1/models/@champion/predictions`), in `other`, `reference` and `trees`, and in inputs that are
    trees or jobs. Answers that were read by an alias have `Content-Location`. A tree with an alias
    is not removed by DELETE.

    To compare before moving: `GET /v1/trees/{new}/tangle?other=@champion`. `If-Match` with the ETag
    that was read keeps two from moving it at once; pointing it at the tree that it names changes
    nothing, or its `webhook` alone.
    """
    tenant = caller.tenant
    check_webhook(service, body.webhook)

    def move() -> tuple[Alias, bool]:
        alias = service.aliases.get(tenant, name)
        if if_match is not None:
            if alias.tree is None:
                raise changed_meanwhile()
            require_match(if_match, body_etag(_body(service, alias)))
        tree = body.tree
        if not is_id(tree, "tr"):
            raise _no_tree(tree)
        with service.aliases.naming(tenant, tree) as is_free:
            if service.trees.record(tenant, tree) is None:
                raise _no_tree(tree)
            if not is_free:
                raise _leaving(tree)
            return to(tree, alias)

    def to(tree: str, alias: Alias) -> tuple[Alias, bool]:
        webhook = (body.webhook or "") if "webhook" in body.model_fields_set else None
        if alias.tree == tree and webhook in (None, alias.webhook or ""):
            return alias, False
        if alias.revision == 0 and service.aliases.count(tenant) >= MOST_ALIASES:
            raise Refused(
                "conflict",
                f"There are {MOST_ALIASES} names of aliases, as many as there may be, removed ones "
                "among them: use one of these again.",
            )
        moved = service.aliases.move(
            alias,
            tree,
            by=caller.called,
            note=body.note,
            webhook=webhook,
            room=room_of(service, caller),
        )
        if moved is None:
            raise _overtaken()
        return moved, alias.tree is None

    alias, is_new = await threads.run_sync(move)
    return await _answer(request, service, alias, status=201 if is_new else 200)


@router.post(
    "/{alias}/rollback",
    operation_id="roll_back_alias",
    summary="Point an alias at the tree before",
    response_model=AliasBody,
    responses={
        200: {"headers": _ETAG, "content": _CONTENT},
        **responses(*_WRITING, "not-found"),
    },
)
async def roll_back_alias(
    request: Request,
    service: ServiceDep,
    caller: Caller,
    name: Name,
    body: RollbackRequest,
    if_match: IfMatch = None,
) -> Response:
    """A step back through the history; the next one goes further back. The step is a move as any
    other. 409 where there is nothing before, or the tree before was removed."""
    tenant = caller.tenant
    found = await _found(service, tenant, name)

    def back() -> Alias:
        require_match(if_match, body_etag(_body(service, found)))
        earlier = found.earlier
        if earlier is None or earlier.tree is None:
            raise Refused("conflict", f"Alias {shown('@' + name)} has named no other tree before.")
        with service.aliases.naming(tenant, earlier.tree) as is_free:
            if service.trees.record(tenant, earlier.tree) is None:
                raise Refused(
                    "conflict",
                    f"Tree {earlier.tree!r}, which {shown('@' + name)} named before, was removed: "
                    "set the alias to another tree.",
                )
            if not is_free:
                raise _leaving(earlier.tree)
            moved = service.aliases.move(
                found,
                earlier.tree,
                by=caller.called,
                note=body.note,
                restores=earlier.number,
                room=room_of(service, caller),
            )
        if moved is None:
            raise _overtaken()
        return moved

    return await _answer(request, service, await threads.run_sync(back))


@router.get(
    "/{alias}/history",
    operation_id="get_alias_history",
    summary="The moves of an alias, newest first",
    response_model=Page[AliasMoveBody],
    responses={200: example_page(MOVE_EXAMPLE), **responses(*ANYWHERE, "not-found")},
)
async def get_alias_history(
    response: Response, service: ServiceDep, tenant: Tenant, name: Name, paging: ByTime
) -> Page[AliasMoveBody]:
    """Who moved it, when, where and why, and where the webhook of each move stands: the last 200
    moves. Also of an alias that was removed."""
    alias = await threads.run_sync(service.aliases.get, tenant, name)
    if not alias.moves:
        raise not_found("alias", f"@{name}")
    webhooks = service.ledger.webhooks

    def page() -> Page[AliasMoveBody]:
        return paging.cut(
            response,
            alias.moves,
            lambda move: AliasMoveBody.of(move, webhooks.of_move(tenant, name, move)),
            own=lambda move: f"{move.number:09d}",
        )

    return await threads.run_sync(page)


@router.delete(
    "/{alias}",
    status_code=204,
    operation_id="delete_alias",
    summary="Remove an alias",
    responses=responses(*ANYWHERE, "not-found", "conflict", "precondition-failed"),
)
async def delete_alias(
    service: ServiceDep, caller: Caller, name: Name, if_match: IfMatch = None
) -> None:
    """The tree stays; `@champion` names nothing any more. The history is kept, for the next alias
    of this name too."""
    alias = await _found(service, caller.tenant, name)

    def remove() -> None:
        require_match(if_match, body_etag(_body(service, alias)))
        if service.aliases.move(alias, None, by=caller.called) is None:
            raise _overtaken()

    await threads.run_sync(remove)


async def _found(service: Service, tenant: str, name: str) -> Alias:
    """Raises Refused `not-found` for an alias that names no tree."""
    alias = await threads.run_sync(service.aliases.get, tenant, name)
    if alias.tree is None:
        raise not_found("alias", f"@{name}")
    return alias


def _no_tree(tree: str) -> Refused:
    return refused_at("unknown-input", f"There is no tree {shown(tree)}.", "tree")


def _leaving(tree: str) -> Refused:
    return Refused("conflict", f"Tree {tree!r} is just being removed; try again.")


def _overtaken() -> Refused:
    return Refused("conflict", "Somebody else has just moved it; read it again.")


def _body(service: Service, alias: Alias) -> AliasBody:
    """Blocks."""
    tree_id = str(alias.tree)
    record = service.trees.record(alias.tenant, tree_id)
    job = service.ledger.get(alias.tenant, sibling(tree_id, "job"))
    warnings = []
    if record is None:
        warnings.append(f"Tree {tree_id!r} was removed: requests by this alias find nothing.")
    elif job is not None and job.expires_at is not None:
        warnings.append(
            f"Tree {tree_id!r} expires at {job.expires_at}, or as soon as no alias names it any "
            "more."
        )
    made_by = None if record is None else record.job
    return AliasBody.of(alias, job=made_by, warnings=warnings)


async def _answer(
    request: Request, service: Service, alias: Alias, *, status: int = 200
) -> Response:
    body = await threads.run_sync(_body, service, alias)
    headers = {"Location": address(request, f"/v1/aliases/{alias.name}")} if status == 201 else {}
    return answer(request, body, status=status, headers=headers)
