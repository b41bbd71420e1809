"""Runs of rounds: schedules, the best tree, early ends, checkpoints."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from models.method import Checkpoint, Run
from models.methods.hyperbolic.leaves import effort as effort_module
from models.methods.hyperbolic.leaves import training
from models.methods.hyperbolic.leaves.effort import LeafEffort
from models.methods.hyperbolic.leaves.similarity import FeatureSimilarity
from models.methods.hyperbolic.leaves.training import BestLeaves, LeafRun, train
from models.methods.hyperbolic.leaves.tree_cost import DasguptaCost
from models.running.crew import Alone
from models.running.device import computing
from models.running.progress import silent
from umbel.testing.lost_worker import MemoryCheckpoint

pytestmark = pytest.mark.needs("torch")

EFFORT = LeafEffort(
    dimension=2,
    n_init=2,
    max_iter=60,
    round_size=10,
    patience=100,
    batch_size=64,
    learning_rate=0.02,
    temperature=0.05,
    final_temperature=0.01,
    max_norm=0.99,
)
_rng = np.random.default_rng(0)
SIMILARITY = FeatureSimilarity(
    10 * np.eye(4)[np.arange(40) % 4] + _rng.normal(size=(40, 4)), "cosine", None
)
TREE_COST = DasguptaCost(SIMILARITY, _rng)


def trained(effort: LeafEffort = EFFORT, checkpoint: Checkpoint | None = None) -> BestLeaves:
    run = Run(_rng, silent, 1, Alone(lambda piece, progress: {}), checkpoint or Checkpoint())
    with computing(1):
        return train(SIMILARITY, TREE_COST, effort, 7, run)


def test_the_sphere_grows_and_the_temperature_falls() -> None:
    norms = [EFFORT.sphere(step).norm for step in range(61)]
    assert (np.diff(norms[:43]) > 0).all()
    assert norms[0] == pytest.approx(np.tanh(effort_module.START / 2))
    assert norms[42:] == pytest.approx([0.99] * 19)
    heats = [EFFORT.temperature_at(step) for step in range(61)]
    assert (heats[0], heats[60]) == pytest.approx((0.05, 0.01))
    assert np.diff(np.log(heats)) == pytest.approx(np.log(0.2) / 60)
    assert replace(EFFORT, max_norm=0.02).sphere(0).norm == pytest.approx(0.02)


def test_a_round_keeps_leaves_on_the_sphere_and_lowers_the_objective() -> None:
    with computing(1):
        moving = LeafRun(40, replace(EFFORT, max_iter=200), 7, 0)
        objectives = [moving.round(SIMILARITY, silent) for _ in range(12)]
    assert moving.n_steps == 120
    assert moving.directions.norm(dim=1).numpy() == pytest.approx(1.0)
    assert objectives[-1] < objectives[0] - 0.05


def test_a_step_has_the_requested_length() -> None:
    """The first step of Adam is of length one in every leaf, whatever the gradient's."""
    with computing(1):
        moving = LeafRun(5, EFFORT, 7, 0)
        before = moving.directions.clone()
        gradient = torch.from_numpy(np.random.default_rng(1).normal(size=(5, 2)))
        moving._step(1e-9 * gradient, 1, 1e-3)
    turned = (moving.directions - before).norm(dim=1)
    assert turned.numpy() == pytest.approx(1e-3, rel=1e-3)
    # Downhill.
    along = ((moving.directions - before) * gradient).sum(dim=1)
    assert (along < 0).all()


def test_the_best_tree_of_all_runs_is_kept() -> None:
    kept = trained()
    runs = [trained(replace(EFFORT, n_init=n)) for n in (1, 2)]
    assert kept.cost == min(cost for _, cost in kept.costs) == runs[1].cost
    assert kept.cost <= runs[0].cost
    assert dict(kept.costs)[kept.step] == kept.cost
    assert [step for step, _ in kept.objectives] == [10, 20, 30, 40, 50, 60]
    decoded = training.tree_of(training.decode(kept.directions))
    assert TREE_COST.of(decoded) == pytest.approx(kept.cost)


def test_a_run_that_gets_no_better_ends_early() -> None:
    whole, early = (
        trained(replace(EFFORT, n_init=1)),
        trained(replace(EFFORT, n_init=1, patience=1)),
    )
    steps = [step for step, _ in early.costs]
    costs = [cost for _, cost in whole.costs]
    first = next(n for n in range(1, 6) if costs[n] >= min(costs[:n]))
    assert steps == [10 * n for n in range(1, first + 2)]


@pytest.mark.parametrize("at", [0, 3, 5, 8])
def test_a_lost_fit_resumes_and_ends_the_same(at: int) -> None:
    saved = MemoryCheckpoint()
    whole = trained(checkpoint=saved)
    assert len(saved.states) == 12
    rest = MemoryCheckpoint(saved.states[at])
    again = trained(checkpoint=rest)
    assert len(rest.states) == 11 - at
    assert (again.directions == whole.directions).all()
    assert (again.cost, again.run, again.step) == (whole.cost, whole.run, whole.step)
    assert (again.costs, again.objectives) == (whole.costs, whole.objectives)


@pytest.mark.parametrize("dimension", [2, 3])
def test_without_steps_the_result_is_random_leaves(dimension: int) -> None:
    kept = trained(replace(EFFORT, max_iter=0, dimension=dimension))
    assert kept.directions.shape == (40, dimension)
    assert kept.cost > 0
    assert kept.costs == []
