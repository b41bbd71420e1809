"""Each compiled function against a plain version in float64."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.inputs.rows import ArrayRows
from models.methods.logits.merging import row_digest
from models.methods.logits.merging.logit_matrix import LogitMatrix
from models.methods.logits.merging.loops import bounds, few, merges
from models.methods.logits.merging.loops import rows as row_loops
from models.methods.logits.merging.reference import TIE
from models.methods.logits.merging.row_digest import Digest
from models.running.progress import silent
from tests.models.methods.logits.merging.cases import Case, Float, cases
from tests.pairwise_kit import pairwise

HALF_32, HALF_64 = 2.0**-24, 2.0**-53
LEAST_32, LEAST_64 = -87.0, -708.0


# Exponentials


def weights(x: npt.NDArray, base: float, scale: float) -> npt.NDArray[np.float32]:
    e = np.empty(len(x), dtype=np.float32)
    row_loops._weights(x, x.dtype.type(base), scale, e)
    return e


@pytest.mark.parametrize("scale", [1e-3, 1.0 / 3.0, 1.0, 7.1, 1e3])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_weights_err_no_more_than_a_tails_terms_may(dtype: str, scale: float) -> None:
    """3 |d| half ulp for the roundings of d = (x - base) scale, 61 for the exponential."""
    rng = np.random.default_rng(0)
    x = (rng.uniform(-90, 0, 100_000) / scale).astype(dtype)
    base = x.dtype.type(rng.normal() / scale)
    x = np.minimum(x, base)
    e = weights(x, base, scale)
    d = (x.astype(np.float64) - np.float64(base)) * scale
    clear = d > LEAST_32 + 1e-4
    error = np.abs(e[clear] / np.exp(d[clear]) - 1.0)
    assert (error <= (3 * -d[clear] + 61) * HALF_32).all()
    assert (e[d < LEAST_32 - 1e-4] <= np.float32(np.exp(LEAST_32))).all()
    assert (e[d < LEAST_32 - 1.0] == 0).all()


def test_float64_exponentials_are_within_3_ulp() -> None:
    x = np.linspace(LEAST_64, 0.0, 1_000_001)
    e = np.empty(len(x))
    row_loops._exponentials(x, 0.0, 1.0, e)
    true = np.exp(x.astype(np.longdouble))
    assert np.abs((e - true) / true).max() <= 6 * HALF_64


def test_exponentials_of_what_is_far_or_infinite() -> None:
    x = np.array([0.0, -1e300, -np.inf, -709.0])
    e = np.empty(len(x))
    row_loops._exponentials(x, 0.0, 1.0, e)
    assert e.tolist() == [1.0, 0.0, 0.0, 0.0]
    for dtype in ("float32", "float64"):
        with np.errstate(over="ignore"):
            values = x.astype(dtype)
        assert weights(values, 0.0, 1e3).tolist() == [1.0, 0.0, 0.0, 0.0]


# Sums


def sum_below(x: npt.NDArray, limit: float, base: float = 0.0) -> float:
    kind = x.dtype.type
    return row_loops._sum_below(x, kind(base), 1.0, kind(limit), x[None], np.uintp(0))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 63, 64, 65, 1000, 8191, 8192, 8193, 40_000])
def test_sums_err_no_more_than_tails_may(n: int, dtype: str) -> None:
    """A sum in float32 loses most where small terms stand beside a large one."""
    for small in (2.9e-8, 1e-7, 1e-6, 3e-5, 0.1):
        x = np.full(n, np.log(small), dtype=dtype)
        # Rounded once, so the same wherever the large term stands.
        true = math.fsum([1.0, *np.exp(x[1:].astype(np.float64)).tolist()])
        for large in range(0, min(n, 70), 3):
            x[large] = 0.0
            assert abs(sum_below(x, 1.0) - true) <= bounds.TAIL_ERROR * true
            x[large] = np.log(small)
        e = np.full(n, small, dtype=np.float32)
        e[n // 2] = 1.0
        true = math.fsum(e.tolist())
        assert abs(row_loops._sum_all(e) - true) <= 191 * HALF_32 * true


def test_a_sum_takes_what_lies_below_the_limit() -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(-3, 4, 5000).astype(np.float32)
    true = np.exp(x[x < 1] - 0.0).sum(dtype=np.float64)
    assert sum_below(x, 1.0) == pytest.approx(true, rel=bounds.TAIL_ERROR)
    assert sum_below(x, -3.0) == 0.0
    assert sum_below(np.array([-np.inf, 0.0]), -np.inf, base=-np.inf) == 0.0


# Lists


def scanned(matrix: LogitMatrix) -> Digest:
    return row_digest.scan(matrix, 0, matrix.shape[0], 1, silent)


def widened(matrix: LogitMatrix) -> Float:
    return matrix.block(0, matrix.shape[0]).astype(np.float64)


def exps(values: Float, base: float, scale: float) -> Float:
    with np.errstate(over="ignore", invalid="ignore"):
        return np.nan_to_num(np.exp((values - base) * scale), nan=0.0)


def assert_scanned(matrix: LogitMatrix) -> None:
    """The lists of a matrix, by the loop for few classes and by that for many."""
    assert_lists(matrix, scanned(matrix))
    if matrix.shape[1] <= few.MOST:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(few, "MOST", 0)
            assert_lists(matrix, scanned(matrix))


def assert_lists(matrix: LogitMatrix, digest: Digest) -> None:
    x = widened(matrix)
    n, n_classes = x.shape
    n_listed = digest.listed.shape[1]
    assert n_listed == min(row_digest.LISTED, n_classes - 1)
    order = np.argsort(-x, axis=1, kind="stable")
    assert (digest.label == order[:, 0]).all()
    assert (digest.listed == order[:, 1 : n_listed + 1]).all()
    assert (digest.size == np.bincount(digest.label, minlength=n_classes)).all()
    confidence = np.zeros(n_classes)
    for i in range(n):
        terms = exps(x[i, order[i]], x[i, order[i, 1]], matrix.scale)
        weight = terms[1 : n_listed + 1]
        # Below the floats' normal range only the size of the error is bounded.
        error = np.abs(digest.weight[i] - weight)
        assert (error <= bounds.WEIGHT_ERROR * weight + 1e-37).all()
        tail = math.fsum(terms[n_listed + 1 :])
        assert abs(digest.tail[i] - tail) <= bounds.TAIL_ERROR * tail + n_classes * 2e-38
        own = exps(x[i], x[i, order[i, 0]], matrix.scale)
        confidence[digest.label[i]] += 1.0 / math.fsum(own)
    error = np.abs(digest.confidence - confidence)
    assert (error <= digest.slack + 1e-13 * confidence).all()


@settings(max_examples=400)
@given(cases(most_classes=90, most_rows=12))
def test_lists_are_in_exact_order_and_tails_within_their_bound(case: Case) -> None:
    assert_scanned(case.matrix)


@pytest.mark.parametrize(
    ("dtype", "n_classes", "n_values"),
    pairwise(
        ("float16", "float32", "float64"),
        (9, 10, 64, 65, 128, 129, 200, 2047, 2048, 5000),
        (1, 2, 5, 60, 100_000),
    ),
)
def test_ties_in_long_rows_go_to_the_lowest_class(
    dtype: str, n_classes: int, n_values: int
) -> None:
    rng = np.random.default_rng(n_values)
    values = rng.normal(size=n_values) * 9.0
    x = rng.choice(np.append(values, [0.0, -0.0]), (6, n_classes)).astype(dtype)
    assert_scanned(LogitMatrix(ArrayRows(x)))


def test_classes_past_65535_are_listed() -> None:
    rng = np.random.default_rng(0)
    for n_classes, kind in ((65_535, np.uint16), (65_536, np.int32), (70_000, np.int32)):
        x = rng.normal(size=(3, n_classes)).astype(np.float32)
        x[0, -1], x[1, -2:] = 20.0, 30.0
        matrix = LogitMatrix(ArrayRows(x))
        assert scanned(matrix).listed.dtype == kind
        assert_scanned(matrix)


# Bounds from lists


@dataclass
class Lists:
    """Rows' lists, as `relist` changes and `walk` reads them."""

    listed: npt.NDArray
    weight: npt.NDArray[np.float32]
    mass: npt.NDArray[np.float32]
    tail: npt.NDArray[np.float32]
    label: npt.NDArray[np.int32]
    since: npt.NDArray[np.int32]

    def columns(self) -> tuple:
        return self.listed, self.weight, self.mass, self.tail, self.label, self.since


def lists_of(digest: Digest) -> Lists:
    listed, weight, tail = digest.listed.copy(), digest.weight.copy(), digest.tail.copy()
    since = np.zeros(len(tail), dtype=np.int32)
    return Lists(listed, weight, weight.copy(), tail, digest.label, since)


@dataclass
class Nested:
    """Rows listed once by classes, some of them again by groups, and a group of groups."""

    matrix: LogitMatrix
    lists: Lists
    n_since: npt.NDArray[np.int32]
    group: npt.NDArray[np.int64]
    rows: npt.NDArray[np.int64]
    values: Float


def relisted(
    matrix: LogitMatrix, lists: Lists, rows: np.ndarray, slot: np.ndarray, state: int
) -> None:
    """Relist rows by the groups."""
    order = np.argsort(slot, kind="stable")
    names, n_members = np.unique(slot, return_counts=True)
    start = np.concatenate(([0], np.cumsum(n_members)))
    x, at = matrix.gather(rows)
    lowest = np.finfo(matrix.dtype).min
    slot = slot.astype(np.int32)
    row_loops.relist(
        x, at, lowest, matrix.scale, rows, slot, order, start, names, state, *lists.columns()
    )


def slots(group: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Each class's group, named by its lowest class."""
    return np.array([int(np.argmax(group == own)) for own in group])


def nested(case: Case) -> Nested:
    """Three states of the groups, each a union of the one before; G* is a group of the last."""
    matrix, rng = case.matrix, np.random.default_rng(case.seed + 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_digest, "LISTED", case.listed)
        lists = lists_of(scanned(matrix))
    n_classes = matrix.shape[1]
    group = np.arange(n_classes)
    n_since = [np.ones(n_classes, dtype=np.int32)]
    for state in (1, 2, 3):
        group = group % rng.integers(2, n_classes + 1)
        slot = slots(group)
        n_since.append(np.bincount(slot, minlength=n_classes)[slot].astype(np.int32))
        if state < 3 and len(set(slot)) > 1:
            rows = np.flatnonzero(rng.random(matrix.shape[0]) < 0.5)
            relisted(matrix, lists, rows, slot, state)
    chosen = np.flatnonzero(group == group[lists.label[rng.integers(matrix.shape[0])]])
    rows = np.flatnonzero(np.isin(lists.label, chosen))
    return Nested(matrix, lists, np.array(n_since), chosen, rows, widened(matrix))


def walked(at: Nested, rows: np.ndarray, sure_of_tail: float = 1.0) -> tuple:
    """(low, high, width, number of rows of which nothing is known)."""
    n_classes = at.matrix.shape[1]
    inside = np.zeros(n_classes + 1, dtype=np.uint8)
    inside[at.group], inside[-1] = 1, 2
    low, high = np.zeros((2, n_classes))
    width = np.empty(len(rows), dtype=np.float32)
    n_unknown = merges.walk(
        rows,
        inside,
        len(at.group),
        sure_of_tail,
        *at.lists.columns(),
        at.n_since,
        low,
        high,
        width,
        np.empty(0, dtype=np.int64),
    )
    return low, high, width, n_unknown


def winner(at: Nested, row: int) -> tuple[int, float]:
    """A row's best class outside the group and its probability there."""
    x = at.values[row].copy()
    x[at.group] = -np.inf
    best = int(x.argmax())
    total = math.fsum(exps(x, x[best], at.matrix.scale))
    return best, 1.0 / total if total else 0.0


@settings(max_examples=200)
@given(cases(most_classes=40, most_rows=12), st.sampled_from([0.0, 1.0]))
def test_a_rows_interval_holds_the_true_value(case: Case, sure_of_tail: float) -> None:
    at = nested(case)
    if len(at.group) == at.matrix.shape[1]:
        return
    total_low, total_high = np.zeros((2, at.matrix.shape[1]))
    total_unknown = 0
    for row in at.rows.tolist():
        best, sure = winner(at, row)
        low, high, width, n_unknown = walked(at, np.array([row]), sure_of_tail)
        total_low += low
        total_high += high
        total_unknown += n_unknown
        if n_unknown:
            assert not low.any()
            assert not high.any()
            assert width[0] == 2.0
            continue
        assert np.flatnonzero(high).tolist() == [best]
        assert low[best] * (1 - 1e-13) <= sure <= high[best] * (1 + 1e-13)
        assert width[0] == pytest.approx(high[best] - low[best], rel=1e-6, abs=1e-7)
    low, high, _, n_unknown = walked(at, at.rows, sure_of_tail)
    assert low == pytest.approx(total_low, rel=1e-12)
    assert high == pytest.approx(total_high, rel=1e-12)
    assert n_unknown == total_unknown


@settings(max_examples=200)
@given(cases(most_classes=40, most_rows=30), st.integers(1, 3))
def test_rows_never_listed_again_are_walked_to_the_same_bits(case: Case, n_group: int) -> None:
    """`walk` has a path for rows that were listed once, and one for groups of one class."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_digest, "LISTED", case.listed)
        lists = lists_of(scanned(case.matrix))
    n_classes = case.matrix.shape[1]
    group = np.append((lists.label[0] + np.arange(1, n_group)) % n_classes, lists.label[0])
    if len(group) >= n_classes:
        return
    rows = np.flatnonzero(np.isin(lists.label, group))
    at_first = np.ones((1, n_classes), dtype=np.int32)
    walks = []
    for since in (lists.since, lists.since[:0]):
        once = replace(lists, since=since)
        at = Nested(case.matrix, once, at_first, group, rows, np.empty(0))
        walks.append(walked(at, rows))
    for a, b in zip(*walks, strict=True):
        assert np.array_equal(a, b)


@settings(max_examples=150)
@given(cases(most_classes=40, most_rows=12))
def test_a_row_listed_by_the_groups_of_now_is_nearly_exact(case: Case) -> None:
    at = nested(case)
    n_classes = at.matrix.shape[1]
    if len(at.group) == n_classes:
        return
    # The group, and all others as they were first.
    slot = np.arange(n_classes)
    slot[at.group] = at.group[0]
    relisted(at.matrix, at.lists, at.rows, slot, 3)
    at.n_since[3] = np.bincount(slot, minlength=n_classes)[slot]
    _, _, width, n_unknown = walked(at, at.rows)
    hopeless = sum(winner(at, row)[1] == 0.0 for row in at.rows.tolist())
    assert n_unknown == hopeless
    assert (width[width < 2.0] <= 3 * bounds.TAIL_ERROR).all()


@settings(max_examples=150)
@given(cases(most_classes=150, most_rows=8), st.integers(1, 20))
def test_relisted_rows_are_listed_by_groups(case: Case, n_groups: int) -> None:
    """Best class of each group in order, the mass of the group, the mass of all others."""
    matrix, rng = case.matrix, np.random.default_rng(case.seed + 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_digest, "LISTED", case.listed)
        lists = lists_of(scanned(matrix))
    n_classes = matrix.shape[1]
    slot = slots(rng.integers(0, n_groups, n_classes))
    if len(set(slot)) == 1:
        return
    relisted(matrix, lists, np.arange(matrix.shape[0]), slot, 5)
    assert (lists.since == 5).all()
    n_listed = lists.listed.shape[1]
    for i, x in enumerate(widened(matrix)):
        order = np.argsort(-x, kind="stable")
        order = order[slot[order] != slot[lists.label[i]]]
        likely = order[x[order] > -np.inf]
        terms = exps(x, x[order[0]], matrix.scale)
        best = list(dict.fromkeys(slot[order].tolist()))
        listed = lists.listed[i][lists.listed[i] < n_classes].astype(int)
        assert listed.tolist() == [
            next(int(c) for c in order if slot[c] == g) for g in best[: len(listed)]
        ]
        assert len(listed) >= min(n_listed, len(set(slot[likely[: 2 * n_listed]].tolist())))
        assert (lists.listed[i, len(listed) :] == n_classes).all()
        least = n_classes * 2e-38
        for j, c in enumerate(listed.tolist()):
            weight, mass = terms[c], math.fsum(terms[slot == slot[c]])
            assert abs(lists.weight[i, j] - weight) <= bounds.WEIGHT_ERROR * weight + 1e-37
            assert abs(lists.mass[i, j] - mass) <= bounds.TAIL_ERROR * mass + least
        rest = math.fsum(terms[c] for c in order if slot[c] not in slot[listed])
        assert abs(lists.tail[i] - rest) <= bounds.TAIL_ERROR * rest + least


def test_weights_too_small_for_float32_are_not_trusted() -> None:
    """Class 1 is G*'s; beside class 2, thousands weigh too little for a float32, but not all."""
    n_classes = 200_000
    x = np.linspace(-87.3, -87.6, n_classes, dtype=np.float32)[None]
    x[0, :3] = 0.5, 0.0, -68.9
    matrix = LogitMatrix(ArrayRows(x))
    at = Nested(
        matrix,
        lists_of(scanned(matrix)),
        np.ones((1, n_classes), dtype=np.int32),
        np.array([0, 1]),
        np.array([0]),
        widened(matrix),
    )
    best, sure = winner(at, 0)
    low, high, _, n_unknown = walked(at, at.rows)
    assert n_unknown or low[best] <= sure <= high[best]


# Reading in float64


@settings(max_examples=200)
@given(cases(most_classes=60, most_rows=20))
def test_rows_read_again_give_their_winners(case: Case) -> None:
    at = nested(case)
    n_classes = at.matrix.shape[1]
    if len(at.group) == n_classes:
        return
    shut = np.zeros(n_classes, dtype=at.matrix.dtype)
    shut[at.group] = -np.inf
    total, low, high, expected = np.zeros((4, n_classes))
    read = *at.matrix.gather(at.rows), at.matrix.scale, shut
    row_loops.exact(*read, total)
    row_loops.outside(*read, low, high)
    for row in at.rows.tolist():
        best, sure = winner(at, row)
        expected[best] += sure
    assert total == pytest.approx(expected, rel=1e-13)
    assert (low <= expected * (1 + 1e-13)).all()
    assert (expected <= high * (1 + 1e-13)).all()
    assert (high - low <= 3 * bounds.TAIL_ERROR * expected).all()


@settings(max_examples=200)
@given(cases(most_classes=60, most_rows=20))
def test_masses_are_sums_of_probabilities(case: Case) -> None:
    matrix = case.matrix
    x, n_classes = widened(matrix), matrix.shape[1]
    rng = np.random.default_rng(case.seed)
    chosen = np.flatnonzero(rng.random(n_classes) < 0.5)
    column = rng.permutation(n_classes)
    total, expected = np.zeros((2, n_classes, len(chosen)))
    row_loops.masses(matrix.packed(0, matrix.shape[0]), matrix.scale, column, chosen, total)
    for row in x:
        best = int(row.argmax())
        with np.errstate(over="ignore"):
            d = (row - row[best]) * matrix.scale
        e = np.where(d < LEAST_64, 0.0, np.exp(d))
        expected[column[best]] += e[chosen] / math.fsum(e)
    np.testing.assert_allclose(total, expected, rtol=1e-12, atol=1e-320)


# Decisions from bounds

ENDS = st.sampled_from([0.0, 0.5, 1.0, 1.0 + 3e-11, 1.0 + 3e-10, 1.5, 2.0, 2.0 - 3e-10, 3.0])


def intervals(least: int) -> st.SearchStrategy:
    return st.lists(st.tuples(ENDS, ENDS).map(sorted), min_size=least, max_size=5)


def corners(bounds: list[list[float]], rng: np.random.Generator) -> list[Float]:
    """Values within the bounds: at their ends, in between."""
    low, high = np.array(bounds).T
    drawn = [np.where(rng.random(len(low)) < 0.5, low, high) for _ in range(12)]
    return [low, high, *drawn, low + rng.random(len(low)) * (high - low)]


@settings(max_examples=200)
@given(intervals(1), st.lists(st.booleans(), min_size=5, max_size=5), st.integers(0, 99))
def test_the_lowest_score_is_only_named_where_it_is_certain(
    bounds: list[list[float]], gone: list[bool], seed: int
) -> None:
    low, high = np.array(bounds).T.copy()
    absent = np.array(gone[: len(low)])
    absent[seed % len(low)] = False
    low[absent] = high[absent] = np.inf
    lowest = merges.lowest(low, high, TIE)
    truths = corners(np.column_stack([low, high])[~absent].tolist(), np.random.default_rng(seed))
    present = np.flatnonzero(~absent)
    firsts = {int(present[np.argmax(t <= t.min() * (1.0 + TIE))]) for t in truths}
    if lowest >= 0:
        assert firsts == {lowest}
    elif (low[~absent] == high[~absent]).all():
        # Even exact values stay undecided where some tie with the lowest but not with each other.
        value = low[~absent]
        near = value[value <= value.min() * (1.0 + TIE)]
        assert len(near) > 1


@settings(max_examples=200)
@given(
    intervals(2),
    st.lists(st.integers(0, 4), min_size=5, max_size=5),
    st.integers(0, 4),
    st.sampled_from([0, 0, 1, 3]),
    st.integers(0, 99),
)
def test_the_host_is_named_only_where_it_is_certain(
    bounds: list[list[float]], named: list[int], group: int, n_unknown: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    n = len(bounds)
    slot = slots(np.array(named[:n]) % n)
    group = int(slot[group % n])
    if len(set(slot.tolist())) == 1:
        return
    low, high = np.array(bounds).T.copy()
    # rp of the group's own classes is 0.
    low[slot == group] = high[slot == group] = 0.0
    n_members = np.bincount(slot, minlength=n)
    host, _ = merges.host(
        group,
        low.copy(),
        high.copy(),
        slot,
        n_members,
        n_unknown,
        TIE,
        np.empty(n, dtype=np.int64),
    )
    others = np.setdiff1d(slot, [group])
    hosts = set()
    for truth in corners(np.column_stack([low, high]).tolist(), rng):
        for _ in range(3):
            to = rng.choice(np.flatnonzero(slot != group), n_unknown)
            more = np.bincount(to, rng.random(n_unknown).round(), minlength=n)
            mean = np.bincount(slot, truth + more, minlength=n)[others] / n_members[others]
            hosts.add(int(others[np.argmax(mean >= mean.max() * (1.0 - TIE))]))
    if host >= 0:
        assert hosts == {host}
    else:
        # A group that is better than every other, whatever the values, would have been named.
        least = np.bincount(slot, low, n)[others] / n_members[others]
        most = (np.bincount(slot, high, n)[others] + n_unknown) / n_members[others]
        best = int(np.argmax(least))
        assert (np.delete(most, best) >= least[best] * (1.0 - 2 * TIE)).any()


# Rows


@settings(max_examples=200)
@given(st.integers(0, 1 << 30), st.integers(1, 300), st.sampled_from([0.0, 1e-9, 1e-3, 0.3, 9.0]))
def test_the_widest_intervals_leave_little(seed: int, n: int, left: float) -> None:
    rng = np.random.default_rng(seed)
    width = np.minimum(10.0 ** rng.uniform(-9, 0.2, n), 1.5).astype(np.float32)
    width[rng.random(n) < 0.2] = rng.choice([0.0, 2.0])
    chosen = np.empty(n, dtype=bool)
    assert merges.widest(width, left, chosen) == chosen.sum()
    assert width[~chosen].sum(dtype=np.float64) <= left * (1 + 1e-12)
    assert chosen[width > 1.0].all()
    # No more than are needed, up to a factor of two in width.
    sure = chosen & (width <= 1.0)
    if sure.any():
        assert (width[~chosen] < width[sure].min()).all()
        assert width[width < 2 * width[sure].min()].sum(dtype=np.float64) > left


def test_rows_by_class_are_ascending() -> None:
    rng = np.random.default_rng(0)
    for n_classes in (1, 3, 50):
        label = rng.integers(0, n_classes, 200).astype(np.int32)
        start = np.concatenate(([0], np.cumsum(np.bincount(label, minlength=n_classes))))
        order = np.empty(200, dtype=np.int32)
        merges.by_class(label, start, order)
        assert order.tolist() == np.argsort(label, kind="stable").tolist()


@pytest.mark.parametrize("n_classes", [5, 200])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_masked_classes_are_counted(n_classes: int, dtype: str) -> None:
    """In blocks of side by side rows, of which the last is not full, and one by one."""
    values = np.random.default_rng(0).normal(size=(37, n_classes)).astype(dtype)
    values[::3, 1] = values[36, 4] = -np.inf
    matrix = LogitMatrix(ArrayRows(values))
    counted = row_digest.scan(matrix, 0, 37, 1, silent).masked
    assert counted.tolist() == [0, 13, 0, 0, 1] + [0] * (n_classes - 5)
