"""The concentration C0 of the steps of moving clusters, estimated from the rows.

An EM step sets C0 so that a step of vMF(., C0) has the mean cosine E[mu_tk . mu_{t+1,k}]. Under q,
where periods are independent, this cosine is too small and C0 falls with every step where periods
have few rows; it would tend to 0. Here the cosine takes the correlation of neighbouring periods
from the joint posterior of a cluster's path, whose log density is near its mode

sum_t l_tk psi_tk . mu_tk + C0 sum_t mu_tk . mu_{t+1,k},

l_tk the pull of the rows and of the prior of the first mean, what gamma_tk has besides its
neighbours. In the tangent spaces this is a Gaussian chain with the precisions l_tk and C0 cos_t,
cos_t the cosine of psi_tk and psi_{t+1,k}. With S its covariance, a mean has the length a_t =
A_D(1 / S_tt), and

E[mu_t . mu_{t+1}] = a_t a_{t+1} cos_t + rho_t sqrt((1 - a_t^2)(1 - a_{t+1}^2)),

rho_t the correlation by S. For the Gaussian chain this is exact EM of a random walk's variance.

On walks drawn with known C0 (25 to 200 dimensions, 6 to 12 periods, 10 to 100 rows of a cluster in
a period, turns of 6 to 40 degrees) the estimate is within 4 % of the C0 that suits the true paths,
with 10 rows of a cluster in a period within 8 %; without the correlation it is 5 to 35 % below
where rows are few. Held-out rows are as likely as
with the true C0 (five walks, log-likelihoods of a row: 20.015, 61.645, 60.393, 61.599, 36.046; with
the true C0 20.010, 61.645, 60.394, 61.600, 36.046; by default 19.874, 61.557, 60.060, 60.941,
36.033).

Source: the thesis (section 5.5) has the user set C0; the step is that of its section 5.3.1.3 with
the correlation added. Cost: O(T K D).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from models.arrays import Float
from models.methods.sphere.mixture.runs import Climb
from models.methods.sphere.time.temporal import Temporal, TemporalPosterior
from models.numerics import sphere
from models.running.progress import Progress, subprogress

MOST_ROUNDS = 30
LEAST_CHANGE = 0.005
"""The rounds end when an EM step changes log C0 by at most this."""
MOST_RATIO = 0.9

LEAST_C0, MOST_C0 = 1e-3, 1e9


def with_estimated_steps(
    temporal: Temporal, run: Climb[TemporalPosterior], progress: Progress
) -> tuple[Climb[TemporalPosterior], bool]:
    """The run continued with C0 from its own paths, and whether C0 settled.

    Each round estimates C0 and climbs again from where the last one ended; its bound is another
    one, so the run's objective is that of the last round. With a single period nothing changes.
    """
    if len(run.estimate.psi) < 2:
        return run, True
    previous = 0.0
    for number in range(MOST_ROUNDS):
        within = subprogress(progress, number / MOST_ROUNDS, (number + 1) / MOST_ROUNDS)
        c0 = max(estimated_c0(run.estimate), LEAST_C0)
        step = math.log(c0 / max(run.estimate.c0, LEAST_C0))
        settled = abs(step) <= LEAST_CHANGE
        ratio = step / previous if previous else 0.0
        previous = step
        if ratio > 0.0 and not settled:
            # The steps of EM shrink like a geometric series, whose limit is taken.
            ratio, previous = min(ratio, MOST_RATIO), 0.0
            c0 = min(c0 * math.exp(step * ratio / (1.0 - ratio)), MOST_C0)
        start = Climb(replace(run.estimate, c0=c0))
        run = replace(temporal, c0=c0).climb(start, within, _unsaved)
        if settled:
            return run, True
    return run, False


def estimated_c0(posterior: TemporalPosterior) -> float:
    """C0 by one EM step, at most `MOST_C0`."""
    cosine = float(step_cosines(posterior).mean())
    c0 = float(sphere.concentration(posterior.n_features, min(max(cosine, 0.0), 1.0)))
    return min(c0, MOST_C0)


def step_cosines(posterior: TemporalPosterior) -> Float:
    """(T - 1, K) E[mu_tk . mu_{t+1,k}] under the joint posterior of each cluster's path."""
    psi, lengths = posterior.psi, posterior.lengths
    cosine = np.einsum("tkd,tkd->tk", psi[1:], psi[:-1])
    along = posterior.c0 * np.maximum(cosine, 0.0)
    pull = posterior.gamma.copy()
    pull[1:] -= along * lengths[:-1]
    pull[:-1] -= along * lengths[1:]
    variance, covariance = chain_covariance(
        np.maximum(pull, np.finfo(float).tiny), along * np.sqrt(lengths[1:] * lengths[:-1])
    )
    length = sphere.ratio(posterior.n_features, 1.0 / variance)
    correlation = covariance / np.sqrt(variance[1:] * variance[:-1])
    spread = np.sqrt(1.0 - np.square(length))
    return np.asarray(length[1:] * length[:-1] * cosine + correlation * spread[1:] * spread[:-1])


def chain_covariance(pull: Float, link: Float) -> tuple[Float, Float]:
    """Variances (T, K) and covariances of neighbours (T - 1, K) of K Gaussian chains.

    pull : (T, K) positive precision of each element by itself. link : (T - 1, K) precision of each
        difference of neighbours, at least 0.
    """
    # What pulls an element from its left, and from its right, itself included: links and elements
    # add up like springs, without differences of large numbers.
    left, right = pull.copy(), pull.copy()
    for t in range(1, len(pull)):
        left[t] += link[t - 1] * left[t - 1] / (left[t - 1] + link[t - 1])
    for t in range(len(pull) - 2, -1, -1):
        right[t] += link[t] * right[t + 1] / (right[t + 1] + link[t])
    variance = 1.0 / (left + right - pull)
    return variance, variance[:-1] * link / (right[1:] + link)


def _unsaved(_: Climb[TemporalPosterior]) -> None:
    """These rounds are short and start again from the end of the saved runs."""
