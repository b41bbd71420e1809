"""What a map is made of: the rows given with the request, or an input of the fit of its tree.

Blocks (Redis, the store); call it in a thread.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from app.http.dependencies import Service
from app.http.problems import refused_at
from app.schemas.maps import MapRequest
from models.method import Method
from models.registry import known, methods
from workers.artifacts.trees import TreeRecord
from workers.model import sibling

ROLES = ("features", "documents", "logits")
"""Inputs of a fit with a row for each point that can be mapped, the first one first."""


@dataclass(frozen=True, slots=True)
class Subject:
    """role : of the fit's input; None where the request has rows of its own, or none are needed.
    preprocess : steps of the fit. expires_at : when the tree expires. made_by : the method of the
    fit. inputs : the ids of that role, or "inline"."""

    role: str | None
    preprocess: list[dict[str, Any]]
    expires_at: str | None
    made_by: Method[Any] | None
    inputs: tuple[str, ...]


def subject_of_fit(service: Service, tree: TreeRecord) -> Subject:
    """What the job that made the tree had a row of for each point."""
    job = service.ledger.get(tree.tenant, sibling(tree.id, "job"))
    inputs = {} if job is None else job.inputs
    role = next((role for role in ROLES if role in inputs), None)
    if "top_classes" in inputs:
        # Lists of a row's best classes, not coordinates.
        role = None
    ref = inputs.get(role, []) if role else []
    return Subject(
        role,
        [] if job is None else [dict(step) for step in job.preprocess],
        None if job is None else job.expires_at,
        None if job is None or job.kind != "fit" else known(job.method),
        tuple(ref) if isinstance(ref, list) else (ref,),
    )


def subject(service: Service, tree: TreeRecord, body: MapRequest) -> Subject:
    """What a map shows of this tree.

    Raises Refused `wrong-input` where there is nothing to be mapped, or rows are given that are not
    used; `wrong-parameter` for the disc of a method that has none.
    """
    fit = subject_of_fit(service, tree)
    role, made_by = fit.role, fit.made_by
    if body.by == "disc":
        role = _of_disc(made_by, body, role)
    elif body.inputs:
        role = None
    elif made_by is None or role is None:
        raise refused_at(
            "wrong-input",
            f"Tree {tree.id!r} was made without features that can be mapped; give `inputs` with a "
            "row of features for each of its points.",
            "inputs",
        )
    return replace(fit, role=role, preprocess=[] if body.inputs else fit.preprocess)


def _of_disc(made_by: Method[Any] | None, body: MapRequest, role: str | None) -> str | None:
    """The role whose rows the method needs to place the points of its fit, if any."""
    if made_by is None or "ball" not in made_by.outputs:
        able = [name for name, method in methods().items() if "ball" in method.outputs]
        raise refused_at(
            "invalid-request",
            "The method of this tree places no points in the Poincaré ball; those of "
            f"{', '.join(able)} do.",
            "by",
        )
    if body.inputs:
        raise refused_at(
            "wrong-input",
            "The disc shows where the tree's method placed the points: leave out `inputs`.",
            "inputs",
        )
    return role
