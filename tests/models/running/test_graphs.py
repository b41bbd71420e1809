"""Steps that are recorded and replayed, by a stand-in for a GPU's recording."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from models.running import graphs
from models.running.graphs import Replayed

pytestmark = pytest.mark.needs("torch")


class Recorder:
    """Records without computing, as a GPU does, and counts."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, fails: bool = False) -> None:
        self.fails, self.n_recorded, self.n_replayed, self.n_apart = fails, 0, 0, 0
        monkeypatch.setattr(graphs, "recorded", self.recorded)
        monkeypatch.setattr(graphs, "apart", self.apart)

    def recorded(self, step: Callable[[], None]) -> Callable[[], None]:
        if self.fails:
            raise RuntimeError("operation not permitted when stream is capturing")
        self.n_recorded += 1

        def replay() -> None:
            self.n_replayed += 1
            step()

        return replay

    def apart(self, step: Callable[[], None]) -> None:
        self.n_apart += 1
        step()


def summed(kept: Replayed, total: Tensor) -> float:
    """The sum of all steps: five of three values, four of two, in turn."""
    total.zero_()
    for length in (3, 2, 3, 2, 3, 2, 3, 2, 3):
        kept(torch.full((length,), 2.0), torch.ones(length))
    return float(total)


def test_each_shape_is_recorded_once_and_every_step_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recorder, total = Recorder(monkeypatch), torch.zeros(())

    def step(one: Tensor, other: Tensor) -> None:
        total.add_((one * other).sum())

    assert summed(Replayed(step, "cpu"), total) == 46.0
    assert recorder.n_apart == 0
    on_gpu = Replayed(step, "cuda")
    assert summed(on_gpu, total) == 46.0
    assert (recorder.n_apart, recorder.n_recorded, recorder.n_replayed) == (6, 2, 3)
    on_gpu(torch.arange(3.0), torch.arange(3.0))
    assert float(total) == 51.0, "a replay reads the arguments of this turn"


def test_what_cannot_be_recorded_runs_with_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder, total = Recorder(monkeypatch, fails=True), torch.zeros(())

    def step(one: Tensor, other: Tensor) -> None:
        total.add_((one * other).sum())

    with pytest.warns(UserWarning, match="could not be recorded.*capturing") as caught:
        assert summed(Replayed(step, "cuda"), total) == 46.0
    assert (len(caught), recorder.n_replayed) == (1, 0)
