"""Likelihood of rows held out: figures 5.1 and 5.2 and table 5.5 of the thesis.

Half of the rows are held out, the same for every model of one seed.
"""

from __future__ import annotations

from typing import Any

from bench import Size
from bench.report import Report
from bench.sphere.fitting import fitted, shown
from bench.sphere.orders import Scores
from bench.sphere.sets import LabelledSet

COUNTS: dict[Size, tuple[int, ...]] = {
    "quick": (10,),
    "default": (10, 20, 30),
    "full": (10, 15, 20, 25, 30),
}
HIERARCHIES: dict[Size, tuple[tuple[int, int], ...]] = {
    "quick": ((3, 3),),
    "default": ((3, 3), (2, 10), (3, 5)),
    "full": ((3, 3), (3, 4), (4, 3), (2, 10), (3, 5)),
}
"""Height and branching, as in the thesis."""

FLAT = (
    *("B-vMFmix", "B-vMFmix, one kappa", "B-vMFmix, bounding"),
    *("vMFmix", "vMFmix, own kappa"),
)
_BESIDE = ("B-vMFmix", "vMFmix")
"""Flat models, with as many clusters as a hierarchy has leaves."""


def table(report: Report, scores: Scores, labelled: LabelledSet, size: Size, seeds: int) -> None:
    """Mean log-likelihood of a row, for some numbers of clusters and some hierarchies."""
    for n_clusters in COUNTS[size]:
        for model in FLAT:
            _held_out(report, scores, labelled, model, n_clusters, seeds)
    for height, branching in HIERARCHIES[size]:
        shape = {"height": height, "branching": branching}
        n_leaves = branching**height
        if n_leaves > len(labelled.labels) // 4:
            # Fewer than two fitted rows for each cluster.
            continue
        _held_out(report, scores, labelled, "H-vMFmix", n_leaves, seeds, shape)
        for model in _BESIDE:
            _held_out(report, scores, labelled, model, n_leaves, seeds)


def _held_out(
    report: Report,
    scores: Scores,
    labelled: LabelledSet,
    model: str,
    n_clusters: int,
    seeds: int,
    shape: dict[str, int] | None = None,
) -> None:
    options: dict[str, Any] = {"n_clusters": n_clusters} if shape is None else shape
    runs = [
        fitted(model, labelled.features, seed, held_out=0.5, **options) for seed in range(seeds)
    ]
    values = [fit.metrics["held_out_log_likelihood"] for fit, _ in runs]
    scores.add(labelled.name, "log-likelihood", model, values, n_clusters)
    of = "" if shape is None else f", {options['height']} high, {options['branching']} wide"
    report.row(
        "sphere",
        what=f"{labelled.name}, held out: {model}{of}",
        clusters=n_clusters,
        seeds=seeds,
        log_likelihood=shown(values),
        cpu_s=shown([seconds for _, seconds in runs]),
    )
