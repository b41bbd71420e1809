"""`corrmnl`: its answers and warnings; its draws are tested in `sampling`."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax

from models.errors import UsageError
from models.inputs.data import Data
from models.method import PredictionOptions
from models.registry import method
from tests.models.methods.classifiers.tree_kit import fit, rows


def test_answers_average_the_probabilities_of_draws() -> None:
    features, has = rows()
    fitted = fit("corrmnl", features, has, n_samples=30, burn_in=40, n_kept=11)
    assert fitted.model is not None
    draws = fitted.model.arrays["weights"]
    assert draws.shape == (11, 5, 5)
    options = PredictionOptions(every=True)
    placed = method("corrmnl").predict(
        fitted.model, fitted.tree, Data({"features": features}), options
    )
    classes = placed.classes
    assert classes is not None
    assert classes.every is not None
    design = np.column_stack([features, np.ones(100)])
    expected = np.mean([softmax(design @ weights.T, axis=1) for weights in draws], axis=0)
    np.testing.assert_allclose(classes.every, expected, rtol=1e-6)
    assert (classes.code == expected.argmax(axis=1)).all()
    assert (classes.code == has.argmax(axis=1)).mean() > 0.8
    assert 0.5 < fitted.metrics["accept"] <= 1.0


def test_chains_that_are_too_short_are_warned_of() -> None:
    features, has = rows()
    short = fit("corrmnl", features, has, n_samples=10, burn_in=10)
    assert "have not mixed" in short.warnings[-1]
    long = fit("corrmnl", features, has, n_samples=300, burn_in=100, shape=20.0, rate=20.0)
    assert not long.warnings
    assert long.metrics["rhat"] < 1.05
    assert long.metrics["ess"] > 50


def test_sparse_rows_and_another_seed_agree_with_each_other() -> None:
    features, has = rows()
    how = {"n_samples": 100, "burn_in": 60}
    dense = fit("corrmnl", features, has, seed=1, **how)
    sparse = fit("corrmnl", features, has, sparse=True, seed=2, **how)
    spread = dense.curves["log_likelihood"]
    deviation = float(np.std([value for _, value in spread]))
    assert dense.metrics["log_likelihood"] == pytest.approx(
        sparse.metrics["log_likelihood"], abs=deviation
    )


def test_several_labels_are_refused() -> None:
    features, has = rows(several=True)
    with pytest.raises(UsageError, match="takes one for each row"):
        fit("corrmnl", features, has)
