"""Multi-task relationship learning on tasks whose relations are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from models import registry
from models.errors import UsageError
from models.inputs.data import Data
from models.method import Fitted
from models.methods.tasks.mtrl import MTRLParams
from tests.models.methods.tasks.lines_kit import lines

METHOD = registry.method("mtrl")


def fit(data: Data, **params: Any) -> Fitted:
    return METHOD.fit(data, MTRLParams(**params))


# The tree by average linkage over 1 less the tasks' correlation:
#
#        root
#       /    \
#      .      .
#     / \    / \
#    a   b  c   d
def test_covariance_and_its_tree() -> None:
    fitted = fit(lines(), penalty=0.001, sharing=0.01)
    assert fitted.model is not None
    covariance = fitted.model.arrays["covariance"]
    assert np.trace(covariance) == pytest.approx(1.0)
    assert (np.linalg.eigvalsh(covariance) > -1e-12).all()
    tree = fitted.tree
    leaf = {tree.name[node]: int(node) for node in tree.leaves}
    assert tree.parent[leaf["a"]] == tree.parent[leaf["b"]]
    assert tree.parent[leaf["c"]] == tree.parent[leaf["d"]]
    assert tree.height.max() <= 2.0
    assert fitted.metrics["explained_variance_fitted"] > 0.98


def test_tasks_of_few_rows_gain_from_each_other() -> None:
    rng = np.random.default_rng(0)
    common = rng.normal(size=8)
    tasks = np.repeat(np.arange(12), 6)
    sign = np.where(tasks % 2, 1.0, -1.0)

    def rows(seed: int) -> tuple[np.ndarray, np.ndarray]:
        features = np.random.default_rng(seed).normal(size=(72, 8))
        noise = np.random.default_rng(seed + 1).normal(size=72)
        return features, sign * (features @ common) + 0.5 * noise

    features, targets = rows(1)
    new, truth = rows(3)
    data = Data({"features": features, "targets": targets, "tasks": tasks})
    error = {}
    for method_id, params in (("stl", {}), ("mtrl", {"penalty": 0.001, "n_folds": 3})):
        used = registry.method(method_id)
        fitted = used.fit(data, used.Params(**params))
        predictions = used.predict(
            fitted.model, fitted.tree, Data({"features": new, "tasks": tasks})
        )
        error[method_id] = ((predictions.columns["value"] - truth) ** 2).mean() / truth.var()
    assert error["mtrl"] < 0.7 * error["stl"]


def test_given_penalties_are_kept() -> None:
    fitted = fit(lines(), penalty=0.02, sharing=0.5)
    assert (fitted.metrics["penalty"], fitted.metrics["sharing"]) == (0.02, 0.5)
    assert fit(lines(), penalty=0.02, n_folds=2).metrics["penalty"] == 0.02


def test_an_end_before_convergence_is_reported() -> None:
    fitted = fit(lines(), penalty=0.01, sharing=0.1, max_iter=1)
    assert "still changing after 1 iterations" in fitted.warnings[0]


def test_classes_are_refused() -> None:
    data = lines()
    words = np.array(["x", "y"] * 40, dtype=object)
    with pytest.raises(UsageError, match="is text; a regression takes numbers"):
        fit(Data({**data.values, "targets": words}))


def test_tasks_of_one_row_each() -> None:
    data = lines(n_rows=1)
    fitted = fit(data)
    assert "have a single row" in fitted.warnings[0]
    assert np.isfinite(METHOD.predict(fitted.model, fitted.tree, data).columns["value"]).all()
