"""A long fit whose worker is lost resumes from its checkpoint and ends the same."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from models.method import Method
from tests.checkpoint_kit import MemoryCheckpoint, WorkerLost
from tests.contract.contract_kit import (
    RUNS,
    assert_same,
    assert_same_arrays,
    example,
    observed,
)

RESUMING = [run for run in RUNS if run.values[0].resumes]


@pytest.mark.parametrize(("method", "roles"), RESUMING)
def test_a_lost_fit_resumes_and_ends_the_same(method: Method[Any], roles: tuple[str, ...]) -> None:
    params = method.Params(**method.example)
    whole = observed(method, roles)
    n_states = len(whole.states)
    assert n_states, "nothing was saved"
    lost = MemoryCheckpoint(lost_after=1)
    with pytest.raises(WorkerLost):
        method.fit(example(method, roles), params, checkpoint=lost)
    assert lost.state is not None
    assert_same_arrays(lost.state, whole.states[0])
    for n_saved in sorted({1, (n_states + 1) // 2, n_states}):
        again = MemoryCheckpoint(copy.deepcopy(whole.states[n_saved - 1]))
        resumed = method.fit(example(method, roles), params, checkpoint=again)
        assert_same(resumed, whole.fitted)
        assert len(again.states) <= n_states - n_saved + 1, "the fit started from the beginning"
