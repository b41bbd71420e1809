"""A slow count: a method that resumes from the checkpoint of a lost attempt."""

from __future__ import annotations

import time
from typing import Any, ClassVar

import numpy as np

from models.inputs.data import Data
from models.method import Fitted, Input, Method, Paper, Run
from models.parameters import Params
from models.tree.build import from_partition


class SlowCountParams(Params):
    n_steps: int = 10
    nap_s: float = 0.0


class SlowCount(Method[SlowCountParams]):
    """Sleeps `nap_s` at each of `n_steps` and saves a checkpoint after each."""

    id: ClassVar = "slow-count"
    title: ClassVar = "Slow count"
    family: ClassVar = "tests"
    paper: ClassVar = Paper("None", 2025)
    Params: ClassVar = SlowCountParams
    inputs: ClassVar = {"features": Input()}
    resumes: ClassVar = True

    def _fit(self, data: Data, params: SlowCountParams, run: Run) -> Fitted:
        checkpoint: Any = run.checkpoint.load()
        begun = 0 if checkpoint is None else int(checkpoint["step"])
        for step in range(begun, params.n_steps):
            run.progress(step / params.n_steps, "counting", str(step))
            time.sleep(params.nap_s)
            run.checkpoint.save({"step": np.array(step + 1)})
        tree = from_partition(np.zeros(len(data.dense("features")), np.int32), 1)
        return Fitted(tree=tree, metrics={"begun": float(begun)})
