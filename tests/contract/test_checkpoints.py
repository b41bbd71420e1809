"""A long fit whose worker is lost resumes from its checkpoint and ends the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from models.method import Checkpoint, Method
from tests.contract.contract_kit import RUNS, assert_same, example

RESUMING = [run for run in RUNS if run.values[0].resumes]


class WorkerLost(BaseException):
    """The worker of a fit is lost."""


class MemoryCheckpoint(Checkpoint):
    """Keeps what a fit saves; the worker is lost once it has saved `n_saves` times."""

    def __init__(self, state: Any = None, n_saves: int | None = None) -> None:
        self.state, self.n_saves, self.saved = state, n_saves, 0

    def load(self) -> Any:
        return self.state

    def save(self, state: Any) -> None:
        self.state = {name: np.array(array) for name, array in state.items()}
        self.saved += 1
        if self.saved == self.n_saves:
            raise WorkerLost


@pytest.mark.parametrize(("method", "roles"), RESUMING)
def test_a_lost_fit_resumes_and_ends_the_same(method: Method[Any], roles: tuple[str, ...]) -> None:
    params = method.Params(**method.example)
    whole = MemoryCheckpoint()
    expected = method.fit(example(method, roles), params, checkpoint=whole)
    assert whole.saved, "nothing was saved"
    for n_saves in sorted({1, (whole.saved + 1) // 2, whole.saved}):
        lost = MemoryCheckpoint(n_saves=n_saves)
        with pytest.raises(WorkerLost):
            method.fit(example(method, roles), params, checkpoint=lost)
        again = MemoryCheckpoint(lost.state)
        assert_same(method.fit(example(method, roles), params, checkpoint=again), expected)
        assert again.saved <= whole.saved - n_saves + 1, "the fit started from the beginning"
