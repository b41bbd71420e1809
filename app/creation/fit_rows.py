"""The rows of the fit of a tree: what a map or a heatmap shows where the request gives none.

Blocks (Redis, the store); call it in a thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from app.http.dependencies import Service
from app.http.problems import refused_at
from models.method import Method
from models.registry import known
from workers.artifacts.trees import TreeRecord
from workers.model import sibling

_NAMES = {"features": "feature_names", "documents": "feature_names", "logits": "names"}
"""Inputs of a fit with a row for each point, the first one first, and the names of their
columns."""


@dataclass(frozen=True, slots=True)
class FitRows:
    """role : of the fit's input; None where there is none that can be shown. inputs : its ids, or
    "inline". names : the role of the names of its columns, if they were given. preprocess : steps
    of the fit. made_by : its method. expires_at : when the tree expires."""

    role: str | None
    inputs: tuple[str, ...]
    names: str | None
    preprocess: list[dict[str, Any]]
    made_by: Method[Any] | None
    expires_at: str | None


def fit_rows(service: Service, tree: TreeRecord) -> FitRows:
    """What the fit of this tree had."""
    job = service.ledger.get(tree.tenant, sibling(tree.id, "job"))
    if job is None:
        return FitRows(None, (), None, [], None, None)
    made_by = known(job.method) if job.kind == "fit" else None
    # `top_classes` are lists of a row's best classes, not coordinates.
    usable = made_by is not None and "top_classes" not in job.inputs
    role = next((role for role in _NAMES if usable and role in job.inputs), None)
    names = None if role is None else _NAMES[role]
    ref = [] if role is None else job.inputs[role]
    return FitRows(
        role,
        tuple(ref) if isinstance(ref, list) else (ref,),
        names if names in job.inputs else None,
        [dict(step) for step in job.preprocess],
        made_by,
        job.expires_at,
    )


def require_fit_rows(rows: FitRows, tree: TreeRecord) -> None:
    """Raises Refused `wrong-input` where the fit had no rows that can be shown."""
    if rows.role is None:
        raise refused_at(
            "wrong-input",
            f"Tree {tree.id!r} was made without features that can be shown; give `inputs` with a "
            "row of features for each of its points.",
            "inputs",
        )


def require_n_rows(tree: TreeRecord, shape: tuple[int, ...] | None) -> None:
    """Raises Refused for features that are known to have another number of rows."""
    if shape is not None and shape[0] != tree.n_points:
        raise refused_at(
            "wrong-shape",
            f"Input 'features' has {shape[0]:,} rows; the tree has {tree.n_points:,} points, and a "
            "row is needed for each.",
            "inputs",
            "features",
        )
