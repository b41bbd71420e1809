"""A classifier trained on a set: its F1 on the test rows, also on resampled ones, and its time."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from threadpoolctl import threadpool_limits

from bench.classifiers.sets import Labelled
from models.arrays import Float, Int
from models.inputs.data import Data
from models.inputs.label_sets import LabelSets
from models.method import PredictionOptions, Predictions
from models.metrics.classification.evaluation import INTERVAL, resampled
from models.metrics.classification.outcomes import outcomes, true_labels
from models.metrics.classification.scores import METRICS, MetricId, statistics
from models.registry import method

MEASURES: tuple[MetricId, ...] = ("macro_f1", "micro_f1")
RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class Published:
    """The thesis's figures for CLEF. tables : where they stand. macro_f1, micro_f1 : in percent."""

    tables: str = ""
    macro_f1: float | None = None
    micro_f1: float | None = None
    minutes: float | None = None

    def over(self, other: Published, measure: MetricId) -> float | None:
        """The difference of a measure, if both have it."""
        own, others = getattr(self, measure), getattr(other, measure)
        return None if own is None or others is None else own - others


@dataclass(frozen=True, slots=True)
class Entry:
    """A method with parameters. with_hierarchy : whether it gets the hierarchy."""

    name: str
    method_id: str
    published: Published = Published()
    params: Mapping[str, Any] = field(default_factory=dict)
    with_hierarchy: bool = True


@dataclass(frozen=True, slots=True)
class Scored:
    """A trained classifier's scores, in percent.

    values : by measure. resamples : (RESAMPLES,) by measure, of the same resamples of test rows for
        every classifier. cpu_s : of the training, on one thread.
    """

    entry: Entry
    values: dict[str, float]
    resamples: dict[str, Float]
    cpu_s: float
    warnings: tuple[str, ...]

    def interval(self, measure: str) -> str:
        return interval(self.resamples[measure])


def interval(values: Float, decimals: int = 1) -> str:
    """The 95% interval of resampled values."""
    low, high = np.percentile(values, INTERVAL)
    return f"{low:.{decimals}f} to {high:.{decimals}f}"


def verdict(differences: Float) -> Literal["yes", "no", "open"]:
    """Whether a difference is above or below 0; "open" if its 95% interval contains 0."""
    low, high = np.percentile(differences, INTERVAL)
    return "yes" if low > 0 else "no" if high < 0 else "open"


def scored(labelled: Labelled, entry: Entry, resamples: int = RESAMPLES) -> Scored:
    """Train and measure. resamples : number of bootstrap samples; 0: none."""
    used = method(entry.method_id)
    data, params = labelled.data(entry.with_hierarchy), used.Params(**entry.params)
    with threadpool_limits(1):
        began = time.process_time()
        fitted = used.fit(data, params)
        cpu_s = time.process_time() - began
        model, features = fitted.model, labelled.test.features
        assert model is not None

        def predict(rows: Int, options: PredictionOptions) -> Predictions:
            return used.predict(model, fitted.tree, Data({"features": features[rows]}), options)

        class_node = np.asarray(model.arrays["node"])
        truth = true_labels(LabelSets.of(labelled.test.labels), fitted.tree, class_node)
        totals = statistics(outcomes(truth, class_node.size, predict))
        sums = totals.sums(np.ones((labelled.test.labels.size, 1)))
        values = {name: 100.0 * float(METRICS[name].compute(sums)[0]) for name in MEASURES}
        drawn: dict[str, Float] = {}
        if resamples:
            # The same seed for all: differences between classifiers are paired.
            several = resampled(totals, MEASURES, resamples, 0)
            drawn = {name: 100.0 * values for name, values in several.items()}
    return Scored(entry, values, drawn, cpu_s, fitted.warnings)
