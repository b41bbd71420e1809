"""Merges from the best few classes of each row: bounds hold, and what they decide is right."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.errors import UsageError
from models.inputs.data import Data
from models.inputs.rows import ArrayRows
from models.methods.logits.l2h import L2H, L2HParams
from models.methods.logits.merging import reference, topk
from models.methods.logits.merging.logit_matrix import Kind, LogitMatrix
from models.methods.logits.merging.merging import Merger
from models.methods.logits.merging.reference import Merges
from models.running.progress import silent
from tests.models.methods.logits.merging.cases import Case, cases, gaussian, stored


@dataclass(frozen=True)
class Best:
    """The best k classes of each row."""

    matrix: LogitMatrix
    classes: npt.NDArray[np.int64]
    n_classes: int


def best(full: LogitMatrix, k: int, rng: np.random.Generator) -> Best:
    """The k best of each row, the lowest of equal ones, in any order."""
    rows = full.rows
    values = rows.values(0, rows.shape[0]).astype(np.float64)
    order = np.argsort(-values, axis=1, kind="stable")[:, :k]
    order = rng.permuted(order, axis=1)
    top = ArrayRows(np.take_along_axis(rows.read(0, rows.shape[0]), order, axis=1))
    top = ArrayRows(top.array, bfloat16=rows.bfloat16)
    return Best(LogitMatrix(top, full.kind, full.temperature), order, full.shape[1])


def decided(at: Best, aggregation: reference.Aggregation) -> tuple[Merges, int]:
    """The merges, and how many decisions were open."""
    seen = topk.read(at.matrix, at.classes, at.n_classes)
    merger = Merger(at.matrix, seen.digest, aggregation, silent, readable_from=at.matrix.shape[0])
    merges = merger.run(seen.hosts)
    assert merger.effort.n_read == 0
    return merges, merger.effort.guessed + seen.n_open


def truth(full: LogitMatrix, aggregation: reference.Aggregation) -> Merges:
    return reference.merge(full, reference.assign(full), aggregation)


def assert_right_or_open(full: LogitMatrix, at: Best, aggregation: reference.Aggregation) -> int:
    merges, n_open = decided(at, aggregation)
    if n_open == 0:
        expected = truth(full, aggregation)
        assert merges.left.tolist() == expected.left.tolist()
        assert merges.right.tolist() == expected.right.tolist()
    return n_open


@settings(max_examples=500)
@given(cases(most_classes=10, most_rows=14), st.floats(0, 1))
def test_what_is_not_open_is_as_on_whole_rows(drawn: Case, share: float) -> None:
    full, rng = drawn.matrix, np.random.default_rng(drawn.seed)
    k = 1 + int(share * (full.shape[1] - 1))
    assert_right_or_open(full, best(full, k, rng), drawn.aggregation)


@settings(max_examples=150)
@given(cases(most_classes=60, most_rows=60))
def test_what_is_not_open_is_as_on_whole_rows_of_many_classes(drawn: Case) -> None:
    full, rng = drawn.matrix, np.random.default_rng(drawn.seed)
    k = int(rng.integers(1, full.shape[1] + 1))
    assert_right_or_open(full, best(full, k, rng), drawn.aggregation)


def test_three_of_four_classes_decide_and_one_does_not() -> None:
    n_open = {1: 0, 3: 0, 4: 0}
    pairs = np.array([[9.0, 4, 0, 0], [4, 9, 0, 0], [0, 0, 8, 4], [0, 0, 4, 8]])
    for seed in range(30):
        rng = np.random.default_rng(seed)
        full = LogitMatrix(ArrayRows(pairs[np.arange(80) % 4] + rng.normal(size=(80, 4))))
        for k in n_open:
            n_open[k] += assert_right_or_open(full, best(full, k, rng), "mean-sum") > 0
    assert n_open[4] == 0
    assert n_open[3] < 15
    assert n_open[1] == 30


@settings(max_examples=300)
@given(cases(most_classes=30, most_rows=12), st.floats(0, 1))
def test_bounds_hold_the_true_values(drawn: Case, share: float) -> None:
    full, rng = drawn.matrix, np.random.default_rng(drawn.seed)
    n, n_classes = full.shape
    k = 1 + int(share * (n_classes - 1))
    at = best(full, k, rng)
    seen = topk.read(at.matrix, at.classes, n_classes)
    digest = seen.digest
    expected = reference.assign(full)
    assert (digest.label == expected.label).all()
    assert (digest.size == expected.size).all()
    error = np.abs(digest.confidence - expected.confidence)
    assert (error <= digest.slack + 1e-12 * expected.confidence).all()

    values = full.block(0, n).astype(np.float64)
    probs = values.copy()
    reference.exponentials(probs, full.scale)
    probs /= probs.sum(axis=1, keepdims=True)
    rounding = topk._rounding(at.matrix, n_classes)
    stored_as = at.matrix.rows.values(0, n)
    _, bounds = topk.digest(stored_as, at.classes, n_classes, full.kind, full.scale, rounding)
    order = np.argsort(-values, axis=1, kind="stable")
    listed = np.take_along_axis(probs, order, axis=1)
    assert (bounds.least <= listed[:, :k] * (1 + 1e-12)).all()
    assert (listed[:, :k] <= bounds.most * (1 + 1e-12)).all()
    if k < n_classes:
        assert (listed[:, k] <= bounds.missing * (1 + 1e-12)).all()

    # Tails are sums over unlisted classes relative to the first listed; below float32 they are 0.
    apart = values.copy()
    apart[np.arange(n), digest.label] = -np.inf
    reference.exponentials(apart, full.scale)
    rest = np.take_along_axis(apart, order[:, k:], axis=1).sum(axis=1)
    if k > 1:
        assert (rest <= digest.tail * (1 + 1e-6) + 1e-37).all()


def test_a_host_is_open_where_the_missing_classes_may_change_it() -> None:
    """Class 2 is nobody's best. Rows of class 0 give it the more, but maybe to class 3 too."""
    rows = np.array([[0.0, -1.01, -1.0, -50.0], [-20.0, 0.0, -1.4, -50.0]])
    full = LogitMatrix(ArrayRows(rows))
    assert truth(full, "mean-sum").right[0] == 0
    at = best(full, 3, np.random.default_rng(0))
    seen = topk.read(at.matrix, at.classes, 4)
    assert seen.n_open == 2
    assert_right_or_open(full, at, "mean-sum")


def test_what_weighs_nothing_beside_the_best_still_does_beside_the_second() -> None:
    """All of a row but its best is 1000 below it; the missing ones are as much as those given."""
    far = -1000.0
    rows = np.array([[0.0, far, far - 1, far - 1, far - 1], [far, far - 1, 0.0, far - 1, far - 1]])
    full = LogitMatrix(ArrayRows(rows))
    at = best(full, 3, np.random.default_rng(0))
    tail = topk.read(at.matrix, at.classes, 5).digest.tail
    assert tail == pytest.approx(2.0 * np.exp(-1.0))


@pytest.mark.parametrize("kind", ["log_probs", "probs"])
@pytest.mark.parametrize(("how", "most"), [("float64", 1.1e-5), ("float16", 0.01)])
def test_what_is_left_of_1_allows_for_rounding(how: str, most: float, kind: str) -> None:
    probs = np.array([[0.4, 0.35, 0.25 - 1e-9, 1e-9]])
    rows = stored(np.log(probs) if kind == "log_probs" else probs, how)
    full = LogitMatrix(rows, kind)
    at = best(full, 3, np.random.default_rng(0))
    tail = float(topk.read(at.matrix, at.classes, 4).digest.tail[0])
    assert 1e-9 / 0.35 <= tail <= most / 0.35


def test_all_classes_given_leave_ties_alone_open() -> None:
    for seed in range(20):
        full = LogitMatrix(ArrayRows(gaussian(np.random.default_rng(seed), 40, 8)))
        assert assert_right_or_open(full, best(full, 8, np.random.default_rng(1)), "mean") == 0


def test_two_classes_need_no_bounds() -> None:
    full = LogitMatrix(ArrayRows(np.array([[1.0, 0.0], [2.0, 0.5], [0.0, 3.0]])))
    merges, n_open = decided(best(full, 1, np.random.default_rng(0)), "size")
    assert (merges.left.tolist(), merges.right.tolist(), n_open) == ([1], [0], 0)


def test_the_job_says_what_is_open() -> None:
    rng = np.random.default_rng(0)
    logits = gaussian(rng, 60, 12)
    at = best(LogitMatrix(ArrayRows(logits)), 1, rng)
    data = Data({"logits": at.matrix.rows.read(0, 60), "top_classes": at.classes})
    fitted = L2H().fit(data, L2HParams(n_classes=12))
    assert fitted.metrics["n_undecided_merges"] > 0
    assert any("only 1 of 12 classes are given" in warning for warning in fitted.warnings)
    assert (fitted.tree.leaf_of_point == fitted.tree.leaves[logits.argmax(axis=1)]).all()


# What is refused

VALUES = np.array([[3.0, 1.0], [2.0, 0.5], [4.0, 0.0]])
CLASSES = np.array([[0, 1], [1, 2], [2, 0]])
PROBS = np.array([[0.6, 0.3], [0.9, 0.05], [0.5, 0.5]])


def refused(values: npt.NDArray, classes: npt.NDArray, kind: str) -> UsageError:
    with pytest.raises(UsageError) as caught:
        topk.read(LogitMatrix(ArrayRows(values), kind), classes, 3)
    return caught.value


@pytest.mark.parametrize(
    ("classes", "code", "part"),
    [
        (CLASSES[:, :1], "wrong-shape", r"the shape (3, 1), input 'logits' (3, 2)"),
        (CLASSES.astype(float), "wrong-input", "must hold integers"),
        (CLASSES - [[0, 0], [2, 0], [0, 0]], "wrong-input", "class -1 at row 1, column 0"),
        (CLASSES - [[0, 0], [0, 0], [0, -3]], "wrong-input", "class 3 at row 2, column 1"),
        (CLASSES * [[1, 1], [1, 1], [0, 1]], "wrong-input", "Row 2 of input 'top_classes'"),
    ],
)
def test_classes_that_cannot_be_are_named(classes: npt.NDArray, code: str, part: str) -> None:
    error = refused(VALUES, classes, "logits")
    assert error.code == code
    assert part in error.detail
    assert error.where["role"] == "top_classes"


@pytest.mark.parametrize(
    ("kind", "value", "code"),
    [
        ("logits", np.nan, "not-finite"),
        ("logits", np.inf, "not-finite"),
        ("log_probs", np.nan, "not-probabilities"),
        ("log_probs", np.inf, "not-probabilities"),
        ("log_probs", 0.3, "not-probabilities"),
        ("probs", np.nan, "not-probabilities"),
        ("probs", np.inf, "not-probabilities"),
        ("probs", -0.1, "not-probabilities"),
        ("probs", 1.1, "not-probabilities"),
    ],
)
def test_values_that_cannot_be_are_named(kind: str, value: float, code: str) -> None:
    values = {"logits": VALUES, "log_probs": np.log(PROBS), "probs": PROBS}[kind].copy()
    values[1, 1] = value
    values[2, 0] = value
    error = refused(values, CLASSES, kind)
    assert error.code == code
    assert error.detail.startswith("Row 1 of input 'logits' (counted from 0) holds ")
    assert error.where == {"role": "logits", "row": 1}


@pytest.mark.parametrize(
    ("kind", "value"), [("probs", 0.0), ("log_probs", -np.inf), ("logits", -np.inf)]
)
def test_a_row_without_any_probability_is_refused(kind: str, value: float) -> None:
    values = (PROBS if kind == "probs" else np.log(PROBS)).copy()
    values[2] = value
    assert refused(values, CLASSES, kind).where["row"] == 2


@pytest.mark.parametrize("kind", ["probs", "logits"])
def test_classes_of_no_probability_may_be_given(kind: Kind) -> None:
    values = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    if kind == "logits":
        values = np.where(values == 0.0, -np.inf, values)
    seen = topk.read(LogitMatrix(ArrayRows(values), kind), CLASSES, 3)
    assert seen.digest.label.tolist() == [0, 1, 0]


@pytest.mark.parametrize("n_classes", [15, 16])
def test_threads_change_nothing(n_classes: int) -> None:
    logits = np.random.default_rng(0).normal(size=(600, 15)) * 3.0
    order = np.argsort(-logits, axis=1, kind="stable")[:, :3]
    data = {"logits": np.take_along_axis(logits, order, axis=1), "top_classes": order}
    params = L2HParams(n_classes=n_classes)
    alone = L2H().fit(Data(data), params)
    together = L2H().fit(Data(data), params, threads=2)
    assert (alone.tree.parent == together.tree.parent).all()
    assert (alone.tree.height == together.tree.height).all()
