"""Rows of one or several classes for one-versus-rest methods, and the literal objectives."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from models.inputs.data import Data
from models.inputs.label_sets import LabelSets
from models.method import Fitted
from models.registry import method


def rows(several: bool, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """(60, 3) features, and whether each row has each of three classes."""
    rng = np.random.default_rng(seed)
    has = np.eye(3, dtype=bool)[rng.permutation(np.arange(60) % 3)]
    features = 1.5 * has + rng.normal(size=(60, 3))
    if several:
        has ^= rng.random(has.shape) < 0.15
    features[rng.random(features.shape) < 0.2] = 0.0
    return features, has


def fit(name: str, features: np.ndarray, has: np.ndarray, sparse: bool, **params: object) -> Fitted:
    """The method's fit on these rows, with a constant feature."""
    start = np.concatenate([[0], np.cumsum(has.sum(axis=1))])
    labels = LabelSets(
        start, np.nonzero(has)[1], ["a", "b", "c"][: has.shape[1]], np.zeros(len(has), dtype=bool)
    )
    given = sp.csr_array(features) if sparse else features
    classifier = method(name)
    return classifier.fit(Data({"features": given, "labels": labels}), classifier.Params(**params))


def objective(
    weights: np.ndarray,
    features: np.ndarray,
    has: np.ndarray,
    C: float,
    loss: Callable[[float], float],
) -> float:
    """Half the squared weights plus C times the loss of y w.x, over all rows and classes."""
    total = 0.0
    for k, w in enumerate(weights):
        total += 0.5 * float(w @ w)
        for x, own in zip(features, has, strict=True):
            margin = float(w @ np.append(x, 1.0)) * (1.0 if own[k] else -1.0)
            total += C * loss(margin)
    return total
