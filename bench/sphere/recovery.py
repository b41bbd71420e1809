"""Recovery of classes, with as many clusters and with 20: tables 5.2 and 5.3 of the thesis."""

from __future__ import annotations

from bench import Size
from bench.report import Report
from bench.sphere.fitting import fitted, shown
from bench.sphere.orders import Scores
from bench.sphere.sets import LabelledSet
from models.arrays import Int, Matrix
from models.method import Fitted

N_CLUSTERS = 20
"""As in the thesis."""

OF_ROWS = (
    *("B-vMFmix", "B-vMFmix, one kappa", "vMFmix", "vMFmix, own kappa"),
    *("spherical k-means", "k-means", "GM"),
)
OF_COUNTS = ("MM", "LDA")
OF_TF = ("vMFmix", "k-means")


def table(report: Report, scores: Scores, labelled: LabelledSet, size: Size, seeds: int) -> None:
    """NMI and ARI of every model; counts for the models of counts."""
    at = {N_CLUSTERS} if size == "quick" else {labelled.n_classes, N_CLUSTERS}
    for n_clusters in sorted(at):
        for model in OF_ROWS:
            if model == "GM" and labelled.counts is not None and size != "full":
                # It needs a dense array and takes ten times as long as any other model.
                continue
            _recovered(report, scores, labelled, labelled.features, model, model, n_clusters, seeds)
        if labelled.counts is not None:
            for model in OF_COUNTS:
                _recovered(
                    report, scores, labelled, labelled.counts, model, model, n_clusters, seeds
                )
        if labelled.tf is not None:
            for model in OF_TF:
                called = f"{model} by tf"
                _recovered(report, scores, labelled, labelled.tf, model, called, n_clusters, seeds)


def _recovered(
    report: Report,
    scores: Scores,
    labelled: LabelledSet,
    features: Matrix,
    model: str,
    called: str,
    n_clusters: int,
    seeds: int,
) -> None:
    runs = [fitted(model, features, seed, n_clusters=n_clusters) for seed in range(seeds)]
    nmi, ari = zip(*(_agreement(labelled.labels, fit) for fit, _ in runs), strict=True)
    for measure, values in (("nmi", nmi), ("ari", ari)):
        scores.add(labelled.name, measure, called, values, n_clusters)
    report.row(
        "sphere",
        what=f"{labelled.name}: {called}",
        clusters=n_clusters,
        classes=labelled.n_classes,
        seeds=seeds,
        nmi=shown(nmi),
        ari=shown(ari),
        cpu_s=shown([seconds for _, seconds in runs]),
    )


def _agreement(labels: Int, fit: Fitted) -> tuple[float, float]:
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

    own = fit.tree.leaf_of_point
    return (
        float(normalized_mutual_info_score(labels, own)),
        float(adjusted_rand_score(labels, own)),
    )
