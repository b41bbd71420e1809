"""Median split: points cut in two at the median of a feature.

Points whose value is at most the median make the one cluster, the others the second; the larger one
comes first. Cost: O(N) time and memory.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from umbel.plugins import (
    Data,
    Fitted,
    Input,
    Method,
    Model,
    Paper,
    Params,
    Predictions,
    Run,
    Shapes,
    Tree,
    UsageError,
    from_partition,
    placed,
    require_finite,
    require_points,
    require_width,
)


class MedianSplitParams(Params):
    feature: int = Field(0, ge=0, le=1_000_000, description="The column that is cut.")


class MedianSplit(Method[MedianSplitParams]):
    id = "median-split"
    family = "toys"
    title = "Median split"
    paper = Paper("Statistical Methods for Research Workers", 1925)
    Params = MedianSplitParams
    inputs = {"features": Input(description="One row per point.")}
    outputs = ("tree", "model")
    placing = "the side of the median on which it is"

    def _memory(self, shapes: Shapes, params: MedianSplitParams) -> int:
        return 24 * shapes["features"][0] if "features" in shapes else 0

    def _check(self, data: Data, params: MedianSplitParams) -> None:
        features = require_points(data)
        require_finite(features, "features")
        if params.feature >= features.shape[1]:
            raise UsageError(
                f"There is no column {params.feature}; the features have {features.shape[1]}, "
                "counted from 0.",
                code="unusable-input",
                parameter="feature",
            )

    def _fit(self, data: Data, params: MedianSplitParams, run: Run) -> Fitted:
        values = data.dense("features")[:, params.feature].astype(float)
        run.progress(0.1, "cutting")
        median = float(np.median(values))
        above = values > median
        first = bool(above.sum() > len(values) / 2)
        facts = {
            "feature": params.feature,
            "median": median,
            "above_first": first,
            "n_features": int(data.dense("features").shape[1]),
        }
        tree = from_partition((above != first).astype(np.int32), 2)
        return Fitted(tree=tree, model=Model(facts=facts), metrics={"median": median})

    def _predict(self, model: Model, tree: Tree, data: Data) -> Predictions:
        facts = model.facts
        features = data.dense("features")
        require_width(features, facts["n_features"])
        require_finite(features, "features")
        above = features[:, facts["feature"]] > facts["median"]
        side = (above != facts["above_first"]).astype(np.int32)
        logits = np.where(np.arange(2) == side[:, None], 0.0, -np.inf)
        return placed(tree, side, logits)
