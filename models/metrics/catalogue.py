"""Every metric, what it needs and means; and `evaluate`, which runs them on one tree."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy.typing as npt

from models.contract import Progress, silent
from models.data import Matrix
from models.errors import UsageError
from models.metrics import costs, flat, hierarchical
from models.metrics.estimate import Estimate
from models.metrics.evaluation import Evaluation, Kernel, Subject
from models.tree.tree import Tree

Role = Literal["labels", "features", "distances", "similarity", "hierarchy"]


@dataclass(frozen=True, slots=True)
class Metric:
    """One entry of the catalogue.

    needs : roles of which one must be given; the first one given is used.
    looks_at : "cut" (a flat clustering) or "tree" (all of it).
    low, high : range of its values; None is without bound.
    better : which end is the good one.
    definition, source : one sentence for people; paper and place.
    compute : the metric itself.
    """

    id: str
    title: str
    needs: tuple[Role, ...]
    looks_at: Literal["cut", "tree"]
    low: float | None
    high: float | None
    better: Literal["higher", "lower"]
    definition: str
    source: str
    compute: Callable[[Subject], Estimate]


def evaluate(
    tree: Tree,
    *,
    labels: npt.NDArray[Any] | Sequence[Any] | None = None,
    features: Matrix | None = None,
    distances: Matrix | None = None,
    similarity: Matrix | None = None,
    hierarchy: Tree | None = None,
    metrics: Sequence[str] | None = None,
    cut: Mapping[str, Any] | None = None,
    kernel: Kernel = "cosine",
    sample: int | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> Evaluation:
    """Measure a tree.

    labels : (n_points,) true classes, integers or strings; every distinct one is a class.
    features : (n_points, n_features), dense or sparse: distances are Euclidean, similarities by
        `kernel`, where no matrix of them is given.
    distances, similarity : (n_points, n_points) symmetric; the similarity may be sparse.
    hierarchy : a true hierarchy. No metric compares with it yet; a warning says so.
    metrics : ids in `METRICS`; None: all that the given inputs allow.
    cut : {"k" | "height" | "level": value} for the metrics that look at a flat clustering. None:
        the leaves, or, where leaves are single points, k = number of distinct labels.
    kernel : similarity of features: "cosine" is (1 + cosine) / 2, "gaussian" is
        exp(-|x - y|^2 / (2 s^2)) with s^2 the mean squared distance.
    sample : estimate dendrogram purity from so many pairs; None: exact.
    seed : of all that is drawn. The same call gives the same answer.
    progress : called before each metric; raises Cancelled when the job was cancelled.

    Raises
    ------
    UsageError : `unknown-metric`; `wrong-input` where a metric's input is missing or unusable;
        `wrong-length` for an input that does not fit the points; `not-finite`; `wrong-cut`.
    """
    subject = Subject(
        tree, labels, features, distances, similarity, hierarchy, cut, kernel, sample, seed
    )
    chosen = _choose(metrics, subject)
    if subject.cut_given:
        subject.clusters  # noqa: B018  a wrong cut is refused whether or not it is looked at
    answer = Evaluation()
    if hierarchy is not None:
        answer.warnings.append("No metric compares with a given hierarchy yet; it was not used.")
    for number, metric in enumerate(chosen):
        progress(number / len(chosen), metric.id)
        _add(answer, metric, metric.compute(subject))
    answer.cut = subject.cut_used()
    if answer.cut and subject.clusters.warning:
        answer.warnings.append(subject.clusters.warning)
    return answer


def _choose(names: Sequence[str] | None, subject: Subject) -> list[Metric]:
    if names is None:
        chosen = [metric for metric in METRICS.values() if subject.given & set(metric.needs)]
        if not chosen:
            raise UsageError(
                "Nothing to evaluate the tree against; give labels, features, distances or "
                "similarity.",
                code="wrong-input",
            )
        return chosen
    for name in names:
        if name not in METRICS:
            raise UsageError(
                f"There is no metric {name!r}; there are {', '.join(METRICS)}.",
                code="unknown-metric",
                metric=name,
            )
        if not subject.given & set(METRICS[name].needs):
            raise UsageError(
                f"Metric {name!r} needs {' or '.join(METRICS[name].needs)}.",
                code="wrong-input",
                metric=name,
                role=METRICS[name].needs[0],
            )
    return [METRICS[name] for name in dict.fromkeys(names)]


def _add(answer: Evaluation, metric: Metric, estimate: Estimate) -> None:
    value, error = estimate.value, estimate.standard_error
    answer.warnings += [text for text in estimate.warnings if text not in answer.warnings]
    if value is not None and not math.isfinite(value):
        value = error = None
        answer.warnings.append(f"{metric.id} is undefined: its sums are too large for a number.")
    answer.metrics[metric.id] = value
    if error is not None:
        answer.standard_errors[metric.id] = error


def _flat(
    id: str,
    title: str,
    function: Callable[[flat.Contingency], float | None],
    low: float | None,
    high: float | None,
    definition: str,
    source: str = "Thesis app. B.2",
    undefined: str = "the tree has no points",
) -> Metric:
    """A metric of the flat clustering against the labels."""

    def compute(subject: Subject) -> Estimate:
        value = function(subject.table)
        return Estimate(value, warnings=() if value is not None else (f"{id}: {undefined}.",))

    return Metric(id, title, ("labels",), "cut", low, high, "higher", definition, source, compute)


def _dendrogram_purity(subject: Subject) -> Estimate:
    return hierarchical.dendrogram_purity(
        subject.tree,
        subject.classes,
        leaves=subject.leaves,
        sample=subject.sample,
        rng=subject.rng("dendrogram_purity"),
    )


def _leaf_purity(subject: Subject) -> Estimate:
    return hierarchical.leaf_purity(subject.cluster_tree, subject.classes)


def _lhd(subject: Subject) -> Estimate:
    return hierarchical.lhd(subject.cluster_tree, subject.classes, rng=subject.rng("lhd"))


def _dasgupta_cost(subject: Subject) -> Estimate:
    return costs.dasgupta_cost(
        subject.tree,
        subject.pair_similarity,
        points=subject.points,
        rng=subject.rng("dasgupta_cost"),
    )


def _cophenetic_correlation(subject: Subject) -> Estimate:
    return costs.cophenetic_correlation(
        subject.tree,
        subject.pair_distances,
        points=subject.points,
        rng=subject.rng("cophenetic_correlation"),
    )


_ALL = (
    Metric(
        "dendrogram_purity",
        "Dendrogram purity",
        ("labels",),
        "tree",
        0.0,
        1.0,
        "higher",
        "Mean, over unordered pairs of distinct points of one class, of the share of that class "
        "among the points under their lowest common ancestor.",
        "gHHC eq. 22; L2H app. B.3 (Kobren et al. 2017)",
        _dendrogram_purity,
    ),
    Metric(
        "leaf_purity",
        "Leaf purity",
        ("labels",),
        "tree",
        0.0,
        1.0,
        "higher",
        "Share of points that are of the largest class of their leaf; a tree whose leaves are "
        "single points is cut to clusters first.",
        "L2H app. B.3",
        _leaf_purity,
    ),
    Metric(
        "lhd",
        "Least hierarchical distance",
        ("labels",),
        "tree",
        0.0,
        1.0,
        "lower",
        "Mean of (log2 td - 1) / (log2 K - 1) over pairs of points of one class in different "
        "leaves, td edges apart, K the number of leaves; nodes of one child do not count, a tree "
        "whose leaves are single points is cut to clusters first, and without such a pair or with "
        "K = 2 it is 0.",
        "L2H app. B.3",
        _lhd,
    ),
    _flat(
        "purity",
        "Purity",
        flat.purity,
        0.0,
        1.0,
        "Share of points that are of the largest class of their cluster.",
    ),
    _flat(
        "nmi",
        "Normalized mutual information",
        flat.nmi,
        0.0,
        1.0,
        "Twice the mutual information over the sum of the entropies of clusters and classes; 1 "
        "where both are a single group.",
    ),
    _flat("mi", "Mutual information", flat.mi, 0.0, None, "Mutual information in nats."),
    _flat(
        "ari",
        "Adjusted Rand index",
        flat.ari,
        -0.5,
        1.0,
        "Rand index corrected for chance; 1 where clusters and classes are the same partition.",
        undefined="there are fewer than two points",
    ),
    _flat(
        "ri",
        "Rand index",
        flat.ri,
        0.0,
        1.0,
        "Share of the pairs of points that are together in both or apart in both.",
        undefined="there are fewer than two points",
    ),
    _flat(
        "accuracy",
        "Clustering accuracy",
        flat.accuracy,
        0.0,
        1.0,
        "Share of points in the class that the best one-to-one assignment (Hungarian method) gives "
        "their cluster.",
        "L2H app. B.3",
    ),
    _flat(
        "macro_f1",
        "Macro F1",
        flat.macro_f1,
        0.0,
        1.0,
        "F1 averaged over the true classes, each cluster standing for its largest class (of equal "
        "ones the first in sorted order); a class that no cluster stands for has 0.",
        "Thesis app. B",
    ),
    _flat(
        "micro_f1",
        "Micro F1",
        flat.micro_f1,
        0.0,
        1.0,
        "F1 over all points, each cluster standing for its largest class; equal to purity.",
        "Thesis app. B",
    ),
    Metric(
        "dasgupta_cost",
        "Dasgupta's cost",
        ("similarity", "features"),
        "tree",
        0.0,
        None,
        "lower",
        "Sum, over unordered pairs of distinct points, of their similarity times the number of "
        "points under their lowest common ancestor.",
        "gHHC eq. 7 (Dasgupta 2016)",
        _dasgupta_cost,
    ),
    Metric(
        "cophenetic_correlation",
        "Cophenetic correlation",
        ("distances", "features"),
        "tree",
        -1.0,
        1.0,
        "higher",
        "Pearson correlation, over unordered pairs of distinct points, of their distance with the "
        "height of their lowest common ancestor.",
        "Sokal and Rohlf 1962",
        _cophenetic_correlation,
    ),
)

METRICS: dict[str, Metric] = {metric.id: metric for metric in _ALL}
"""All metrics by id, in the order in which they are shown."""
