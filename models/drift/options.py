"""The options of a comparison of two samples."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from models.parameters import Exact

Aspect = Literal["mass", "confidence", "purity"]
ASPECTS: tuple[Aspect, ...] = ("mass", "confidence", "purity")


class DriftTerms(Exact):
    """How many false discoveries are accepted."""

    level: float = Field(
        0.05,
        gt=0,
        le=0.5,
        allow_inf_nan=False,
        description="The accepted rate of false discoveries. Where nothing has moved, the "
        "probability that anything is found is at most this.",
    )
