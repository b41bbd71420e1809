"""Inner nodes that search while their classes follow, on quadratic losses with a known minimum."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from models.methods.classifiers.classes.compressed import CompressedRows
from models.methods.classifiers.classes.structure import PathSums
from models.methods.classifiers.recursive.blocks.inner_nodes import LastMove, NodeColumnPairs, moved

PARENT = np.array([-1, 0, 0, 1, 1, 2])
N_COLUMNS = 7


class Family:
    """Classes below the inner nodes, class c with the loss (w - m_c)' A_c (w - m_c) / 2."""

    def __init__(self, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.below = np.repeat([3, 4, 5], 8)
        factor = rng.normal(size=(24, N_COLUMNS, 3))
        self.bend = factor @ factor.transpose(0, 2, 1)
        self.mean = rng.normal(size=(24, N_COLUMNS)) + 2.0 * rng.normal(size=(6, N_COLUMNS))[
            self.below
        ]  # fmt: skip

    def solved(self, inner: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """The objective with the best classes, their sums, and how stiffly they hold, by parent."""
        sums, held = np.zeros((2, 6, N_COLUMNS))
        own = inner - np.where(PARENT[:, None] >= 0, inner[PARENT], 0.0)
        value = 0.5 * float(np.square(own).sum())
        above = inner[self.below]
        pulled = np.einsum("cij,cj->ci", self.bend, self.mean) + above
        best = np.linalg.solve(self.bend + np.eye(N_COLUMNS), pulled[..., None])[..., 0]
        away = best - self.mean
        value += 0.5 * float(np.einsum("ci,cij,cj->", away, self.bend, away))
        value += 0.5 * float(np.square(best - above).sum())
        bound = np.abs(self.bend).sum(axis=2)
        np.add.at(sums, self.below, best - above)
        np.add.at(held, self.below, bound / (1.0 + bound))
        return value, sums, held

    def least(self) -> float:
        """The minimum over the inner nodes, of a quadratic function."""
        size = 6 * N_COLUMNS
        start = self.solved(np.zeros((6, N_COLUMNS)))[0]

        def value(x: np.ndarray) -> float:
            return self.solved(x.reshape(6, N_COLUMNS))[0]

        one = np.eye(size)
        ahead = np.array([value(e) for e in one])
        behind = np.array([value(-e) for e in one])
        slope = 0.5 * (ahead - behind)
        hessian = np.array([[value(a + b) for b in one] for a in one])
        hessian -= ahead[:, None] + ahead[None, :] - start
        return value(-np.linalg.solve(hessian, slope))


def sweeps(family: Family, n_sweeps: int, keep_search: bool) -> list[float]:
    own = CompressedRows.of_matrix(sp.csr_array((6, N_COLUMNS), dtype=np.float32))
    last: LastMove | None = None
    values = []
    for _ in range(n_sweeps):
        value, sums, held = family.solved(PathSums(own, PARENT, np.arange(6)).columns(slice(None)))
        values.append(value)
        own, last = moved(
            PARENT, own, sp.csr_array(sums), sp.csr_array(held), last if keep_search else None
        )
    return values


def test_they_get_to_the_minimum() -> None:
    family = Family()
    least = family.least()
    values = sweeps(family, 14, True)
    assert values[-1] == pytest.approx(least, rel=2e-5)
    assert min(values) > least - 1e-9


def test_they_are_ahead_of_single_steps() -> None:
    family = Family(1)
    least = family.least()
    single, searched = (sweeps(family, 10, keep)[-1] - least for keep in (False, True))
    assert searched < 0.2 * single


def test_moves_are_the_literal_ones() -> None:
    """Against the recursion over dense matrices, with the system of the whole tree."""
    family = Family(2)
    tie = np.zeros((6, 6))
    for node, above in enumerate(PARENT):
        tie[node, node] += 1.0
        if above >= 0:
            tie[above, above] += 1.0
            tie[node, above] = tie[above, node] = -1.0
    inner = np.zeros((6, N_COLUMNS))
    own = CompressedRows.of_matrix(sp.csr_array((6, N_COLUMNS), dtype=np.float32))
    last, step, direction, before, kept = None, 1.0, None, None, 0.0
    base = inner
    for _ in range(4):
        _, sums, held = family.solved(inner)
        slope = tie @ inner - sums
        if direction is not None and before is not None:
            curvature = ((slope - before) * direction).sum() / step
            best = -(before * direction).sum() / curvature
            slope = before + best / step * (slope - before)
            base = base + best * direction
        conditioned = np.column_stack(
            [
                np.linalg.solve(tie + np.diag(held[:, column]), slope[:, column])
                for column in range(N_COLUMNS)
            ]
        )
        if direction is None or before is None:
            direction, step = -conditioned, 1.0
        else:
            share = max(0.0, float((conditioned * (slope - before)).sum()) / kept)
            direction, step = -conditioned + share * direction, max(1.0, best)
        before, kept = slope, float((conditioned * slope).sum())
        inner = base + step * direction
        own, last = moved(PARENT, own, sp.csr_array(sums), sp.csr_array(held), last)
        found = PathSums(own, PARENT, np.arange(6)).columns(slice(None))
        np.testing.assert_allclose(found, inner, atol=0.02 * np.abs(inner).max())
        assert last.step == pytest.approx(step, rel=0.02)


def test_pairs_are_closed_upwards_and_exact() -> None:
    rng = np.random.default_rng(3)
    sparse = sp.random_array((6, 50), density=0.1, rng=rng, format="csr", dtype=np.float32)
    pairs = NodeColumnPairs.of(PARENT, [sparse])
    present = np.zeros((6, 50), dtype=bool)
    for node in range(6):
        columns = pairs.index[pairs.start[node] : pairs.start[node + 1]]
        assert (np.diff(columns) > 0).all()
        present[node, columns] = True
    expected = sparse.toarray() != 0
    for node in range(5, 0, -1):
        expected[PARENT[node]] |= expected[node]
    np.testing.assert_array_equal(present, expected)
    # Where no pair is, the solution is the parent's, so what nodes add is 0.
    right, held = sparse.toarray(), np.abs(sparse.toarray())
    values = pairs.solved(pairs.values(sparse), pairs.values(sp.csr_array(abs(sparse))))
    for column in range(50):
        tie = np.diag(1.0 + np.bincount(PARENT[1:], minlength=6)) + np.diag(held[:, column])
        for node in range(1, 6):
            tie[node, PARENT[node]] = tie[PARENT[node], node] = -1.0
        solution = np.linalg.solve(tie, right[:, column])
        for node in np.flatnonzero(present[:, column]):
            at = pairs.start[node] + np.searchsorted(
                pairs.index[pairs.start[node] : pairs.start[node + 1]], column
            )
            assert values[at] == pytest.approx(solution[node], abs=1e-5)
        for node in np.flatnonzero(~present[:, column]):
            above = solution[PARENT[node]] if node else 0.0
            assert solution[node] == pytest.approx(above, abs=1e-9)
