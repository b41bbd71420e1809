"""The engine's merges are the definition's, on every kind of logits and by every path."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.inputs.rows import ArrayRows
from models.methods.logits.merging import reference
from models.methods.logits.merging.logit_matrix import LogitMatrix
from models.methods.logits.merging.loops import rows as row_loops
from models.methods.logits.merging.merging import MergeEffort, Merger
from models.methods.logits.merging.row_digest import Digest
from models.running.progress import silent
from tests.models.methods.logits.merging.cases import (
    AGGREGATIONS,
    SHAPES,
    STORED,
    Case,
    FarRows,
    Float,
    assert_same,
    case,
    cases,
    cut,
    gaussian,
    rolled,
    seen,
)
from tests.pairwise_kit import pairwise


@settings(max_examples=400)
@given(cases())
def test_small_inputs(drawn: Case) -> None:
    assert_same(drawn)


@settings(max_examples=200)
@given(cases(most_classes=60, most_rows=150))
def test_more_classes_than_lists_are_long(drawn: Case) -> None:
    assert_same(drawn)


@settings(max_examples=25)
@given(cases(most_classes=200, most_rows=400))
def test_more_classes_than_buckets(drawn: Case) -> None:
    assert_same(drawn)


@pytest.mark.parametrize(("shape", "how", "aggregation"), pairwise(SHAPES, STORED, AGGREGATIONS))
def test_every_shape_as_every_type(shape, how: str, aggregation: reference.Aggregation) -> None:
    for n, k in ((1, 2), (1, 9), (5, 11), (40, 6)):
        assert_same(Case(shape, n, n, k, how=how, aggregation=aggregation, listed=3))


@pytest.mark.parametrize("n_classes", [2, 3, 8, 9, 10, 16, 17, 63, 64, 65, 66, 127, 128, 129])
def test_numbers_of_classes_about_those_of_lists_and_buckets(n_classes: int) -> None:
    for shape in SHAPES:
        assert_same(Case(shape, n_classes, 2 * n_classes, n_classes))


def test_every_path_to_a_host_is_taken() -> None:
    """Each of them often, which the other tests rely on."""
    total = MergeEffort()
    for seed in range(200):
        drawn = replace(case(seed, most_classes=30, most_rows=60), listed=1 + seed % 3)
        effort = assert_same(drawn)
        total.by_lists += effort.by_lists
        total.by_bounds += effort.by_bounds
        total.by_reading += effort.by_reading
        total.n_read += effort.n_read
    assert total.by_lists > 300
    assert total.by_bounds > 300
    assert total.by_reading > 100
    assert total.n_read > 1000


def digests_alike(a: Digest, b: Digest) -> bool:
    """Whether the rows' digests are equal to the last bit, and sums over rows up to rounding."""
    per_row = ("label", "listed", "weight", "tail", "size")
    return all((a.arrays()[name] == b.arrays()[name]).all() for name in per_row) and np.allclose(
        a.confidence, b.confidence, rtol=1e-13
    )


@pytest.mark.parametrize("n_pieces", [1, 2, 7])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_and_pieces_change_nothing(threads: int, n_pieces: int) -> None:
    plain = Case(gaussian, 1, 300, 25, how="float32", listed=2)
    shared = replace(plain, rows_at_once=11, threads=threads, n_pieces=n_pieces)
    assert_same(shared)
    with cut(plain, plain.matrix):
        whole = seen(plain, plain.matrix)
    with cut(shared, shared.matrix):
        parts = seen(shared, shared.matrix)
    assert digests_alike(whole.digest, parts.digest)
    assert [c for c, _ in whole.hosts] == [c for c, _ in parts.hosts]
    for (_, a), (_, b) in zip(whole.hosts, parts.hosts, strict=True):
        assert a.tolist() == b.tolist()


@pytest.mark.parametrize("how", ["float16", "float32", "float64"])
def test_a_mapped_file_is_read_in_place(tmp_path: Path, how: str) -> None:
    drawn = Case(gaussian, 2, 200, 20, how=how, listed=1, rows_at_once=13)
    np.save(tmp_path / "logits.npy", drawn.matrix.rows.read(0, 200))
    mapped = np.load(tmp_path / "logits.npy", mmap_mode="r")
    matrix = LogitMatrix(ArrayRows(mapped))
    assert np.shares_memory(matrix.packed(3, 9), mapped)
    assert np.shares_memory(matrix.gather(np.array([1, 5]))[0], mapped)
    assert assert_same(drawn, matrix).n_read > 0


def test_rows_from_afar_are_all_listed_anew_together() -> None:
    n_read = []
    for rows in (ArrayRows, FarRows):
        drawn = Case(gaussian, 3, 200, 20, listed=1)
        logits = gaussian(np.random.default_rng(3), 200, 20)
        n_read.append(assert_same(drawn, LogitMatrix(rows(logits))).n_read)
    assert 0 < n_read[0] < n_read[1]


# Values that nearly tie

GAPS = (0.0, 1e-13, 1e-12, 1e-11, 7e-11, 1.4e-10, 1e-9, 1e-8, 1e-7, 1e-6)


def logit(p: float) -> float:
    return float(np.log(p) - np.log1p(-p))


def merged(logits: npt.NDArray, aggregation: reference.Aggregation) -> list:
    matrix = LogitMatrix(ArrayRows(logits))
    expected = reference.merge(matrix, reference.assign(matrix), aggregation)
    for listed in (1, 3):
        drawn = Case(gaussian, 0, *logits.shape, aggregation=aggregation, listed=listed)
        assert_same(drawn, matrix)
    return expected.steps


@pytest.mark.parametrize("aggregation", ["mean-sum", "sum", "mean"])
@pytest.mark.parametrize("gap", GAPS)
def test_scores_that_nearly_tie(gap: float, aggregation: reference.Aggregation) -> None:
    """Class 3 is less sure than class 1 by `gap`, and tied with it up to 1e-10."""
    far = -40.0
    p = 0.6
    rows = [
        [logit(0.9), 0.0, far, far],
        [0.0, logit(p), far, far],
        [far, 0.0, logit(0.8), far],
        [far, far, 0.0, logit(p * (1.0 - gap))],
    ]
    lowest = 1 if gap < 1e-10 else 3
    assert merged(np.array(rows), aggregation)[0][0] == [lowest]


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize("gap", GAPS)
def test_hosts_that_nearly_tie(gap: float, aggregation: reference.Aggregation) -> None:
    """The rows of class 2 choose class 3 more surely than class 0 by `gap`."""
    p = 0.7
    top, far = 3.0, -40.0
    rows = [
        [0.0 + logit(p), far, top, 0.0],
        [0.0, far, top, 0.0 + logit(p * (1.0 + gap))],
        *[[9.0, far, far, far]] * 3,
        *[[far, 9.0, far, far]] * 3,
        *[[far, far, far, 9.0]] * 3,
    ]
    assert merged(np.array(rows), aggregation)[0] == ([2], [0] if gap < 1e-10 else [3])


@pytest.mark.parametrize("how", ["float64", "float32"])
@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_mirrored_classes_tie_however_their_sums_are_rounded(
    how: str, aggregation: reference.Aggregation
) -> None:
    for seed in range(10):
        drawn = Case(rolled, seed, 120, 12, how=how, aggregation=aggregation, listed=2)
        assert_same(replace(drawn, rows_at_once=1 + seed, n_pieces=1 + seed % 3))


def test_hosts_of_classes_of_next_to_no_probability() -> None:
    """Class 2 lies 720 below the best in class 1's rows, 740 in class 0's: as good as nothing in
    both, in the definition as in the engine."""
    rows = np.array([[0.0, -1.0, -740.0], [-1.0, 0.0, -720.0]])
    assert merged(rows, "mean-sum")[0] == ([2], [0])
    # A small probability counts.
    assert merged(rows + np.array([0.0, 0.0, 40.0]), "mean-sum")[0] == ([2], [1])


def test_rows_that_give_no_other_class_a_probability_choose_none() -> None:
    with np.errstate(divide="ignore"):
        log = np.log(np.array([[1.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0.2, 0.0, 0.8]]))
    for aggregation in AGGREGATIONS:
        drawn = Case(gaussian, 0, 5, 3, aggregation=aggregation, listed=1)
        assert_same(drawn, LogitMatrix(ArrayRows(log), "log_probs"))


# Rows that cannot be read again


@settings(max_examples=300)
@given(cases(most_classes=20, most_rows=60), st.floats(0, 1))
def test_merges_without_guesses_are_right_though_rows_are_gone(drawn: Case, share: float) -> None:
    matrix = drawn.matrix
    gone = int(share * matrix.shape[0])
    with cut(drawn, matrix):
        read = seen(drawn, matrix)
        merger = Merger(
            matrix, read.digest, drawn.aggregation, silent, readable_from=gone, n_old=gone
        )
        merges = merger.run(read.hosts)
    assert merger.effort.n_read_old == 0
    if merger.effort.guessed == 0:
        expected = reference.merge(matrix, reference.assign(matrix), drawn.aggregation)
        assert merges.left.tolist() == expected.left.tolist(), drawn
        assert merges.right.tolist() == expected.right.tolist(), drawn


def test_some_merges_need_their_rows_and_some_do_not() -> None:
    guessed = []
    for seed in range(60):
        drawn = replace(case(seed, most_classes=12), listed=2)
        matrix = drawn.matrix
        with cut(drawn, matrix):
            read = seen(drawn, matrix)
            merger = Merger(
                matrix, read.digest, drawn.aggregation, silent, readable_from=matrix.shape[0]
            )
            merger.run(read.hosts)
        guessed.append(merger.effort.guessed)
    assert 10 < sum(n > 0 for n in guessed) < 50


def test_bounds_learned_of_a_group_hold_its_values() -> None:
    """Each value of rp lies between the bounds that are kept for a later job."""
    n_learned = 0
    for seed in range(80):
        drawn = replace(case(seed, most_classes=20, most_rows=60), listed=1 + seed % 2)
        matrix = drawn.matrix
        with cut(drawn, matrix):
            read = seen(drawn, matrix)
            merger = Merger(matrix, read.digest, drawn.aggregation, silent)
            merger.run(read.hosts)
        for key, known in merger.learned.items():
            group = np.frombuffer(key, dtype=np.int64)
            values = rp(matrix, read.digest, group)
            low, high = np.zeros((2, matrix.shape[1]))
            low[known.at], high[known.at] = known.low, known.high
            assert known.n == matrix.shape[0]
            assert (low <= values * (1 + 1e-12)).all(), drawn
            assert (values <= high * (1 + 1e-12) + known.n_unknown).all(), drawn
            n_learned += 1
    assert n_learned > 50


def rp(matrix: LogitMatrix, digest: Digest, group: npt.NDArray[np.int64]) -> Float:
    shut = np.zeros(matrix.shape[1], dtype=matrix.dtype)
    shut[group] = -np.inf
    values = np.zeros(matrix.shape[1])
    rows = np.flatnonzero(np.isin(digest.label, group))
    row_loops.exact(*matrix.gather(rows), matrix.scale, shut, values)
    return values
