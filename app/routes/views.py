"""Looking at a tree: a part laid out for drawing, nodes by name, cuts that mean something."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated, Any, Literal

from anyio import to_thread
from fastapi import APIRouter, Query, Request, Response

from app.forms import parts
from app.forms.coloring import COLOR_BY, coloring
from app.http.dependencies import ServiceDep, Tenant, TreeId
from app.http.paging import LINK_HEADER, link_next
from app.http.problems import responses
from app.http.streaming import in_turn, turn
from app.routes.trees import ANYWHERE, loaded
from app.schemas.looks import Hits, Levels, View
from app.submission.tree_jobs import tree_of
from models.tree.categories import Categories, shared
from models.tree.tree import Tree
from models.tree.window import Folded, scene
from workers.model import sibling

router = APIRouter(prefix="/v1/trees", tags=["trees"])

MOST_CATEGORIES = 1000
"""Categories whose texts a view gives."""


@router.get(
    "/{tree_id}/view",
    operation_id="view_tree",
    summary="A part laid out for drawing",
    response_model=View,
    responses=responses(*ANYWHERE, "not-found", "invalid-request", "wrong-shape"),
)
async def view_tree(
    service: ServiceDep,
    tenant: Tenant,
    tree_id: TreeId,
    root: Annotated[int, Query(ge=0, le=2**31 - 1, description="The node on top.")] = 0,
    max_nodes: Annotated[
        int, Query(ge=1, le=20_000, description="At most so many nodes are given.")
    ] = 500,
    scale: Annotated[
        Literal["height", "sqrt", "rank", "depth", "level", "auto"],
        Query(
            description="What `y` follows: the height, its square root or its rank; the number of "
            "edges from the root; the levels above the deepest leaf; or what can be read best."
        ),
    ] = "height",
    color_by: Annotated[
        str | None,
        Query(max_length=200, description=f"Gives each node a category: {COLOR_BY}"),
    ] = None,
) -> Response:
    """At most `max_nodes` nodes, the largest subtrees opened first; what is folded is given as one
    node with its size and number of leaves.

    With `color_by`, a node has a `category` where all leaves under it share it; a folded one has
    that of most of its leaves, with their `share`. A leaf with several rows has their most frequent
    label. Labels are numbered by how frequent they are in the whole tree, clusters from left to
    right.
    """

    def laid_out() -> Iterator[bytes]:
        tree = loaded(service, tenant, tree_id)
        found = coloring(service, tenant, tree_id, tree, color_by)

        def colours(shown: Folded) -> Any:
            assert found is not None
            return shared(tree, found, shown.node, shown.tip)

        drawn = scene(tree, root, max_nodes, scale=scale, colours=colours if found else None)
        axis = None if drawn.axis is None else {"top": drawn.axis[0], "bottom": drawn.axis[1]}
        head: dict[str, Any] = {
            "root": root,
            "max_nodes": max_nodes,
            "scale": drawn.scale,
            "axis": axis,
        }
        if found is not None:
            head |= {"color_by": color_by, **_told(tree, found)}
        yield parts.opened(head) + b', "nodes": '
        yield from parts.listed(parts.parted(drawn.nodes, parts.ITEMS))
        yield b"}"

    which = await parts.look_turn(service, tenant, tree_id)
    return await parts.written(laid_out(), which)


def _told(tree: Tree, found: Categories) -> dict[str, Any]:
    """What the categories are, those that come first."""
    return {
        "n_categories": found.n_categories,
        "categories": [parts.told(text) for text in found.texts(tree, MOST_CATEGORIES)],
        "category_sizes": found.size[:MOST_CATEGORIES].tolist(),
        "category_nodes": None if found.node is None else found.node[:MOST_CATEGORIES].tolist(),
        "warnings": list(found.warnings),
    }


@router.get(
    "/{tree_id}/search",
    operation_id="search_tree",
    summary="Nodes by name",
    response_model=Hits,
    responses={
        200: {"headers": LINK_HEADER},
        **responses(*ANYWHERE, "not-found", "invalid-request"),
    },
)
async def search_tree(
    request: Request,
    service: ServiceDep,
    tenant: Tenant,
    tree_id: TreeId,
    q: Annotated[
        str, Query(min_length=1, max_length=1000, description="Part of a name.", examples=["rose"])
    ],
    limit: Annotated[int, Query(ge=1, le=1000, description="At most so many nodes.")] = 50,
    cursor: Annotated[
        str | None,
        Query(pattern=r"^[0-9]{1,9}$", description="`next_cursor` of the page before."),
    ] = None,
) -> Response:
    """Nodes whose name contains `q`, whatever the case; whole names first."""

    start = int(cursor or 0)

    def found() -> tuple[Tree, list[int]]:
        from models.tree.search import find

        tree = loaded(service, tenant, tree_id)
        return tree, find(tree, q, start + limit + 1)

    which = await parts.look_turn(service, tenant, tree_id)
    tree, hits = await in_turn(found, which)
    following = str(start + limit) if len(hits) > start + limit else None

    def page() -> Iterator[bytes]:
        from models.tree import walk

        # One at a time: a path is as long as the tree is deep.
        items = (
            [{"node": node, "name": tree.name[node], "path": walk.path(tree, node).tolist()}]
            for node in hits[start : start + limit]
        )
        yield b'{"items": '
        yield from parts.listed(items)
        yield f', "next_cursor": {json.dumps(following)}}}'.encode()

    answer = await parts.written(page(), which)
    link_next(request, answer, following)
    return answer


@router.get(
    "/{tree_id}/levels",
    operation_id="get_levels",
    summary="The cuts that mean something",
    response_model=Levels,
    responses=responses(*ANYWHERE, "not-found"),
)
async def get_levels(service: ServiceDep, tenant: Tenant, tree_id: TreeId) -> Response:
    """At most five cuts, each where a criterion peaks, with the criterion's curve over k.

    `gap`: how far the cut's height may be moved before the number of clusters changes, as a share
    of the root's height. `silhouette`: the mean over at most 1,000 points, where there were
    features. `modularity`: of a hierarchy of classes, how much more of the confusions lies within
    the clusters than by chance. `support`: the clusters' mean bootstrap support, where the job
    asked for it.
    """
    record = await tree_of(service, tenant, tree_id)
    job = await to_thread.run_sync(service.ledger.get, tenant, sibling(tree_id, "job"))
    curves = {} if job is None or job.result is None else job.result.get("curves", {})

    def found() -> bytes:
        from models.tree.suggested_cuts import levels

        tree = loaded(service, tenant, tree_id)
        # Other curves run over a method's own numbers, or its steps.
        given = {
            name: [(int(k), float(v)) for k, v in curves[name]]
            for name in ("silhouette", "modularity")
            if name in curves
        }
        items = [asdict(level) for level in levels(tree, given)]
        return json.dumps({"levels": items}, allow_nan=False).encode()

    content = await in_turn(found, turn(record, "look"))
    return Response(content, media_type="application/json")
