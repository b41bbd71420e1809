"""How the nodes of a tree are named."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from models.parameters import Exact

By = Literal["labels", "terms", "items", "features"]
"""What names are made of."""

NEEDED: dict[By, tuple[str, ...]] = {
    "labels": ("labels",),
    "terms": ("features", "feature_names"),
    "items": ("features", "names"),
    "features": ("features",),
}
"""The inputs that each needs; of terms, `documents` in place of both."""


class NamingTerms(Exact):
    """What nodes are named by, and how many."""

    by: By | Literal["model"] = Field(
        description="`labels`: the largest class of the rows. `terms`: the words or counted "
        "features that a node has more of than the whole. `items`: the names of the rows nearest "
        "to the mean. `features`: the features in which a node differs most from its siblings. "
        "`model`: a language model phrases names from the `evidence`, where the operator has set "
        "one; the evidence is sent to it.",
    )
    evidence: By | None = Field(
        None, description="For `model`: what it receives about each node; `terms` by default."
    )
    n_clusters: int = Field(
        256,
        ge=2,
        le=4096,
        description="The clusters of the cut into this many are named, and all nodes above them.",
    )

    @model_validator(mode="after")
    def _evidence_of_a_model(self) -> NamingTerms:
        if self.by != "model" and self.evidence is not None:
            raise ValueError("evidence is that of a model: give `by` model too")
        return self

    @property
    def found_by(self) -> By:
        """What the evidence is made of."""
        if self.by == "model":
            return self.evidence or "terms"
        return self.by
