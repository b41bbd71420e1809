"""The parameters of `tcs`, and which of them go together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from models.errors import UsageError
from models.methods.labelled.supervision.inputs import DiscoveryParams
from models.parameters import MaxIter

FORMS = {
    "gaussian": ("full", "diagonal", "low-rank"),
    "vmf": ("full", "diagonal"),
    "gamma": ("full",),
}
WHY_FORM = {
    "vmf": "the others are for density 'gaussian'",
    "gamma": "the scale of a column changes nothing there",
}
REGULARIZERS = {"vmf": ("auto", "identity", "logdet"), "gamma": ("auto", "identity")}
"""By density, where not all of them have a minimum."""


class TCSParams(DiscoveryParams):
    density: Literal["gaussian", "vmf", "gamma"] = Field(
        "gaussian",
        description="What a cluster's transformed rows follow: a Gaussian; a von Mises-Fisher "
        "distribution of directions ('vmf', by which they are clustered then); or a gamma "
        "distribution of each column ('gamma', for features above 0; logarithms are clustered).",
    )
    kappa: float = Field(
        10.0,
        gt=0,
        le=1e6,
        description="With density 'vmf': the concentration of each known cluster's directions.",
    )
    regularizer: Literal["auto", "identity", "l2", "nuclear", "logdet", "l1"] = Field(
        "auto",
        description="What holds the transformation's square A: its distance from the identity or "
        "from 0 ('l2'), its trace ('nuclear'), trace - log det, or the entries of |A - I| ('l1'). "
        "'auto': by validation on known clusters, or nothing; with four to six by agreement, with "
        "fewer nothing; with another density than 'gaussian' the identity.",
    )
    gamma: Annotated[float, Field(gt=0, le=1e12)] | Literal["auto"] = Field(
        "auto",
        description="Weight of the regularizer against the sum of log-likelihoods of known rows. "
        "'auto': chosen with the regularizer.",
    )
    form: Literal["full", "diagonal", "low-rank"] = Field(
        "full",
        description="Whether the transformation mixes columns ('full'), stretches each by itself "
        "('diagonal') or mixes them to 'rank' columns ('low-rank').",
    )
    rank: int | None = Field(
        None, ge=1, le=100_000, description="Number of columns of form 'low-rank'."
    )
    covariance: Literal["auto", "spherical", "tied", "full"] = Field(
        "auto",
        description="Shape of the clusters of transformed rows: one spread for all "
        "('spherical'), one covariance for all ('tied') or for each ('full'). 'auto': as the "
        "regularizer, with fewer than four known clusters one spread. Clusters of "
        "directions always have one spread.",
    )
    use_unlabeled: bool = Field(
        False,
        description="Whether to learn from rows without a label as well, clustered and learned "
        "from by turns.",
    )
    unlabeled_weight: float = Field(
        0.5,
        gt=0,
        le=1,
        description="With 'use_unlabeled': the weight of an unlabelled row's log-likelihood after "
        "the last rise; a known row's is 1.",
    )
    tol: float = Field(
        1e-6,
        gt=0,
        le=1,
        description="Learning ends when the objective can fall by this share at most.",
    )
    max_iter: MaxIter = 2000


def check_options(params: TCSParams) -> None:
    """Raises UsageError for options that do not go together."""
    density, low = params.density, params.form == "low-rank"
    if params.form not in FORMS[density]:
        raise _wrong(
            "form", f"density {density!r} takes {_listed(FORMS[density])} ({WHY_FORM[density]})"
        )
    if params.regularizer not in REGULARIZERS.get(density, (params.regularizer,)):
        raise _wrong(
            "regularizer",
            f"density {density!r} takes {_listed(REGULARIZERS[density])}: it does not depend on "
            "the length of the transformation, so that what only shrinks it has no minimum but 0",
        )
    if low and params.regularizer in ("logdet", "l1"):
        raise _wrong(
            "regularizer",
            "form 'low-rank' takes 'auto', 'identity', 'l2' and 'nuclear': trace - log det is "
            "infinite there, and 'l1' has no gradient",
        )
    if low != (params.rank is not None):
        raise _wrong("rank", "it is needed for form 'low-rank', and for that alone")
    if density == "gamma" and params.clusterer != "gmm":
        raise _wrong("clusterer", "density 'gamma' takes 'gmm', of logarithms")
    if density == "gamma" and params.n_components not in ("auto", None):
        raise _wrong("n_components", "density 'gamma' takes 'auto' and null: no column is cut")
    if params.use_unlabeled:
        if density != "gaussian" or low:
            raise _wrong("use_unlabeled", "it needs density 'gaussian', form 'full' or 'diagonal'")
        if params.choose is not None:
            raise _wrong("use_unlabeled", "it needs 'n_clusters', and 'choose' null")
        if params.n_clusters < 2:
            raise _wrong(
                "use_unlabeled", "it needs two new clusters or more ('n_clusters') to tell apart"
            )


def _listed(accepted: Sequence[str]) -> str:
    return " or ".join(repr(name) for name in accepted)


def _wrong(parameter: str, why: str) -> UsageError:
    return UsageError(
        f"Parameter {parameter!r} does not go with the others: {why}.",
        code="wrong-parameter",
        parameter=parameter,
    )
