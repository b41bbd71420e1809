"""Logits of every awkward kind for L2H, merged by the definition and by the engine."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import strategies as st

from models.arrays import Arrays, Float
from models.inputs.rows import ArrayRows
from models.methods.logits.merging import engine, merging, reference, row_digest
from models.methods.logits.merging.engine import LogitsRead
from models.methods.logits.merging.logit_matrix import Kind, LogitMatrix
from models.methods.logits.merging.merging import MergeEffort, Merger
from models.methods.logits.merging.reference import Merges
from models.methods.logits.merging.row_digest import Digest
from models.running.progress import Alone, Piece, Progress, silent

AGGREGATIONS = ("mean-sum", "sum", "mean", "size")


def gaussian(rng: np.random.Generator, n: int, k: int) -> Float:
    """A fair classifier: noise, and a higher logit for the right class."""
    logits = rng.normal(size=(n, k)) * rng.choice([0.3, 1.5, 6.0])
    logits[np.arange(n), rng.integers(0, k, n)] += rng.choice([1.0, 5.0, 20.0])
    return logits


def planted(rng: np.random.Generator, n: int, k: int) -> Float:
    """Classes at the leaves of a binary tree: the farther from the right one, the lower."""
    right = rng.integers(0, k, n)
    apart = np.array([[int(a ^ b).bit_length() for b in range(k)] for a in range(k)])
    return -apart[right] * rng.uniform(0.3, 3.0) + rng.normal(size=(n, k)) * rng.choice([0.1, 1.0])


def coarse(rng: np.random.Generator, n: int, k: int) -> Float:
    """Few different values: ties within rows, between rows, between groups."""
    return rng.integers(0, rng.integers(2, 5), (n, k)) * rng.choice([1.0, 0.25, 7.0])


def doubled(rng: np.random.Generator, n: int, k: int) -> Float:
    """Few different rows, each many times."""
    return gaussian(rng, n, k)[rng.integers(0, max(1, n // 4), n)]


def equal(rng: np.random.Generator, n: int, k: int) -> Float:
    """Every row constant, mostly."""
    logits = np.repeat(rng.normal(size=(n, 1)), k, axis=1)
    logits[: n // 3] += rng.normal(size=(n // 3, k))
    return logits


def rolled(rng: np.random.Generator, n: int, k: int) -> Float:
    """One class's rows turned around for every other class: all groups tie but for rounding."""
    base = rng.normal(size=(max(1, n // k), k))
    base[:, 0] += 4.0
    rows = np.concatenate([np.roll(base, c, axis=1) for c in range(k)])
    return rows[rng.permutation(len(rows))]


def near(rng: np.random.Generator, n: int, k: int) -> Float:
    """`rolled`, with differences about the width of a tie and above."""
    rows = rolled(rng, n, k)
    return rows * (1.0 + rng.normal(size=rows.shape) * 10.0 ** -rng.uniform(6.5, 13.0))


def saturated(rng: np.random.Generator, n: int, k: int) -> Float:
    """Probabilities of 1.0 to the last bit."""
    logits = rng.normal(size=(n, k))
    logits[np.arange(n), rng.integers(0, k, n)] += rng.choice([38.0, 100.0, 800.0])
    return logits


def extreme(rng: np.random.Generator, n: int, k: int) -> Float:
    """Values from the ends of the floats, 0 of either sign and denormals."""
    ends = [0.0, -0.0, 1e30, -1e30, 1e300, -1e300, 5e-324, -1e-310, 1e-40, 1.0, -1.0, 300.0]
    return rng.choice(ends, (n, k))


def steep(rng: np.random.Generator, n: int, k: int) -> Float:
    """Logits so far apart that exponentials underflow in float32, or in float64 too."""
    return rng.uniform(-1, 0, (n, k)) * rng.choice([150.0, 400.0, 1500.0])


def offset(rng: np.random.Generator, n: int, k: int) -> Float:
    """Rows far from 0, each with its own offset."""
    return gaussian(rng, n, k) + rng.normal(size=(n, 1)) * 10.0 ** rng.integers(2, 10)


def unused(rng: np.random.Generator, n: int, k: int) -> Float:
    """Most classes are never predicted."""
    logits = gaussian(rng, n, k)
    n_used = rng.integers(1, max(2, k // 3) + 1)
    logits[:, rng.permutation(k)[n_used:]] -= rng.choice([20.0, 60.0, 300.0])
    return logits


def single(rng: np.random.Generator, n: int, k: int) -> Float:
    """One class is predicted for every row."""
    logits = rng.normal(size=(n, k))
    logits[:, rng.integers(k)] += 9.0
    return logits


def masked(rng: np.random.Generator, n: int, k: int) -> Float:
    """Classes that rows cannot have, by -inf: few, or all but one or two."""
    logits = rng.normal(size=(n, k)) * 4.0
    possible = rng.random((n, k)) < rng.choice([0.2, 0.5, 0.9])
    possible[np.arange(n), rng.integers(k, size=n)] = True
    return np.where(possible, logits, -np.inf)


SHAPES = (
    gaussian,
    masked,
    planted,
    coarse,
    doubled,
    equal,
    rolled,
    near,
    saturated,
    extreme,
    steep,
    offset,
    unused,
    single,
)

STORED = ("float64", "float32", "float16", "bfloat16", "int", ">f4", "fortran")


def stored(values: Float, how: str) -> ArrayRows:
    """Values as a file might hold them; what does not fit is clipped, but for -inf."""
    if how == "bfloat16":
        bits = _clipped(values, 3e38).astype(np.float32).view(np.uint32)
        return ArrayRows(
            ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16), bfloat16=True
        )
    if how == "int":
        return ArrayRows(np.clip(np.rint(values), -1e9, 1e9).astype(np.int32))
    if how == "fortran":
        return ArrayRows(np.asfortranarray(values))
    most = float(np.finfo(np.dtype(how)).max)
    return ArrayRows(_clipped(values, most).astype(how))


def _clipped(values: Float, most: float) -> Float:
    return np.where(np.isneginf(values), values, np.clip(values, -most, most))


def probabilities(logits: Float, rng: np.random.Generator) -> Float:
    """Softmax, with some or all of the smallest values set to 0."""
    e = np.exp(np.maximum(logits - logits.max(axis=1, keepdims=True), -1e4))
    p = e / e.sum(axis=1, keepdims=True)
    p[(p < 1e-6) & (rng.random(p.shape) < rng.choice([0.0, 0.5, 1.0]))] = 0.0
    return p


class FarRows(ArrayRows):
    """Rows that are slow to read."""

    far = True


@dataclass(frozen=True)
class Case:
    """One input and one way through the engine.

    rows_at_once : rows of a segment, and of a block of rows that are read again.
    far : whether the rows are slow to read.
    """

    shape: Callable[[np.random.Generator, int, int], Float]
    seed: int
    n: int
    k: int
    how: str = "float64"
    kind: Kind = "logits"
    temperature: float = 1.0
    aggregation: reference.Aggregation = "mean-sum"
    listed: int = 8
    rows_at_once: int = 1 << 20
    n_pieces: int = 1
    threads: int = 1
    far: bool = False

    @property
    def matrix(self) -> LogitMatrix:
        matrix = self._near
        if self.far:
            assert isinstance(matrix.rows, ArrayRows)
            return replace(matrix, rows=FarRows(matrix.rows.array, bfloat16=matrix.rows.bfloat16))
        return matrix

    @property
    def _near(self) -> LogitMatrix:
        rng = np.random.default_rng(self.seed)
        values = self.shape(rng, self.n, self.k)
        if self.kind == "logits":
            return LogitMatrix(stored(values, self.how), "logits", self.temperature)
        values = probabilities(values, rng)
        if self.kind == "log_probs":
            with np.errstate(divide="ignore"):
                values = np.log(values)
        # Logarithms of few digits may be no log-probabilities.
        exact = self.how == "int" or (self.kind == "log_probs" and self.how == "bfloat16")
        with np.errstate(over="ignore"):
            rows = ArrayRows(values) if exact else _as_stored(values, self.how)
        return LogitMatrix(rows, self.kind, self.temperature)


def _as_stored(values: Float, how: str) -> ArrayRows:
    """`stored` of probabilities or their logarithms: -inf stays what it is."""
    if how in ("bfloat16", "fortran"):
        return stored(values, how)
    return ArrayRows(values.astype(how))


def case(seed: int, most_classes: int = 14, most_rows: int = 40) -> Case:
    """The case of number `seed`."""
    draw = random.Random(seed)
    return Case(
        shape=draw.choice(SHAPES),
        seed=seed,
        n=draw.randint(1, most_rows),
        k=draw.randint(2, most_classes),
        how=draw.choice(STORED),
        kind=draw.choice(["logits", "logits", "log_probs", "probs"]),
        temperature=draw.choice([1.0, 1.0, 0.5, 3.0, 1e-3, 1e3]),
        aggregation=draw.choice(AGGREGATIONS),
        listed=draw.choice([1, 2, 3, 8]),
        rows_at_once=draw.choice([1, 3, 7, 1 << 20]),
        n_pieces=draw.choice([1, 2, 7]),
        threads=draw.choice([1, 1, 1, 2, 3]),
        far=draw.choice([False, True]),
    )


def cases(most_classes: int = 14, most_rows: int = 40) -> st.SearchStrategy[Case]:
    """Cases by number: quick to draw, so that thousands are."""
    return st.integers(0, 1 << 40).map(lambda seed: case(seed, most_classes, most_rows))


@contextmanager
def cut(case: Case, matrix: LogitMatrix) -> Iterator[None]:
    """Lists as short and blocks as small as the case says."""
    row_bytes = matrix.shape[1] * matrix.dtype.itemsize
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_digest, "LISTED", case.listed)
        patch.setattr(row_digest, "SEGMENT_BYTES", row_bytes * case.rows_at_once)
        patch.setattr(merging, "_BLOCK_BYTES", row_bytes * case.rows_at_once)
        yield


def seen(case: Case, matrix: LogitMatrix) -> LogitsRead:
    """The logits as the engine reads them, in the case's pieces and threads."""

    def piece(piece: Piece, progress: Progress) -> Arrays:
        return engine.piece(matrix, piece, case.threads, progress)

    return engine.read(matrix, Alone(piece, case.n_pieces))


def fast(case: Case, matrix: LogitMatrix) -> tuple[Merges, MergeEffort, Digest]:
    """The engine's merges, their effort, and the digest that decided them."""
    with cut(case, matrix):
        read = seen(case, matrix)
        merger = Merger(matrix, read.digest, case.aggregation, silent, threads=case.threads)
        return merger.run(read.hosts), merger.effort, read.digest


def assert_same(case: Case, matrix: LogitMatrix | None = None) -> MergeEffort:
    """The engine gives the classes, confidences and merges of the definition."""
    matrix = matrix or case.matrix
    at = reference.assign(matrix)
    expected = reference.merge(matrix, at, case.aggregation)
    merges, effort, digest = fast(case, matrix)
    assert (digest.label == at.label).all(), case
    assert (digest.size == at.size).all(), case
    error = np.abs(digest.confidence - at.confidence)
    assert (error <= digest.slack + 1e-12 * at.confidence).all(), case
    assert merges.left.tolist() == expected.left.tolist(), case
    assert merges.right.tolist() == expected.right.tolist(), case
    assert merges.without_points == expected.without_points, case
    assert effort.guessed == 0, case
    assert effort.n_read_old == 0, case
    return effort
