"""Operations a step: none more than the documentation's table has, which is kept true."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bench import gpu_steps
from bench.gpu_steps import Steps, loops
from bench.operations import Counts, counted

pytestmark = pytest.mark.needs("torch")

PAGE = Path(__file__).parents[2] / "docs/decisions/operations-of-a-step.md"


def documented() -> dict[str, tuple[float, float]]:
    """Operations and host syncs of each row of the page's table."""
    rows = [line.strip("|").split("|") for line in PAGE.read_text().splitlines() if "|" in line]
    return {what.strip(): (float(n), float(syncs)) for what, n, syncs, *_ in rows[2:]}


def assert_as_documented(what: str, counts: Counts) -> None:
    operations, syncs = documented()[what]
    assert counts.n_operations == pytest.approx(operations, rel=0.03), counts.operations
    assert counts.n_syncs == pytest.approx(syncs, abs=0.1)


@pytest.mark.parametrize("steps", loops(), ids=lambda steps: steps.what)
def test_a_step_has_the_operations_of_the_table(steps: Steps) -> None:
    assert_as_documented(steps.what, gpu_steps.per_step(steps))


def test_a_pass_of_a_mixture_has_the_operations_of_the_table() -> None:
    assert_as_documented("vmf, bvmf: a pass", gpu_steps.of_mixtures())


def test_the_table_has_every_loop() -> None:
    assert {*documented()} == {*(steps.what for steps in loops()), "vmf, bvmf: a pass"}


def test_operations_syncs_and_bytes_are_counted() -> None:
    import torch

    weights = torch.ones((3, 2), requires_grad=True)
    with counted() as counts:
        rows = torch.from_numpy(np.ones((4, 3), dtype=np.float32))
        loss = (rows @ weights).relu().sum()
        loss.backward()  # type: ignore[no-untyped-call]
        seen = float(loss.detach())
        positive = rows[rows[:, 0] > 0]
        positive.view(-1).cpu().numpy()
    assert seen == 24.0
    # A view, an empty tensor and a copy to where it is are no operations; a mask is read.
    expected = {
        *("mm", "relu", "sum", "ones_like", "threshold_backward"),
        *("_local_scalar_dense", "gt", "index"),
    }
    assert set(counts.operations) == expected
    assert counts.operations["mm"] == 2
    assert (counts.n_syncs, counts.bytes_in, counts.bytes_out) == (3, 48, 48)
    twice = Counts({"mm": 6}, 4, 8, 0).beyond(Counts({"mm": 2}, 2, 0, 0), 2)
    assert (twice.operations, twice.n_syncs, twice.bytes_in) == ({"mm": 2}, 1, 4)
