"""What the logits are and where they are read: parameters that the methods of this family share."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from models.parameters import Params

MOST_CLASSES = 1_000_000
"""Limit where only the best classes of each row are known: memory and names cover all classes."""


class LogitsParams(Params):
    input: Literal["logits", "log_probs", "probs"] = Field(
        "logits",
        description=(
            "What the input 'logits' holds: real numbers before softmax, logarithms of "
            "probabilities, or probabilities (each row sums to 1). A logit of -inf is a class that "
            "its row cannot have. Logits that look like another kind get a warning."
        ),
    )
    temperature: float = Field(
        1.0, ge=1e-3, le=1e3, description="Divisor of the logits before softmax."
    )
    device: Literal["cpu", "cuda"] = Field(
        "cpu",
        description=(
            "Where logits are read: on the processor, or on a GPU by workers that have one. The "
            "resulting hierarchy is the same."
        ),
    )
    growable: bool = Field(
        False,
        description=(
            "Keep what a later job needs to continue this one with more rows (`base`): about 100 "
            "bytes a row."
        ),
    )
    n_classes: int | None = Field(
        None,
        ge=2,
        le=MOST_CLASSES,
        description=(
            "Number of classes where 'top_classes' is given. Default: the number of names, or, "
            "without names, one more than the highest class given."
        ),
    )
