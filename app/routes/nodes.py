"""One node of a tree: what is known of it, and the points under it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Header, Path, Query, Request, Response

from app.forms import parts
from app.forms import tree as forms
from app.forms.coloring import by_labels
from app.http.dependencies import Service, ServiceDep, Tenant, TreeId
from app.http.paging import LINK_HEADER, link_next
from app.http.problems import not_found, responses
from app.http.streaming import in_turn
from app.routes.trees import ANYWHERE, loaded
from app.schemas.looks import MembersBody, MembersQuery, NodeBody
from models.arrays import Int
from models.tree import nested, walk
from models.tree.categories import Categories
from models.tree.labels import mix
from models.tree.leaf_ranges import spans
from models.tree.tree import Tree

router = APIRouter(prefix="/v1/trees", tags=["trees"])

NodeId = Annotated[int, Path(ge=0, le=2**31 - 1, description="A node's id.", examples=[0])]
LabelsId = Annotated[
    str | None,
    Query(
        max_length=200,
        description="A labels dataset (npy, JSON or CSV), one label per input row or per leaf.",
        examples=["ds_" + "0" * 26],
    ),
]

MOST_RELATIVES = 200
"""Children and ancestors that are described, not only named by their ids."""
MOST_LABELS = 20
_OWN = ("path", "children", "parent_node", "ancestors", "child_nodes", "labels")
"""What a tree's own fields may not stand in the way of."""
_ROWS = 16_384
"""Rows that are looked through at a time."""


@router.get(
    "/{tree_id}/nodes/{node}",
    operation_id="get_node",
    summary="One node",
    response_model=NodeBody,
    responses=responses(*ANYWHERE, "not-found", "invalid-request", "wrong-shape"),
)
async def get_node(
    service: ServiceDep, tenant: Tenant, tree_id: TreeId, node: NodeId, labels: LabelsId = None
) -> Response:
    """A node whole: its path, children, size, height and whatever its method says of it; with
    `labels`, which ones the points under it have.
    """

    def described() -> Iterator[bytes]:
        tree = _with_node(service, tenant, tree_id, node)
        start, child = tree.children
        own = nested.node_fields(tree, node)
        path = walk.path(tree, node)
        below = child[start[node] : start[node + 1]]
        facts = {
            **{key: value for key, value in own.items() if key not in _OWN},
            "n_leaves": int(spans(tree).count[node]),
            "depth": int(tree.depth[node]),
            "parent_node": parts.briefly(tree, path[-2:-1].tolist())[0] if node else None,
            "ancestors": parts.briefly(tree, _nearest(path[:-1])),
            "child_nodes": _children(tree, below),
        }
        if labels is not None:
            found = by_labels(service, tenant, tree_id, tree, labels, "labels")
            facts["labels"] = {"dataset": labels, **_mixed(tree, found, node)}
        yield parts.opened(facts) + b', "path": '
        yield from parts.listed(parts.parted(path.tolist(), parts.IDS))
        yield b', "children": '
        yield from parts.listed(parts.parted(below.tolist(), parts.IDS))
        yield b"}"

    return await parts.written(described(), await parts.look_turn(service, tenant, tree_id))


def _with_node(service: Service, tenant: str, tree_id: str, node: int) -> Tree:
    tree = loaded(service, tenant, tree_id)
    if node >= tree.n_nodes:
        raise not_found("node", str(node))
    return tree


def _nearest(above: Int) -> list[int]:
    """The root and the nearest ancestors."""
    if above.size <= MOST_RELATIVES:
        return list(above.tolist())
    return [0, *above[1 - MOST_RELATIVES :].tolist()]


def _children(tree: Tree, below: Int) -> list[dict[str, Any]]:
    """The largest children from left to right."""
    if below.size > MOST_RELATIVES:
        below = np.sort(below[np.argsort(-tree.size[below], kind="stable")[:MOST_RELATIVES]])
    n_leaves = spans(tree).count[below].tolist()
    return [
        {**brief, "n_leaves": leaves}
        for brief, leaves in zip(parts.briefly(tree, below.tolist()), n_leaves, strict=True)
    ]


def _mixed(tree: Tree, found: Categories, node: int) -> dict[str, Any]:
    assert found.labels is not None
    seen = mix(tree, found.labels, node, MOST_LABELS)
    text = found.labels.text
    return {
        "per": found.labels.of,
        "n": seen.n,
        "n_labels": seen.n_labels,
        "purity": seen.purity,
        "entropy": seen.entropy,
        "mix": [
            {"label": parts.told(text[code].as_py()), "count": count, "share": share}
            for code, count, share in seen.most
        ],
    }


@dataclass(frozen=True, slots=True)
class _Members:
    """The points under a node and, where asked for, their labels."""

    tree: Tree
    node: int
    found: Categories | None

    def rows(self, first: int) -> Iterator[Int]:
        """The points from row `first` on, ascending, as rows are looked through."""
        at = spans(self.tree)
        for start in range(first, self.tree.n_points, _ROWS):
            yield at.rows(self.tree, self.node, start, start + _ROWS)

    def told(self, rows: Int) -> list[tuple[Any, ...]]:
        """Row, leaf, the leaf's name and the label of each."""
        leaf = self.tree.leaf_of_point[rows]
        columns = [rows.tolist(), leaf.tolist(), self.tree.name[leaf].tolist()]
        if self.found is not None:
            columns.append(self._labels(rows, leaf))
        return list(zip(*columns, strict=True))

    def _labels(self, rows: Int, leaf: Any) -> list[str | None]:
        import pyarrow as pa

        assert self.found is not None
        labels = self.found.labels
        assert labels is not None
        if labels.of == "row":
            code = labels.code[rows]
        else:
            code = self.found.of_leaf[spans(self.tree).start[leaf]]
        texts: list[str | None] = labels.text.take(pa.array(code, mask=code < 0)).to_pylist()
        return texts


def _page(members: _Members, limit: int, first: int) -> tuple[list[dict[str, Any]], str | None]:
    """The points from row `first` on, and the cursor of the next page: its first row."""
    found: list[Int] = [np.empty(0, dtype=np.int64)]
    for rows in members.rows(first):
        found.append(rows[: limit + 1])
        if sum(map(len, found)) > limit:
            break
    rows = np.concatenate(found)
    keys = ("row", "leaf", "name", "label")
    items = [dict(zip(keys, row, strict=False)) for row in members.told(rows[:limit])]
    return items, str(rows[limit]) if rows.size > limit else None


def _csv(members: _Members) -> Iterator[bytes]:
    head = ["row", "leaf", "name", *(["label"] if members.found is not None else [])]
    yield ",".join(head).encode() + b"\r\n"
    for rows in members.rows(0):
        text = io.StringIO()
        csv.writer(text).writerows(
            (row, leaf, *("" if value is None else forms.cell(value) for value in told))
            for row, leaf, *told in members.told(rows)
        )
        yield text.getvalue().encode()


_DOCUMENTED: dict[int | str, dict[str, Any]] = {
    200: {
        "model": MembersBody,
        "description": "A page of the points; as CSV, all of them.",
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

FORMS: tuple[forms.Form[_Members], ...] = (
    forms.Form("json", "application/json", lambda members: iter(())),
    forms.Form("csv", "text/csv", _csv),
)


@router.get(
    "/{tree_id}/nodes/{node}/members.{suffix}",
    operation_id="get_members_as",
    summary="The points under a node in the form of a suffix",
    response_class=Response,
    responses=_DOCUMENTED,
)
async def get_members_as(
    request: Request,
    service: ServiceDep,
    tenant: Tenant,
    tree_id: TreeId,
    node: NodeId,
    suffix: Annotated[str, Path(description="json or csv.", examples=["csv"])],
    query: Annotated[MembersQuery, Query()],
) -> Response:
    """As without a suffix, the suffix saying which form."""
    form = forms.by_suffix(suffix, FORMS)
    return await _members(request, service, tenant, tree_id, node, form, query)


@router.get(
    "/{tree_id}/nodes/{node}/members",
    operation_id="get_members",
    summary="The points under a node",
    response_class=Response,
    responses=_DOCUMENTED,
)
async def get_members(
    request: Request,
    service: ServiceDep,
    tenant: Tenant,
    tree_id: TreeId,
    node: NodeId,
    query: Annotated[MembersQuery, Query()],
    accept: Annotated[str | None, Header(description="JSON or CSV.")] = None,
) -> Response:
    """The input rows under a node in their order, each with its leaf and, with `labels`, its label:
    page by page as JSON, or all at once as CSV.
    """
    form = forms.by_accept(accept, FORMS)
    return await _members(request, service, tenant, tree_id, node, form, query)


async def _members(
    request: Request,
    service: Service,
    tenant: str,
    tree_id: str,
    node: int,
    form: forms.Form[_Members],
    query: MembersQuery,
) -> Response:
    which = await parts.look_turn(service, tenant, tree_id)

    def opened() -> _Members:
        tree = _with_node(service, tenant, tree_id, node)
        if query.labels is None:
            return _Members(tree, node, None)
        found = by_labels(service, tenant, tree_id, tree, query.labels, "labels")
        return _Members(tree, node, found)

    members = await in_turn(opened, which)
    headers = {"Vary": "Accept"}
    if form.suffix == "csv":
        answer = await parts.written(form.write(members), which, "text/csv")
        answer.headers.update(headers)
        return answer
    items, following = await in_turn(
        lambda: _page(members, query.limit, int(query.cursor or 0)), which
    )
    body = {"total": int(members.tree.size[node]), "items": items, "next_cursor": following}
    answer = Response(
        json.dumps(body, allow_nan=False), media_type="application/json", headers=headers
    )
    link_next(request, answer, following)
    return answer
