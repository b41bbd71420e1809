"""Trees: lists, forms, removal."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Header, Path, Query, Request, Response
from starlette.responses import StreamingResponse

from app.forms import tree as forms
from app.forms.coloring import coloring
from app.http import etags, streaming
from app.http.dependencies import Service, ServiceDep, Tenant, TreeId, is_id
from app.http.paging import LINK_HEADER, Cursor, Limit, link_next
from app.http.problems import not_found, responses
from app.schemas.pages import Page
from app.schemas.parts import FormQuery
from app.schemas.trees import TREE_EXAMPLE, NestedTreeBody, TreeBody, TreeSummary
from app.submission import tree_jobs
from models.tree.tree import Tree

router = APIRouter(prefix="/v1/trees", tags=["trees"])

Accept = Annotated[str | None, Header(description="The form wanted; a suffix on the path wins.")]
_AT_ONCE = 4096
"""Trees of up to so many nodes are written in one piece, with a Content-Length."""

ANYWHERE = ("unauthenticated", "forbidden", "unavailable")
"""What every request for what is kept may be answered with."""

_HCLUST: dict[str, Any] = {
    "type": "object",
    "description": "What R's hclust holds: negative numbers in `merge` are leaves, from 1 on.",
    "required": ["merge", "height", "order", "labels"],
    "properties": {
        "merge": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
        "height": {"type": "array", "items": {"type": "number"}},
        "order": {"type": "array", "items": {"type": "integer"}},
        "labels": {"type": "array", "items": {"type": "string"}},
    },
}


@router.get(
    "",
    operation_id="list_trees",
    summary="Trees, newest first",
    responses={
        200: {
            "headers": LINK_HEADER,
            "content": {
                "application/json": {"example": {"items": [TREE_EXAMPLE], "next_cursor": None}}
            },
        },
        **responses(*ANYWHERE, "invalid-request"),
    },
)
async def list_trees(
    request: Request,
    response: Response,
    service: ServiceDep,
    tenant: Tenant,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[TreeSummary]:
    """Results of jobs and imported trees, without their nodes."""
    records, following = await to_thread.run_sync(
        lambda: service.trees.page(tenant, limit=limit, cursor=cursor)
    )
    link_next(request, response, following)
    return Page(items=[TreeSummary.of(record) for record in records], next_cursor=following)


def _forms_documented() -> dict[int | str, dict[str, Any]]:
    content: dict[str, Any] = {
        form.media: {"schema": {"type": "string", "format": "binary"}}
        for form in forms.FORMS
        if form.media != "application/json"
    }
    content["application/vnd.umbel.hclust+json"] = {"schema": _HCLUST}
    content["text/x-nh"] = {"schema": {"type": "string"}, "example": "(rose:1.0,tulip:1.0);"}
    text = {"schema": {"type": "string"}}
    return {
        200: {
            "model": TreeBody | NestedTreeBody,
            "description": "The tree in the form asked for.",
            "content": content,
            "headers": {
                "ETag": {"description": "Of this form.", **text},
                "Warning": {"description": "What the form cannot carry.", **text},
            },
        },
        304: {"description": "The client has it."},
        **responses(*ANYWHERE, "not-found", "not-acceptable", "invalid-request"),
    }


@router.get(
    "/{tree_id}.{suffix}",
    operation_id="get_tree_as",
    summary="A tree in the form of a suffix",
    response_class=Response,
    responses=_forms_documented(),
)
async def get_tree_as(
    request: Request,
    service: ServiceDep,
    tenant: Tenant,
    tree_id: Annotated[str, Path(description="A tree.", examples=["tr_" + "0" * 26])],
    suffix: Annotated[
        str,
        Path(
            description="json, nwk, nex, linkage.npy, hclust.json, arrow, svg or png.",
            examples=["nwk"],
        ),
    ],
    query: Annotated[FormQuery, Query()],
) -> Response:
    """As `GET /v1/trees/{tree_id}`, the suffix saying which form."""
    # The path is split at its last dot; a suffix may have one of its own.
    tree_id, _, suffix = f"{tree_id}.{suffix}".partition(".")
    if not is_id(tree_id, "tr"):
        raise not_found("tree", tree_id)
    return await _serve(
        request, service, tenant, tree_id, forms.by_suffix(suffix, forms.FORMS), query
    )


@router.get(
    "/{tree_id}",
    operation_id="get_tree",
    summary="A tree",
    response_class=Response,
    responses=_forms_documented(),
)
async def get_tree(
    request: Request,
    service: ServiceDep,
    tenant: Tenant,
    tree_id: TreeId,
    query: Annotated[FormQuery, Query()],
    accept: Accept = None,
) -> Response:
    """The tree, or with `root` and `depth` a part of it, in the form that Accept asks for: JSON,
    Newick, Nexus, SciPy linkage, R hclust, Arrow, SVG or PNG. Node ids are those of the whole tree.
    """
    return await _serve(
        request, service, tenant, tree_id, forms.by_accept(accept, forms.FORMS), query
    )


async def _serve(
    request: Request,
    service: Service,
    tenant: str,
    tree_id: str,
    form: forms.Form[forms.Wanted],
    query: FormQuery,
) -> Response:
    record = await tree_jobs.tree_of(service, tenant, tree_id)
    asked = query.model_dump_json(exclude_defaults=True)
    etag = etags.etag_of(f"{record.etag} {form.suffix} {asked}".encode())
    headers = {"ETag": etag, "Vary": "Accept", "Cache-Control": "private, no-cache"}
    if etags.matches(request.headers.get("if-none-match"), etag):
        return Response(status_code=304, headers=headers)

    def write() -> tuple[bytes | Iterator[bytes], str | None]:
        tree = loaded(service, tenant, tree_id)
        wanted = forms.Wanted(
            record,
            tree,
            root=query.root,
            depth=query.depth,
            layout=query.layout,
            labels=query.labels,
            shape=query.shape,
            px=query.px,
            height=query.height,
            palette=query.palette,
            theme=query.theme,
            title=query.title,
            color=coloring(service, tenant, tree_id, tree, query.color_by)
            if form.media.startswith("image/")
            else None,
        )
        chunks = form.write(wanted)
        warning = forms.lost(form, tree)
        if tree.n_nodes <= _AT_ONCE:
            return b"".join(chunks), warning
        # The first piece is made before the status is sent, so that what cannot be written in this
        # form is still a problem.
        return chain([next(chunks)], chunks), warning

    turn: streaming.Turn | None = streaming.turn(record, "export")
    if form.suffix == "png":
        turn = "png"
    chunks, warning = await streaming.in_turn(write, turn)
    if warning:
        headers["Warning"] = warning
    if isinstance(chunks, bytes):
        return Response(chunks, media_type=form.media, headers=headers)
    return StreamingResponse(streaming.pieces(chunks), media_type=form.media, headers=headers)


def loaded(service: Service, tenant: str, tree_id: str) -> Tree:
    tree = service.trees.load(tenant, tree_id)
    if tree is None:
        raise not_found("tree", tree_id)
    return tree


@router.delete(
    "/{tree_id}",
    status_code=204,
    operation_id="delete_tree",
    summary="Remove a tree",
    responses=responses(*ANYWHERE, "not-found"),
)
async def delete_tree(service: ServiceDep, tenant: Tenant, tree_id: TreeId) -> None:
    """Removes the tree and the model that belongs to it; the job's record stays."""
    if not await to_thread.run_sync(service.trees.delete, tenant, tree_id):
        raise not_found("tree", tree_id)
