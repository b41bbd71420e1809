"""Namings over the wire."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from app.creation.expiry import ExpiresAtField
from app.creation.fields import Inputs, NewWork
from app.creation.named_schemas import EXAMPLE as SHARED
from app.creation.named_schemas import NamedJobBody
from app.http.late import LateModel
from models.node_names.by_input import By, NamingTerms
from workers.model import Record

_REQUEST: dict[str, Any] = {
    "by": "terms",
    "inputs": {"documents": "ds_01kamjx5w0n5zr4v8cqe2t7h3f"},
}
EXAMPLE: dict[str, Any] = {
    **SHARED,
    "id": "nm_01kamjx5w0n5zr4v8cqe2t7h3f",
    "job": "job_01kamjx5w0n5zr4v8cqe2t7h3f",
    "tree": "tr_01kamjx5w0ahwbcuvh3mqsx4fb",
    "result": {
        "by": "terms",
        "evidence": None,
        "n_named": 40,
        "routed": None,
        "answered": None,
        "sent": None,
    },
    "warnings": [],
}
NAMES_EXAMPLE: dict[str, Any] = {
    "items": [
        {
            "node": 3,
            "parent": 1,
            "size": 480,
            "name": "goal, league",
            "by": "terms",
            "evidence": "goal (0.31), league (0.22)",
            "n_routed": 480,
            "routed": 0.74,
            "question": "mentions goal?",
            "answered": 0.81,
        }
    ]
}


class NamingRequest(NamingTerms, NewWork):
    """What the nodes are named by, and the rows under them."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        json_schema_extra={"examples": [_REQUEST]},
    )

    inputs: Inputs = Field(
        default={},
        description="One value a row: `labels`; `documents`, or `features` and `feature_names`; "
        "`features` and `names`; `features`, maybe `feature_names`. Else what the fit had.",
    )
    expires_at: ExpiresAtField = None


class SentBody(LateModel):
    """What was sent to a language model."""

    model_config = ConfigDict(title="NamingSent")

    to: str = Field(description="Host and port.")
    model: str
    what: str
    n_nodes: int
    n_kept: int = Field(description="Nodes named by kept answers.")
    n_tokens: int = Field(description="About so many.")


class RoutedBody(LateModel):
    """The share of rows that the names of others send to the right child; 95%."""

    model_config = ConfigDict(title="NamingRouted")

    share: float
    low: float
    high: float
    draw: float = Field(description="By chance.")
    n_rows: int


class NamingResult(LateModel):
    """What nodes were named by."""

    by: By | Literal["model"]
    evidence: By | None = Field(description="What `model` received.")
    n_named: int
    routed: RoutedBody | None = Field(None, description="For `terms`.")
    answered: float | None = Field(None, description="Mean of nodes.")
    sent: SentBody | None = Field(description="For `model`.")


class NamingBody(NamedJobBody):
    """A naming. Forms of its tree take it as `names`."""

    model_config = ConfigDict(title="Naming", json_schema_extra={"examples": [EXAMPLE]})
    tree: str | None = Field(description="Null until it has succeeded.")
    result: NamingResult | None = Field(description="Null until it has succeeded.")
    warnings: list[str]

    @classmethod
    def left(cls, record: Record) -> dict[str, Any]:
        result = record.result or {}
        return {
            "tree": result.get("tree"),
            "result": result.get("naming"),
            "warnings": record.warnings,
        }


class NodeNameBody(LateModel):
    """The name of a node."""

    model_config = ConfigDict(title="NodeName")

    node: int
    parent: int = Field(description="-1 for the root.")
    size: int = Field(description="Rows under it.")
    name: str
    by: By | Literal["model"]
    evidence: str = Field(description="What the name was made of.")
    n_routed: int | None = None
    routed: float | None = Field(None, description="The same of its rows.")
    question: str | None = Field(None, description="Yes: a row of its parent is under it.")
    answered: float | None = Field(None, description="Share of right answers, balanced.")


class NodeNamesBody(LateModel):
    """The names of a naming."""

    model_config = ConfigDict(title="NodeNames", json_schema_extra={"examples": [NAMES_EXAMPLE]})

    items: list[NodeNameBody]
