"""What a map is made of: the rows given with the request, or an input of the fit of its tree.

Blocks (Redis, the store); call it in a thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from app.creation.fit_rows import fit_rows, require_fit_rows
from app.http.dependencies import Service
from app.http.problems import refused_at
from app.resources.maps.schemas import MapRequest
from models.errors import UsageError
from models.maps.options import NEEDS
from models.method import Method
from models.registry import methods
from models.running import packages
from workers.artifacts.trees import TreeRecord


@dataclass(frozen=True, slots=True)
class Subject:
    """role : of the fit's input; None where the request brings its own rows, or none are needed.
    preprocess : steps of the fit. expires_at : when the tree expires."""

    role: str | None
    preprocess: list[dict[str, Any]]
    expires_at: str | None


def subject(service: Service, tree: TreeRecord, body: MapRequest) -> Subject:
    """What a map shows of this tree.

    Raises Refused `wrong-input` where there is nothing to be mapped, or rows are given that are not
    used; `invalid-request` for the disc of a method that has none; `method-unavailable` where a
    package that the map needs is not installed.
    """
    needed = NEEDS.get(body.by, ())
    try:
        packages.require(f"A map by {body.by!r}", needed, parameter="by")
    except UsageError as error:
        raise refused_at(error.code, error.detail, "by") from None
    rows = fit_rows(service, tree)
    if body.by == "disc":
        _require_disc(rows.made_by, body)
    elif body.inputs:
        return Subject(None, [], rows.expires_at)
    else:
        require_fit_rows(rows, tree)
    return Subject(rows.role, rows.preprocess, rows.expires_at)


def _require_disc(made_by: Method[Any] | None, body: MapRequest) -> None:
    if made_by is None or "ball" not in made_by.outputs:
        able = [name for name, method in methods().items() if "ball" in method.outputs]
        raise refused_at(
            "invalid-request",
            "The method of this tree places no points in the Poincaré ball; the methods "
            f"{', '.join(able)} do.",
            "by",
        )
    if body.inputs:
        raise refused_at(
            "wrong-input",
            "The disc shows where the tree's method placed the points: leave out `inputs`.",
            "inputs",
        )
