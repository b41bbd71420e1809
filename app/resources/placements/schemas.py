"""Placements over the wire."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from app.creation.fields import Given, NewWork
from app.creation.named_schemas import EXAMPLE as SHARED
from app.creation.named_schemas import NamedJobBody
from app.http.late import LateModel
from models.placements.options import PlacementTerms
from workers.model import Record

_REQUEST: dict[str, Any] = {"hierarchy": ["animal/cat", "animal/dog", "vehicle/car"], "level": 0.05}
ITEM: dict[str, Any] = {
    "what": "class",
    "name": "snail",
    "node": 31,
    "n_classes": 1,
    "under": 12,
    "under_name": "jug",
    "place": 4,
    "place_name": "gastropod",
    "beside": ["slug", "trilobite"],
    "fit": 0.08,
    "best_fit": 0.71,
    "margin": 0.63,
    "p_value": 2.1e-8,
    "adjusted": 4e-6,
    "odd": True,
    "alike": ["slug", "goldfish", "bullfrog"],
    "taken_for": [{"name": "slug", "share": 0.12}],
    "examples": [17, 480, 482],
}
EXAMPLE: dict[str, Any] = {
    **SHARED,
    "id": "pl_01kamjx5w0n5zr4v8cqe2t7h3f",
    "job": "job_01kamjx5w0n5zr4v8cqe2t7h3f",
    "tree": "tr_01kamjx5w0ahwbcuvh3mqsx4fb",
    "result": {
        "level": 0.05,
        "by": "scores",
        "n_shared": 200,
        "n_judged": 198,
        "n_subtrees": 90,
        "n_odd": 1,
        "classes": [ITEM],
        "subtrees": [],
    },
    "warnings": [],
}


class PlacementRequest(PlacementTerms, NewWork):
    """The hierarchy in which the classes of the tree hang."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        json_schema_extra={"examples": [_REQUEST]},
    )

    hierarchy: Given = Field(
        description="A hierarchy of the same classes: a tree's or a dataset's id, class paths such "
        "as `animal/cat/lion`, or a tree as Newick, Nexus or JSON. Classes are matched by the "
        "names of leaves; at least 3 must agree."
    )


class TakenForBody(LateModel):
    """What a class is taken for."""

    model_config = ConfigDict(title="TakenFor")

    name: str
    share: float = Field(description="The share of its rows, or of their probability.")


class PlacementItem(LateModel):
    """A class or a subtree, where it hangs and where it would fit better."""

    model_config = ConfigDict(json_schema_extra={"examples": [ITEM]})

    what: Literal["class", "subtree"]
    name: str | None
    node: int = Field(description="In the hierarchy, as `under` and `place` are.")
    n_classes: int = Field(description="Shared classes under it.")
    under: int = Field(
        description="The lowest node above it that holds two shared classes or more."
    )
    under_name: str | None
    place: int | None = Field(
        description="The node where it fits best apart from where it hangs; null, as all numbers "
        "that follow, for what hangs right under the top, which has no such place."
    )
    place_name: str | None
    beside: list[str] = Field(description="The first classes of that place, at most 3.")
    fit: float | None = Field(
        description="The correlation, over the other classes, of its likeness to them with how "
        "near they hang."
    )
    best_fit: float | None = Field(description="The same, if it hung at `place`.")
    margin: float | None = Field(description="`best_fit` minus `fit`; the lists are in its order.")
    p_value: float | None = Field(
        description="That it hangs as well as the bulk of the classes do: how often one of these "
        "would have so large a margin. The bulk is normal about the median of all margins, with "
        "the scale of those below the median; Student's t for its estimate. It says that a class "
        "is unlike the others, not that a person erred."
    )
    adjusted: float | None = Field(
        description="The rate of false discoveries from which it is called odd, among all classes "
        "or all subtrees, by the procedure of Benjamini and Hochberg."
    )
    odd: bool = Field(description="Whether `adjusted` is at most `level`.")
    alike: list[str] = Field(description="The classes it is most like, at most 3.")
    taken_for: list[TakenForBody] = Field(
        description="The classes it is taken for most, at most 3; of methods that know confusions."
    )
    examples: list[int] = Field(
        description="Rows of the fit of this class, from 0, at most 3, whose scores lean most "
        "towards `place`; where the logits of the fit are there."
    )


class PlacementResult(LateModel):
    """What is out of place."""

    level: float
    by: Literal["scores", "tree"] = Field(
        description="Whether classes are compared by the scores of the fit's rows and the tree, or "
        "by the tree alone."
    )
    n_shared: int = Field(description="Classes that both have.")
    n_judged: int
    n_subtrees: int = Field(description="Subtrees that are judged.")
    n_odd: int
    classes: list[PlacementItem] = Field(
        description="The 60 most out of place; `GET /v1/placements/{id}.csv` has all."
    )
    subtrees: list[PlacementItem] = Field(description="The 20 most out of place.")


class PlacementBody(NamedJobBody):
    """The state of a placement, and what is out of place once it has succeeded."""

    model_config = ConfigDict(title="Placement", json_schema_extra={"examples": [EXAMPLE]})
    tree: str | None = Field(description="Null until it has succeeded.")
    result: PlacementResult | None = Field(description="Null until it has succeeded.")
    warnings: list[str] = Field(description="Names that only one side has, what is not judged.")

    @classmethod
    def left(cls, record: Record) -> dict[str, Any]:
        result = record.result or {}
        return {
            "tree": result.get("tree"),
            "result": result.get("placement"),
            "warnings": record.warnings,
        }
