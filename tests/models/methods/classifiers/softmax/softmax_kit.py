"""Small problems, the literal objective and bounds, and the real sets with known optima."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np

from models.methods.classifiers.softmax.objective import SoftmaxObjective

CERTIFIED = {
    "ImCLEF07A": 3363.70499,
    "glass": 178.94536,
    "vehicle": 427.94450,
    "segment": 511.01830,
}
"""Minima of the objective with C = 1, features standardised, a constant column."""


def problem(
    seed: int = 0, n_rows: int = 40, n_columns: int = 4, n_classes: int = 3, C: float = 0.8
) -> SoftmaxObjective:
    """Overlapping classes, each with an example."""
    rng = np.random.default_rng(seed)
    code = rng.permutation(np.arange(n_rows) % n_classes)
    design = rng.normal(size=(n_rows, n_columns))
    design += rng.normal(size=(n_classes, n_columns))[code]
    design[:, -1] = 1.0
    return SoftmaxObjective(design, code, n_classes, C)


def literal_objective(objective: SoftmaxObjective, weights: np.ndarray) -> float:
    """OPT 1 times C, with lambda = 1 / C, as printed."""
    lam, total = 1.0 / objective.C, 0.0
    for w in weights:
        total += lam / 2 * sum(value**2 for value in w)
    for x, true in zip(objective.design, objective.code, strict=True):
        for k, w in enumerate(weights):
            total -= (k == true) * float(w @ x)
        total += math.log(sum(math.exp(float(w @ x)) for w in weights))
    return objective.C * total


def literal_bound(
    objective: SoftmaxObjective, name: str, weights: np.ndarray, shift: np.ndarray
) -> float:
    """The objective with the log partition function of each row replaced by its bound (OPT 2;
    eq. 4.1)."""
    lam, total = 1.0 / objective.C, 0.0
    for w in weights:
        total += lam / 2 * float(w @ w)
    for x, true, a in zip(objective.design, objective.code, shift, strict=True):
        total -= float(weights[true] @ x)
        if name == "log-concavity":
            total += sum(math.exp(float(w @ x) - a) for w in weights) + a - 1
        else:
            total += a + sum(math.log(1 + math.exp(float(w @ x) - a)) for w in weights)
    return objective.C * total


def real_rows(name: str, real_data: Callable[[str], Path]) -> tuple[np.ndarray, np.ndarray]:
    """Standardised features and labels of a set of `CERTIFIED`."""
    if name == "ImCLEF07A":
        text = real_data("ImCLEF07A_Train.arff").read_text()
        lines = text.partition("@DATA\n")[2].split()
        rows = [line.split(",") for line in lines]
        features = np.array([row[:-1] for row in rows], dtype=np.float64)
        labels = np.array([row[-1].rpartition("@")[2] for row in rows], dtype=object)
    else:
        with np.load(real_data(f"bench_{name}.npz"), allow_pickle=True) as arrays:
            features, labels = arrays["X"].astype(np.float64), arrays["y"]
    deviation = features.std(axis=0)
    deviation[deviation == 0] = 1.0
    return (features - features.mean(axis=0)) / deviation, labels
