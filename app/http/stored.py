"""Stored trees and models for routes: records, the tree, the turn of work on it; else 404."""

from __future__ import annotations

from typing import Any

from app.http import threads
from app.http.dependencies import Service
from app.http.problems import not_found
from app.http.streaming import Turn, turn
from models.tree.tree import Tree
from workers.artifacts import results
from workers.artifacts.trees import TreeRecord
from workers.model import sibling


async def record_of(service: Service, tenant: str, tree_id: str) -> TreeRecord:
    """The facts of a tree. Raises Refused `not-found`."""
    record = await threads.run_sync(service.trees.record, tenant, tree_id)
    if record is None:
        raise not_found("tree", tree_id)
    return record


async def model_tree_record(service: Service, tenant: str, model_id: str) -> TreeRecord:
    """The facts of the tree that a model came with. Raises Refused `not-found`."""
    if await threads.run_sync(service.trees.file, tenant, model_id, results.MODEL) is None:
        raise not_found("model", model_id)
    return await record_of(service, tenant, sibling(model_id, "tr"))


def tree_of(service: Service, tenant: str, tree_id: str) -> Tree:
    """The tree itself; blocks. Raises Refused `not-found`."""
    tree = service.trees.load(tenant, tree_id)
    if tree is None:
        raise not_found("tree", tree_id)
    return tree


async def look_turn(service: Service, tenant: str, tree_id: str) -> Turn:
    """The turn of work on a part of this tree. Raises Refused `not-found`."""
    return turn(await record_of(service, tenant, tree_id), "look")


def model_file(service: Service, tenant: str, model_id: str) -> Any:
    """The local path of the model's file. Raises Refused `not-found`."""
    path = service.trees.file(tenant, model_id, results.MODEL)
    if path is None:
        raise not_found("model", model_id)
    return path
