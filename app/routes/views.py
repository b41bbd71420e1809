"""Looking at a tree: a part laid out for drawing, nodes by name, one node whole."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Request, Response

from app.deps import ServiceDep, Tenant, TreeId
from app.paging import LINK_HEADER, link_next
from app.problems import not_found, responses
from app.routes.trees import DENIED, loaded
from app.schemas.trees import Hits, NodeBody, View
from app.streaming import in_turn

router = APIRouter(prefix="/v1/trees", tags=["trees"])


@router.get(
    "/{tree_id}/view",
    operation_id="view_tree",
    summary="A part laid out for drawing",
    responses=responses(*DENIED, "not-found", "invalid-request"),
)
async def view_tree(
    service: ServiceDep,
    tenant: Tenant,
    tree_id: TreeId,
    root: Annotated[int, Query(ge=0, le=2**31 - 1, description="The node on top.")] = 0,
    max_nodes: Annotated[
        int, Query(ge=1, le=20_000, description="At most so many nodes are given.")
    ] = 500,
    scale: Annotated[Literal["height", "depth"], Query(description="What `y` follows.")] = "height",
) -> View:
    """At most `max_nodes` nodes, the largest subtrees opened first; what is folded is given as one
    node with its size and number of leaves.
    """

    def laid_out() -> View:
        from models.tree.view import view

        nodes = view(loaded(service, tenant, tree_id), root, max_nodes, scale=scale)
        return View.model_validate({"root": root, "max_nodes": max_nodes, "nodes": nodes})

    return await in_turn(laid_out)


@router.get(
    "/{tree_id}/search",
    operation_id="search_tree",
    summary="Nodes by name",
    responses={
        200: {"headers": LINK_HEADER},
        **responses(*DENIED, "not-found", "invalid-request"),
    },
)
async def search_tree(
    request: Request,
    response: Response,
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
) -> Hits:
    """Nodes whose name contains `q`, whatever the case; whole names first."""

    start = int(cursor or 0)

    def found() -> Hits:
        from models.tree.search import search

        hits = search(loaded(service, tenant, tree_id), q, start + limit + 1)
        following = str(start + limit) if len(hits) > start + limit else None
        items = hits[start : start + limit]
        return Hits.model_validate({"items": items, "next_cursor": following})

    page = await in_turn(found)
    link_next(request, response, page.next_cursor)
    return page


@router.get(
    "/{tree_id}/nodes/{node}",
    operation_id="get_node",
    summary="One node",
    responses=responses(*DENIED, "not-found"),
)
async def get_node(
    service: ServiceDep,
    tenant: Tenant,
    tree_id: TreeId,
    node: Annotated[int, Path(ge=0, le=2**31 - 1, description="A node's id.", examples=[0])],
) -> NodeBody:
    """A node whole: its path, children, size, height and whatever its method says of it."""

    def described() -> NodeBody:
        from models.tree import nested, view, walk

        tree = loaded(service, tenant, tree_id)
        if node >= tree.n_nodes:
            raise not_found("node", str(node))
        start, child = tree.children
        return NodeBody.model_validate(
            {
                **nested.node_fields(tree, node),
                "n_leaves": int(view.leaf_counts(tree)[node]),
                "depth": int(tree.depth[node]),
                "path": walk.path(tree, node).tolist(),
                "children": child[start[node] : start[node + 1]].tolist(),
            }
        )

    return await in_turn(described)
