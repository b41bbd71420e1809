"""Shares: links that show a tree to whoever has them, until they end or are revoked."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from app.creation.allowances import room_of
from app.creation.creation import LOCATION
from app.creation.lists import NameFilter
from app.creation.named import Named
from app.http import threads
from app.http.addresses import address
from app.http.bodies import StrictRoute
from app.http.dependencies import Caller, Service, ServiceDep, ShareId, Tenant, TreeId
from app.http.etags import answer
from app.http.paging import ByTimeOrName, Page, Words, example_page, having
from app.http.problems import ANYWHERE, Refused, not_found, responses
from app.http.queries import ONLY_KNOWN
from app.http.stored import record_of
from app.resources.shares.schemas import (
    EXAMPLE,
    MADE_EXAMPLE,
    SHARED_EXAMPLE,
    NewShareBody,
    ShareBody,
    SharedBody,
    ShareRequest,
)
from app.resources.trees.shown import edition_of
from workers.artifacts.shares import MOST_SHARES, Share

router = APIRouter(prefix="/v1", tags=["trees"], route_class=StrictRoute, dependencies=ONLY_KNOWN)


@router.post(
    "/trees/{tree_id}/shares",
    operation_id="create_share",
    summary="Make a link that shows a tree",
    status_code=201,
    response_model=NewShareBody,
    responses={
        201: {"headers": LOCATION, "content": {"application/json": {"example": MADE_EXAMPLE}}},
        **responses(
            "malformed",
            "unauthenticated",
            "forbidden",
            "not-found",
            "conflict",
            "quota-exceeded",
            "too-large",
            "unsupported-format",
            "invalid-request",
            "unknown-input",
            "wrong-input",
            "unavailable",
            "full",
        ),
    },
)
async def create_share(
    request: Request, service: ServiceDep, caller: Caller, tree_id: TreeId, body: ShareRequest
) -> Response:
    """A link that shows this tree, as an edition and a naming show it, to whoever has it: the page,
    the forms of the tree, its views, cuts, search and nodes, with `map` its points in the plane,
    with `rows` which rows lie under a node. It opens nothing else: no datasets, no jobs, no models,
    no lists, and no other tree.

    The token is in this answer and nowhere else; the service keeps its SHA-256. Whoever has it
    sends it as a key, or opens `page`. A tree has at most 100 links; they end at `expires_at`, when
    they are revoked, and with the tree. A repeated request makes another link.
    """
    tenant = caller.tenant
    await record_of(service, tenant, tree_id)

    def create() -> tuple[Share, str]:
        if body.edition is not None:
            edition_of(service, tenant, tree_id, body.edition)
        if body.names is not None:
            Named("name").require_of_tree(service, tenant, body.names, tree_id, "names")
        if body.map is not None:
            Named("map").require_of_tree(service, tenant, body.map, tree_id, "map")
        if len(service.shares.of_tree(tenant, tree_id)) >= MOST_SHARES:
            raise Refused(
                "conflict", f"The tree has {MOST_SHARES} links, as many as it may; revoke one."
            )
        share, token = service.shares.add(
            tenant,
            tree_id,
            expires_at=body.end(),
            name=body.name,
            title=body.title,
            note=body.note,
            view=body.view,
            edition=body.edition,
            naming=body.names,
            map=body.map,
            rows=body.rows,
            embed=body.embed,
            by=caller.called,
            room=room_of(service, caller),
        )
        if service.trees.record(tenant, tree_id) is None:
            service.shares.revoke(share)
            raise not_found("tree", tree_id)
        return share, token

    share, token = await threads.run_sync(create)
    headers = {
        "Location": address(request, f"/v1/shares/{share.id}"),
        "Cache-Control": "private, no-store",
    }
    return answer(request, NewShareBody.made(share, token), status=201, headers=headers)


@router.get(
    "/trees/{tree_id}/shares",
    operation_id="list_shares",
    summary="The links that show a tree, newest first",
    response_model=Page[ShareBody],
    responses={200: example_page(EXAMPLE), **responses(*ANYWHERE, "not-found")},
)
async def list_shares(
    response: Response,
    service: ServiceDep,
    tenant: Tenant,
    tree_id: TreeId,
    paging: ByTimeOrName,
    name: NameFilter = None,
    q: Words = None,
) -> Page[ShareBody]:
    """Without their tokens; those that have ended for 30 days more."""
    await record_of(service, tenant, tree_id)
    shares = await threads.run_sync(service.shares.of_tree, tenant, tree_id)
    return paging.cut(
        response,
        (
            share
            for share in shares
            if name in (None, share.name)
            and having(q, share.id, share.name, share.title, share.note)
        ),
        ShareBody.of,
        own=lambda share: share.id,
        name=lambda share: share.name,
    )


@router.get(
    "/shares/{share_id}",
    operation_id="get_share",
    summary="One link",
    response_model=ShareBody,
    responses={
        200: {"content": {"application/json": {"example": EXAMPLE}}},
        **responses(*ANYWHERE, "not-found"),
    },
)
async def get_share(
    request: Request, service: ServiceDep, tenant: Tenant, share_id: ShareId
) -> Response:
    """What a link shows, and until when; never its token."""
    return answer(request, ShareBody.of(await _found(service, tenant, share_id)))


@router.delete(
    "/shares/{share_id}",
    status_code=204,
    operation_id="delete_share",
    summary="Revoke a link",
    responses=responses(*ANYWHERE, "not-found"),
)
async def delete_share(service: ServiceDep, tenant: Tenant, share_id: ShareId) -> None:
    """The link opens nothing any more: at once in this process, within two seconds in others."""
    await threads.run_sync(service.shares.revoke, await _found(service, tenant, share_id))
    service.links.forget(share_id)


@router.get(
    "/shared",
    operation_id="get_shared",
    summary="What the link shows that the request was sent with",
    response_model=SharedBody,
    responses={
        200: {"content": {"application/json": {"example": SHARED_EXAMPLE}}},
        **responses(*ANYWHERE, "not-found", "gone"),
    },
)
async def get_shared(caller: Caller) -> SharedBody:
    """For whoever has a link: the tree, and the edition, names and map that its requests must name.
    404 with a key."""
    if caller.share is None:
        raise not_found("link", "of this request: it was sent with a key, or without one")
    return SharedBody.of(caller.share)


async def _found(service: Service, tenant: str, share_id: str) -> Share:
    share = await threads.run_sync(service.shares.get, share_id)
    if share is None or share.tenant != tenant:
        raise not_found("share", share_id)
    return share
