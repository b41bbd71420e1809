"""A long fit whose worker is lost resumes from its checkpoint and ends the same."""

from __future__ import annotations

import pytest

from umbel.testing.examples import Example, assert_same
from umbel.testing.lost_worker import MemoryCheckpoint, WorkerLost
from umbel.testing.suite import Suite, where


class Checkpoints(Suite):
    """A long fit whose worker is lost resumes and ends the same."""

    @where(lambda example: example.method.resumes)
    def test_a_lost_fit_resumes_and_ends_the_same(self, example: Example) -> None:
        params = example.params()
        whole = example.observed
        n_states = len(whole.states)
        assert n_states, "nothing was saved"
        lost = MemoryCheckpoint(lost_after=1)
        with pytest.raises(WorkerLost):
            example.method.fit(example.data(), params, checkpoint=lost)
        # A fit that is lost later has saved what the whole fit has.
        later = {n: whole.states[n - 1] for n in ((n_states + 1) // 2, n_states)}
        for n_saved, state in {**later, 1: lost.state}.items():
            again = MemoryCheckpoint(state)
            assert_same(example.method.fit(example.data(), params, checkpoint=again), whole.fitted)
            assert len(again.states) <= n_states - n_saved + 1, "the fit started from the beginning"
