"""The catalogue of methods over the wire."""

from __future__ import annotations

import sys
from typing import Any, Literal

from pydantic import ConfigDict, Field

from app.creation.waiting import WaitingValue, waiting_values
from app.http.late import LateModel
from models.method import Method
from models.running import packages

EXAMPLE: dict[str, Any] = {
    "id": "l2h",
    "title": "Logits to hierarchy",
    "family": "logits",
    "description": "Merges classes by the probability that each other one would win.",
    "inputs": {
        "logits": {
            "required": True,
            "sparse": False,
            "many": False,
            "images": False,
            "description": "One row per point.",
        },
        "names": {
            "required": False,
            "sparse": False,
            "many": False,
            "images": False,
            "description": "One name per class.",
        },
    },
    "one_of": [],
    "some_of": [],
    "params": {
        "type": "object",
        "properties": {"aggregation": {"default": "mean-sum", "type": "string"}},
    },
    "outputs": ["tree", "model"],
    "predicts": True,
    "placing": "the leaf of the class with its largest logit",
    "classifies": False,
    "queue": "cpu",
    "devices": ["cpu", "cuda"],
    "needs": [],
    "available": True,
    "waiting": [],
    "paper": {"title": "From Logits to Hierarchies", "year": 2025, "where": ""},
    "example": {"aggregation": "mean-sum"},
}


class InputBody(LateModel):
    """One input role of a method."""

    model_config = ConfigDict(title="MethodInput", from_attributes=True)

    required: bool
    sparse: bool = Field(description="Whether a sparse matrix is accepted as well.")
    many: bool = Field(description="Whether several may be given, as a list of ids.")
    images: bool = Field(
        description="Whether an array of images, (n, height, width) or (n, height, width, "
        "channels), is accepted as well."
    )
    description: str


class PaperBody(LateModel):
    """The paper that describes a method."""

    model_config = ConfigDict(title="Paper", from_attributes=True)

    title: str
    year: int
    where: str


class MethodBody(LateModel):
    """A method: its inputs, parameters and outputs."""

    model_config = ConfigDict(title="Method")

    id: str
    title: str
    family: str
    description: str
    inputs: dict[str, InputBody] = Field(description="The inputs by role.")
    one_of: list[str] = Field(description="Roles of which exactly one must be given; often empty.")
    some_of: list[str] = Field(description="Roles of which a fit needs at least one; often empty.")
    params: dict[str, Any] = Field(description="JSON Schema of `params`, with defaults.")
    outputs: list[str] = Field(
        description="What a job of the method produces: tree, model, logits, "
        "transformation; pictures of nodes, confusions of classes; ball where `POST "
        "/v1/trees/{tree_id}/maps` can show the points in the Poincaré disc."
    )
    predicts: bool = Field(description="Whether it can place new rows.")
    placing: str | None = Field(
        description="Where a model puts a new row, as in 'a row goes to the leaf of the nearest "
        "point of the fit'; null if it places none."
    )
    classifies: bool = Field(
        description="Whether it gives new rows labels, so that its models can be evaluated."
    )
    queue: Literal["cpu", "gpu"]
    devices: list[str] = Field(
        description="Where a fit may compute: cpu, and cuda if it takes `device` in `params`; "
        "`python -m bench gpu` measures what a card gains."
    )
    needs: list[str] = Field(
        description="Packages that it needs and a service may lack; often empty."
    )
    available: bool = Field(
        description="Whether jobs of it are accepted: false where one of `needs` is not installed."
    )
    waiting: list[WaitingValue] = Field(
        default=[],
        description="Values of parameters with which jobs are not accepted: a package that they "
        "need is not installed. Often empty.",
    )
    paper: PaperBody
    example: dict[str, Any] = Field(
        description="Parameters with which a run takes well under a second."
    )

    @classmethod
    def of(cls, method: Method[Any]) -> MethodBody:
        return cls(
            id=method.id,
            title=method.title,
            family=method.family,
            description=_summary(sys.modules[type(method).__module__].__doc__ or ""),
            inputs={
                role: InputBody.model_validate(wanted) for role, wanted in method.inputs.items()
            },
            one_of=list(method.one_of),
            some_of=list(method.some_of),
            params=method.Params.model_json_schema(),
            outputs=list(method.outputs),
            predicts=method.predicts,
            placing=method.placing or None,
            classifies=method.classifies,
            queue=method.queue,
            devices=list(method.devices),
            needs=list(method.needs),
            available=not packages.missing(method.needs),
            waiting=waiting_values(method.values_with_needs()),
            paper=PaperBody.model_validate(method.paper),
            example=dict(method.example),
        )


def _summary(docstring: str) -> str:
    """The first paragraph on one line."""
    return " ".join(docstring.strip().split("\n\n")[0].split())
