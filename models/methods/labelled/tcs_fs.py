"""Directions in which every two known clusters are apart: Fisher discriminants of pairs.

As `fda`, but S_B sums the squares of the differences of all pairs of known clusters' means, so that
large clusters count no more than small ones. Where all directions are kept, K - 1 for K known
clusters, distances are as in `fda`, whatever the clusters' sizes.

Source: Gopal, "Large-scale Structured Learning" (2014), §D.1 (TCS-FS). Rows are put on one scale
first. Cost: O(N D^2 + D^3), then `n_init` runs of EM.

Measured: CPU time as N^0.8 D^0.1 K^0.6, from 4,000 x 16 and 8 classes to four times each,
iterations bounded (`python -m bench costs`).
"""

from __future__ import annotations

from pydantic import Field

from models.method import Paper, Run
from models.methods.labelled.metric.fisher import discriminants, of_pairs
from models.methods.labelled.supervision.inputs import DiscoveryParams
from models.methods.labelled.supervision.method import LabelledMethod, Learned, Prepared
from models.running.budget import Cost
from models.running.progress import Progress


class TCSFSParams(DiscoveryParams):
    gamma: float = Field(
        1.0, ge=0, le=1e12, description="Added to the variances within clusters, summed over rows."
    )


class TCSFS(LabelledMethod[TCSFSParams]):
    """See the module's docstring."""

    title = "Discriminants of pairs of clusters and a mixture"
    paper = Paper("Large-scale Structured Learning", 2014, "appendix D")
    Params = TCSFSParams
    cost = Cost(1e-5, times=("n_init",), start=0.1)
    example = {"n_clusters": 2, "n_init": 2}

    def _learn(
        self, prepared: Prepared, params: TCSFSParams, run: Run, progress: Progress
    ) -> Learned:
        known = prepared.known
        return discriminants(known, of_pairs(known), params.gamma)
