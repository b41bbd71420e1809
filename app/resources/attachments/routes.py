"""Attachments: the items that a tree's rows or leaves are, beside the tree."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response

from app.creation.creation import Draft, SubmissionDep, Work
from app.creation.inputs import resolve
from app.creation.named import NamedJobs
from app.http.bodies import StrictRoute
from app.http.dependencies import Service, ServiceDep, Tenant, TreeId
from app.http.etags import etag_of, matches
from app.http.forms import Form, mount, respond
from app.http.paging import InOrder, Page, Words, example_page, having
from app.http.pointers import QUERY
from app.http.problems import ANYWHERE, refused_at, responses
from app.http.queries import ONLY_KNOWN
from app.http.stored import record_of, tree_of
from app.http.streaming import Turn, in_turn, turn, whole
from app.http.tables import TABLE, documented_table
from app.resources.attachments.forms import OF_NODES, Attached, NumberedCondition
from app.resources.attachments.schemas import (
    COLUMN_EXAMPLE,
    EXAMPLE,
    EXAMPLES_EXAMPLE,
    MATCHES_EXAMPLE,
    OUTLIERS_EXAMPLE,
    VALUES_EXAMPLE,
    AttachmentBody,
    AttachmentRequest,
    ColumnBody,
    ConditionQuery,
    ExamplesBody,
    ExamplesQuery,
    ItemBody,
    MatchesBody,
    NodeValuesBody,
    OutliersBody,
    OutliersQuery,
)
from app.resources.attachments.submission import options_of
from models.errors import UsageError
from models.inputs.items import Kind
from models.items.conditions import MOST_CONDITIONS
from models.items.placement import of_so_many
from workers.artifacts.trees import TreeRecord
from workers.model import sibling

if TYPE_CHECKING:
    pass

router = APIRouter(
    prefix="/v1", tags=["attachments"], route_class=StrictRoute, dependencies=ONLY_KNOWN
)
ATTACHMENTS = NamedJobs("attach", AttachmentBody)
AttachmentId = Annotated[str, ATTACHMENTS.checked_id]

Column = Annotated[int, Path(ge=0, le=255, description="A column's number, from 0.", examples=[0])]
Item = Annotated[
    int, Path(ge=0, le=2**31 - 1, description="An item's row in its table.", examples=[0])
]
NodeId = Annotated[int, Path(ge=0, le=2**31 - 1, description="A node's id.", examples=[0])]

_ETAG = {"ETag": {"description": "ETag.", "schema": {"type": "string"}}}
_UNCHANGED: dict[int | str, dict[str, Any]] = {
    304: {"description": "Unchanged since the ETag in If-None-Match."}
}


@ATTACHMENTS.create(
    router,
    "/trees/{tree_id}/attachments",
    EXAMPLE,
    operation_id="create_attachment",
    summary="Attach items to a tree",
)
async def create_attachment(
    submission: SubmissionDep, tree_id: TreeId, body: AttachmentRequest
) -> Work:
    """Attaches a table of texts, numbers, categories, dates and images to a tree: a row for each of
    its rows or leaves. It is copied: the dataset may be deleted afterwards. Without `items` the
    rows stand for themselves, by name and, where the fit saw images, by image, so that they have
    examples and outliers. What a node's items are ordered by is taken from the tree's fit. The
    attachment is removed with its tree, and expires with it unless `expires_at` says otherwise; a
    tree may have several.
    """
    service, tenant = submission.service, submission.tenant
    tree = await record_of(service, tenant, tree_id)

    def draft() -> Draft:
        given = {} if body.items is None else {"items": body.items}
        inputs = resolve(service, tenant, given)
        _require_rows(tree, inputs.shapes.get("items"))
        return Draft(
            options=options_of(service, tree),
            inputs=inputs.refs,
            inline=inputs.inline,
            expires_at=_expiry(service, tree),
        )

    return Work(draft)


def _expiry(service: Service, tree: TreeRecord) -> str | None:
    """When the tree expires."""
    job = service.ledger.get(tree.tenant, sibling(tree.id, "job"))
    return None if job is None else job.expires_at


def _require_rows(tree: TreeRecord, shape: tuple[int, ...] | None) -> None:
    """Raises Refused for items that are known to be neither rows nor leaves."""
    if shape is None:
        return
    try:
        of_so_many(tree.n_points, tree.n_leaves, shape[0])
    except UsageError as error:
        raise refused_at(error.code, error.detail, "items") from None


ATTACHMENTS.mount_of_tree(router, EXAMPLE)


ATTACHMENTS.mount_get(
    router, EXAMPLE, "The state of an attachment, and what it holds once it has succeeded."
)


ATTACHMENTS.mount(router, EXAMPLE)


@router.get(
    "/attachments/{attachment_id}/columns",
    operation_id="list_attachment_columns",
    summary="The columns of items",
    response_model=Page[ColumnBody],
    response_model_exclude_unset=True,
    responses={200: example_page(COLUMN_EXAMPLE), **responses(*ANYWHERE, "not-found", "conflict")},
)
async def list_attachment_columns(
    response: Response,
    service: ServiceDep,
    tenant: Tenant,
    attachment_id: AttachmentId,
    paging: InOrder,
    kind: Annotated[Kind | None, Query(description="Only columns of this kind.")] = None,
    q: Words = None,
) -> Page[ColumnBody]:
    """Each column with its kind and what it holds: counts, the range of numbers and dates, the
    categories with their counts."""
    attached, own_turn = await _attached(service, tenant, attachment_id)
    facts = await in_turn(lambda: attached().facts(), own_turn)
    return paging.cut(
        response,
        (each for each in facts if kind in (None, each["kind"]) and having(q, str(each["name"]))),
        ColumnBody.model_validate,
        own=lambda each: f"{each['column']:09d}",
    )


@mount(
    router,
    "/attachments/{attachment_id}/columns/{column}/nodes",
    OF_NODES,
    summary="A column at every node",
    responses=documented_table(
        NodeValuesBody,
        "The values. As `.npy` a float32 matrix of the values and, of a category, the shares, in "
        "the order of nodes, NaN for none.",
        VALUES_EXAMPLE,
        "node,value,share\r\n0,0,0.75\r\n",
        others=("application/x-npy",),
    ),
)
async def get_attachment_node_values(
    request: Request,
    service: ServiceDep,
    tenant: Tenant,
    attachment_id: AttachmentId,
    column: Column,
    form: Form[Any],
) -> Response:
    """What the items under each node have in a column of numbers, dates or categories: the mean, or
    the most frequent category with its share."""
    attached, own_turn = await _attached(service, tenant, attachment_id)
    etag = etag_of(f"{attachment_id} {column} {form.suffix}".encode())
    return await respond(
        request, form, lambda: (attached().node_values(column), {}), own_turn, etag=etag
    )


@mount(
    router,
    "/attachments/{attachment_id}/matches",
    OF_NODES,
    summary="The items that match, by node",
    responses=documented_table(
        MatchesBody,
        "The counts; the root counts all items. As `.npy` an int32 matrix of `n` and `n_matches`, "
        "in the order of nodes.",
        MATCHES_EXAMPLE,
        "node,n,n_matches\r\n0,1200,37\r\n",
        others=("application/x-npy",),
    ),
)
async def get_attachment_matches(
    request: Request,
    service: ServiceDep,
    tenant: Tenant,
    attachment_id: AttachmentId,
    form: Form[Any],
    query: Annotated[ConditionQuery, Query()],
) -> Response:
    """How many items under each node meet a condition, or all of several (`where`): a category or
    text is, a text contains, a number or date lies between, ends included. A missing value matches
    nothing."""
    attached, own_turn = await _attached(service, tenant, attachment_id)
    conditions = _conditions(query)
    return await respond(request, form, lambda: (attached().matches(conditions), {}), own_turn)


def _conditions(query: ConditionQuery) -> list[NumberedCondition]:
    """The conditions of a query. Raises Refused for none, for too many, and for parts of one
    without its `column`."""
    conditions = [
        NumberedCondition(own.column, own.condition, (QUERY, "where", place, "column"))
        for place, own in enumerate(query.where)
    ]
    single = query.condition
    if query.column is not None:
        conditions.insert(0, NumberedCondition(query.column, single, (QUERY, "column")))
    elif single.is_range or single.is_of_text:
        raise refused_at(
            "invalid-request",
            "Give the `column` that `equals`, `contains`, `low` and `high` are about.",
            QUERY,
            "column",
        )
    if not conditions:
        raise refused_at(
            "invalid-request",
            "Give a condition: `column` and what it takes, or `where`.",
            QUERY,
            "column",
        )
    if len(conditions) > MOST_CONDITIONS:
        raise refused_at(
            "invalid-request",
            f"There are {len(conditions)} conditions; at most {MOST_CONDITIONS} are combined.",
            QUERY,
            "where",
        )
    return conditions


@router.get(
    "/attachments/{attachment_id}/nodes/{node}/examples",
    operation_id="get_node_examples",
    summary="Items under a node",
    response_model=ExamplesBody,
    response_model_exclude_unset=True,
    responses={
        200: {"content": {"application/json": {"example": EXAMPLES_EXAMPLE}}},
        **responses(*ANYWHERE, "not-found", "conflict", "invalid-request"),
    },
)
async def get_node_examples(
    service: ServiceDep,
    tenant: Tenant,
    attachment_id: AttachmentId,
    node: NodeId,
    query: Annotated[ExamplesQuery, Query()],
) -> ExamplesBody:
    """Some items of a node: the most central, the least sure or at random. The answer says by what
    they are ordered. 409 for an order of items that nothing is known of."""
    attached, own_turn = await _attached(service, tenant, attachment_id)
    return await in_turn(
        lambda: ExamplesBody.model_validate(
            attached().examples(node, query.by, query.n, query.seed)
        ),
        own_turn,
    )


@mount(
    router,
    "/attachments/{attachment_id}/nodes/{node}/outliers",
    TABLE,
    summary="How the items under a node stand in it",
    responses=documented_table(
        OutliersBody,
        "The items, with their values but for images.",
        OUTLIERS_EXAMPLE,
        "item,leaf,name,distance,doubt,nearest\r\n90,21,,4.5,1.25,18\r\n",
    ),
)
async def get_node_outliers(
    request: Request,
    service: ServiceDep,
    tenant: Tenant,
    attachment_id: AttachmentId,
    node: NodeId,
    form: Form[Any],
    query: Annotated[OutliersQuery, Query()],
) -> Response:
    """The items under a node: the farthest from their mean first, the nearest, or the ones that
    most doubtfully belong there. 409 where nothing is known by which to rank them."""
    attached, own_turn = await _attached(service, tenant, attachment_id)
    return await respond(
        request, form, lambda: (attached().outliers(node, query.by, query.n), {}), own_turn
    )


@router.get(
    "/attachments/{attachment_id}/items/{item}",
    operation_id="get_attachment_item",
    summary="One item",
    response_model=ItemBody,
    response_model_exclude_unset=True,
    responses=responses(*ANYWHERE, "not-found", "conflict"),
)
async def get_attachment_item(
    service: ServiceDep, tenant: Tenant, attachment_id: AttachmentId, item: Item
) -> ItemBody:
    """The values of an item in all columns, and its leaf."""
    attached, own_turn = await _attached(service, tenant, attachment_id)
    return await in_turn(lambda: ItemBody.model_validate(attached().item(item)), own_turn)


@router.get(
    "/attachments/{attachment_id}/items/{item}/images/{column}",
    operation_id="get_attachment_image",
    summary="An image of an item",
    response_class=Response,
    responses={
        200: {
            "description": "The image as it was uploaded: PNG, JPEG, GIF or WebP.",
            "content": {
                "image/*": {
                    "schema": {"type": "string", "format": "binary"},
                    "example": "the bytes of an image",
                }
            },
            "headers": _ETAG,
        },
        **_UNCHANGED,
        **responses(*ANYWHERE, "not-found", "conflict"),
    },
)
async def get_attachment_image(
    request: Request,
    service: ServiceDep,
    tenant: Tenant,
    attachment_id: AttachmentId,
    item: Item,
    column: Column,
) -> Response:
    """The bytes of an image, as the media type that its first bytes tell."""
    etag = etag_of(f"{attachment_id} {item} {column}".encode())
    headers = {"ETag": etag, "Cache-Control": "private, no-cache"}
    attached, own_turn = await _attached(service, tenant, attachment_id)
    if matches(request.headers.get("if-none-match"), etag):
        return Response(status_code=304, headers=headers)
    content, media = await in_turn(lambda: attached().image(item, column), own_turn)
    return whole(content, media, headers)


async def _attached(
    service: Service, tenant: str, attachment_id: str
) -> tuple[Callable[[], Attached], Turn]:
    """How its items are had, which blocks, and the turn of that.

    Raises Refused `not-found`, and `conflict` for one that has not succeeded.
    """
    body = AttachmentBody.of(await ATTACHMENTS.succeeded(service, tenant, attachment_id))
    tree_id, result = body.tree or "", body.result
    record = await record_of(service, tenant, tree_id)

    def attached() -> Attached:
        return Attached(
            attachment_id,
            tree_of(service, tenant, tree_id),
            None if result is None else result.basis,
            partial(service.trees.file, tenant, attachment_id),
            partial(service.trees.ids, tenant, tree_id),
        )

    return attached, turn(record, "look")
