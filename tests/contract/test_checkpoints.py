"""A long fit whose worker is lost resumes from its checkpoint and ends the same."""

from __future__ import annotations

from typing import Any

import pytest

from models.method import Method
from tests.checkpoint_kit import MemoryCheckpoint, WorkerLost
from tests.contract.contract_kit import RUNS, assert_same, example, observed

RESUMING = [run for run in RUNS if run.values[0].resumes]


@pytest.mark.parametrize(("method", "roles"), RESUMING)
def test_a_lost_fit_resumes_and_ends_the_same(method: Method[Any], roles: tuple[str, ...]) -> None:
    params = method.Params(**method.example)
    whole = observed(method, roles)
    n_states = whole.n_states
    assert n_states, "nothing was saved"
    for n_saved in sorted({1, (n_states + 1) // 2, n_states}):
        lost = MemoryCheckpoint(lost_after=n_saved)
        with pytest.raises(WorkerLost):
            method.fit(example(method, roles), params, checkpoint=lost)
        again = MemoryCheckpoint(lost.state)
        assert_same(method.fit(example(method, roles), params, checkpoint=again), whole.fitted)
        assert len(again.states) <= n_states - n_saved + 1, "the fit started from the beginning"
