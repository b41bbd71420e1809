"""Short fits of `bvmf`, in each of its inferences."""

from __future__ import annotations

from typing import Any

import pytest

from models import registry
from models.inputs.data import Data
from models.method import Fitted
from models.methods.sphere.bvmf import BVMFParams

METHOD = registry.method("bvmf")
INFERENCES = ["variational-sampling", "variational-bounding", "gibbs"]
SHORT = {"burn_in": 40, "n_samples": 30, "n_init": 1, "max_iter": 60}

each_inference = pytest.mark.parametrize("inference", INFERENCES)


def fit(features: Any, **params: Any) -> Fitted:
    inputs = {"features": features}
    for role in ("names", "feature_names"):
        if role in params:
            inputs[role] = params.pop(role)
    return METHOD.fit(Data(inputs), BVMFParams(**{**SHORT, **params}))
