"""The parameters of words in the ball, and of how their vectors are learned.

This module imports nothing heavy, so that the method's file may use it.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from models.methods.hyperbolic.ball.parameters import BallParams
from models.parameters import Params

WordScaling = Literal["largest", "unit"]


class WordParams(Params):
    """Parameters of the words, and of how their vectors are learned."""

    min_count: int = Field(
        5,
        ge=1,
        le=1_000_000_000,
        description="Words of the documents that occur less often are left out.",
    )
    max_words: int = Field(
        10_000,
        ge=2,
        le=1_000_000,
        description="Largest number of words of the documents; the most frequent are kept.",
    )
    window: int = Field(
        10,
        ge=1,
        le=1000,
        description=(
            "Largest distance, in words, at which two words of a document occur together."
        ),
    )
    n_dimensions: int = Field(
        50, ge=2, le=1000, description="Dimensions of the vectors and of the ball."
    )
    x_max: float = Field(
        100.0, gt=0, le=1e12, description="Count from which a pair of words has full weight."
    )
    exponent: float = Field(
        0.75,
        ge=0,
        le=10,
        description="A pair with a lower count has the weight (count / x_max) to this power.",
    )
    n_passes: int = Field(
        50,
        ge=1,
        le=100_000,
        description="Number of passes over all pairs that learn vectors without the tree.",
    )
    vector_learning_rate: float = Field(
        0.05, gt=0, le=100, description="Step length of AdaGrad in those passes."
    )
    word_learning_rate: float = Field(
        0.001,
        ge=0,
        le=1e3,
        description=(
            "Step length of words, contexts and biases along with the tree; 0 leaves them as they "
            "are."
        ),
    )
    problem_weight: float = Field(
        1.0,
        ge=0,
        le=1e12,
        description="Factor of GloVe's loss, a mean over pairs, beside the tree's loss.",
    )


class BallWordParams(BallParams, WordParams):
    """All parameters of `ghhc-glove` but the seed."""

    scaling: WordScaling = Field(
        "unit",
        description=(
            "How vectors become points of the ball, about their mean: 'largest' divides all by one "
            "number, which puts the farthest at 'point_norm' and changes no product; 'unit' puts "
            "each at 'point_norm', so that the rest of the fit must make up for it."
        ),
    )
    point_norm: float = Field(
        0.9,
        ge=0.01,
        le=0.99999,
        description="Norm at the start of the farthest word, or of all words.",
    )
    max_norm: float = Field(
        0.95,
        ge=0.01,
        le=0.99999,
        description=(
            "Largest norm of a node or word; a node or word beyond it is brought back to it."
        ),
    )
    below: Literal["none", "average"] = Field(
        "average",
        description=(
            "What is below a node that several words selected: 'average', a binary tree by average "
            "linkage of hyperbolic distances among these words; 'none', the words as siblings."
        ),
    )
