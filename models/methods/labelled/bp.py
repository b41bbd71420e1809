"""A Bayesian mixture whose known and new clusters have one covariance, which known rows show.

The mean of a cluster is N(theta_0, sigma_0^2 I), a row of it N(mean, Sigma), and all clusters have
the same weight. Means and Sigma are the mode of the posterior, by EM in which labelled rows stay in
their clusters: the likeliest of `n_init` runs, which start from k-means++ seeds under the
covariance of the labelled rows. The transformation is Sigma^(-1/2), under which each cluster
spreads by 1 in each direction.

theta_0 is the mean of all rows and sigma_0^2 the mean square of a known cluster's mean from there,
in a column; neither is learned further, since means that meet would make the posterior infinite.
Sigma has the prior of an inverse Wishart: it is drawn to s I, s being the mean variance of a column
within the known clusters, as if by `shrinkage` more rows for each column.

Source: Gopal, "Large-scale Structured Learning" (2014), §6.6.1 (BP), with Sigma's prior, for which
the source says nothing; Basu, Banerjee and Mooney, "Semi-supervised Clustering by Seeding" (2002),
for rows that stay. Rows are put on one scale first. Cost: O(N D^2), then O(N K D + D^3) for each of
tens of iterations of `n_init` runs. Memory: two copies of the rows in double precision, O(N K +
D^2).

Measured: CPU time as N^1.8 D^0.7 K^1.4, from 4,000 x 16 and 8 classes to four times each,
iterations bounded (`python -m bench costs`).
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from models.inputs.checks import require_distinct
from models.method import Paper, Run
from models.methods.labelled.discovery.bayes import PriorFit, Sample, climb
from models.methods.labelled.discovery.finding import (
    MAX_ITER,
    TOL,
    Discovery,
    assigned,
    distant,
    unconverged,
)
from models.methods.labelled.discovery.mixture import Mixture
from models.methods.labelled.supervision.inputs import DiscoveryParams
from models.methods.labelled.supervision.method import LabelledMethod, Learned, Prepared
from models.methods.labelled.supervision.transformation import factor
from models.running.budget import Cost
from models.running.progress import Progress


class BPParams(DiscoveryParams):
    clusterer: Literal["gmm"] = Field(
        "gmm", description="The mixture is one of Gaussians, whose covariance is learned with it."
    )
    shrinkage: float = Field(
        1.0,
        gt=0,
        le=1e6,
        description="Weight of the prior by which the common covariance is drawn to a multiple of "
        "the identity, in rows for each column.",
    )


class BP(LabelledMethod[BPParams]):
    """See the module's docstring."""

    title = "A mixture with one covariance and priors"
    paper = Paper("Large-scale Structured Learning", 2014, "section 6.6.1")
    Params = BPParams
    cost = Cost(3e-5, times=("n_init",), start=0.2)
    example = {"n_clusters": 2, "n_init": 2}

    def _learn(self, prepared: Prepared, params: BPParams, run: Run, progress: Progress) -> Learned:
        """What known rows alone show: runs are seeded under it."""
        known = prepared.known
        sample = _sample(prepared)
        _, covariance = sample.empirical(params.shrinkage, known.within)
        return Learned(factor(np.asarray(np.linalg.inv(covariance), dtype=np.float64)))

    def _clustered(
        self,
        prepared: Prepared,
        learned: Learned,
        n_new: int,
        params: BPParams,
        run: Run,
        progress: Progress,
    ) -> tuple[Learned, Discovery]:
        labels, free = prepared.labels, prepared.free
        require_distinct(free, n_new)
        sample = _sample(prepared)
        prior, covariance = sample.empirical(params.shrinkage, prepared.known.within)
        known = sample.sums / sample.size[:, None]
        folded = sample.free @ learned.matrix.T
        centers = (known if params.may_join else known[:0]) @ learned.matrix.T
        fits: list[PriorFit] = []
        for number in range(params.n_init):
            progress(number / params.n_init, "finding clusters", f"run {number + 1}")
            seeds, _ = distant(folded, centers, n_new, run.rng)
            fits.append(
                climb(
                    sample,
                    np.concatenate([known, sample.free[seeds]]),
                    covariance,
                    prior,
                    first=0 if params.may_join else labels.n_clusters,
                    max_iter=MAX_ITER,
                    tol=TOL,
                )
            )
        best = max(fits, key=lambda fit: fit.log_posteriors[-1])
        matrix = factor(best.precision)
        n_clusters, n_columns = best.means.shape
        mixture, logits = assigned(
            prepared.points.astype(np.float64) @ matrix.T,
            labels.code,
            Mixture("gmm", best.means @ matrix.T, np.full(n_clusters, 1.0 / n_clusters), 1.0),
            labels.n_clusters,
            params.may_join,
        )
        n_parameters = n_clusters * n_columns + n_columns * (n_columns + 1) / 2
        discovery = Discovery(
            mixture,
            logits,
            best.log_likelihood,
            np.array([fit.log_likelihood for fit in fits]),
            float(n_parameters * np.log(sample.n_rows) - 2.0 * best.log_likelihood),
            () if best.converged else unconverged(),
        )
        return (
            Learned(
                matrix,
                metrics={
                    "log_posterior": best.log_posteriors[-1],
                    "n_iter": float(len(best.log_posteriors) - 1),
                },
                curves={"log_posterior": list(enumerate(best.log_posteriors))},
            ),
            discovery,
        )


def _sample(prepared: Prepared) -> Sample:
    labels = prepared.labels
    return Sample.of(prepared.points.astype(np.float64), labels.code, labels.n_clusters)
