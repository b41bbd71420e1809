"""Each point's largest feature: a method whose pieces take a requested time."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from models.arrays import Arrays
from models.errors import UsageError
from models.inputs.data import Data
from models.method import Fitted, Input, Method, Paper, Run
from models.parameters import Params
from models.running.progress import Piece, Progress
from models.tree.build import from_partition


class RowArgmaxParams(Params):
    nap_s: float = 0.0
    refused_row: int = -1


class RowArgmax(Method[RowArgmaxParams]):
    """Sleeps `nap_s` for each piece and refuses one row."""

    id: ClassVar = "row-argmax"
    title: ClassVar = "Row argmax"
    family: ClassVar = "tests"
    paper: ClassVar = Paper("None", 2025)
    Params: ClassVar = RowArgmaxParams
    inputs: ClassVar = {"features": Input()}

    def _fit(self, data: Data, params: RowArgmaxParams, run: Run) -> Fitted:
        features = data.dense("features")
        label = np.empty(len(features), np.int32)
        bounds = np.linspace(0, len(features), run.crew.n_pieces + 1).astype(int).tolist()
        pieces = [{"start": start, "stop": stop} for start, stop in pairwise(bounds)]
        for done, (number, arrays) in enumerate(run.crew.compute(pieces), 1):
            label[bounds[number] : bounds[number + 1]] = arrays["label"]
            run.progress(done / len(pieces), "reading", f"{done} of {len(pieces)}")
        tree = from_partition(label, features.shape[1])
        return Fitted(tree=tree, metrics={"n_pieces": float(len(pieces))})

    def _piece(
        self, data: Data, params: RowArgmaxParams, piece: Piece, progress: Progress, threads: int
    ) -> Arrays:
        until = time.monotonic() + params.nap_s
        while time.monotonic() < until:
            progress(0.5, "napping")
            time.sleep(0.02)
        if piece["start"] <= params.refused_row < piece["stop"]:
            raise UsageError(f"Row {params.refused_row} is refused.", code="unusable-input")
        part: Any = data.dense("features")[piece["start"] : piece["stop"]]
        return {"label": part.argmax(axis=1).astype(np.int32)}
