"""The catalogue's metrics of flat clusters against the points themselves."""

from __future__ import annotations

from models.metrics import separation
from models.metrics.estimate import Estimate
from models.metrics.evaluation import Subject
from models.metrics.metric import metric


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
