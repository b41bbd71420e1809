"""Consensus of trees over the wire."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, model_validator

from app.creation.fields import NewWork
from app.http.late import LateModel
from models.consensus.items import MOST_TREES, Match, Rule, Support
from models.parameters import Exact
from workers.model import Record

_TREES = ["tr_01kaq3v0q8f2x7m5n9c4r6t1zd", "tr_01kaq3v0q8f2x7m5n9c4r6t1ze"]
EXAMPLE: dict[str, Any] = {
    "tree": "tr_01kaq3v0q8f2x7m5n9c4r6t1zf",
    "job": "job_01kaq3v0q8f2x7m5n9c4r6t1zf",
    "rule": "majority",
    "n_trees": 2,
    "n_items": 40,
    "matched_by": "names",
    "distances": [
        {"tree": _TREES[0], "robinson_foulds": 0.1, "clusters": 4},
        {"tree": _TREES[1], "robinson_foulds": 0.1, "clusters": 4},
    ],
    "halves": None,
    "warnings": [],
}

_REQUEST: dict[str, Any] = {"trees": _TREES, "rule": "majority"}
_AGREEMENT: dict[str, Any] = {"node": 3, "having": _TREES[:1], "lacking": _TREES[1:]}


class ConsensusRequest(Exact, NewWork):
    """The trees, and how they become one."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={"examples": [_REQUEST]},
    )

    trees: list[Annotated[str, Field(max_length=200)]] = Field(
        min_length=1,
        max_length=MOST_TREES,
        description="At least two, or one with a `reference`: trees over the same leaves, or the "
        "same rows, of several seeds or methods, replicates, imported ones. A tree listed twice "
        "counts twice.",
    )
    rule: Rule = Field(
        "majority",
        description="`strict`: the clusters that all trees have. `majority`: clusters of more than "
        "`threshold` of them. `extended`: then also the others, the most frequent first, as far as "
        "they fit. `median`: the clusters of that tree which has the smallest sum of "
        "Robinson-Foulds distances to all.",
    )
    threshold: float = Field(
        0.5, ge=0.5, lt=1.0, description="For `majority`: the share that must be exceeded."
    )
    reference: str | None = Field(
        None,
        max_length=200,
        description="A tree that is kept unchanged: the new tree is a copy of it with the support "
        "of its nodes by `trees`. `rule` and `threshold` are then not used.",
    )
    support: Support = Field(
        "share",
        description="Support of a node of `reference`: the share of the trees that have a node of "
        "the same rows (Felsenstein), or how few rows would have to move for that (`transfer`, "
        "Lemoine et al. 2018).",
    )
    match: Match = Field(
        "auto",
        description="What is the same in all trees: the `names` of leaves, or the `rows` by their "
        "number. `auto`: names, unless they are missing, not distinct, or only number clusters.",
    )
    common: bool = Field(
        False, description="Leave out names that not all trees have, with a warning."
    )
    seed: int = Field(0, ge=0, le=2**32 - 1, description="Seed of the draws of `halves`.")

    @model_validator(mode="after")
    def _support_of_a_reference(self) -> ConsensusRequest:
        given = self.model_fields_set
        if self.reference is None and len(self.trees) < 2:
            raise ValueError("a consensus needs at least two trees")
        if self.reference is None and "support" in given:
            raise ValueError("support is that of a reference: give `reference` too")
        if self.reference is not None and given & {"rule", "threshold"}:
            raise ValueError("a reference is kept unchanged: leave out rule and threshold")
        if "threshold" in given and self.rule != "majority":
            raise ValueError(f"threshold is of the rule majority, not of {self.rule}")
        return self


class TreeDistance(LateModel):
    """One of the trees beside the result."""

    tree: str
    robinson_foulds: float = Field(
        description="The share of the clusters of both that only one of the two has."
    )
    clusters: int = Field(description="How many these are.")


class Halves(LateModel):
    """Whether further trees would change the counts."""

    correlation: float = Field(
        description="Between the numbers of trees that have each cluster, in two random halves of "
        "the trees; the mean over 100 ways to halve them."
    )
    alike: float = Field(
        description="The share of these ways in which it is at least .99. At .99 the trees are "
        "enough (Pattengale et al. 2010)."
    )


class ConsensusBody(LateModel):
    """One tree from several."""

    model_config = ConfigDict(title="Consensus", json_schema_extra={"examples": [EXAMPLE]})

    tree: str = Field(description="The new tree; its nodes have `support`.")
    job: str
    rule: Rule | Literal["reference"]
    n_trees: int
    n_items: int = Field(description="Leaves or rows that the trees have in common.")
    matched_by: Literal["names", "rows"]
    distances: list[TreeDistance]
    halves: Halves | None = Field(
        description="Null for fewer than 4 trees, and where all clusters are equally frequent."
    )
    warnings: list[str]

    @classmethod
    def of(cls, record: Record, trees: list[str]) -> ConsensusBody:
        assert record.result is not None
        facts = record.result["consensus"]
        distances = [
            TreeDistance(tree=tree, robinson_foulds=share, clusters=count)
            for tree, share, count in zip(
                trees, facts["normalized"], facts["distance"], strict=True
            )
        ]
        return cls(
            tree=record.result["tree"],
            job=record.id,
            distances=distances,
            warnings=list(record.warnings),
            **{name: facts[name] for name in _FACTS},
        )


_FACTS = ("rule", "n_trees", "n_items", "matched_by", "halves")


class AgreementBody(LateModel):
    """Which of the trees of a consensus have a node."""

    model_config = ConfigDict(
        title="Agreement",
        json_schema_extra={"examples": [_AGREEMENT]},
    )

    node: int
    having: list[str] = Field(description="The trees with a node of the same rows.")
    lacking: list[str]
