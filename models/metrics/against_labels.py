"""The catalogue's metrics against true classes."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from models.metrics import flat, hierarchical
from models.metrics.estimate import Estimate
from models.metrics.evaluation import Subject
from models.metrics.flat import Contingency
from models.metrics.metric import Metric, metric


def _flat_metric(
    title: str,
    *,
    low: float | None,
    high: float | None,
    source: str = "Thesis app. B.2",
) -> Callable[[Callable[[Contingency], float | None]], Metric]:
    """`metric` of the table of flat clusters and classes."""

    def register(value_of: Callable[[Contingency], float | None]) -> Metric:
        @wraps(value_of)
        def compute(subject: Subject) -> Estimate:
            value = value_of(subject.table)
            if value is None:
                return Estimate(None, warnings=(f"{value_of.__name__}: the tree has no points.",))
            return Estimate(value)

        return metric(
            title,
            needs=("labels",),
            looks_at="cut",
            low=low,
            high=high,
            better="higher",
            source=source,
        )(compute)

    return register


@metric(
    "Dendrogram purity",
    needs=("labels",),
    looks_at="tree",
    low=0.0,
    high=1.0,
    better="higher",
    source="gHHC eq. 22; L2H app. B.3 (Kobren et al. 2017)",
)
def dendrogram_purity(subject: Subject) -> Estimate:
    """Mean, over unordered pairs of distinct points of one class, of the share of that class
    among the points under their lowest common ancestor.
    """
    return hierarchical.dendrogram_purity(
        subject.tree,
        subject.classes,
        leaves=subject.leaves,
        sample=subject.sample,
        rng=subject.rng("dendrogram_purity"),
    )


@metric(
    "Leaf purity",
    needs=("labels",),
    looks_at="tree",
    low=0.0,
    high=1.0,
    better="higher",
    source="L2H app. B.3",
)
def leaf_purity(subject: Subject) -> Estimate:
    """Share of points that are of the largest class of their leaf; a tree whose leaves are
    single points is cut to clusters first.
    """
    return hierarchical.leaf_purity(subject.cluster_tree, subject.classes)


@metric(
    "Least hierarchical distance",
    needs=("labels",),
    looks_at="tree",
    low=0.0,
    high=1.0,
    better="lower",
    source="L2H app. B.3",
)
def lhd(subject: Subject) -> Estimate:
    """Mean of (log2 td - 1) / (log2 K - 1) over pairs of points of one class in different
    leaves, td edges apart, K the number of leaves; nodes of one child do not count, a tree
    whose leaves are single points is cut to clusters first, and without such a pair or with K =
    2 it is 0. By chance alone it falls as K grows: compare it between trees of as many leaves.
    """
    return hierarchical.lhd(subject.cluster_tree, subject.classes, rng=subject.rng("lhd"))


@_flat_metric("Purity", low=0.0, high=1.0)
def purity(table: Contingency) -> float | None:
    """Share of points that are of the largest class of their cluster."""
    return flat.purity(table)


@_flat_metric("Normalized mutual information", low=0.0, high=1.0)
def nmi(table: Contingency) -> float | None:
    """Twice the mutual information over the sum of the entropies of clusters and classes; 1
    where both are a single group.
    """
    return flat.nmi(table)


@_flat_metric("Mutual information", low=0.0, high=None)
def mi(table: Contingency) -> float | None:
    """Mutual information in nats."""
    return flat.mi(table)


@_flat_metric("Adjusted Rand index", low=-0.5, high=1.0)
def ari(table: Contingency) -> float | None:
    """Rand index corrected for chance; 1 where clusters and classes are the same partition."""
    return flat.ari(table)


@_flat_metric("Rand index", low=0.0, high=1.0)
def ri(table: Contingency) -> float | None:
    """Share of the pairs of points that are together in both or apart in both."""
    return flat.ri(table)


@_flat_metric("Clustering accuracy", low=0.0, high=1.0, source="L2H app. B.3")
def accuracy(table: Contingency) -> float | None:
    """Share of points in the class that the best one-to-one assignment (Hungarian method) gives
    their cluster.
    """
    return flat.accuracy(table)


@_flat_metric("Macro F1", low=0.0, high=1.0, source="Thesis app. B")
def macro_f1(table: Contingency) -> float | None:
    """F1 averaged over the true classes, each cluster standing for its largest class (of equal
    ones the first in sorted order); a class that no cluster stands for has 0.
    """
    return flat.macro_f1(table)


@_flat_metric("Micro F1", low=0.0, high=1.0, source="Thesis app. B")
def micro_f1(table: Contingency) -> float | None:
    """F1 over all points, each cluster standing for its largest class; equal to purity."""
    return flat.micro_f1(table)
