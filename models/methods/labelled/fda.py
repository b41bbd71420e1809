"""Fisher discriminants: the directions in which known clusters differ most for their spread.

The rows e of the transformation are the generalized eigenvectors S_B e = l S_W e of the largest l,
with e' S_W e = 1: S_B has the squares of the known clusters' means about the mean of all known
rows, each as often as it has rows; S_W the squares of rows about their cluster's mean, plus `gamma`
times the identity. There are at most one fewer than known clusters. Where all of them are kept,
distances are as in `tcs-fs`, whatever the clusters' sizes.

New clusters are then found among the rows that are not labelled, by a mixture in the transformed
space.

Source: Fisher (1936); Gopal, "Large-scale Structured Learning" (2014), §6.6.1, eq. 6.4; the rank of
S_B is K - 1, not K as printed. Rows are put on one scale first, so that the mean variance of a
column is 1. Cost: O(N D^2 + D^3), then `n_init` runs of EM.

Measured: CPU time as N^0.7 D^0.1 K^0.6, from 4,000 x 16 and 8 classes to four times each,
iterations bounded (`python -m bench costs`).
"""

from __future__ import annotations

from pydantic import Field

from models.method import Paper, Run
from models.methods.labelled.metric.fisher import discriminants, of_means
from models.methods.labelled.supervision.inputs import DiscoveryParams
from models.methods.labelled.supervision.method import LabelledMethod, Learned, Prepared
from models.running.budget import Cost
from models.running.progress import Progress


class FDAParams(DiscoveryParams):
    gamma: float = Field(
        1.0, ge=0, le=1e12, description="Added to the variances within clusters, summed over rows."
    )


class FDA(LabelledMethod[FDAParams]):
    """See the module's docstring."""

    title = "Fisher discriminants and a mixture"
    paper = Paper("The Use of Multiple Measurements in Taxonomic Problems", 1936)
    Params = FDAParams
    cost = Cost(1e-5, times=("n_init",), start=0.1)
    example = {"n_clusters": 2, "n_init": 2}

    def _learn(
        self, prepared: Prepared, params: FDAParams, run: Run, progress: Progress
    ) -> Learned:
        known = prepared.known
        return discriminants(known, of_means(known), params.gamma)
