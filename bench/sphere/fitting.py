"""The compared models, and a fit of one."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from models.arrays import Matrix
from models.inputs.data import Data
from models.method import Fitted
from models.registry import method

MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "B-vMFmix": ("bvmf", {}),
    "B-vMFmix, bounding": ("bvmf", {"inference": "variational-bounding"}),
    "B-vMFmix, one kappa": ("bvmf", {"kappa": "shared"}),
    "vMFmix": ("vmf", {}),
    "vMFmix, own kappa": ("vmf", {"kappa": "own"}),
    "spherical k-means": ("vmf", {"assignment": "hard"}),
    "k-means": ("kmeans", {"n_init": 5}),
    "GM": ("gmm", {"covariance": "spherical", "n_init": 3}),
    "MM": ("multinomial", {"n_init": 5}),
    "LDA": ("lda", {}),
    "H-vMFmix": ("hvmf", {}),
    "T-vMFmix": ("tvmf", {}),
}
"""Method and parameters by the thesis's name."""


def fitted(
    model: str, features: Matrix, seed: int, inputs: dict[str, Any] | None = None, **params: Any
) -> tuple[Fitted, float]:
    """A fit and its CPU seconds. inputs : additional inputs besides the features."""
    name, own = MODELS[model]
    used = method(name)
    if model == "GM" and isinstance(features, sp.csr_array):
        features = features.toarray()
    complete = used.Params.model_validate({**own, "seed": seed, **params})
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = used.fit(Data({"features": features, **(inputs or {})}), complete)
    return fit, time.process_time() - began


def shown(values: Sequence[float]) -> str:
    """Mean and standard deviation as text."""
    return f"{np.mean(values):.4g} +-{np.std(values, ddof=min(1, len(values) - 1)):.2g}"
