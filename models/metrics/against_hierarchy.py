"""The catalogue's metrics against another tree over the same points, such as a true hierarchy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Literal

from models.metrics import agreement
from models.metrics.estimate import Estimate
from models.metrics.evaluation import Subject
from models.metrics.metric import Metric, metric
from models.tree.tree import Tree

Compute = Callable[[Subject], Estimate]


def _hierarchy_metric(
    title: str, *, low: float, better: Literal["higher", "lower"], source: str
) -> Callable[[Compute], Metric]:
    """`metric` against the hierarchy, with the warnings from matching that to the points."""

    def warned(compute: Compute) -> Compute:
        @wraps(compute)
        def with_warnings(subject: Subject) -> Estimate:
            estimate = compute(subject)
            return replace(estimate, warnings=(*subject.truth[1], *estimate.warnings))

        return with_warnings

    register = metric(
        title,
        needs=("hierarchy",),
        looks_at="tree",
        low=low,
        high=1.0,
        better=better,
        source=source,
    )
    return lambda compute: register(warned(compute))


def _clustered(subject: Subject) -> Tree:
    """The tree; the part above the cut if there is one and the leaves are single points."""
    return subject.cluster_tree if subject.cut_given else subject.tree


@_hierarchy_metric(
    "Shortest path similarity",
    low=0.0,
    better="higher",
    source="HMMC section 5 (Harispe et al. 2013)",
)
def shortest_path_similarity(subject: Subject) -> Estimate:
    """1 minus the mean squared difference, over unordered pairs of distinct points, of their
    similarities in tree and hierarchy: 1 minus the edges between their leaves over the most edges
    between any two leaves; cut to clusters first if a cut is given and leaves are single points.
    """
    rng = subject.rng("shortest_path_similarity")
    return agreement.shortest_path_similarity(_clustered(subject), subject.truth[0], rng=rng)


@_hierarchy_metric(
    "Path sharing similarity",
    low=0.0,
    better="higher",
    source="HMMC section 5 (Fergus et al. 2010)",
)
def path_sharing_similarity(subject: Subject) -> Estimate:
    """1 minus the mean squared difference, over unordered pairs of distinct points, of their
    similarities in tree and hierarchy: the nodes that their paths from the root share over the
    nodes of the longer one; in a tree of depth one, 1 within a leaf, else 0; cut to clusters first
    if a cut is given and leaves are single points.
    """
    rng = subject.rng("path_sharing_similarity")
    return agreement.path_sharing_similarity(_clustered(subject), subject.truth[0], rng=rng)


@_hierarchy_metric(
    "Cophenetic correlation of two trees",
    low=-1.0,
    better="higher",
    source="Sokal and Rohlf 1962",
)
def cophenetic_agreement(subject: Subject) -> Estimate:
    """Pearson correlation, over unordered pairs of distinct points, of the heights of their
    lowest common ancestors in tree and hierarchy.
    """
    rng = subject.rng("cophenetic_agreement")
    return agreement.cophenetic_agreement(subject.tree, subject.truth[0], rng=rng)


@_hierarchy_metric(
    "Robinson-Foulds distance",
    low=0.0,
    better="lower",
    source="Robinson and Foulds 1981; Day 1985",
)
def robinson_foulds(subject: Subject) -> Estimate:
    """Share, among the groups of points under a node of tree and hierarchy, of those that only
    one of the two has; single points and all of them are no groups.
    """
    return agreement.robinson_foulds(subject.tree, subject.truth[0])
