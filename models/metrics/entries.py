"""The catalogue's metrics, by what they need.

Against true classes; against another tree over the same points, such as a true hierarchy; against
similarities or distances of the points; of flat clusters against the points themselves. Last those
that a method measures itself during a fit, on points or in spaces that only the method knows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Literal

from models.metrics import agreement, costs, flat, hierarchical, separation
from models.metrics.estimate import Estimate
from models.metrics.evaluation import Metric, Subject, metric
from models.metrics.flat import Contingency
from models.tree.tree import Tree


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


@metric(
    "Dasgupta's cost",
    needs=("similarity", "features"),
    looks_at="tree",
    low=0.0,
    high=None,
    better="lower",
    source="gHHC eq. 7 (Dasgupta 2016)",
)
def dasgupta_cost(subject: Subject) -> Estimate:
    """Sum, over unordered pairs of distinct points, of their similarity times the number of
    points under their lowest common ancestor.
    """
    return costs.dasgupta_cost(
        subject.tree,
        subject.pair_similarity,
        points=subject.points,
        rng=subject.rng("dasgupta_cost"),
    )


@metric(
    "Wang-Wang ratio",
    needs=("similarity", "features"),
    looks_at="tree",
    low=1.0,
    high=None,
    better="lower",
    source="gHHC eq. 9 (Wang and Wang 2018)",
)
def wang_wang_ratio(subject: Subject) -> Estimate:
    """The triplet cost over the least that any tree could pay for each triple, its two lesser
    similarities.
    """
    return costs.wang_wang_ratio(
        subject.tree,
        subject.pair_similarity,
        points=subject.points,
        rng=subject.rng("wang_wang_ratio"),
    )


@metric(
    "Triplet cost",
    needs=("similarity", "features"),
    looks_at="tree",
    low=0.0,
    high=None,
    better="lower",
    source="gHHC eq. 8 (Wang and Wang 2018)",
)
def triplet_cost(subject: Subject) -> Estimate:
    """Sum, over unordered triples of distinct points, of their three similarities but that of
    the pair that meets below the other two.
    """
    return costs.triplet_cost(
        subject.tree,
        subject.pair_similarity,
        points=subject.points,
        rng=subject.rng("triplet_cost"),
    )


@metric(
    "Moseley-Wang revenue",
    needs=("similarity", "features"),
    looks_at="tree",
    low=0.0,
    high=None,
    better="higher",
    source="Moseley and Wang 2017",
)
def moseley_wang_revenue(subject: Subject) -> Estimate:
    """Sum, over unordered pairs of distinct points, of their similarity times the number of
    points that are not under their lowest common ancestor.
    """
    return costs.moseley_wang_revenue(
        subject.tree,
        subject.pair_similarity,
        points=subject.points,
        rng=subject.rng("moseley_wang_revenue"),
    )


@metric(
    "Cophenetic correlation",
    needs=("distances", "features"),
    looks_at="tree",
    low=-1.0,
    high=1.0,
    better="higher",
    source="Sokal and Rohlf 1962",
)
def cophenetic_correlation(subject: Subject) -> Estimate:
    """Pearson correlation, over unordered pairs of distinct points, of their distance with the
    height of their lowest common ancestor.
    """
    return costs.cophenetic_correlation(
        subject.tree,
        subject.pair_distances,
        points=subject.points,
        rng=subject.rng("cophenetic_correlation"),
    )


@metric(
    "Silhouette",
    needs=("distances", "features"),
    looks_at="cut",
    low=-1.0,
    high=1.0,
    better="higher",
    source="Rousseeuw 1987",
)
def silhouette(subject: Subject) -> Estimate:
    """Mean over points of (b - a) / max(a, b), a the mean distance to the rest of the point's
    cluster, b to the nearest other cluster; 0 for a point alone in its cluster.
    """
    rng = subject.rng("silhouette")
    return separation.silhouette(subject.pair_distances, subject.clusters, rng=rng)


@metric(
    "Davies-Bouldin index",
    needs=("features",),
    looks_at="cut",
    low=0.0,
    high=None,
    better="lower",
    source="Davies and Bouldin 1979",
)
def davies_bouldin(subject: Subject) -> Estimate:
    """Mean over clusters of the greatest ratio, with any other cluster, of the sum of the two
    mean distances from the centre to the distance of the two centres.
    """
    rng = subject.rng("davies_bouldin")
    return separation.davies_bouldin(subject.feature_rows, subject.clusters, rng=rng)


@metric(
    "Calinski-Harabasz index",
    needs=("features",),
    looks_at="cut",
    low=0.0,
    high=None,
    better="higher",
    source="Calinski and Harabasz 1974",
)
def calinski_harabasz(subject: Subject) -> Estimate:
    """Variance between clusters over variance within, each over its degrees of freedom."""
    return separation.calinski_harabasz(subject.feature_rows, subject.clusters)


@metric(
    "Held-out log-likelihood",
    needs=("measured",),
    looks_at="method",
    low=None,
    high=None,
    better="higher",
    source="The method's own",
)
def held_out_log_likelihood(subject: Subject) -> Estimate:
    """Mean log-likelihood in nats, under the fitted model, of points that it was not fitted to,
    where the method measured it.
    """
    return Estimate(subject.measured["held_out_log_likelihood"])


@metric(
    "Log-likelihood of the clusters found",
    needs=("measured",),
    looks_at="method",
    low=None,
    high=None,
    better="higher",
    source="Gopal 2014, §6.3, table 6.1",
)
def found_log_likelihood(subject: Subject) -> Estimate:
    """Mean log-likelihood of a row of `inputs` in nats under the fitted mixture (`gmm`, `vmf`)."""
    return Estimate(subject.measured["found_log_likelihood"])


@metric(
    "Log-likelihood of the labels",
    needs=("measured",),
    looks_at="method",
    low=None,
    high=None,
    better="higher",
    source="Gopal 2014, §6.3, table 6.1",
)
def labels_log_likelihood(subject: Subject) -> Estimate:
    """The same under the mixture of the same shape that is likeliest if each label is a cluster; a
    warning says what follows.
    """
    return Estimate(subject.measured["labels_log_likelihood"])


@metric(
    "Explained variance",
    needs=("measured",),
    looks_at="method",
    low=None,
    high=1.0,
    better="higher",
    source="The method's own",
)
def explained_variance(subject: Subject) -> Estimate:
    """1 minus the residual variance of the fitted model over that of its targets, where
    the method measured it.
    """
    return Estimate(subject.measured["explained_variance"])
