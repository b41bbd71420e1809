"""The clusters of a cut without their rows: for a slider."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Response

from app.forms import parts
from app.http.dependencies import ServiceDep, Tenant, TreeId
from app.http.problems import responses
from app.routes.trees import ANYWHERE, loaded
from app.schemas.looks import ClustersBody, ClustersQuery
from models.tree.clusters import Clusters, clusters
from models.tree.leaf_ranges import spans
from models.tree.tree import Tree

router = APIRouter(prefix="/v1/trees", tags=["trees"])


@router.get(
    "/{tree_id}/cut",
    operation_id="cut_tree",
    summary="The clusters of a cut",
    response_model=ClustersBody,
    responses=responses(*ANYWHERE, "not-found", "invalid-request"),
)
async def cut_tree(
    service: ServiceDep,
    tenant: Tenant,
    tree_id: TreeId,
    query: Annotated[ClustersQuery, Query()],
) -> Response:
    """How many clusters a cut by `k`, `height` or `level` gives, how large they are, and the
    largest of them; without a cut, the leaves. `assignments` has the clusters of the rows.
    """
    asked = query.model_dump(exclude_none=True, exclude={"limit"})

    def counted() -> Iterator[bytes]:
        tree = loaded(service, tenant, tree_id)
        found = clusters(tree, **asked)
        size = tree.size[found.nodes]
        low, high = found.heights or (None, None)
        head = {
            "cut": asked,
            "n_clusters": found.n_clusters,
            "heights": None if found.heights is None else {"from": low, "below": high},
            "smallest": int(size.min()),
            "median": float(np.median(size)),
            "largest": int(size.max()),
            "warnings": [] if found.warning is None else [found.warning],
        }
        yield parts.opened(head) + b', "clusters": '
        largest = _largest(tree, found, query.limit)
        yield from parts.listed(parts.parted(largest, parts.ITEMS))
        yield b"}"

    return await parts.written(counted(), await parts.look_turn(service, tenant, tree_id))


def _largest(tree: Tree, found: Clusters, limit: int) -> list[dict[str, Any]]:
    """The largest clusters, of equals the first. O(n_clusters log n_clusters)."""
    nodes = found.nodes
    size = tree.size[nodes]
    category = np.empty(nodes.size, dtype=np.int64)
    category[np.argsort(spans(tree).start[nodes])] = np.arange(nodes.size)
    return [
        {"id": number, "node": node, "size": points, "name": name, "category": place}
        for number, node, points, name, place in (
            (number, int(nodes[number]), int(size[number]), tree.name[nodes[number]],
             int(category[number]))
            for number in np.argsort(-size, kind="stable")[:limit].tolist()
        )
    ]  # fmt: skip
