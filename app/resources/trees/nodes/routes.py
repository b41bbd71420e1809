"""One node of a tree, and the points under it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import numpy.typing as npt
from fastapi import APIRouter, Query, Request, Response

from app.http.dependencies import NodeId, Service, ServiceDep, Tenant, TreeId
from app.http.etags import etag_of, matches, require_match
from app.http.forms import Chunks, Form, mount, respond
from app.http.json_parts import IDS, briefs, json_object, shortened, slices
from app.http.late import LateRoute
from app.http.paging import LINK_HEADER, next_link
from app.http.picture_queries import EditionOf, NamesOf
from app.http.problems import ANYWHERE, not_found, responses
from app.http.queries import ONLY_KNOWN
from app.http.stored import look_turn, record_of
from app.http.streaming import Turn, in_turn, streamed, whole
from app.resources.trees.nodes.images import node_png, pictures_of
from app.resources.trees.nodes.schemas import MembersBody, MembersQuery, NodeBody, NodePictureQuery
from app.resources.trees.shown import labels_of, shown_tree_of
from models.arrays import Int
from models.editions.edited import EditedTree
from models.errors import UsageError
from models.tree import nested, walk
from models.tree.labels import Categories, mix
from models.tree.tree import Tree
from models.tree.walk import points_before, spans
from workers.formats.table_writers import Column, Piece, csv_chunks, json_list, json_rows

if TYPE_CHECKING:
    import pyarrow as pa

router = APIRouter(
    prefix="/v1/trees", tags=["trees"], dependencies=ONLY_KNOWN, route_class=LateRoute
)

LabelsId = Annotated[
    str | None,
    Query(
        max_length=200,
        description="A dataset of labels (npy, JSON or CSV), one per input row or per leaf.",
        examples=["ds_" + "0" * 26],
    ),
]

MOST_RELATIVES = 200
"""The most children and ancestors described in full rather than listed by id."""
MOST_LABELS = 20
_OWN = (
    "points_before",
    "path",
    "children",
    "parent_node",
    "ancestors",
    "child_nodes",
    "labels",
    "picture",
)
"""Fields that the tree's own fields of the same name do not replace."""
_ROWS = 16_384
"""Rows that are searched at a time."""


@router.get(
    "/{tree_id}/nodes/{node}",
    operation_id="get_node",
    summary="One node",
    response_model=NodeBody,
    responses=responses(*ANYWHERE, "not-found", "invalid-request", "wrong-shape"),
)
async def get_node(
    service: ServiceDep,
    tenant: Tenant,
    tree_id: TreeId,
    node: NodeId,
    labels: LabelsId = None,
    names: NamesOf = None,
    edition: EditionOf = None,
) -> Response:
    """One node: its path, children, size, height and the fields that its method adds; with
    `labels`, also the labels of the points under it.
    """

    def described() -> Iterator[bytes]:
        shown, row = _shown_with(service, tenant, tree_id, node, names, edition)
        tree = shown.tree
        start, child = tree.children
        own = nested.node_fields(tree, row)
        path = walk.path(tree, row)
        below = child[start[row] : start[row + 1]]
        fields = {
            **{key: value for key, value in own.items() if key not in _OWN},
            "id": node,
            "parent": shown.id(own["parent"]) if row else None,
            "n_leaves": int(spans(tree).count[row]),
            "points_before": int(points_before(tree)[row]),
            "depth": int(tree.depth[row]),
            "parent_node": _briefs(shown, path[-2:-1].tolist())[0] if row else None,
            "ancestors": _briefs(shown, _nearest(path[:-1])),
            "child_nodes": _children(shown, below),
        }
        pictures = pictures_of(service, tenant, tree_id)
        if pictures is not None:
            fields["picture"] = {
                "address": f"/v1/trees/{tree_id}/nodes/{node}/picture",
                "caption": pictures.caption,
            }
        if labels is not None:
            categories = labels_of(service, tenant, tree_id, shown, labels, "labels")
            fields["labels"] = {"dataset": labels, **_mix(shown, categories, row)}
        fields["path"] = json_list(slices(shown.ids_of(path).tolist(), IDS))
        fields["children"] = json_list(slices(shown.ids_of(below).tolist(), IDS))
        yield from json_object(fields)

    return await streamed(described(), await look_turn(service, tenant, tree_id))


def _shown_with(
    service: Service,
    tenant: str,
    tree_id: str,
    node: int,
    names: str | None = None,
    edition: str | None = None,
) -> tuple[EditedTree, int]:
    """The tree as shown, and the row of a node. Raises Refused `not-found` if it has no such
    node."""
    shown = shown_tree_of(service, tenant, tree_id, names, edition)
    try:
        return shown, shown.row(node)
    except UsageError:
        raise not_found("node", str(node)) from None


def _nearest(above: Int) -> list[int]:
    """The root and the nearest ancestors."""
    if above.size <= MOST_RELATIVES:
        return list(above.tolist())
    return [0, *above[1 - MOST_RELATIVES :].tolist()]


def _briefs(shown: EditedTree, rows: list[int]) -> list[dict[str, Any]]:
    """Rows in brief, with their ids."""
    return [{**brief, "id": shown.id(brief["id"])} for brief in briefs(shown.tree, rows)]


def _children(shown: EditedTree, below: Int) -> list[dict[str, Any]]:
    """The largest children from left to right."""
    tree = shown.tree
    if below.size > MOST_RELATIVES:
        below = np.sort(below[np.argsort(-tree.size[below], kind="stable")[:MOST_RELATIVES]])
    n_leaves = spans(tree).count[below].tolist()
    return [
        {**brief, "n_leaves": leaves}
        for brief, leaves in zip(_briefs(shown, below.tolist()), n_leaves, strict=True)
    ]


def _mix(shown: EditedTree, categories: Categories, row: int) -> dict[str, Any]:
    """The labels of the points under a row."""
    labels = categories.labels
    assert labels is not None
    under = mix(shown.tree, labels, row, MOST_LABELS, leaves=shown.leaves)
    return {
        "per": labels.of,
        "n": under.n,
        "n_labels": under.n_labels,
        "purity": under.purity,
        "entropy": under.entropy,
        "mix": [
            {"label": shortened(labels.text[code].as_py()), "count": count, "share": share}
            for code, count, share in under.most
        ],
    }


@dataclass(frozen=True)
class Members:
    """The points under a node, from input row `first` on, and their labels if there are any.

    node : its row in the tree. limit : points on a page. ids : of all rows, where they have any.
    """

    shown: EditedTree
    node: int
    categories: Categories | None
    first: int
    limit: int
    ids: pa.Array | None = None

    @property
    def tree(self) -> Tree:
        return self.shown.tree

    @property
    def columns(self) -> list[str]:
        own = ["row"] if self.ids is None else ["row", "id"]
        return [*own, "leaf", "name", *([] if self.categories is None else ["label"])]

    def pieces(self) -> Iterator[Piece]:
        """Row, leaf, the leaf's name and the label of each point, ascending."""
        return (self._piece(rows) for rows in self._rows())

    @cached_property
    def page(self) -> tuple[Piece, str | None]:
        """The points of one page, and the cursor of the next: its first row."""
        pieces: list[Int] = [np.empty(0, dtype=np.int64)]
        for rows in self._rows():
            pieces.append(rows[: self.limit + 1])
            if sum(map(len, pieces)) > self.limit:
                break
        rows = np.concatenate(pieces)
        following = str(rows[self.limit]) if rows.size > self.limit else None
        return self._piece(rows[: self.limit]), following

    def _rows(self) -> Iterator[Int]:
        under = spans(self.tree)
        for start in range(self.first, self.tree.n_points, _ROWS):
            yield under.rows(self.tree, self.node, start, start + _ROWS)

    def _piece(self, rows: Int) -> Piece:
        leaf = self.tree.leaf_of_point[rows]
        columns: list[Column] = [rows]
        if self.ids is not None:
            columns.append(self.ids.take(rows).to_pylist())
        columns += [self.shown.ids_of(leaf), self.tree.name[leaf]]
        if self.categories is not None:
            columns.append(self._labels(self.categories, rows, leaf))
        return columns

    def _labels(
        self, categories: Categories, rows: Int, leaf: npt.NDArray[Any]
    ) -> list[str | None]:
        import pyarrow as pa

        labels = categories.labels
        assert labels is not None
        if labels.of == "row":
            code = labels.code[rows]
        else:
            code = categories.of_leaf[spans(self.tree).start[leaf]]
        texts: list[str | None] = labels.text.take(pa.array(code, mask=code < 0)).to_pylist()
        return texts


def _json(members: Members) -> Chunks:
    piece, following = members.page
    return json_object(
        {
            "total": int(members.tree.size[members.node]),
            "items": json_rows(members.columns, [piece]),
            "next_cursor": following,
        }
    )


def _csv(members: Members) -> Chunks:
    return csv_chunks(members.columns, members.pieces())


FORMS: tuple[Form[Members], ...] = (
    Form("json", "application/json", _json),
    Form("csv", "text/csv", _csv),
)

_DOCUMENTED: dict[int | str, dict[str, Any]] = {
    200: {
        "model": MembersBody,
        "description": "A page of the points; all of them as CSV.",
        "headers": LINK_HEADER,
        "content": {
            "text/csv": {
                "schema": {"type": "string"},
                "example": "row,leaf,name\r\n0,1,rose\r\n",
            }
        },
    },
    **responses(*ANYWHERE, "not-found", "not-acceptable", "invalid-request", "wrong-shape"),
}


@router.get(
    "/{tree_id}/nodes/{node}/picture",
    operation_id="get_node_picture",
    summary="A node's images",
    response_class=Response,
    responses={
        200: {
            "description": "A PNG.",
            "content": {
                "image/png": {
                    "schema": {"type": "string", "format": "binary"},
                    "example": "the bytes of a PNG",
                }
            },
            "headers": {"ETag": {"description": "ETag.", "schema": {"type": "string"}}},
        },
        304: {"description": "The client has the current version."},
        **responses(*ANYWHERE, "not-found", "invalid-request"),
    },
)
async def get_node_picture(
    request: Request,
    service: ServiceDep,
    tenant: Tenant,
    tree_id: TreeId,
    node: NodeId,
    query: Annotated[NodePictureQuery, Query()],
) -> Response:
    """What the model makes of a node, where its method draws nodes and rows are images: the node's
    centre decoded, samples, or the like; `picture.caption` of the node says what. 404 for trees
    without such images.
    """
    record = await record_of(service, tenant, tree_id)
    headers = {"ETag": etag_of(f"{record.etag} {node} {query.px}".encode())}
    require_match(request.headers.get("if-match"), headers["ETag"])
    if matches(request.headers.get("if-none-match"), headers["ETag"]):
        return Response(status_code=304, headers=headers)

    def drawn() -> bytes:
        _shown_with(service, tenant, tree_id, node)
        return node_png(service, tenant, tree_id, node, query.px)

    content = await in_turn(drawn, Turn("draw", waits=True))
    return whole(content, "image/png", headers)


@mount(
    router,
    "/{tree_id}/nodes/{node}/members",
    FORMS,
    summary="The points under a node",
    responses=_DOCUMENTED,
)
async def get_members(
    request: Request,
    service: ServiceDep,
    tenant: Tenant,
    tree_id: TreeId,
    node: NodeId,
    form: Form[Members],
    query: Annotated[MembersQuery, Query()],
) -> Response:
    """The input rows under a node in their order, each with its leaf and, with `labels`, its label:
    one page as JSON, or all of them as CSV.
    """
    paged = form.suffix == "json"

    def load() -> tuple[Members, dict[str, str]]:
        shown, row = _shown_with(service, tenant, tree_id, node, edition=query.edition)
        categories = None
        if query.labels is not None:
            categories = labels_of(service, tenant, tree_id, shown, query.labels, "labels")
        first = int(query.cursor or 0) if paged else 0
        ids = service.trees.ids(tenant, tree_id)
        members = Members(shown, row, categories, first, query.limit, ids)
        return members, next_link(request, members.page[1]) if paged else {}

    return await respond(request, form, load, await look_turn(service, tenant, tree_id))
