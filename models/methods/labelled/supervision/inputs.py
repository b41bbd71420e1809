"""Roles and parameters of the methods that learn from known clusters."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from models.clusters.choosing import Count
from models.method import Input
from models.parameters import Seed

INPUTS = {
    "features": Input(sparse=True, description="One row per point."),
    "labels": Input(
        required=False,
        fit_only=True,
        one_per="row",
        description="The known cluster of each row; null or -1 where it is not known.",
    ),
    "must_link": Input(
        required=False,
        fit_only=True,
        description="Pairs of rows of one cluster, by their numbers from 0: rows that are linked "
        "are one known cluster, together with the rows of their labels.",
    ),
    "cannot_link": Input(
        required=False,
        fit_only=True,
        description="Pairs of rows of different clusters: each row, with all that it is linked "
        "to, is a separate known cluster.",
    ),
    "names": Input(
        required=False,
        fit_only=True,
        description="Where labels are the numbers 0, 1, ...: what they are called.",
    ),
    "feature_names": Input(
        required=False,
        fit_only=True,
        description="One name per column, for the features that the transformation stretches.",
    ),
}

SOME_OF = ("labels", "must_link")
"""Inputs of which a fit needs one or both."""

WIDE = 200
"""The most columns that are kept by default, and the number that wider rows are cut to."""
CUT_TO = 30


class DiscoveryParams(Count):
    """How new clusters are found among the rows that are not labelled."""

    choose: Literal["bic", "silhouette"] | None = Field(
        None,
        description="Choose the number of new clusters between 'min_clusters' and 'max_clusters': "
        "the lowest 'bic' or the highest mean 'silhouette' of the transformed rows.",
    )
    may_join: bool = Field(
        False,
        description="Whether rows that are not labelled may also belong to known clusters. "
        "False: all of them belong to new ones.",
    )
    clusterer: Literal["gmm", "vmf"] = Field(
        "gmm",
        description="How transformed rows are clustered: a mixture of Gaussians ('gmm') or of von "
        "Mises-Fisher distributions of their directions ('vmf'), with one spread for all clusters.",
    )
    n_init: int = Field(
        50,
        ge=1,
        le=1000,
        description="Number of runs of the mixture from different seeds; the likeliest is kept.",
    )
    n_components: Annotated[int, Field(ge=1, le=10_000)] | Literal["auto"] | None = Field(
        "auto",
        description="Number of columns that rows are cut to by SVD before all else. "
        f"'auto': {CUT_TO} where there are more than {WIDE}; null: never.",
    )
    seed: Seed = 0
