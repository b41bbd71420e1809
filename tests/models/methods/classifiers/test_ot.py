"""`ot`: orthogonality along paths; its optimum is tested in `structured`."""

from __future__ import annotations

import numpy as np
import pytest

from models.errors import UsageError
from models.inputs.data import Data
from models.registry import method
from tests.models.methods.classifiers.tree_kit import UNDER, fit, rows


def products(orthogonality: float) -> list[float]:
    """Products of the weights of classes with the weights of their groups, as cosines."""
    features, has = rows()
    fitted = fit("ot", features, has, C=0.05, tol=1e-6, orthogonality=orthogonality)
    assert fitted.metrics["gap"] <= 1e-6 * fitted.metrics["objective"]
    assert fitted.model is not None
    weights = fitted.model.arrays["weights"].astype(np.float64)
    parent, leaf = fitted.model.arrays["parent"], fitted.model.arrays["leaf"]
    cosines = []
    for classes in UNDER.values():
        for node in leaf[classes] if len(classes) > 1 else ():
            own, above = weights[node], weights[parent[node]]
            cosines.append(abs(own @ above) / np.linalg.norm(own) / np.linalg.norm(above))
    return cosines


def test_classes_turn_away_from_their_groups() -> None:
    free, apart = products(0.0), products(0.99)
    assert len(free) == len(apart) == 4
    assert sum(apart) < 0.5 * sum(free)
    assert max(apart) < max(free)


def test_rows_go_to_the_best_child() -> None:
    features, has = rows()
    fitted = fit("ot", features, has)
    assert fitted.model is not None
    placed = method("ot").predict(fitted.model, fitted.tree, Data({"features": features}))
    classes = placed.classes
    assert classes is not None
    weights, parent = fitted.model.arrays["weights"], fitted.model.arrays["parent"]
    for row, x in enumerate(features):
        node = 0
        while (own := np.flatnonzero(parent == node)).size:
            node = int(own[(weights[own] @ np.append(x, 1.0)).argmax()])
        assert fitted.model.arrays["leaf"][classes.code[classes.start[row]]] == node


def test_several_labels_are_refused() -> None:
    features, has = rows(several=True)
    with pytest.raises(UsageError, match="takes one for each row"):
        fit("ot", features, has)


def test_a_fit_that_has_not_converged_says_so() -> None:
    features, has = rows()
    fitted = fit("ot", features, has, C=100.0, tol=1e-9, max_iter=1)
    assert "Not converged after 1 sweeps" in fitted.warnings[-1]
    assert fit("ot", features, has, sparse=True).metrics["gap"] >= 0
