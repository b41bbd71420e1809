"""The catalogue's metrics that a method measures itself during a fit.

They are on points or in spaces that only the method knows.
"""

from __future__ import annotations

from models.metrics.estimate import Estimate
from models.metrics.evaluation import Subject
from models.metrics.metric import metric


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
