"""Two trees of the same rows side by side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from fastapi import APIRouter, Query, Response

from app.forms.parts import ITEMS, json_object, slices
from app.forms.stored import look_turn, tree_of
from app.http.dependencies import ServiceDep, Tenant, TreeId, is_id
from app.http.problems import ANYWHERE, not_found, responses
from app.http.streaming import Turn, streamed
from app.schemas.tangles import TangleBody
from models.arrays import Int
from models.tree.rows import matched
from models.tree.tangle import Rotate, links, tangle
from models.tree.tree import Tree
from models.tree.window import fold, scene
from workers.formats.table_writers import json_list

router = APIRouter(prefix="/v1/trees", tags=["trees"])

MOST_LINKS = 20_000


@router.get(
    "/{tree_id}/tangle",
    operation_id="tangle_trees",
    summary="Two trees of the same rows side by side",
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
        int, Query(ge=3, le=1000, description="The most nodes to return of each tree.")
    ] = 200,
    rotate: Annotated[
        Rotate,
        Query(
            description="The trees whose siblings are turned: both, only the other one, or none."
        ),
    ] = "both",
) -> Response:
    """Both trees laid out for drawing, their visible ends, and the number of rows that each pair of
    ends shares. Rows are matched by the leaves' names if both trees have the same names and one row
    in each leaf. Siblings are turned so that fewer links cross; the entanglement (0 to 1, as in
    dendextend with L = 1.5) is given before and after that.
    """
    if not is_id(other, "tr"):
        raise not_found("tree", other)
    turns = [await look_turn(service, tenant, either) for either in (tree_id, other)]

    def turned() -> Iterator[bytes]:
        left, right = (tree_of(service, tenant, either) for either in (tree_id, other))
        right, by_name = matched(left, right)
        order = tangle(left, right, rotate=rotate)
        left_shown = fold(left, max_nodes=max_nodes, place=order.left)
        right_shown = fold(right, max_nodes=max_nodes, place=order.right)
        joined = links(left, left_shown, right, right_shown, order)
        kept = slice(MOST_LINKS)
        triples = zip(
            left_shown.node[joined.left[kept]].tolist(),
            right_shown.node[joined.right[kept]].tolist(),
            joined.n_points[kept].tolist(),
            strict=True,
        )
        fields = {
            "other": other,
            "n_points": left.n_points,
            "matched_by": "name" if by_name else "row",
            "max_nodes": max_nodes,
            "entanglement": order.entanglement,
            "entanglement_before": order.before,
            "crossings": joined.crossings,
            "links_left_out": len(joined.n_points[MOST_LINKS:]),
            "points_left_out": int(joined.n_points[MOST_LINKS:].sum()),
            "left": _laid_out(left, max_nodes, order.left),
            "right": _laid_out(right, max_nodes, order.right),
            "links": json_list(slices(list(triples), ITEMS)),
        }
        yield from json_object(fields)

    return await streamed(turned(), Turn("look", any(turn.waits for turn in turns)))


def _laid_out(tree: Tree, max_nodes: int, place: Int) -> Iterator[bytes]:
    """The nodes of one side, their leaves in the order of `place`."""
    nodes = scene(tree, 0, max_nodes, scale="auto", place=place).nodes
    return json_list(slices(nodes, ITEMS))
