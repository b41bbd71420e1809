"""The parameters that several methods on the sphere share."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from models.parameters import Device, HeldOut, NInit

Inference = Literal["variational-sampling", "variational-bounding"]
VariationalInference = Annotated[
    Inference,
    Field(
        description=(
            "How the posterior is computed: 'variational-sampling' with the exact distribution of "
            "each concentration given the rest, 'variational-bounding' with a log-normal one and "
            "a bound."
        ),
    ),
]
KappaMedian = Annotated[
    float,
    Field(
        gt=0,
        le=1e9,
        description=(
            "Median of the log-normal prior of the concentrations; used without 'empirical_bayes'."
        ),
    ),
]
KappaSigma = Annotated[
    float,
    Field(ge=0.05, le=10, description="Standard deviation of the logarithm of a concentration."),
]
MaxKappa = Annotated[float, Field(ge=1, le=1e9, description="Largest concentration of a cluster.")]
HeldOutForThreshold = Annotated[
    HeldOut,
    Field(
        description=(
            "Share of the rows kept out of the fit, to measure likelihood on and to set the "
            "threshold between in-sample and out-of-sample rows."
        ),
    ),
]
ConfidenceLevel = Annotated[
    float,
    Field(
        ge=0.5,
        le=0.9999,
        description="Share of rows like the fitted ones that count as in-sample.",
    ),
]
NInitByBound = Annotated[
    NInit,
    Field(
        description="Number of runs from different seeds; the one with the highest bound is kept.",
    ),
]
Tol = Annotated[
    float,
    Field(
        ge=0,
        le=1,
        description="A run ends when the lower bound rises by no more than this for each row.",
    ),
]
BatchSize = Annotated[
    int | None,
    Field(
        ge=1,
        le=10_000_000,
        description=(
            "Approximate number of rows in a batch, for data larger than memory: the parameters "
            "are updated after each batch; 1,000 to 10,000 work well. 'max_iter' then counts "
            "passes over the rows, without the last one that measures. Default: each update uses "
            "all rows."
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
            "larger the delay, the less the first batches count."
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
PassDevice = Annotated[
    Device,
    Field(
        description=(
            "Where passes over the rows are computed: on the processor or, for dense rows, on a "
            "GPU."
        ),
    ),
]
