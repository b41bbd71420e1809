"""What trainings take, against what they are refused for."""

from __future__ import annotations

import tracemalloc
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from models.errors import UsageError
from models.inputs.data import Data
from models.method import Checkpoint, Run
from models.methods.classifiers.classes.problem import Problem
from models.methods.classifiers.classes.structure import ClassTree
from models.methods.classifiers.recursive import hinge, logistic
from models.methods.classifiers.recursive.blocks.block import BlockedClasses, piece, piece_bytes
from models.methods.classifiers.recursive.blocks.sweeps import State
from models.methods.classifiers.recursive.inputs import Effort
from models.methods.classifiers.recursive.penalty import Penalty
from models.registry import method
from models.running import budget
from models.running.progress import SHARED, Alone, silent

SIZES = {"columns": (40, 6000), "rows": (4000, 30)}
"""Rows and columns; which of them there are more of."""
N_CLASSES = 30


def words(n_rows: int, n_columns: int) -> Problem:
    """Sparse rows of `N_CLASSES` classes below three nodes, three values and the constant each."""
    tree = ClassTree(
        np.array([-1, 0, 0, 0, *(1 + np.arange(N_CLASSES) % 3)]), np.arange(4, 4 + N_CLASSES)
    )
    code = np.arange(n_rows) % N_CLASSES
    index = np.stack([3 * (code % 9) + word for word in range(3)], axis=1)
    index = np.column_stack([index, np.full(n_rows, n_columns - 1)]).ravel().astype(np.int32)
    start = np.arange(0, 4 * n_rows + 1, 4, dtype=np.int32)
    design = sp.csr_array((np.ones(index.size), index, start), shape=(n_rows, n_columns))
    return Problem(design, np.arange(n_rows + 1), code, N_CLASSES, tree)


def peak(run: Callable[[], object]) -> int:
    """Bytes that a second run takes at most; the first one compiles and caches."""
    run()
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("more", ["columns", "rows"])
@pytest.mark.parametrize("blocked", [False, True])
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_a_training_takes_no_more_than_estimated(loss: str, blocked: bool, more: str) -> None:
    some = words(*SIZES[more])
    assert some.tree is not None
    penalty = Penalty.of_tree(some.tree)
    effort = Effort(C=1.0, tol=0.1, max_iter=3)
    if blocked:
        blocks = BlockedClasses.of(some, penalty, N_CLASSES)
        shared = State.start(some, blocks, Checkpoint()).shared()
        given = {"block": 0, "C": 1.0, "tol": 0.1, "sweep": 0, "seed": 0, SHARED: shared}
        taken = peak(lambda: piece(some, blocks, loss, given))
        estimate = piece_bytes(some, N_CLASSES, loss)
    elif loss == "hinge":
        taken = peak(lambda: hinge.minimize(some, penalty, effort, silent, Checkpoint()))
        estimate = hinge.fit_bytes(some, penalty)
    else:
        taken = peak(lambda: logistic.minimize(some, penalty, effort, silent, Checkpoint()))
        estimate = logistic.fit_bytes(some, penalty)
    # Dual variables that are not 0 are not in the estimates; a row has some.
    assert taken <= 1.1 * estimate + 16 * 10 * some.n_rows + (1 << 18)


@pytest.mark.parametrize("shape", [(60, 1000), (3000, 6), (300, 60)])
@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("mlr", {"max_iter": 20}),
        ("rmlr", {"max_iter": 2}),
        ("rmlr", {"max_iter": 2, "bound": "admm"}),
        ("rmlr", {"max_iter": 20, "bound": "lbfgs"}),
        ("hblr", {"max_iter": 2}),
        ("corrmnl", {"n_samples": 10, "burn_in": 10, "n_chains": 1, "n_kept": 10}),
    ],
)
def test_a_method_takes_no_more_than_it_asks_for(
    name: str, params: dict[str, Any], shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    used, rng = method(name), np.random.default_rng(0)
    tree = words(*SIZES["columns"]).tree
    code = np.arange(shape[0]) % N_CLASSES
    some = Problem(rng.normal(size=shape), np.arange(shape[0] + 1), code, N_CLASSES, tree)
    run = Run(rng, silent, 1, Alone(lambda given, progress: {}))
    needed: list[int] = []
    monkeypatch.setattr(type(used), "_require", lambda self, n_bytes: needed.append(n_bytes))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        taken = peak(lambda: used._train(some, used.Params(**params), run))
    assert taken <= 1.2 * needed[-1] + (1 << 18)


@pytest.mark.parametrize(
    "name", ["bsvm", "blr", "msvm", "mlr", "rmlr", "td-svm", "hsvm", "ot", "corrmnl"]
)
def test_what_memory_does_not_hold_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    used, code = method(name), np.arange(40) % 10
    features = np.eye(10)[code] + 0.1
    # Room for the features alone.
    room = 8 * 40 * 11 / budget.USABLE + 1
    monkeypatch.setattr(budget, "available", lambda: int(room))
    with pytest.raises(UsageError, match=r"Use|need") as caught:
        used.fit(Data({"features": features, "labels": code}), used.Params())
    assert caught.value.code == "too-large"
