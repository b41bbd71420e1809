"""The clusters of a cut without their rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Response

from app.http.dependencies import ServiceDep, Tenant, TreeId
from app.http.json_parts import ITEMS, json_object, slices
from app.http.late import LateRoute
from app.http.problems import ANYWHERE, responses
from app.http.queries import ONLY_KNOWN
from app.http.stored import look_turn
from app.http.streaming import streamed
from app.resources.trees.clusters.schemas import ClustersBody, ClustersQuery
from app.resources.trees.shown import shown_tree_of
from models.editions.edited import EditedTree
from models.tree.cluster_names import cluster_names
from models.tree.cut import Clusters, clusters
from models.tree.walk import points_before, spans
from workers.formats.table_writers import json_list

router = APIRouter(
    prefix="/v1/trees", tags=["trees"], dependencies=ONLY_KNOWN, route_class=LateRoute
)


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
    """The number of clusters in a cut by `k`, `height` or `level`, their sizes, and the largest of
    them; without a cut, the leaves. `assignments` gives the cluster of every row. Noise is no
    cluster.
    """
    bounds = query.model_dump(exclude_none=True, exclude={"limit", "names", "edition"})

    def counted() -> Iterator[bytes]:
        shown = shown_tree_of(service, tenant, tree_id, query.names, query.edition)
        tree = shown.tree
        cut = clusters(tree, **bounds)
        size = tree.size[cut.nodes]
        low, high = cut.heights or (None, None)
        fields = {
            "cut": bounds,
            "n_clusters": cut.n_clusters,
            "heights": None if cut.heights is None else {"from": low, "below": high},
            "n_noise": int(tree.size[cut.noise].sum()),
            "smallest": int(size.min()) if size.size else 0,
            "median": float(np.median(size)) if size.size else 0.0,
            "largest": int(size.max(initial=0)),
            "warnings": [] if cut.warning is None else [cut.warning],
            "clusters": json_list(slices(_largest(shown, cut, query.limit), ITEMS)),
        }
        yield from json_object(fields)

    return await streamed(counted(), await look_turn(service, tenant, tree_id))


def _largest(shown: EditedTree, cut: Clusters, limit: int) -> list[dict[str, Any]]:
    """The largest clusters, of equals the first. O(n_clusters log n_clusters)."""
    tree, nodes = shown.tree, cut.nodes
    ids = shown.ids_of(nodes)
    size = tree.size[nodes]
    category = np.empty(nodes.size, dtype=np.int64)
    category[np.argsort(spans(tree).start[nodes])] = np.arange(nodes.size)
    largest = np.argsort(-size, kind="stable")[:limit]
    before = points_before(tree)
    names = cluster_names(tree, nodes[largest])
    support = None
    if "support" in tree.extra:
        support = np.asarray(tree.extra["support"], dtype=np.float64)[nodes]
    return [
        {
            "id": number,
            "node": int(ids[number]),
            "size": int(size[number]),
            "name": name,
            "category": int(category[number]),
            "points_before": int(before[nodes[number]]),
            "support": None if support is None or np.isnan(support[number]) else support[number],
        }
        for number, name in zip(largest.tolist(), names, strict=True)
    ]
