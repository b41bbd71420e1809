"""The images that a model made of the nodes of its tree, and one node's as a PNG."""

from __future__ import annotations

from app.http.dependencies import Service
from app.http.problems import Refused
from app.pictures.mosaic import mosaic
from models import registry
from models.answers.beside_tree import NodePictures
from workers.artifacts import results
from workers.model import sibling


def pictures_of(service: Service, tenant: str, tree_id: str) -> NodePictures | None:
    """The images of a tree's nodes, mapped; None where its method draws none. Blocks."""
    record = service.trees.record(tenant, tree_id)
    method = None if record is None else registry.known(record.method or "")
    if method is None or not method.draws_nodes:
        return None
    path = service.trees.file(tenant, sibling(tree_id, "md"), results.MODEL)
    if path is None:
        return None
    stage = results.map_stage(path, -1)
    # In a chain the tree may be that of another method.
    return method.pictures(stage.model) if stage.method == method.id else None


def node_png(service: Service, tenant: str, tree_id: str, node: int, px: int) -> bytes:
    """The images of one node, at most `px` pixels wide. Blocks.

    Raises Refused `not-found` for a tree without images.
    """
    pictures = pictures_of(service, tenant, tree_id)
    if pictures is None:
        drawing = [name for name, method in registry.methods().items() if method.draws_nodes]
        raise Refused(
            "not-found",
            f"Tree {tree_id!r} has no pictures of its nodes; trees of methods "
            f"{', '.join(drawing)} have where the rows are images ('image_shape', or an array of "
            "images).",
        )
    return mosaic(pictures.pixels[node], px)
