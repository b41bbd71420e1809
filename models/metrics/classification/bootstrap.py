"""Standard errors and intervals of metrics by resampling rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from models.arrays import Float
from models.metrics.classification.scores import METRICS, MetricId, Statistics
from models.running.progress import Progress, silent

VALUES = 1 << 22
"""Weights of rows that are held at a time (32 MiB)."""
INTERVAL = (2.5, 97.5)
"""Percentiles of the resampled values at the ends of a 95 % interval."""


def resampled(
    statistics: Statistics,
    metrics: Sequence[MetricId],
    times: int,
    rng: np.random.Generator,
    progress: Progress = silent,
) -> dict[MetricId, Float]:
    """(times,) values of each metric on as many rows drawn with replacement.

    Source: Efron and Tibshirani, "An Introduction to the Bootstrap" (1993), chapters 6 and 13.
    O(times (n_rows + n_classes)).
    """
    values: dict[MetricId, list[Float]] = {metric: [] for metric in metrics}
    n_rows = statistics.matrix.shape[1]
    done = 0
    for weights in _weights(n_rows, times, rng):
        progress(done / times, "resampling")
        done += weights.shape[1]
        sums = statistics.sums(weights)
        for metric in metrics:
            values[metric].append(METRICS[metric].compute(sums))
    return {metric: np.concatenate(parts) for metric, parts in values.items()}


def _weights(n_rows: int, times: int, rng: np.random.Generator) -> Iterator[Float]:
    """(n_rows, n) how often each row is drawn, for n resamples at a time."""
    at_once = max(1, VALUES // n_rows)
    for start in range(0, times, at_once):
        width = min(at_once, times - start)
        cell = rng.integers(n_rows, size=(n_rows, width), dtype=np.int64)
        cell *= width
        cell += np.arange(width)
        counts = np.bincount(cell.ravel(), minlength=n_rows * width)
        yield counts.reshape(n_rows, width).astype(np.float64)
