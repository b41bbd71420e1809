"""The catalogue's metrics against similarities or distances of the points."""

from __future__ import annotations

from models.metrics import costs, triples
from models.metrics.estimate import Estimate
from models.metrics.evaluation import Subject
from models.metrics.metric import metric


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
    return triples.wang_wang_ratio(
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
