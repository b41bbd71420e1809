"""The neighbours that a map keeps, against a literal count in extended precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from models.arrays import Array
from models.inputs.frames import sampled
from models.inputs.rows import ArrayRows
from models.maps.kept import NEIGHBOURS, SAMPLE, neighbours_kept

RNG = np.random.default_rng(1)
N, WIDE = 600, 12
ROWS = RNG.normal(size=(N, WIDE)) + 5 * RNG.normal(size=(6, WIDE))[RNG.integers(0, 6, N)]
PLANE = ROWS[:, :2] + RNG.normal(size=(N, 2))


def with_rows(rows: Array, chosen: Any, column: Any, added: float) -> Array:
    changed = rows.copy()
    changed[chosen, column] += added
    return changed


def missed(rows: Array) -> Array:
    """Which rows stretches at equal distances miss."""
    seen = np.unique(sampled(np.arange(len(rows), dtype=np.float64)[:, None]))
    return ~np.isin(np.arange(len(rows)), seen)


MISSED = missed(ROWS)
KINDS: dict[str, Array] = {
    "plain": ROWS,
    "single": ROWS.astype(np.float32),
    **{f"+ {offset:g}": ROWS + offset for offset in (1e4, 1e7, 1e9)},
    "a column + 1e9": with_rows(ROWS, slice(None), 0, 1e9),
    **{f"x {scale:g}": ROWS * scale for scale in (1e-100, 1e-20, 1e-5, 1e15, 1e25, 1e150)},
    "single x 1e-30": (ROWS * 1e-30).astype(np.float32),
    "single x 1e25": (ROWS * 1e25).astype(np.float32),
    "one far row": with_rows(ROWS, 7, slice(None), 1e12),
    "one far row, small": with_rows(ROWS * 1e-30, 7, slice(None), 1.0),
    "one far row, small and single": with_rows(ROWS * 1e-30, 7, 0, 1.0).astype(np.float32),
    "some rows far": with_rows(ROWS, np.arange(N) % 3 == 0, 2, 1e9),
    "rows that stretches miss": with_rows(ROWS, MISSED, 2, 1e9),
    "many equal": ROWS[np.minimum(np.arange(N), 40)],
    "on a grid": np.round(ROWS / 4),
    "denormal": np.round(ROWS * 2**10) * 2.0**-1070,
}


def counted(rows: Array, plane: Array) -> float:
    """The share by differences in extended precision."""
    wide, flat = rows.astype(np.longdouble), plane.astype(np.longdouble)
    n, shares = len(rows), []
    k = min(NEIGHBOURS, n - 1)
    for row in np.random.default_rng(0).choice(n, min(SAMPLE, n), replace=False):
        apart, drawn = (((one - one[row]) ** 2).sum(axis=1) for one in (wide, flat))
        apart[row] = drawn[row] = np.inf
        near = np.argsort(drawn, kind="stable")[:k]
        shares.append((apart[near] <= np.sort(apart)[k - 1] * (1 + 1e-9)).mean())
    return float(np.mean(shares))


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_kept_is_what_a_literal_count_finds(kind: str) -> None:
    rows = KINDS[kind]
    for n_columns in (5, WIDE):
        part = np.ascontiguousarray(rows[:, :n_columns])
        expected = counted(part, PLANE)
        assert expected < 0.9 or kind == "many equal"
        for given in (part, ArrayRows(part)):
            assert neighbours_kept(given, PLANE, 0) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("n_points", [1, 2, 8, 40])
def test_few_points(n_points: int) -> None:
    rows, plane = ROWS[:n_points], PLANE[:n_points]
    found = neighbours_kept(rows, plane, 0)
    assert found is None if n_points == 1 else found == pytest.approx(counted(rows, plane))
