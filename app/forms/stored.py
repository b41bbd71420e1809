"""Stored trees, models, calibrations and maps for routes: records, the tree, the turn of work on
it; else 404."""

from __future__ import annotations

from anyio import to_thread

from app.http.dependencies import Service, is_id
from app.http.problems import not_found, refused_at
from app.http.streaming import Turn, turn
from models.tree.tree import Tree
from workers.artifacts import results
from workers.artifacts.trees import TreeRecord
from workers.model import Record, sibling


async def record_of(service: Service, tenant: str, tree_id: str) -> TreeRecord:
    """The facts of a tree. Raises Refused `not-found`."""
    record = await to_thread.run_sync(service.trees.record, tenant, tree_id)
    if record is None:
        raise not_found("tree", tree_id)
    return record


async def model_tree_record(service: Service, tenant: str, model_id: str) -> TreeRecord:
    """The facts of the tree that a model came with. Raises Refused `not-found`."""
    if await to_thread.run_sync(service.trees.file, tenant, model_id, results.MODEL) is None:
        raise not_found("model", model_id)
    return await record_of(service, tenant, sibling(model_id, "tr"))


def tree_of(service: Service, tenant: str, tree_id: str) -> Tree:
    """The tree itself; blocks. Raises Refused `not-found`."""
    tree = service.trees.load(tenant, tree_id)
    if tree is None:
        raise not_found("tree", tree_id)
    return tree


def calibration_record(service: Service, tenant: str, calibration_id: str) -> Record | None:
    """The job of a calibration; None if there is none. Blocks."""
    if not is_id(calibration_id, "cal"):
        return None
    record = service.ledger.get(tenant, sibling(calibration_id, "job"))
    return record if record is not None and record.kind == "calibrate" else None


def require_calibration(service: Service, tenant: str, calibration_id: str, tree_id: str) -> None:
    """Blocks. Raises Refused for a calibration that is not there, has not succeeded, or is of
    another tree."""
    record = calibration_record(service, tenant, calibration_id)
    if record is None:
        raise refused_at(
            "unknown-input", f"There is no calibration {calibration_id!r}.", "calibration"
        )
    if record.status != "succeeded" or record.result is None:
        raise refused_at(
            "wrong-input",
            f"Calibration {calibration_id!r} is {record.status}; it must have succeeded.",
            "calibration",
        )
    made_for = record.result["tree"]
    if made_for != tree_id:
        raise refused_at(
            "wrong-input",
            f"Calibration {calibration_id!r} is of tree {made_for!r}, not of {tree_id!r}.",
            "calibration",
        )


def map_record(service: Service, tenant: str, map_id: str) -> Record | None:
    """The job of a map; None if there is none. Blocks."""
    record = service.ledger.get(tenant, sibling(map_id, "job"))
    return record if record is not None and record.kind == "map" else None


async def look_turn(service: Service, tenant: str, tree_id: str) -> Turn:
    """The turn of work on a part of this tree. Raises Refused `not-found`."""
    return turn(await record_of(service, tenant, tree_id), "look")
