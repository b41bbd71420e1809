"""Two trees of the same rows face to face."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from fastapi import APIRouter, Query, Response

from app.forms import parts
from app.http.dependencies import ServiceDep, Tenant, TreeId, is_id
from app.http.problems import not_found, responses
from app.http.streaming import turn
from app.routes.trees import ANYWHERE, loaded
from app.schemas.looks import TangleBody
from app.submission.tree_jobs import tree_of
from models.tree.tangle import Rotate, links, matched, tangle
from models.tree.window import fold, scene

router = APIRouter(prefix="/v1/trees", tags=["trees"])

MOST_LINKS = 20_000


@router.get(
    "/{tree_id}/tangle",
    operation_id="tangle_trees",
    summary="Two trees of the same rows face to face",
    response_model=TangleBody,
    responses=responses(*ANYWHERE, "not-found", "invalid-request", "wrong-shape"),
)
async def tangle_trees(
    service: ServiceDep,
    tenant: Tenant,
    tree_id: TreeId,
    other: Annotated[
        str, Query(max_length=200, description="The other tree.", examples=["tr_" + "0" * 26])
    ],
    max_nodes: Annotated[
        int, Query(ge=3, le=1000, description="At most so many nodes are given of each tree.")
    ] = 200,
    rotate: Annotated[
        Rotate, Query(description="Which trees are turned: both, the other one alone, none.")
    ] = "both",
) -> Response:
    """Both trees laid out for drawing, their visible ends, and how many rows each pair of these
    shares; rows are matched by the leaves' names where both trees have the same, one row each.
    Siblings are turned so that the links cross less; the entanglement (0 to 1, that of
    dendextend with L = 1.5) is given as drawn and before.
    """
    if not is_id(other, "tr"):
        raise not_found("tree", other)
    which = turn(await tree_of(service, tenant, tree_id), "look") or turn(
        await tree_of(service, tenant, other), "look"
    )

    def turned() -> Iterator[bytes]:
        first, second = (loaded(service, tenant, one) for one in (tree_id, other))
        second, by_name = matched(first, second)
        trees = [first, second]
        found = tangle(*trees, rotate=rotate)
        places = (found.left, found.right)
        shown = [
            fold(tree, max_nodes=max_nodes, place=place)
            for tree, place in zip(trees, places, strict=True)
        ]
        joined = links(trees[0], shown[0], trees[1], shown[1], found)
        kept = slice(MOST_LINKS)
        head = {
            "other": other,
            "n_points": first.n_points,
            "matched_by": "name" if by_name else "row",
            "max_nodes": max_nodes,
            "entanglement": found.entanglement,
            "entanglement_before": found.before,
            "crossings": joined.crossings,
            "links_left_out": len(joined.n_points[MOST_LINKS:]),
            "points_left_out": int(joined.n_points[MOST_LINKS:].sum()),
        }
        yield parts.opened(head)
        for side, tree, place in zip(("left", "right"), trees, places, strict=True):
            yield f', "{side}": '.encode()
            nodes = scene(tree, 0, max_nodes, scale="auto", place=place).nodes
            yield from parts.listed(parts.parted(nodes, parts.ITEMS))
        yield b', "links": '
        triples = zip(
            shown[0].node[joined.left[kept]].tolist(),
            shown[1].node[joined.right[kept]].tolist(),
            joined.n_points[kept].tolist(),
            strict=True,
        )
        yield from parts.listed(parts.parted(list(triples), parts.ITEMS))
        yield b"}"

    return await parts.written(turned(), which)
