"""Parameters, checks and warnings that the maximum-margin methods share."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, NoReturn

import numpy as np
import numpy.typing as npt
from pydantic import Field

from models.arrays import Int
from models.clusters.counts import term_names
from models.errors import UsageError
from models.inputs.checks import distinct, require_distinct, require_points
from models.inputs.data import Data, require_finite
from models.method import Model, Shapes
from models.methods.margins.splitting.alternating import Terms
from models.methods.margins.splitting.objective import Regularizer
from models.methods.margins.splitting.split import STARTS, SearchEffort, Start
from models.parameters import Params, Seed
from models.running.threads import limited

LARGEST = 1e60
"""Largest magnitude of a feature."""


WIDER = ((0.5, 1.5), (0.2, 1.8))
"""Bounds on sizes, relative to equal sizes, that `balance: "auto"` tries besides the given ones."""


class MarginParams(Params):
    """Parameters of every split."""

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
            "Smallest size of a cluster, relative to equal sizes; rounded down, at least one "
            "point. Lower it for well separated groups of uneven size; for others, the widest "
            "margin may then cut off only a few points."
        ),
    )
    max_balance: float = Field(
        1.1,
        ge=1,
        le=1000,
        description="Largest size of a cluster, relative to equal sizes; rounded up.",
    )
    balance: Literal["fixed", "auto"] = Field(
        "fixed",
        description=(
            "'fixed': sizes lie within `min_balance` and `max_balance`. 'auto': each node is also "
            "split within 0.5 to 1.5 and within 0.2 to 1.8 times equal sizes, and the split with "
            "the highest splitting score is kept; three times the time."
        ),
    )
    intercept: bool = Field(
        True,
        description=(
            "Whether scores have an intercept, which is not regularized; without one, as in the "
            "paper, the features should be centred."
        ),
    )
    n_init: int = Field(
        12,
        ge=1,
        le=100,
        description=(
            "Number of starts of each split: one from k-means, one from spectral clustering, one "
            "along a random direction, the fourth in the widest gaps of random directions, the "
            "others along further directions; the result with the lowest objective is kept."
        ),
    )
    gaps: bool = Field(
        False,
        description=(
            "Whether the fourth start is in the widest gaps of single features, before that in "
            "random directions, if the regularizer selects features. Some objectives then fall by "
            "far; but a gap in one feature, such as values that are exactly 0, may tell less of "
            "the points than all features together."
        ),
    )
    n_swaps: int = Field(
        6,
        ge=0,
        le=1000,
        description=(
            "The best start goes on with 30 % of its points in other clusters, and so on from the "
            "best result, until this many attempts in turn are vain; 0 for none."
        ),
    )
    max_iter: int = Field(
        1000,
        ge=1,
        le=100_000,
        description="Largest number of alternations between weights and clusters of a start.",
    )
    tol: float = Field(
        1e-4,
        ge=1e-9,
        le=1,
        description=(
            "A start ends when no point changes its cluster and the least subgradient of the "
            "weights is at most this fraction of the gradient at zero weights."
        ),
    )
    seed: Seed = 0

    @property
    def search(self) -> SearchEffort:
        starts = tuple(start for start in STARTS if self.gaps or start != "features")
        more: list[Start] = ["random"] * (self.n_init - len(starts))
        wider = WIDER if self.balance == "auto" else ()
        return SearchEffort((*starts[: self.n_init], *more), self.n_swaps, wider)

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
    """Raises UsageError for features or feature names that cannot be used.

    n_clusters : number of clusters of the first split, the value of `parameter`.
    """
    features = require_points(data)
    term_names(data, features.shape[1])
    require_finite(features, "features")
    require_moderate(features)
    require_distinct(features, n_clusters, parameter)


def require_moderate(features: npt.NDArray[Any]) -> None:
    """Raises UsageError for values so large that fourth powers of them would overflow."""
    largest = max(float(features.max(initial=0)), -float(features.min(initial=0)))
    if largest > LARGEST:
        row, column = (int(at) for at in np.argwhere(np.abs(features) > LARGEST)[0])
        raise UsageError(
            f"Input 'features' has a value above {LARGEST:.0e} in row {row}, column {column} "
            "(counted from 0); scale the features down.",
            code="too-large",
            role="features",
            row=row,
            column=column,
        )


MODERATE = 6
"""Sizes of 2 to the power of at most this, up or down, are left as they are."""


def size_of(features: npt.NDArray[Any], intercept: bool) -> float:
    """A power of 2 near the root mean square of the features, with an intercept of what they differ
    from their means; 1 where that is moderate. O(N P).

    Weights cost alike whatever the features' unit, and tolerances belong to an objective that
    starts below 1, so that features of size 1e-12 or 1e30 are split in units of this size.
    """
    largest = max(float(features.max(initial=0)), -float(features.min(initial=0)))
    if not largest:
        return 1.0
    rows = features / np.float64(largest)
    if intercept:
        rows -= rows.mean(axis=0)
    root = largest * float(np.sqrt(np.mean(rows * rows)))
    exponent = round(float(np.log2(root))) if root else 0
    return 1.0 if abs(exponent) <= MODERATE else float(np.exp2(exponent))


def in_units(features: npt.NDArray[Any], size: float) -> npt.NDArray[Any]:
    """The features divided by their size; the same object if that is 1."""
    return features if size == 1.0 else features.astype(np.float64) / size


def size_of_fit(model: Model) -> float:
    """The size by which the features of a fit were divided."""
    return float(model.arrays["size"][0]) if "size" in model.arrays else 1.0


def size_warnings(size: float) -> tuple[str, ...]:
    """A warning where features were split in units of their size."""
    if size == 1.0:
        return ()
    return (
        f"The features have a size of about {size:.2g}: they were divided by it, so that 'alpha' "
        "weighs the weights of features of moderate size.",
    )


def bytes_to_split(shapes: Shapes, n_clusters: int) -> int:
    """Bytes that splitting all points takes; 0 where the shape of 'features' is not known."""
    if len(shapes.get("features", ())) != 2:
        return 0
    n_points, n_features = shapes["features"]
    pairs = n_clusters * (n_clusters - 1) // 2
    matrices = min(8 * (n_features + 1) ** 2 * pairs, 1 << 26)
    # The loops' copy of the points, twice for a level of the tree; scores and costs; the heaps of
    # the flow where there are more than two clusters.
    heaps = 24 * n_clusters if n_clusters > 2 else 0
    return n_points * (16 * (n_features + 1) + 40 * n_clusters + heaps + 60) + 4 * matrices


@contextmanager
def single_threaded_and_quiet() -> Iterator[None]:
    """Run libraries on one thread each, without their warnings about convergence.

    With more threads the order of summation, hence the last digits, would vary between runs.
    """
    from sklearn.exceptions import ConvergenceWarning

    with limited(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def refuse_weightless(alpha: float) -> NoReturn:
    raise UsageError(
        f"With alpha = {alpha:g} all weights of the first split are 0: the features are too small "
        "for this value. Lower alpha, or scale the features up.",
        code="wrong-parameter",
        parameter="alpha",
    )


def parted_warnings(features: npt.NDArray[Any], leaf: Int) -> tuple[str, ...]:
    """A warning where points that coincide lie in different leaves."""
    first, place = distinct(features)
    n_parted = np.unique(place[leaf != leaf[first[place]]]).size
    if not n_parted:
        return ()
    return (
        f"At {n_parted} place(s) points that coincide lie in different leaves: the bounds on sizes "
        "require it. New points there all go to one leaf.",
    )


def round_warnings(n_cut: int, max_iter: int) -> tuple[str, ...]:
    """A warning where splits stopped at `max_iter`."""
    if not n_cut:
        return ()
    return (
        f"{n_cut} split(s) were stopped after max_iter = {max_iter} rounds, before neither new "
        "weights nor new clusters lowered the objective.",
    )
