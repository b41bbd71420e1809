"""The fields that the methods on the sphere share, each written once."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

KappaMedian = Annotated[
    float,
    Field(
        gt=0,
        le=1e9,
        description="Median of the concentrations' log-normal prior; without 'empirical_bayes'.",
    ),
]
KappaSigma = Annotated[
    float,
    Field(ge=0.05, le=10, description="Standard deviation of a concentration's logarithm."),
]
MaxKappa = Annotated[
    float, Field(ge=1, le=1e9, description="The largest concentration that there may be.")
]
HeldOut = Annotated[
    float,
    Field(
        ge=0,
        le=0.9,
        description=(
            "Share of the rows that is kept out of the fit, to measure likelihood on and to tell "
            "in-sample from out-of-sample rows by."
        ),
    ),
]
Level = Annotated[
    float,
    Field(ge=0.5, le=0.9999, description="Share of rows like the fitted ones that is in-sample."),
]
NInit = Annotated[
    int,
    Field(
        ge=1,
        le=1000,
        description="Number of runs from different seeds; the one with the highest bound serves.",
    ),
]
MaxIter = Annotated[int, Field(ge=1, le=100_000, description="Most iterations of a run.")]
Tol = Annotated[
    float,
    Field(ge=0, le=1, description="A run ends when the lower bound rises by no more for each row."),
]
BatchSize = Annotated[
    int | None,
    Field(
        ge=1,
        le=10_000_000,
        description=(
            "Rows of a batch, about, after each of which the parameters are updated, for data "
            "larger than memory: 1,000 to 10,000 do. 'max_iter' then counts passes over the rows, "
            "before one that measures. Default: all rows for each update."
        ),
    ),
]
Delay = Annotated[
    float,
    Field(
        ge=1,
        le=1e9,
        description=(
            "With 'batch_size': the step of batch t = 0, 1, ... is (delay + t)^-forgetting; the "
            "larger, the less the first batches count."
        ),
    ),
]
Forgetting = Annotated[
    float,
    Field(
        gt=0.5,
        le=1,
        description="With 'batch_size': the smaller, the sooner earlier batches are forgotten.",
    ),
]
Device = Annotated[
    Literal["cpu", "cuda"],
    Field(
        description=(
            "Where passes over the rows are computed: on the processor, or, of dense rows, on a "
            "GPU."
        ),
    ),
]
