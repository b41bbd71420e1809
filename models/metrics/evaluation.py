"""The shared basis of the metrics of a tree: checked inputs, the cut, counts and orders, each
computed once."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from models.arrays import Matrix
from models.errors import UsageError
from models.inputs.label_sets import LabelSets
from models.metrics.flat import Contingency, contingency
from models.metrics.hierarchical import upper_part
from models.metrics.inputs import distances_of, features_of, similarity_of
from models.metrics.labels import Classes, classes_of
from models.metrics.lca_order import LeafOrder, PointOrder
from models.metrics.pairs import Cosine, Euclidean, Gaussian, Pairs, SparsePairs
from models.metrics.truth import truth_over_points
from models.tree.cut import Cut, cut
from models.tree.tree import Tree

Kernel = Literal["cosine", "gaussian"]


@dataclass
class Evaluation:
    """The values of metrics on one tree.

    metrics : by metric id; None if a metric is undefined, which a warning explains.
    standard_errors : of those metrics that are estimates from sampled pairs.
    warnings : one sentence each.
    cut : the flat clustering that was evaluated: {"k" | "height" | "level": value} or
        {"leaves": True}, and "n_clusters". Empty if none was given or needed.
    """

    metrics: dict[str, float | None] = field(default_factory=dict)
    standard_errors: dict[str, float] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    cut: dict[str, Any] = field(default_factory=dict)


@dataclass
class Subject:
    """A tree and what it is compared with. Derived values are computed on first use and kept.

    Fields are as in `models.metrics.catalogue.evaluate`.
    """

    tree: Tree
    labels: npt.NDArray[Any] | Sequence[Any] | LabelSets | None = None
    features: Matrix | None = None
    distances: Matrix | None = None
    similarity: Matrix | None = None
    hierarchy: Tree | None = None
    cut_by: Mapping[str, Any] | None = None
    kernel: Kernel = "cosine"
    sample: int | None = None
    seed: int = 0
    measured: Mapping[str, float] = field(default_factory=dict)
    fitted: Tree | None = None

    def rng(self, metric: str) -> np.random.Generator:
        """A generator for one metric: its draws do not depend on the other requested metrics."""
        return np.random.default_rng([self.seed, zlib.crc32(metric.encode())])

    @cached_property
    def given(self) -> set[str]:
        """The roles present among the inputs."""
        roles = ("labels", "features", "distances", "similarity", "hierarchy")
        return {role for role in roles if getattr(self, role) is not None}

    @cached_property
    def classes(self) -> Classes:
        assert self.labels is not None
        return classes_of(self.labels, self.tree.n_points)

    @cached_property
    def leaves(self) -> LeafOrder:
        return LeafOrder.of(self.tree)

    @cached_property
    def points(self) -> PointOrder:
        return PointOrder.of(self.tree, self.leaves)

    @cached_property
    def single_points(self) -> bool:
        """Whether the leaves are single points of the fit, so that they are no clusters."""
        tree = self.fitted or self.tree
        return bool(tree.size[tree.leaves].max() <= 1)

    @cached_property
    def cut_given(self) -> dict[str, Any]:
        """The requested cut, without members that are None; empty if there is none."""
        return {key: value for key, value in (self.cut_by or {}).items() if value is not None}

    @cached_property
    def criterion(self) -> dict[str, Any]:
        """The cut that gives the flat clustering: one of k, height, level.

        {} cuts at the leaves.
        """
        if self.cut_given:
            return _criterion(self.cut_given)
        if self.single_points and self.tree.n_points:
            return {"k": min(self.classes.n_classes, self.tree.n_leaves)}
        return {}

    @property
    def has_clusters(self) -> bool:
        """Whether it is known which flat clustering is meant."""
        return bool(self.cut_given) or self.labels is not None or not self.single_points

    @cached_property
    def clusters(self) -> Cut:
        """The flat clustering for flat metrics."""
        return cut(self.tree, **self.criterion)

    @cached_property
    def table(self) -> Contingency:
        """The flat clustering against the classes."""
        return contingency(
            self.clusters.cluster_of_point,
            self.classes.code,
            self.clusters.n_clusters,
            self.classes.n_classes,
        )

    @cached_property
    def cluster_tree(self) -> Tree:
        """The tree over clusters: the tree, or its part above the cut if its leaves are points."""
        if not self.single_points or self.tree.n_points == 0:
            return self.tree
        return upper_part(self.tree, self.clusters.nodes, self.clusters.cluster_of_point)

    @cached_property
    def truth(self) -> tuple[Tree, tuple[str, ...]]:
        """The hierarchy over the tree's points, and warnings from matching them."""
        assert self.hierarchy is not None
        classes = None if self.labels is None else self.classes
        return truth_over_points(self.hierarchy, classes, self.tree)

    @cached_property
    def feature_rows(self) -> Matrix:
        return features_of(self.features, self.tree.n_points)

    @cached_property
    def pair_distances(self) -> Pairs:
        """The distances given, else Euclidean ones of the features."""
        if self.distances is not None:
            return distances_of(self.distances, self.tree.n_points)
        return Euclidean(self.feature_rows)

    @cached_property
    def pair_similarity(self) -> Pairs | SparsePairs:
        """The similarity given, else the kernel of the features."""
        if self.similarity is not None:
            return similarity_of(self.similarity, self.tree.n_points)
        return Cosine(self.feature_rows) if self.kernel == "cosine" else Gaussian(self.feature_rows)

    def cut_used(self) -> dict[str, Any]:
        """The cut in the form of `Evaluation.cut`; empty while no metric has needed it."""
        if "clusters" not in self.__dict__:
            return {}
        return {**(self.criterion or {"leaves": True}), "n_clusters": self.clusters.n_clusters}


def _criterion(cut_by: dict[str, Any]) -> dict[str, Any]:
    """A cut as a client gives it, checked: exactly one of k, height and level."""
    if len(cut_by) != 1 or not set(cut_by) <= {"k", "height", "level"}:
        raise UsageError(
            f"A cut is by one of k, height and level; this one is by {' and '.join(cut_by)}.",
            code="wrong-cut",
            parameter="cut",
        )
    ((key, value),) = cut_by.items()
    wanted: type | tuple[type, ...] = (int, float) if key == "height" else int
    if isinstance(value, bool) or not isinstance(value, wanted):
        kind = "a number" if key == "height" else "an integer"
        raise UsageError(
            f"The cut's {key} is {value!r}; it must be {kind}.", code="wrong-cut", parameter=key
        )
    return cut_by
