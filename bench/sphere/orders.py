"""Tests of the thesis's orders of models, by differences between runs with the same seed.

Runs with the same seed share their split of the rows, so their difference varies less than the
runs do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from bench.report import Report
from bench.sphere.fitting import shown

_SURE = 0.95


@dataclass(frozen=True, slots=True)
class Order:
    """The claim that `better` scores above `worse`. source : its place in the thesis."""

    source: str
    measures: tuple[str, ...]
    better: str
    worse: str


_RECOVERY, _LIKELIHOOD, _DETECTION = ("nmi", "ari"), ("log-likelihood",), ("accuracy", "auc")

ORDERS = (
    Order("table 5.2", _RECOVERY, "B-vMFmix", "vMFmix"),
    *(Order("table 5.2", _RECOVERY, "vMFmix", worse) for worse in ("k-means", "GM", "MM", "LDA")),
    *(Order("table 5.2", _RECOVERY, "k-means", worse) for worse in ("MM", "LDA")),
    *(Order("table 5.2", _RECOVERY, "GM", worse) for worse in ("MM", "LDA")),
    Order("section 5.3", (*_RECOVERY, *_LIKELIHOOD), "B-vMFmix", "vMFmix, own kappa"),
    Order("section 5.6.3", _RECOVERY, "vMFmix", "vMFmix, own kappa"),
    *(Order("table 5.3", _RECOVERY, model, f"{model} by tf") for model in ("vMFmix", "k-means")),
    Order("figures 5.1, 5.3", _LIKELIHOOD, "B-vMFmix", "vMFmix"),
    *(Order("figure 5.2", _LIKELIHOOD, "H-vMFmix", worse) for worse in ("B-vMFmix", "vMFmix")),
    *(Order("figure 5.3", _LIKELIHOOD, "T-vMFmix", worse) for worse in ("B-vMFmix", "vMFmix")),
    Order("table 5.4", _DETECTION, "B-vMFmix", "vMFmix"),
    *(
        Order("one kappa", (*_RECOVERY, *_LIKELIHOOD, *_DETECTION), "B-vMFmix, one kappa", worse)
        for worse in ("B-vMFmix", "vMFmix")
    ),
    Order("table 5.5", _LIKELIHOOD, "B-vMFmix", "B-vMFmix, bounding"),
)


@dataclass
class Scores:
    """The scores of runs, ordered by seed, for each set, measure, number of clusters and model."""

    _values: dict[tuple[str, str, int], dict[str, list[float]]] = field(default_factory=dict)

    def add(
        self, of: str, measure: str, model: str, values: Sequence[float], n_clusters: int
    ) -> None:
        self._values.setdefault((of, measure, n_clusters), {})[model] = list(values)

    def table(self, report: Report) -> None:
        """A row for each order and setting; then the numbers of settings in which it holds."""
        verdicts: dict[tuple[Order, str], list[str]] = {}
        for order in ORDERS:
            for (of, measure, n_clusters), runs in self._values.items():
                if measure not in order.measures or not {order.better, order.worse} <= set(runs):
                    continue
                apart = np.subtract(runs[order.better], runs[order.worse])
                holds = verdict(apart.tolist())
                verdicts.setdefault((order, measure), []).append(holds)
                report.row(
                    "sphere",
                    what=f"{of}: {order.better} over {order.worse}",
                    source=order.source,
                    clusters=n_clusters,
                    measure=measure,
                    difference=shown(apart.tolist()),
                    above=f"{int((apart > 0).sum())} of {len(apart)}",
                    holds=holds,
                )
        for (order, measure), several in verdicts.items():
            report.row(
                "sphere",
                what=f"{order.better} over {order.worse}",
                source=order.source,
                measure=measure,
                **{answer: several.count(answer) for answer in ("yes", "open", "no")},
            )


def verdict(apart: Sequence[float]) -> Literal["yes", "no", "open"]:
    """Whether the mean difference is above 0 or below 0; "open" if its 95% interval contains 0."""
    from scipy.stats import t

    mean, n = float(np.mean(apart)), len(apart)
    if n < 2:
        return "open"
    half = float(t.ppf((1 + _SURE) / 2, n - 1)) * float(np.std(apart, ddof=1)) / np.sqrt(n)
    return "yes" if mean > half else "no" if mean < -half else "open"
