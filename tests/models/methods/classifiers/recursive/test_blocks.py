"""Blocks of classes against all classes at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from models.inputs.data import Data
from models.method import Checkpoint, PredictionOptions
from models.methods.classifiers.classes.compressed import CompressedRows
from models.methods.classifiers.classes.problem import Problem
from models.methods.classifiers.classes.structure import ClassGraph, ClassTree
from models.methods.classifiers.recursive import hinge, logistic, penalty
from models.methods.classifiers.recursive.blocks.block import BlockedClasses, piece
from models.methods.classifiers.recursive.blocks.sweeps import BlockFit, State, minimize, sweep
from models.methods.classifiers.recursive.inputs import Effort, penalty_of
from models.registry import method
from models.running import budget
from models.running.progress import Alone, Crew, silent
from models.tree.tree import Tree
from tests.models.crew_kit import Scattered
from tests.models.methods.classifiers.problem_kit import TREE, margins, problem
from umbel.testing.lost_worker import MemoryCheckpoint, WorkerLost


def blocks_of(some: Problem, size: int) -> BlockedClasses:
    return BlockedClasses.of(some, penalty_of(some, False)[0], size)


def crew_of(some: Problem, blocked: BlockedClasses, loss: Any) -> Alone:
    return Alone(lambda given, progress: piece(some, blocked, loss, given))


def fitted(
    some: Problem,
    size: int,
    loss: Any,
    checkpoint: Checkpoint | None = None,
    tol: float = 1e-5,
    C: float = 0.7,
) -> BlockFit:
    blocked = blocks_of(some, size)
    effort = Effort(C, tol, max_iter=60)
    crew = crew_of(some, blocked, loss)
    return minimize(some, blocked, loss, effort, crew, silent, checkpoint or Checkpoint())


def together(some: Problem, loss: Any, C: float = 0.7) -> tuple[np.ndarray, float]:
    joint, _ = penalty_of(some, False)
    effort = Effort(C, tol=1e-6, max_iter=1000)
    if loss == "hinge":
        fit = hinge.minimize(some, joint, effort, silent, Checkpoint())
        return fit.weights[joint.node], fit.objective
    best = logistic.minimize(some, joint, effort, silent, Checkpoint())
    return best.weights[joint.node], best.objective


@cache
def least(drawn: Callable[[int], Problem], seed: int, loss: str) -> tuple[np.ndarray, float]:
    return together(drawn(seed), loss)


def wide(seed: int) -> Problem:
    """Twelve classes under five inner nodes, sparse rows of 30 features and the constant."""
    # 0 is above 1 and 2; 1 above 3; 2 above 4; classes are below 1, 3 and 4.
    parent = np.array([-1, 0, 0, 1, 2, *[1] * 3, *[3] * 4, *[4] * 5])
    tree = ClassTree(parent, np.arange(5, 17))
    rng = np.random.default_rng(seed)
    code = rng.permutation(np.arange(150) % 12)
    import scipy.sparse as sp

    words = rng.random((12, 30)) < 0.2
    counts = (rng.random((150, 30)) < 0.1 + 0.5 * words[code]).astype(np.float64)
    counts[np.arange(150), rng.integers(30, size=150)] = 1.0
    design = sp.csr_array(np.column_stack([counts, np.ones(150)]))
    return Problem(design, np.arange(151), code, 12, tree)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize("size", [1, 5, 12])
def test_blocks_reach_the_minimum(loss: Any, size: int) -> None:
    fit = fitted(wide(1), size, loss)
    weights, objective = least(wide, 1, loss)
    assert fit.converged
    assert fit.objectives[-1] == pytest.approx(objective, rel=2e-3)
    difference = fit.weights.columns(slice(None)) - weights
    assert np.abs(difference).max() < 0.05 * np.abs(weights).max()


def test_a_heavy_loss_settles_near_the_minimum() -> None:
    some = wide(7)
    fit = fitted(some, 4, "hinge", tol=1e-3, C=100.0)
    assert fit.converged
    assert fit.objectives[-1] == pytest.approx(together(some, "hinge", C=100.0)[1], rel=5e-3)


def test_blocks_that_are_not_exact_enough_to_settle_are_a_warning() -> None:
    used, data = method("rr-svm"), graph_data(wide(7))
    params = used.Params(block_size=5, C=100.0, tol=1e-9)
    fit = used.fit(data, params)
    before, last = (value for _, value in fit.curves["objective"][-2:])
    assert last > before
    assert "raised the objective" in " ".join(fit.warnings)


@pytest.mark.parametrize("several", [False, True])
def test_a_tree_of_uneven_depth_with_rows_of_several_classes(several: bool) -> None:
    some = problem(np.random.default_rng(2), tree=TREE, sparse=True, several=several)
    for loss in ("hinge", "logistic"):
        fit = fitted(some, 2, loss)
        assert fit.objectives[-1] == pytest.approx(together(some, loss)[1], rel=2e-3)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_a_lost_fit_goes_on_at_its_sweep(loss: Any) -> None:
    some = wide(3)
    expected = fitted(some, 5, loss)
    lost = MemoryCheckpoint(lost_after=2)
    with pytest.raises(WorkerLost):
        fitted(some, 5, loss, lost)
    again = MemoryCheckpoint(lost.state)
    resumed = fitted(some, 5, loss, again)
    assert resumed.objectives == expected.objectives
    np.testing.assert_array_equal(resumed.weights.own.value, expected.weights.own.value)
    assert len(again.states) == len(expected.objectives) - 1 - 2


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize("on_graph", [False, True])
def test_lost_workers_and_a_lost_fit_change_no_bit(loss: Any, on_graph: bool) -> None:
    some = linked(1) if on_graph else wide(3)
    blocked, effort = blocks_of(some, 3), Effort(0.7, tol=1e-5, max_iter=6)

    def workers(seed: int) -> Scattered:
        return Scattered(lambda given, progress: piece(some, blocked, loss, given), 4, seed)

    def fit(crew: Crew, checkpoint: Checkpoint) -> BlockFit:
        return minimize(some, blocked, loss, effort, crew, silent, checkpoint)

    expected = fit(crew_of(some, blocked, loss), Checkpoint())
    for seed in range(2):
        lost, crew = MemoryCheckpoint(lost_after=2), workers(seed)
        with pytest.raises(WorkerLost):
            fit(crew, lost)
        again = fit(workers(seed + 10), MemoryCheckpoint(lost.state))
        assert crew.n_lost > 0
        assert again.objectives == expected.objectives
        for name, array in expected.weights.own.arrays("").items():
            np.testing.assert_array_equal(again.weights.own.arrays("")[name], array)


def test_compressed_rows_keep_what_matters() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(4, 50)) * np.array([[1e-3], [1.0], [1e4], [0.0]])
    rows[:, ::2] *= 1e-5
    kept = CompressedRows.of(rows, 50)
    assert (np.diff(kept.start) <= 25).all()
    scale = np.abs(rows).max(axis=1, keepdims=True)
    assert (np.abs(kept.matrix().toarray() - rows) <= 1e-3 * scale).all()
    np.testing.assert_allclose(kept.row(2), kept.matrix().toarray()[2], rtol=1e-6)
    taken = kept.take(np.array([3, 1]))
    np.testing.assert_array_equal(taken.matrix().toarray(), kept.matrix().toarray()[[3, 1]])
    back = CompressedRows.of_arrays(kept.arrays("a."), 50, "a.")
    np.testing.assert_array_equal(back.matrix().toarray(), kept.matrix().toarray())
    again = CompressedRows.of_matrix(kept.matrix())
    np.testing.assert_allclose(again.matrix().toarray(), kept.matrix().toarray(), rtol=1e-6)


@pytest.mark.parametrize("name", ["rr-svm", "rr-lr"])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_model_of_blocks_answers_as_one_of_all_classes(name: str, sparse: bool) -> None:
    some = wide(4)
    tree = some.tree
    assert tree is not None
    names = [str(number) for number in range(12)]
    whole = Tree(
        parent=tree.parent.astype(np.int32),
        height=-tree.depth.astype(np.float64),
        size=np.zeros(17, dtype=np.int64),
        name=np.array([None] * 5 + names, dtype=object),
        leaf_of_point=np.zeros(0, dtype=np.int32),
    )
    features = some.design[:, :30]
    values = {
        "features": features if sparse else features.toarray(),
        "labels": some.code,
        "hierarchy": whole,
    }
    used = method(name)
    exact, blocked = (
        used.fit(Data(values), used.Params(block_size=size, calibrate=True, n_folds=2))
        for size in (None, 5)
    )
    assert "trained in blocks" in " ".join(blocked.warnings)
    assert set(blocked.model.arrays) > {"weights.index", "weights.value", "weights.scale"}
    assert blocked.metrics["objective"] == pytest.approx(exact.metrics["objective"], rel=0.02)
    new = Data({"features": values["features"]})
    answers = [
        used.predict(fit.model, fit.tree, new, PredictionOptions(top_k=2)).classes
        for fit in (exact, blocked)
    ]
    assert (answers[0].code == answers[1].code).mean() > 0.95
    np.testing.assert_allclose(answers[0].score, answers[1].score, atol=0.15)


def linked(seed: int) -> Problem:
    """As `wide`, over a graph of 12 classes and three nodes without examples, in two parts."""
    names = [str(number) for number in range(12)]
    edges = [["0", "1"], ["1", "2"], ["2", "0"], ["2", "3"], ["3", "x"], ["x", "4"], ["x", "y"]]
    edges += [["5", "y"], ["6", "7"], ["7", "8"], ["8", "9"], ["9", "6"], ["z", "10"], ["z", "11"]]
    graph, _ = ClassGraph.of_edges(np.array(edges, dtype=object), names)
    return replace(wide(seed), tree=None, graph=graph)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize("size", [1, 5])
def test_blocks_of_a_graph_reach_the_minimum(loss: Any, size: int) -> None:
    fit = fitted(linked(5), size, loss)
    _, objective = least(linked, 5, loss)
    assert fit.converged
    assert fit.objectives[-1] == pytest.approx(objective, rel=2e-3)


def test_neighbours_are_in_no_block_together() -> None:
    some = linked(5)
    assert some.graph is not None
    blocked = blocks_of(some, 3)
    assert sorted(np.concatenate(blocked.blocks).tolist()) == list(range(12))
    assert sum(len(turn) for turn in blocked.turns) == len(blocked.blocks)
    for turn in blocked.turns:
        together = np.concatenate([blocked.blocks[block] for block in turn])
        assert not some.graph.adjacency[together][:, together].nnz


def hung(seed: int) -> Problem:
    """As `wide`, over a graph whose classes have one neighbour each, without examples."""
    names = [str(number) for number in range(12)]
    edges = [[name, f"hub {number % 2}"] for number, name in enumerate(names)]
    edges.append(["hub 0", "hub 1"])
    graph, _ = ClassGraph.of_edges(np.array(edges, dtype=object), names)
    return replace(wide(seed), tree=None, graph=graph)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_the_objective_of_a_sweep_is_that_of_its_weights(
    loss: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Far from 0, so that what it adds to the matrix shows.
    monkeypatch.setattr(penalty, "ANCHOR", 0.5)
    for some in (wide(6), linked(6), hung(6)):
        blocked = blocks_of(some, 4)
        state = State.start(some, blocked, Checkpoint())
        crew = crew_of(some, blocked, loss)
        for _ in range(2):
            inner = state.inner.weights.columns(slice(None))
            objective = sweep(state, Effort(0.7, tol=0.0, max_iter=1), 1e-4, crew, silent)
            weights = np.zeros((blocked.penalty.n_nodes, some.n_columns))
            weights[blocked.penalty.inner] = inner
            weights[blocked.penalty.node] = state.class_weights(some).columns(slice(None))
            margin = np.array(margins(some, weights[blocked.penalty.node]))
            losses = np.maximum(1.0 - margin, 0.0) if loss == "hinge" else np.logaddexp(0, -margin)
            literal = blocked.penalty.value(weights) + 0.7 * losses.sum()
            assert objective == pytest.approx(literal, rel=1e-3)
            state.objectives.append(objective)
            state.move_inner()


def graph_data(some: Problem) -> Data:
    edges = [["0", "1"], ["1", "2"], ["3", "4"], *[["5", str(other)] for other in range(6, 12)]]
    values = {
        "features": some.design[:, :30],
        "labels": some.code,
        "graph": np.array(edges, dtype=object),
    }
    return Data(values)


@pytest.mark.parametrize("name", ["rr-svm", "rr-lr"])
def test_blocks_of_a_graph_say_what_anchors_it(name: str) -> None:
    used, data = method(name), graph_data(wide(8))
    exact, blocked = (used.fit(data, used.Params(block_size=size)) for size in (None, 5))
    (anchored,) = (warning for warning in exact.warnings if "anchored" in warning)
    assert anchored in blocked.warnings


@pytest.mark.parametrize("name", ["rr-svm", "rr-lr"])
def test_blocks_may_have_room_for_more_classes_than_there_are(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budget, "available", lambda: 1 << 30)
    used, data = method(name), graph_data(wide(8))
    fits = [used.fit(data, used.Params(block_size=size)) for size in (12, 1_000_000)]
    assert fits[0].metrics["objective"] == fits[1].metrics["objective"]
