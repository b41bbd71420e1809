"""Trees on the way of a fit: the same by a resumed fit, and none of them changes the result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from models.answers.learned_steps import KeptStates
from models.arrays import Arrays
from models.inputs.data import Data
from models.method import Checkpoint
from models.registry import method

CASES: dict[str, dict[str, Any]] = {
    "ghhc": {"n_internal": 9, "max_iter": 400, "n_init": 1},
    "hyphc": {"max_iter": 100, "n_init": 2, "batch_size": 256},
    "deepect": {
        "n_clusters": 5,
        "hidden_sizes": [8],
        "embedding_size": 2,
        "pretrain_epochs": 5,
        "epochs": 10,
        "learning_rate": 0.01,
    },
    "treevae": {
        "n_clusters": 4,
        "n_init": 1,
        "hidden_sizes": [8],
        "latent_size": 2,
        "max_depth": 3,
        "epochs": 15,
        "growth_epochs": 8,
        "tuning_epochs": 4,
        "batch_size": 20,
        "learning_rate": 0.01,
    },
}
KILLED = {"deepect": 12, "treevae": 25}
"""Checkpoints before a fit is killed, for a fit that then has kept a tree; else 3."""


class Kept(Checkpoint):
    """Keeps what is saved; with `stop` the fit is killed after so many."""

    def __init__(self, state: Arrays | None = None, stop: int | None = None) -> None:
        self.state, self.left = state, stop

    def load(self) -> Arrays | None:
        return self.state

    def save(self, state: Arrays) -> None:
        self.state = {name: np.array(array) for name, array in state.items()}
        if self.left is not None:
            self.left -= 1
            if not self.left:
                raise InterruptedError


@pytest.mark.parametrize("most", [0, 1, 2, 3, 8])
def test_a_few_states_spread_over_all(most: int) -> None:
    kept = KeptStates(most)
    for step in range(1, 101):
        kept.offer(step, 1 / step, lambda: np.array([0.0]))
        assert len(kept.number) <= most
        numbers = [number for number in range(step) if number % kept.stride == 0]
        assert kept.number == numbers[:most]
        assert kept.step == [number + 1 for number in kept.number]
    assert len(kept.before(50)) == sum(step < 50 for step in kept.step)


@pytest.mark.needs("torch")
@pytest.mark.parametrize("name", CASES)
def test_steps_change_nothing_and_resume(name: str) -> None:
    rng = np.random.default_rng(3)
    data = Data({"features": rng.normal(size=(60, 4)) + np.repeat(np.eye(3, 4) * 3, 20, axis=0)})
    used = method(name)
    params = used.Params.model_validate({**CASES[name], "keep_steps": 4})
    bare = used.fit(data, used.Params.model_validate(CASES[name]))
    whole = used.fit(data, params)
    assert not bare.steps
    assert 1 <= len(whole.steps) <= 4
    assert np.array_equal(bare.tree.parent, whole.tree.parent)
    assert np.array_equal(bare.tree.height, whole.tree.height)
    assert bare.metrics == whole.metrics
    assert bare.curves == whole.curves
    # What has no curve of costs has that of its result as a metric.
    costs = dict(whole.curves.get("cost", [(each.step, each.cost) for each in whole.steps]))
    last = whole.metrics.get("cost") or costs[int(whole.metrics["best_step"])]
    for each in whole.steps:
        each.tree.validate()
        assert each.tree.n_points == 60
        assert each.cost == costs[each.step]
        assert each.step < whole.metrics["best_step"]
    falling = [each.cost for each in whole.steps]
    assert [*falling, last] == sorted([*falling, last], reverse=True)
    killed = Kept(stop=KILLED.get(name, 3))
    with pytest.raises(InterruptedError):
        used.fit(data, params, checkpoint=killed)
    resumed = used.fit(data, params, checkpoint=Kept(killed.state))
    assert [each.step for each in resumed.steps] == [each.step for each in whole.steps]
    for one, other in zip(resumed.steps, whole.steps, strict=True):
        assert np.array_equal(one.tree.parent, other.tree.parent)
        assert np.array_equal(one.tree.leaf_of_point, other.tree.leaf_of_point)
