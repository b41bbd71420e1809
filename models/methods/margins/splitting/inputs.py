"""Parameters and checks that the methods of large margins share."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
from pydantic import Field

from models.arrays import Int
from models.checks import distinct, require_distinct, require_points
from models.clusters.counts import term_names
from models.data import Data, require_finite
from models.errors import UsageError
from models.method import Shapes
from models.methods.margins.splitting.alternating import Terms
from models.methods.margins.splitting.objective import Regularizer
from models.methods.margins.splitting.starts import STARTS, Start
from models.parameters import Params

LARGEST = 1e60
"""Magnitude of a feature."""


class MarginParams(Params):
    """What every split asks."""

    alpha: float = Field(
        1.0,
        ge=0,
        le=1e6,
        description="Weight of the group sparsity, or of the plain l1 or l2 regularizer.",
    )
    min_balance: float = Field(
        0.9,
        ge=0,
        le=1,
        description=(
            "Fewest points of a cluster, as a share of an even one; rounded down, at least one. "
            "Lower it where groups of uneven size lie clearly apart; where they do not, the widest "
            "margin may then be one that cuts off a few points."
        ),
    )
    max_balance: float = Field(
        1.1,
        ge=1,
        le=1000,
        description="Most points of a cluster, as a share of an even one; rounded up.",
    )
    intercept: bool = Field(
        True,
        description=(
            "Whether scores have an intercept, which is not regularized; without one, as in the "
            "paper, features should be centred."
        ),
    )
    n_init: int = Field(
        3,
        ge=1,
        le=100,
        description=(
            "Starts of each split: one from k-means, one from spectral clustering, the others "
            "along random directions; the one that ends with the least objective is kept."
        ),
    )
    max_iter: int = Field(
        1000,
        ge=1,
        le=100_000,
        description="Most rounds of new weights and new clusters of a start.",
    )
    tol: float = Field(
        1e-3,
        ge=1e-9,
        le=1,
        description=(
            "A start ends when no point changes its cluster and the weights' least subgradient is "
            "at most this share of the gradient at zero weights."
        ),
    )
    seed: int = Field(0, ge=0, le=2**32 - 1, description="Seed of the random generator.")

    @property
    def starts(self) -> tuple[Start, ...]:
        more: list[Start] = ["random"] * (self.n_init - len(STARTS))
        return (*STARTS[: self.n_init], *more)

    def terms(self, n_clusters: int, regularizer: Regularizer) -> Terms:
        return Terms(
            n_clusters,
            regularizer,
            self.min_balance,
            self.max_balance,
            self.intercept,
            self.max_iter,
            self.tol,
        )


def check_points(data: Data, n_clusters: int, parameter: str) -> None:
    """UsageError for features, or names of them, that cannot be used.

    n_clusters : of the first split, as `parameter` says.
    """
    features = require_points(data)
    term_names(data, features.shape[1])
    require_finite(features, "features")
    require_moderate(features)
    require_distinct(features, n_clusters, parameter)


def require_moderate(features: npt.NDArray[Any]) -> None:
    """UsageError for values so large that fourth powers of them would overflow."""
    largest = max(float(features.max(initial=0)), -float(features.min(initial=0)))
    if largest > LARGEST:
        row = int(np.flatnonzero((np.abs(features) > LARGEST).any(axis=1))[0])
        raise UsageError(
            f"Input 'features' has a value above {LARGEST:.0e} in row {row}; scale the features "
            "down.",
            code="too-large",
            role="features",
        )


def bytes_to_split(shapes: Shapes, n_clusters: int) -> int:
    """What the split of all points takes, where the shape of the input 'features' is known."""
    if len(shapes.get("features", ())) != 2:
        return 0
    n_points, n_features = shapes["features"]
    pairs = n_clusters * (n_clusters - 1) // 2
    matrices = min(8 * (n_features + 1) ** 2 * pairs, 1 << 26)
    # Points as the loops take them, twice for a level of the tree; scores and costs; the flow's
    # heaps where there are more than two clusters.
    heaps = 24 * n_clusters if n_clusters > 2 else 0
    return n_points * (16 * (n_features + 1) + 40 * n_clusters + heaps + 60) + 4 * matrices


@contextmanager
def alone_and_quiet() -> Iterator[None]:
    """Libraries on one thread each, and none of their warnings.

    With more threads the order of the sums, so the last digits, would vary from run to run.
    """
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def refuse_weightless(alpha: float) -> NoReturn:
    raise UsageError(
        f"With alpha = {alpha:g} all weights of the first split are 0: the features are too small "
        "for it. Lower alpha, or scale the features up.",
        code="wrong-parameter",
        parameter="alpha",
    )


def said_of_parted(features: npt.NDArray[Any], leaf: Int) -> tuple[str, ...]:
    """A warning where points that coincide lie in different leaves, else nothing."""
    first, place = distinct(features)
    n_parted = np.unique(place[leaf != leaf[first[place]]]).size
    if not n_parted:
        return ()
    return (
        f"At {n_parted} place(s) points that coincide lie in different leaves: the bounds on sizes "
        "ask for it. New points there all go to one leaf.",
    )


def said_of_rounds(n_cut: int, max_iter: int) -> tuple[str, ...]:
    """A warning where splits were cut short, else nothing."""
    if not n_cut:
        return ()
    return (
        f"{n_cut} split(s) were stopped after max_iter = {max_iter} rounds, before neither new "
        "weights nor new clusters lowered the objective.",
    )
