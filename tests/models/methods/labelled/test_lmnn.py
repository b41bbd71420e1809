"""Large margins: clusters found under the learned metric, and what warnings say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from models.errors import UsageError
from models.inputs.data import Data
from models.method import Checkpoint, Fitted
from models.methods.labelled import lmnn
from models.methods.labelled.metric.descent import Direct, hold, minimize
from models.methods.labelled.metric.neighbours import LargeMargin, target_neighbours
from models.metrics.flat import ari, contingency
from models.registry import method
from models.running.progress import silent
from tests.models.methods.labelled.bimodal_kit import half_known

METHOD = method("lmnn")


def fitted(data: Data, **params: Any) -> Fitted:
    used = {"n_clusters": 3, "n_init": 5, "tol": 1e-3, **params}
    return METHOD.fit(data, METHOD.Params(**used))


def test_clusters_of_two_modes_are_found() -> None:
    """The 50 nearest of 59 rows are of both modes, so that the modes are drawn together."""
    data, code = half_known(0)
    fit = fitted(data)
    new = code < 3
    cluster = fit.tree.leaf_of_point[new] - 4
    assert ari(contingency(cluster, code[new], 3, 3)) == 1
    assert fit.warnings == ()
    assert fit.metrics["bound"] <= 1e-3 * fit.metrics["objective"]
    values = [value for _, value in fit.curves["objective"]]
    assert values == sorted(values, reverse=True)


def test_small_clusters_have_fewer_targets_and_a_warning() -> None:
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(4), [4, 9, 12, 12])
    points = 6.0 * np.eye(4)[truth] + rng.normal(size=(37, 4))
    data = Data({"features": points, "labels": np.where(truth < 2, truth, -1)})
    (note,) = fitted(data, n_clusters=2, n_neighbors=8).warnings[:1]
    assert note.startswith("Rows of 1 known cluster(s)")
    assert "3 at least" in note
    assert not any("target" in note for note in fitted(data, n_neighbors=3).warnings)


def test_of_many_known_rows_some_are_drawn_with_a_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lmnn, "MOST_ROWS", 40)
    data, _ = half_known(1)
    first, second = (fitted(data, n_neighbors=5) for _ in range(2))
    assert "39 of the 180 labelled rows" in first.warnings[0]
    np.testing.assert_array_equal(first.logits, second.logits)


def test_the_metric_has_the_least_loss_of_rows_as_they_are() -> None:
    """From the identity, without the coordinates in which the method takes its steps."""
    rng = np.random.default_rng(2)
    truth = np.repeat(np.arange(4), 12)
    points = (rng.normal(size=(4, 3))[truth] + rng.normal(size=(48, 3))) @ np.diag([9.0, 2.0, 0.5])
    fit = fitted(
        Data({"features": points, "labels": np.where(truth < 3, truth, -1)}),
        n_clusters=2,
        n_neighbors=4,
        tol=1e-6,
    )
    points = points - points.mean(axis=0)
    scale = np.sqrt(np.square(points).mean())
    points /= scale
    known, code = points[truth < 3], truth[truth < 3]
    loss = LargeMargin(known, code, target_neighbours(known, code, 4), 0.5)
    plain = minimize(
        Direct(loss.of_matrix),
        hold("nuclear", diagonal=False),
        0.0,
        np.eye(3),
        tol=1e-6,
        max_iter=5000,
        progress=silent,
        checkpoint=Checkpoint(),
    )
    assert plain.converged
    assert fit.metrics["objective"] == pytest.approx(plain.objectives[-1], rel=2e-6)
    assert fit.curves["objective"][0][1] == pytest.approx(plain.objectives[0])
    assert fit.model is not None
    folded = known @ np.asarray(fit.model.arrays["projection"]) * scale
    learned = LargeMargin(folded, code, target_neighbours(known, code, 4), 0.5)
    value, _ = learned.of_matrix(np.eye(folded.shape[1]))
    assert value == pytest.approx(fit.metrics["objective"], rel=1e-6)


def test_a_metric_of_zeros_is_refused() -> None:
    with pytest.raises(UsageError, match="larger 'mu'"):
        fitted(half_known(0)[0], mu=1e-9, n_neighbors=3)


def test_steps_that_do_not_reach_the_end_are_a_warning() -> None:
    fit = fitted(half_known(0)[0], max_iter=2, tol=1e-8, n_neighbors=3)
    assert any("Not converged after 2 steps" in note for note in fit.warnings)


def test_of_more_columns_than_rows_the_least_objective_is_0() -> None:
    points = np.random.default_rng(1).normal(size=(20, 50))
    labels = np.repeat([0, 1, 2, -1, -1], 4)
    fit = fitted(Data({"features": points, "labels": labels}), n_clusters=2)
    assert fit.metrics["objective"] == pytest.approx(0, abs=1e-12)
    assert not [warning for warning in fit.warnings if "Not converged" in warning]
