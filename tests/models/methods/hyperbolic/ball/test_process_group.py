"""The processes of a fit: their result is that of one process, and all of them end with it."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import psutil
import pytest

from models.errors import Cancelled
from models.inputs.data import Data
from models.inputs.rows import ArrayRows
from models.methods.hyperbolic.ball import parameters
from models.methods.hyperbolic.ball import points as pools
from models.methods.hyperbolic.ghhc import GHHC, GHHCParams
from tests.models.methods.hyperbolic.ball.processes_kit import PARAMS, fit, followers, points
from tests.workers.waiting_kit import gone, until
from umbel.testing.lost_worker import MemoryCheckpoint

pytestmark = pytest.mark.needs("torch")


def test_two_processes_give_the_tree_of_one_and_resume_from_its_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parameters, "ROUND", 20)
    monkeypatch.setattr(pools, "MOST_POINTS", 150)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    np.save(tmp_path / "features.npy", points())
    rows = ArrayRows(np.load(tmp_path / "features.npy", mmap_mode="r"))
    ranking = {"loss": "sigmoid", "perplexity": None, "decay": False, "structure_every": 1}
    for optimizer, rate, others, rounding in (
        ("sgd", 0.02, ranking, 1e-5),
        ("adam", 0.003, {}, 1e-4),
    ):
        params = {"max_iter": 60, "optimizer": optimizer, "learning_rate": rate, **others}
        kept = MemoryCheckpoint()
        alone = fit(rows, 1, checkpoint=kept, **params)
        shared = fit(rows, 2, checkpoint=MemoryCheckpoint(kept.states[0]), **params)
        assert shared.state["nodes"] == pytest.approx(alone.state["nodes"], abs=rounding)
        assert not np.array_equal(kept.states[0]["moving"], alone.state["nodes"])
        assert (shared.tree.parent == alone.tree.parent).all()
        assert (shared.tree.leaf_of_point == alone.tree.leaf_of_point).all()
        assert shared.curves["cost"] == alone.curves["cost"]
        for objective, expected in zip(
            shared.curves["objective"], alone.curves["objective"], strict=True
        ):
            assert objective == pytest.approx(expected, rel=rounding)
        assert shared.warnings == alone.warnings
    assert not followers()
    assert [file.name for file in tmp_path.iterdir()] == ["features.npy"]


def test_a_cancelled_fit_leaves_no_follower() -> None:
    seen: list[int] = []

    def cancel(fraction: float, stage: str, message: str = "") -> None:
        if stage == "moving nodes" and "step 20" in message:
            seen.append(len(followers()))
            raise Cancelled

    with pytest.raises(Cancelled):
        fit(points(), 2, cancel)
    assert (seen, followers()) == ([1], [])


def test_a_killed_follower_ends_the_fit_with_a_transient_error() -> None:
    def kill(fraction: float, stage: str, message: str = "") -> None:
        if stage == "moving nodes" and "step 20" in message:
            for process in followers():
                process.kill()

    with pytest.raises(OSError, match="killed by SIGKILL") as caught:
        fit(points(), 2, kill)
    assert caught.value.errno == errno.EIO
    assert not followers()


LONG = """
import sys
from tests.models.methods.hyperbolic.ball.processes_kit import fit, points
fit(points(), 2, lambda fraction, stage, message="": print(stage, flush=True), max_iter=10**6)
"""


@pytest.mark.parametrize(
    "way", [signal.SIGKILL, pytest.param(signal.SIGSTOP, marks=pytest.mark.slow)]
)
def test_no_follower_outlives_the_process_that_fits(way: signal.Signals, tmp_path: Path) -> None:
    """The process is killed alone, or first stopped and then killed with its group, as a job is."""
    with subprocess.Popen(
        [sys.executable, "-c", LONG],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line == "moving nodes\n":
                break
        children = psutil.Process(process.pid).children()
        assert len(children) == 1
        os.kill(process.pid, way)
        if way == signal.SIGSTOP:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        until(lambda: all(gone(child.pid) for child in children))


def test_more_processes_than_threads_give_a_warning() -> None:
    fitted = GHHC().fit(
        Data({"features": points()}), GHHCParams(**PARAMS, processes=2, max_iter=10), threads=1
    )
    assert fitted.warnings[0] == (
        "Steps were taken by 1 process(es), as many as a job may have threads here, not "
        "'processes' = 2; the result is the same up to rounding."
    )
