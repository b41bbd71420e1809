"""The objective of a split, and the score that selects the next leaf.

For n points x_i in K clusters with weights w_k (and intercepts b_k, which are not penalised):

    alpha G(w) + beta E(w) + 1/(n K) sum_i sum_{y != y_i} [1 - f_{y_i}(x_i) + f_y(x_i)]_+^2

with f_k(x) = w_k.x + b_k; Zhou et al., "Hierarchical Maximum-Margin Clustering" (2015), eq. 5:

    G = 1/(P K) sum_p |w_:p|_2                                                          (eq. 2)
    E = 1/(K |A| P) sum_k sum_{a in A} sum_p |w_kp| |w_{a k_a, p}|, 0 at the root       (eq. 3)

over the ancestors A of the node, where k_a is the child of a on the path to the node. The variants
replace both terms by 1/(P K) sum |w_kp| (`l1`) or 1/(P K) sum w_kp^2 (`l2`), weighted by alpha.
(The printed lambda_E in section 4.2 lacks the child k_a.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from models.arrays import Float
from models.errors import UsageError
from models.numerics.descent import Penalty

Kind = Literal["group+exclusive", "group", "exclusive", "l1", "l2"]


@dataclass(frozen=True, slots=True)
class Ancestors:
    """The weights that the ancestors of a node use.

    count : number of ancestors. weight : (P,) the sum over them of |w_{a k_a, p}|.
    unit : (P,) the same sum with each ancestor scaled to length 1; n_units : how many of them have
        nonzero weights.
    """

    count: int
    weight: Float
    unit: Float
    n_units: int

    @classmethod
    def root(cls, n_features: int) -> Ancestors:
        return cls(0, np.zeros(n_features), np.zeros(n_features), 0)

    def extended_by(self, weights: Float) -> Ancestors:
        """The ancestors of a child of the node; `weights` (P,) are the child's own."""
        own = np.abs(weights)
        length = float(np.linalg.norm(own))
        unit = own / length if length > 0 else own
        return Ancestors(
            self.count + 1, self.weight + own, self.unit + unit, self.n_units + (length > 0)
        )


@dataclass(frozen=True, slots=True)
class Regularizer:
    """The terms of the penalty and their weights."""

    kind: Kind
    alpha: float
    beta: float

    def require_some(self) -> None:
        """Raises UsageError if nothing is regularised, so that no split would be preferred."""
        uses = {"group+exclusive": ("alpha", "beta"), "exclusive": ("beta",)}
        names = uses.get(self.kind, ("alpha",))
        if not any(getattr(self, name) > 0 for name in names):
            raise UsageError(
                f"Regularizer {self.kind!r} needs {' or '.join(names)} above 0: without it all "
                "separable splits are equally good.",
                code="wrong-parameter",
                parameter=names[0],
            )

    def penalty(self, n_clusters: int, above: Ancestors) -> Penalty:
        """The terms of one node as weights of the sparse-group penalty."""
        n_features = above.weight.size
        zero = np.zeros(n_features)
        uniform = np.full(n_features, self.alpha / (n_features * n_clusters))
        if self.kind == "l1":
            return Penalty(uniform, zero, zero)
        if self.kind == "l2":
            return Penalty(zero, zero, uniform)
        group = zero if self.kind == "exclusive" else uniform
        exclusive = zero
        if self.kind != "group" and above.count:
            exclusive = self.beta * above.weight / (n_clusters * above.count * n_features)
        return Penalty(exclusive, group, zero)

    def complexity(self, weights: Float, above: Ancestors) -> float:
        """The denominator of the splitting score: the variant's terms without alpha and beta."""
        plain = Regularizer(self.kind, 1.0, 1.0)
        return plain.penalty(len(weights), above).of(weights)


def group(weights: Float) -> float:
    """G, eq. 2. weights : (K, P)."""
    return float(np.sqrt((weights * weights).sum(axis=0)).sum()) / weights.size


def exclusive(weights: Float, above: Ancestors) -> float:
    """E, eq. 3. weights : (K, P)."""
    if not above.count:
        return 0.0
    return float((np.abs(weights).sum(axis=0) * above.weight).sum()) / (weights.size * above.count)


def overlap(weights: Float, above: Ancestors) -> float:
    """How much a node reuses its ancestors' features: 0 where none is shared, 1 where all agree.

    The mean, over clusters and ancestors, of the cosine between the magnitudes of their weights;
    NaN at the root and where all weights are 0.
    """
    own = np.abs(weights)
    length = np.linalg.norm(own, axis=1)
    if not (above.n_units and length.any()):
        return float("nan")
    nonzero = length > 0
    return float((own[nonzero] / length[nonzero, None] @ above.unit).mean()) / above.n_units


def sparsity(weights: Float) -> float:
    """Share of the weights that are 0."""
    return float((weights == 0).mean())


def score(own: Float, complexity: float) -> float:
    """The splitting score S, eq. 4: infinite where nothing is penalised.

    own : (n_points,) scores of points in their clusters.
    """
    return float(own.sum()) / complexity if complexity > 0 else float("inf")


def bounds(n_points: int, n_clusters: int, least: float, most: float) -> tuple[int, int]:
    """Smallest and largest size of a cluster, from fractions of n / K.

    Rounded outwards, at least one: rounded inwards, no clustering of few points might exist.
    """
    even = n_points / n_clusters
    # Fractions such as 1.1 are not exact in binary.
    low = max(1, int(np.floor(least * even + 1e-9)))
    return low, max(low, int(np.ceil(most * even - 1e-9)))
