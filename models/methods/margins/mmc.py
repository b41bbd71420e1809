"""Maximum-margin clustering (MMC): a partition into clusters of bounded size with large margins.

All points are split into `n_clusters` as a node of `hmmc` is split: weights and clusters
alternately lower alpha times the regularizer plus the mean squared hinge (`splitting.objective`,
`.alternating`), from several starts. Clusters are ordered by size, largest first, ties by their
weights. The `margin` of a point is its score in its own cluster minus the best score in another; it
is below 0 where the bounds on sizes kept the point from that other cluster.

Features whose size is far from 1 (the root mean square, with an intercept of what they differ from
their means) are divided by a power of 2 near it, with a warning: neither the weight of alpha nor
tolerances depend on the unit of the features.

The logits are log softmax(-(cost + price) / K), see `splitting.placing`; new points go to the
cluster with the largest logit.

Source: Xu, Neufeld, Larson and Schuurmans, "Maximum Margin Clustering" (2004), for several clusters
and with bounds on their sizes as in Zhou, Lan, Vahdat and Mori, "Latent Maximum Margin Clustering"
(2013), squared hinge as in Zhou et al., "Hierarchical Maximum-Margin Clustering" (2015), eq. 5,
without the exclusive term, since the root has no ancestors.

Cost: O(N K (P + K)) for each of the tens to hundreds of steps, O(N K log N) and more for a flow
(`models.numerics.transport`). Memory: two copies of the features in double precision and 24 N K
bytes.

Measured: CPU time as N^1.3 D^0.5 K^1.2, from 1,000 x 32 and 4 clusters to four times each,
iterations bounded (`python -m bench costs`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
from pydantic import Field

from models.arrays import Float, Int
from models.clusters.counts import term_names
from models.clusters.placing import by_size, placed, reorder
from models.inputs.checks import require_width
from models.inputs.data import Data, require_finite
from models.method import Fitted, Input, Method, Model, Paper, Predictions, Run, Shapes
from models.methods.margins.splitting.inputs import (
    MarginParams,
    bytes_to_split,
    check_points,
    in_units,
    parted_warnings,
    refuse_weightless,
    require_moderate,
    round_warnings,
    single_threaded_and_quiet,
    size_of,
    size_of_fit,
    size_warnings,
)
from models.methods.margins.splitting.objective import Ancestors, Regularizer
from models.methods.margins.splitting.placing import PlacementRule
from models.methods.margins.splitting.result import metrics, node_features
from models.methods.margins.splitting.split import MarginSplit, NodeToSplit, split_all
from models.running.progress import subprogress
from models.tree.build import from_partition
from models.tree.tree import Tree


class MMCParams(MarginParams):
    n_clusters: int = Field(8, ge=2, le=256, description="Number of clusters.")
    regularizer: Literal["l2", "l1", "group"] = Field(
        "l2",
        description=(
            "The term weighted by alpha: the squared 'l2' or the 'l1' norm of the weights, or "
            "their 'group' sparsity, which selects features for all clusters."
        ),
    )


class MMC(Method[MMCParams]):
    """See the module's docstring."""

    title = "Maximum-margin clustering"
    paper = Paper("Maximum Margin Clustering", 2004, "NIPS")
    Params = MMCParams
    inputs = {
        "features": Input(description="One row per point."),
        "feature_names": Input(
            required=False, description="One name per column; clusters are explained by them."
        ),
        "names": Input(
            required=False, description="One name per cluster, from the largest to the smallest."
        ),
    }
    outputs = ("tree", "model", "logits")
    placing = "the cluster with its largest logit"
    advice = "Use fewer clusters; the methods 'hmmc' and 'kmeans' need less memory."
    example = {"n_clusters": 3, "alpha": 0.1}

    def _memory(self, shapes: Shapes, params: MMCParams) -> int:
        return bytes_to_split(shapes, params.n_clusters)

    def _check(self, data: Data, params: MMCParams) -> None:
        regularizer_of(params).require_some()
        data.leaf_names(params.n_clusters, "cluster")
        check_points(data, params.n_clusters, "n_clusters")

    def _fit(self, data: Data, params: MMCParams, run: Run) -> Fitted:
        given = data.dense("features")
        size = size_of(given, params.intercept)
        features = in_units(given, size)
        within = subprogress(run.progress, 0.05, 0.9)
        within(0.0, "splitting")
        root = Ancestors.root(features.shape[1])
        node = NodeToSplit(features, root, (int(run.rng.integers(2**63)),))
        with single_threaded_and_quiet():
            (split,) = split_all(
                [node],
                params.terms(params.n_clusters, regularizer_of(params)),
                params.search,
                run.threads,
                lambda: within(0.0, "splitting"),
            )
        run.progress(0.9, "assigning points")
        if not isinstance(split, MarginSplit):
            refuse_weightless(params.alpha)
        order = by_size(np.bincount(split.cluster, minlength=params.n_clusters), split.weights)
        cluster = reorder(split.cluster, order)
        split = replace(
            split,
            weights=split.weights[order],
            intercept=split.intercept[order],
            price=split.price[order],
        )
        rule = PlacementRule(split.weights, split.intercept, split.price)
        names = data.leaf_names(params.n_clusters, "cluster")
        terms = term_names(data, features.shape[1])
        extra = node_features(split, regularizer_of(params), root, terms)
        return Fitted(
            tree=from_partition(cluster, params.n_clusters, names=names, extra=extra),
            model=Model(
                {
                    "weights": rule.weights,
                    "intercept": rule.intercept,
                    "price": rule.price,
                    "size": np.array([size]),
                }
            ),
            logits=rule.place(features)[1],
            metrics=metrics([split]),
            point_columns={"margin": split.margin},
            warnings=(
                *size_warnings(size),
                *parted_warnings(features, cluster),
                *round_warnings(int(not split.ended), params.max_iter),
            ),
        )

    def _predict(self, model: Model, tree: Tree, data: Data) -> Predictions:
        """Leaf of the largest logit, its probability, and the `margin` of each row."""
        cluster, logits, margin = self._placed(model, data)
        return replace(placed(tree, cluster, logits), columns={"margin": margin})

    def _logits(self, model: Model, data: Data) -> Float:
        return self._placed(model, data)[1]

    def _placed(self, model: Model, data: Data) -> tuple[Int, Float, Float]:
        features = data.dense("features")
        require_width(features, model.arrays["weights"].shape[1])
        require_finite(features, "features")
        require_moderate(features)
        rule = PlacementRule(*(model.arrays[name] for name in ("weights", "intercept", "price")))
        return rule.place(in_units(features, size_of_fit(model)))


def regularizer_of(params: MMCParams) -> Regularizer:
    return Regularizer(params.regularizer, params.alpha, 0.0)
