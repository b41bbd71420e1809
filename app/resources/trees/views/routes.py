"""Views of a tree: a part laid out for drawing, nodes by name, meaningful cuts and layers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Query, Request, Response

from app.http import json_parts as parts
from app.http import threads
from app.http.dependencies import Service, ServiceDep, Tenant, TreeId
from app.http.late import LateRoute
from app.http.paging import LINK_HEADER, next_link
from app.http.picture_queries import EditionOf, NamesOf
from app.http.problems import ANYWHERE, refused_at, responses
from app.http.queries import ONLY_KNOWN
from app.http.stored import look_turn, record_of
from app.http.streaming import in_turn, streamed, turn, whole
from app.resources.trees.coloring import COLOR_BY
from app.resources.trees.shown import categories_of, shown_tree_of
from app.resources.trees.views.meaning import Texts, nearest, texts_of
from app.resources.trees.views.schemas import Hits, LayersBody, Levels, View
from models.arrays import Int
from models.editions.edited import EditedTree
from models.levels.layers import MIN_SIZE, SIGNIFICANT, fitted_layers, layers
from models.tree.cluster_names import called, cluster_names
from models.tree.cut import clusters
from models.tree.labels import Categories, shared, words
from models.tree.noise import counted_as_cluster
from models.tree.tree import Tree
from models.tree.window import Folded, scene
from workers.formats.table_writers import json_list
from workers.model import sibling

router = APIRouter(
    prefix="/v1/trees", tags=["trees"], dependencies=ONLY_KNOWN, route_class=LateRoute
)

MOST_CATEGORIES = 1000
"""The number of categories whose texts are in a view."""


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
    root: Annotated[int, Query(ge=0, le=2**31 - 1, description="The node at the top.")] = 0,
    max_nodes: Annotated[
        int, Query(ge=1, le=20_000, description="The most nodes to return.")
    ] = 500,
    scale: Annotated[
        Literal["height", "sqrt", "rank", "depth", "level", "auto"],
        Query(
            description="What `y` shows: the height, its square root or its rank; the number of "
            "edges from the root; the levels above the deepest leaf; or the most readable of them."
        ),
    ] = "height",
    color_by: Annotated[
        str | None,
        Query(max_length=200, description=f"Give each node a category: {COLOR_BY}"),
    ] = None,
    names: NamesOf = None,
    edition: EditionOf = None,
) -> Response:
    """At most `max_nodes` nodes; the largest subtrees are opened first, and a folded subtree is one
    node with its size and number of leaves.

    With `color_by`, a node has the `category` that all leaves under it share; a folded node has
    that of most of its leaves, with their `share`. A leaf with several rows has their most frequent
    label. Nodes of several labelled rows have it in words too, as `common`: "dog 97%". Labels are
    numbered by their frequency in the whole tree, clusters from left to right.
    """

    def laid_out() -> Iterator[bytes]:
        shown = shown_tree_of(service, tenant, tree_id, names, edition)
        tree = shown.tree
        categories = categories_of(service, tenant, tree_id, shown, color_by)

        def colours(part: Folded) -> Any:
            assert categories is not None
            return shared(tree, categories, part.node, part.tip)

        drawn = scene(
            tree,
            shown.row(root),
            max_nodes,
            scale=scale,
            colours=colours if categories else None,
            closed=shown.closed,
        )
        _call(tree, drawn.nodes)
        if categories is not None:
            _say(tree, drawn.nodes, categories)
        if edition is not None:
            _mark(shown, drawn.nodes)
        axis = None if drawn.axis is None else {"top": drawn.axis[0], "bottom": drawn.axis[1]}
        fields: dict[str, Any] = {
            "root": root,
            "max_nodes": max_nodes,
            "scale": drawn.scale,
            "axis": axis,
        }
        if categories is not None:
            fields |= {"color_by": color_by, **_described(shown, categories)}
        fields["nodes"] = json_list(parts.slices(drawn.nodes, parts.ITEMS))
        yield from parts.json_object(fields)

    return await streamed(laid_out(), await look_turn(service, tenant, tree_id))


def _call(tree: Tree, nodes: list[dict[str, Any]]) -> None:
    """Write what nodes without a name are called."""
    rows, counts = (np.array([node[key] for node in nodes]) for key in ("id", "n_leaves"))
    for node, name in zip(nodes, called(tree, rows, counts), strict=True):
        if name is not None:
            node["called"] = name


def _say(tree: Tree, nodes: list[dict[str, Any]], categories: Categories) -> None:
    """Write the most frequent label of each node and its share; `nodes` are in preorder."""
    rows = np.array([node["id"] for node in nodes])
    places = {row: place for place, row in enumerate(rows.tolist())}
    parent = np.array([places.get(node["parent"], -1) for node in nodes])
    found = words(tree, categories, rows, parent, parts.shortened)
    for node, word in zip(nodes, found, strict=True):
        if word is not None:
            node["common"] = word


def _mark(shown: EditedTree, nodes: list[dict[str, Any]]) -> None:
    """Write ids in the place of rows, and what the edition says of each node; `nodes` are in
    preorder."""
    inherited: dict[int | None, str | None] = {None: shown.colour_above(nodes[0]["id"])}
    for node in nodes:
        row, above = node["id"], node["parent"]
        inherited[row] = shown.colours.get(row, inherited[above])
        node["note"] = shown.note(row)
        node["colour"] = inherited[row]
        node["collapsed"] = shown.collapsed(row)
        node["id"], node["parent"] = shown.id(row), None if above is None else shown.id(above)


def _described(shown: EditedTree, categories: Categories) -> dict[str, Any]:
    """The first `MOST_CATEGORIES` categories: their texts, sizes and nodes."""
    tree, first = shown.tree, slice(MOST_CATEGORIES)
    return {
        "n_categories": categories.n_categories,
        "categories": [parts.shortened(text) for text in categories.texts(tree, MOST_CATEGORIES)],
        "category_sizes": categories.size[first].tolist(),
        "category_nodes": None
        if categories.node is None
        else shown.ids_of(categories.node[first]).tolist(),
        "warnings": list(categories.warnings),
    }


@router.get(
    "/{tree_id}/search",
    operation_id="search_tree",
    summary="Nodes by name, or by meaning",
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
        str,
        Query(
            min_length=1,
            max_length=1000,
            description="A part of a name, or what is meant.",
            examples=["rose"],
        ),
    ],
    by: Annotated[
        Literal["name", "meaning"],
        Query(
            description="`meaning`: by the operator's embedder, where `embeds` of `GET /v1/usage` "
            "has `documents`."
        ),
    ] = "name",
    items: Annotated[
        str | None,
        Query(
            max_length=100,
            description="By meaning: an attachment, whose texts are searched as well.",
            examples=["at_" + "0" * 26],
        ),
    ] = None,
    limit: Annotated[int, Query(ge=1, le=1000, description="The most nodes to return.")] = 50,
    cursor: Annotated[
        str | None,
        Query(pattern=r"^[0-9]{1,9}$", description="`next_cursor` of the previous page."),
    ] = None,
    names: NamesOf = None,
    edition: EditionOf = None,
) -> Response:
    """Nodes whose name contains `q` in any case, a space also for `_`; exact matches first.

    By meaning: nodes whose name, or the text of an item under them, is nearest to `q`, with their
    `score`, the cosine of the vectors that the operator's embedder gives. It gets `q` and, at the
    first search, the names and texts, at most 20,000 different ones; `sent` says how many. What
    takes longer than 20 s is refused with 503 and goes on with the next search.
    """
    if by == "meaning":
        return await _by_meaning(
            request, service, tenant, tree_id, q, items, limit, int(cursor or 0), names, edition
        )
    if items is not None:
        raise refused_at("invalid-request", "'items' goes with by=meaning.", "items")
    start = int(cursor or 0)

    def search() -> tuple[EditedTree, list[int]]:
        from models.tree.named import find

        shown = shown_tree_of(service, tenant, tree_id, names, edition)
        return shown, find(shown.tree, q, start + limit + 1)

    look = await look_turn(service, tenant, tree_id)
    shown, hits = await in_turn(search, look)
    following = str(start + limit) if len(hits) > start + limit else None

    def page() -> Iterator[bytes]:
        from models.tree import walk

        # One at a time, since a path is as long as the tree is deep.
        items = (
            [
                {
                    "node": shown.id(row),
                    "name": shown.tree.name[row],
                    "path": shown.ids_of(walk.path(shown.tree, row)).tolist(),
                }
            ]
            for row in hits[start : start + limit]
        )
        yield from parts.json_object({"items": json_list(items), "next_cursor": following})

    response = await streamed(page(), look)
    response.headers.update(next_link(request, following))
    return response


async def _by_meaning(
    request: Request,
    service: Service,
    tenant: str,
    tree_id: str,
    q: str,
    items: str | None,
    limit: int,
    start: int,
    names: str | None,
    edition: str | None,
) -> Response:
    def searched() -> tuple[EditedTree, Texts]:
        shown = shown_tree_of(service, tenant, tree_id, names, edition)
        return shown, texts_of(service, tenant, tree_id, shown, items)

    look = await look_turn(service, tenant, tree_id)
    shown, texts = await in_turn(searched, look)
    near, sent = await nearest(service, tenant, texts, q, start + limit + 1)
    following = str(start + limit) if len(near) > start + limit else None

    def page() -> Iterator[bytes]:
        from models.tree import walk

        hits = (
            [
                {
                    "node": shown.id(hit.row),
                    "name": shown.tree.name[hit.row],
                    "path": shown.ids_of(walk.path(shown.tree, hit.row)).tolist(),
                    "score": hit.score,
                    "text": parts.shortened(hit.text),
                }
            ]
            for hit in near[start : start + limit]
        )
        content = {"items": json_list(hits), "next_cursor": following, "sent": sent}
        yield from parts.json_object(content)

    response = await streamed(page(), look)
    response.headers.update(next_link(request, following))
    return response


@router.get(
    "/{tree_id}/levels",
    operation_id="get_levels",
    summary="Meaningful cuts",
    response_model=Levels,
    responses=responses(*ANYWHERE, "not-found"),
)
async def get_levels(
    service: ServiceDep,
    tenant: Tenant,
    tree_id: TreeId,
    names: NamesOf = None,
    edition: EditionOf = None,
) -> Response:
    """At most five cuts that stand out in a criterion, with the criterion's curve over k; none,
    and the `reason`, where no level stands out.

    `gap`: how far the height of the cut can move before the number of clusters changes, as a share
    of the root's height. `silhouette`: the mean silhouette of at most 1,000 points, if there were
    features. `modularity`: for a hierarchy of classes, the share of confusions within clusters
    beyond that expected by chance.

    Each is held against data without structure, and is listed only with a `p_value` of at most
    0.05; jobs of earlier versions have gaps alone. No cut is listed in which one cluster has more
    than 95 % of the points. In an edition whose nodes lie otherwise, gaps alone are looked at.
    """
    record = await record_of(service, tenant, tree_id)
    job = await threads.run_sync(service.ledger.get, tenant, sibling(tree_id, "job"))
    curves = {} if job is None or job.result is None else job.result.get("curves", {})

    def suggested() -> bytes:
        from models.levels.suggested_cuts import P_VALUE, levels, reason

        shown = shown_tree_of(service, tenant, tree_id, names, edition)
        tree, measured = shown.tree, ("silhouette", "modularity")
        # Other curves run over a method's own numbers, or its steps; these are over cuts of the
        # tree as it was fitted.
        known = {
            name: [(int(k), float(v)) for k, v in curves[name]]
            for name in (criterion + ending for criterion in measured for ending in ("", P_VALUE))
            if name in curves and shown.ids is None and not counted_as_cluster(tree)
        }
        items = [
            {**asdict(level), "clusters": _clusters(shown, level.k)}
            for level in levels(tree, known)
        ]
        why = None if items else reason(tree)
        return json.dumps({"levels": items, "reason": why}, allow_nan=False).encode()

    content = await in_turn(suggested, turn(record, "look"))
    return whole(content, "application/json")


@router.get(
    "/{tree_id}/layers",
    operation_id="get_layers",
    summary="Nested layers of clusters that persist",
    response_model=LayersBody,
    responses=responses(*ANYWHERE, "not-found", "invalid-request"),
)
async def get_layers(
    service: ServiceDep,
    tenant: Tenant,
    tree_id: TreeId,
    min_size: Annotated[
        int,
        Query(ge=2, le=1_000_000, description="The smallest size of a cluster of any layer."),
    ] = MIN_SIZE,
    largest_p: Annotated[
        float, Query(gt=0, le=1, description="The largest p-value of a layer; 1 lists all.")
    ] = SIGNIFICANT,
    names: NamesOf = None,
    edition: EditionOf = None,
) -> Response:
    """At most ten layers from fine to coarse, without a number of clusters; none, and the `reason`,
    where none is significant.

    A layer's clusters are those that do not split any further when parts smaller than `smallest`
    points fall out as noise. `strength` is the share of the points, from 0 to 1, over which its
    clusters persist as that size grows; layers are its peaks, and each lies within the next.
    `p_value`, about the probability that data without structure have such a layer, is the smallest
    of the gaps in height, as in `levels`, of cuts that agree with it, and 1 where there is none.
    `n_noise` rows are in no cluster. A tree of the method `layers` has the
    layers that its fit found, of whatever `min_size`.
    """
    record = await record_of(service, tenant, tree_id)

    def found() -> bytes:
        shown = shown_tree_of(service, tenant, tree_id, names, edition)
        result = fitted_layers(shown.tree, largest_p=largest_p)
        result = result or layers(shown.tree, min_size, largest_p=largest_p)
        items = [
            {
                "k": layer.nodes.size,
                "smallest": layer.smallest,
                "strength": layer.strength,
                "p_value": layer.p_value,
                "n_noise": layer.n_noise,
                "clusters": _clusters_at(shown, layer.nodes),
            }
            for layer in result.layers
        ]
        body = {"layers": items, "reason": result.reason, "warnings": list(result.warnings)}
        return json.dumps(body, allow_nan=False).encode()

    content = await in_turn(found, turn(record, "look"))
    return whole(content, "application/json")


def _clusters(shown: EditedTree, k: int) -> list[dict[str, Any]]:
    return _clusters_at(shown, clusters(shown.tree, k=k).nodes)


def _clusters_at(shown: EditedTree, nodes: Int) -> list[dict[str, Any]]:
    tree = shown.tree
    columns = (shown.ids_of(nodes).tolist(), tree.size[nodes].tolist(), cluster_names(tree, nodes))
    return [
        {"id": number, "node": node, "size": size, "name": name}
        for number, (node, size, name) in enumerate(zip(*columns, strict=True))
    ]
