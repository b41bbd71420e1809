"""All metrics with their inputs and definitions; and `evaluate`, which runs them on a tree."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy.typing as npt

from models.arrays import Matrix
from models.errors import UsageError
from models.inputs.label_sets import LabelSets
from models.metrics import entries
from models.metrics.estimate import Estimate
from models.metrics.evaluation import Evaluation, Kernel, Metric, Subject
from models.running.progress import Progress, silent
from models.tree.tree import Tree

LIKELIHOODS = ("found_log_likelihood", "labels_log_likelihood")
"""What a mixture says of a labelling (`models.clusters.likelihoods`)."""


def evaluate(
    tree: Tree,
    *,
    labels: npt.NDArray[Any] | Sequence[Any] | LabelSets | None = None,
    features: Matrix | None = None,
    distances: Matrix | None = None,
    similarity: Matrix | None = None,
    hierarchy: Tree | None = None,
    metrics: Sequence[str] | None = None,
    cut: Mapping[str, Any] | None = None,
    kernel: Kernel = "cosine",
    sample: int | None = None,
    seed: int = 0,
    measured: Mapping[str, float] | None = None,
    fitted: Tree | None = None,
    progress: Progress = silent,
) -> Evaluation:
    """Measure a tree.

    labels : (n_points,) true classes, integers or strings; every distinct one is a class.
    features : (n_points, n_features), dense or sparse: distances are Euclidean, similarities by
        `kernel`, if no matrix of them is given.
    distances, similarity : (n_points, n_points) symmetric; the similarity may be sparse.
    hierarchy : another tree: a true hierarchy whose leaves the labels name, or one over the same
        points (`models.metrics.evaluation`).
    metrics : ids in `METRICS`; None: all that the given inputs allow.
    cut : {"k" | "height" | "level": value} for the metrics of a flat clustering. None: the leaves,
        or, if leaves are single points, k = number of distinct labels.
    kernel : similarity of features: "cosine" is (1 + cosine) / 2, "gaussian" is
        exp(-|x - y|^2 / (2 s^2)) with s^2 the mean squared distance.
    sample : estimate dendrogram purity from this many pairs; None: exact.
    seed : seeds all draws. The same call gives the same result.
    measured : the metrics that the tree's method reported (`Fitted.metrics`).
    fitted : the tree over the points of its fit, if `tree` is the same one over other rows.
    progress : called before each metric; raises Cancelled when the job was cancelled.

    Raises
    ------
    UsageError : `unknown-metric`; `wrong-input` where a metric's input is missing or unusable;
        `wrong-length` for an input that does not fit the points; `not-finite`; `wrong-cut`.
    """
    subject = Subject(
        tree,
        labels,
        features,
        distances,
        similarity,
        hierarchy,
        cut,
        kernel,
        sample,
        seed,
        measured or {},
        fitted,
    )
    chosen = _choose(metrics, subject)
    if subject.cut_given:
        subject.cut  # noqa: B018 a wrong cut is refused whether or not it is used
    evaluation = Evaluation()
    for number, metric in enumerate(chosen):
        progress(number / len(chosen), metric.id)
        _add(evaluation, metric, metric.compute(subject))
    if evaluation.metrics.get("lhd") is not None:
        evaluation.lhd_leaves = subject.cluster_tree.n_leaves
    evaluation.cut = subject.cut_used()
    if evaluation.cut and subject.cut.warning:
        evaluation.warnings.append(subject.cut.warning)
    evaluation.warnings += subject.noise_warnings()
    return evaluation


def _choose(names: Sequence[str] | None, subject: Subject) -> list[Metric]:
    if names is None:
        chosen = [metric for metric in METRICS.values() if metric.applies(subject)]
        if not subject.given:
            raise UsageError(
                "Nothing to evaluate the tree against; give labels, features, distances, "
                "similarity or a hierarchy.",
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
        if not METRICS[name].applies(subject):
            raise _lacking(METRICS[name], subject)
    return [METRICS[name] for name in dict.fromkeys(names)]


def _lacking(metric: Metric, subject: Subject) -> UsageError:
    """The message for a requested metric that does not apply."""
    if metric.id in LIKELIHOODS:
        return UsageError(
            f"Metric {metric.id!r} needs rows in `inputs` with labels, of the fit or new ones, "
            "and a tree by a mixture that judges labels, 'gmm' or 'vmf'.",
            code="wrong-input",
            metric=metric.id,
        )
    if metric.needs == ("measured",):
        own = ", ".join(subject.measured) or "nothing"
        return UsageError(
            f"Metric {metric.id!r} is what some methods measure as they fit; this tree's method "
            f"measured {own}.",
            code="wrong-input",
            metric=metric.id,
        )
    if subject.given & set(metric.needs):
        return UsageError(
            f"Metric {metric.id!r} looks at clusters, and the leaves of this tree are single "
            "points: give a cut, or labels, of which the clusters are as many as the classes.",
            code="wrong-cut",
            metric=metric.id,
            parameter="cut",
        )
    return UsageError(
        f"Metric {metric.id!r} needs {' or '.join(metric.needs)}.",
        code="wrong-input",
        metric=metric.id,
        role=metric.needs[0],
    )


def _add(evaluation: Evaluation, metric: Metric, estimate: Estimate) -> None:
    value, error = estimate.value, estimate.standard_error
    evaluation.warnings += [text for text in estimate.warnings if text not in evaluation.warnings]
    if value is not None and not math.isfinite(value):
        value = error = None
        evaluation.warnings.append(
            f"{metric.id} is undefined: its sums are too large for a number."
        )
    evaluation.metrics[metric.id] = value
    if error is not None:
        evaluation.standard_errors[metric.id] = error


METRICS: dict[str, Metric] = {
    entry.id: entry for entry in vars(entries).values() if isinstance(entry, Metric)
}
"""All metrics by id, in the order of display: by position in `entries`."""
