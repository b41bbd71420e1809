"""Unfinished: lists a model without a way to predict."""

from __future__ import annotations

from toy_methods.median_split import MedianSplitParams
from umbel.plugins import Data, Fitted, Input, Method, Paper, Run


class Unfinished(Method[MedianSplitParams]):
    id = "unfinished"
    family = "toys"
    title = "Unfinished"
    paper = Paper("None", 2025)
    Params = MedianSplitParams
    inputs = {"features": Input(description="One row per point.")}
    outputs = ("tree", "model")
    placing = "nowhere"

    def _fit(self, data: Data, params: MedianSplitParams, run: Run) -> Fitted:
        raise NotImplementedError
