"""Training: the schedule of growth, its losses, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from models.errors import UsageError
from models.method import Run
from models.methods.deep.networks.scaling import measure_scaling
from models.methods.deep.trees import training
from models.methods.deep.trees.parameters import TreeParams
from models.methods.deep.trees.training import ScaledRows, Trainer, Training
from models.running.device import computing
from models.running.progress import Alone, silent
from tests.models.methods.deep.nested_kit import nested_points

pytestmark = pytest.mark.needs("torch")

PARAMS = TreeParams(
    n_clusters=8,
    hidden_sizes=[32],
    embedding_size=5,
    pretrain_epochs=10,
    epochs=20,
    growth=0.5,
    clustering_weight=1.0,
    batch_size=32,
    learning_rate=5e-3,
    pruning_threshold=0.1,
    augment=False,
    device="cpu",
)


def changed(**values: Any) -> TreeParams:
    return PARAMS.model_copy(update=values)


def train(params: TreeParams) -> Training:
    rows, _ = nested_points(20)
    order = np.arange(len(rows))
    run = Run(np.random.default_rng(0), silent, 1, Alone(lambda piece, progress: {}))
    with computing(1):
        return Trainer(ScaledRows(rows, order, measure_scaling(rows, order)), params, 0).train(run)


def test_leaves_are_added_evenly_over_the_share_of_growth() -> None:
    assert [PARAMS.leaves_at(epoch) for epoch in range(12)] == [2, 2, 3, 4, 4, 5, 6, 6, 7, 8, 8, 8]
    assert changed(epochs=1).leaves_at(0) == 8
    assert changed(n_clusters=2).leaves_at(3) == 2
    assert changed(n_clusters=100, growth=0.1).leaves_at(0) == 2
    assert changed(n_clusters=100, growth=0.1).leaves_at(1) == 100


def test_curves_have_a_value_for_each_epoch_of_their_stage() -> None:
    curves = train(PARAMS).curves
    assert [epoch for epoch, _ in curves["reconstruction"]] == list(range(1, 31))
    for name in ("centres", "compression", "n_leaves"):
        assert [epoch for epoch, _ in curves[name]] == list(range(11, 31))
    assert [int(value) for _, value in curves["n_leaves"][:10]] == [2, 2, 3, 4, 4, 5, 6, 6, 7, 8]
    assert curves["reconstruction"][0][1] > 5 * curves["reconstruction"][9][1]


def test_the_trees_losses_press_points_together() -> None:
    """Beside reconstruction alone, with the same start."""
    with_tree, without = (
        train(changed(clustering_weight=weight)).curves["compression"][-1][1]
        for weight in (1.0, 0.0)
    )
    assert with_tree < 0.7 * without


def test_without_weight_the_network_is_that_of_reconstruction_alone() -> None:
    unweighted = train(changed(clustering_weight=0.0, epochs=3))
    alone = train(changed(clustering_weight=0.0, epochs=3, n_clusters=2))
    assert (unweighted.network.parameters == alone.network.parameters).all()


def test_leaves_that_are_pruned_are_replaced_and_steps_ahead_change_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Leaves are pruned within passes, down to one; steps ahead beside a look after every step."""
    params = changed(pruning_threshold=1.5, batch_size=16, epochs=8)
    ahead = train(params)
    monkeypatch.setattr(training, "AHEAD", 1)
    alone = train(params)
    assert ahead.tree is not None
    assert alone.tree is not None
    assert ahead.tree.n_pruned == alone.tree.n_pruned > PARAMS.n_clusters
    assert torch.equal(ahead.network.parameters, alone.network.parameters)
    assert (ahead.tree.leaf_centres == alone.tree.leaf_centres).all()
    assert ahead.curves == alone.curves


def test_a_training_that_diverges_is_refused() -> None:
    with pytest.raises(UsageError) as caught:
        train(changed(learning_rate=10.0, hidden_sizes=[32] * 8))
    assert (caught.value.code, caught.value.where) == ("diverged", {"parameter": "learning_rate"})
