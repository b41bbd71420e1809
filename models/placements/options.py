"""The options of a search for classes out of place."""

from __future__ import annotations

from pydantic import Field

from models.parameters import Exact


class PlacementTerms(Exact):
    """How many false discoveries are accepted."""

    level: float = Field(
        0.05,
        gt=0,
        le=0.5,
        allow_inf_nan=False,
        description="The accepted rate of false discoveries among the classes, and among the "
        "subtrees, that are called out of place.",
    )
