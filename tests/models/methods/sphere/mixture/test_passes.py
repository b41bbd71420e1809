"""A pass over the rows against its literal definition."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numba import njit
from scipy.special import logsumexp

from models.inputs.data import Data
from models.inputs.rows import ArrayRows
from models.methods.sphere.mixture import loops
from models.methods.sphere.mixture import passes as module
from models.methods.sphere.mixture.passes import Passes, Sums, log_joint
from models.methods.sphere.mixture.rows import UnitRows
from models.running.progress import silent
from tests.models.methods.sphere.sphere_kit import mixture
from tests.pairwise_kit import pairwise

N, D, K = 700, 9, 5
X = mixture((200, 300, 200), D, 10.0)[0]
RNG = np.random.default_rng(5)
WEIGHTS = RNG.normal(size=(K, D)) * 8
OFFSETS = RNG.normal(size=K) * 3 - 500
COUNTED = (RNG.random(N) < 0.8).astype(float)


def points(kind: str) -> UnitRows:
    values: object = X
    if kind == "sparse":
        values = sp.csr_array(np.where(np.abs(X) > 0.2, X, 0.0))
    elif kind == "float32":
        values = X.astype(np.float32)
    elif kind == "sparse32":
        values = sp.csr_array(np.where(np.abs(X) > 0.2, X, 0.0).astype(np.float32))
    elif kind == "fortran":
        values = np.asfortranarray(X)
    elif kind == "rows":
        values = ArrayRows(X)
    return UnitRows.of(Data({"features": values}))


def expect(rows: UnitRows, threads: int = 1, hard: bool = False, scale: float = 1.0) -> Sums:
    with Passes(rows, threads) as passes:
        return passes.expect(WEIGHTS * scale, OFFSETS, COUNTED, silent, hard=hard)


def dense(rows: UnitRows) -> np.ndarray:
    block = rows.block(slice(0, N))
    return (block.toarray() if isinstance(block, sp.csr_array) else block).astype(np.float64)


@pytest.mark.parametrize(
    ("kind", "hard", "scale"),
    pairwise(
        ("float64", "float32", "sparse", "sparse32", "fortran", "rows"),
        (False, True),
        (0.0, 1.0, 1e4),
    ),
)
def test_posteriors_and_their_sums(kind: str, hard: bool, scale: float) -> None:
    unit_rows = points(kind)
    rows = dense(unit_rows)
    joint = rows @ (WEIGHTS * scale).T + OFFSETS
    if hard:
        part = np.eye(K)[joint.argmax(axis=1)]
        evidence = joint.max(axis=1)
    else:
        evidence = logsumexp(joint, axis=1)
        part = np.exp(joint - evidence[:, None])
    part *= COUNTED[:, None]
    result = expect(unit_rows, hard=hard, scale=scale)
    # Above SINGLE_UP_TO single precision is given up.
    near = 2e-5 if kind.endswith("32") else 1e-9
    assert result.size == pytest.approx(part.sum(axis=0), rel=near, abs=near * N)
    assert result.total == pytest.approx(part.T @ rows, rel=near, abs=near * N)
    assert result.evidence == pytest.approx(evidence, rel=1e-7 if kind.endswith("32") else 1e-12)
    assert log_joint(unit_rows, WEIGHTS * scale, OFFSETS) == pytest.approx(joint, rel=1e-12)


@pytest.mark.parametrize("kind", ["float32", "sparse"])
def test_threads_change_nothing(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SHARES", 3)
    monkeypatch.setattr(
        UnitRows, "slices", lambda self, n=0: [slice(i, i + 70) for i in range(0, N, 70)]
    )
    on_one_thread, on_three_threads = expect(points(kind), 1), expect(points(kind), 3)
    for name in ("size", "total", "evidence"):
        assert (getattr(on_one_thread, name) == getattr(on_three_threads, name)).all()


@pytest.mark.parametrize(("kind", "lowest", "near"), [("f4", -87.0, 2e-7), ("f8", -708.0, 1e-15)])
def test_exponentials(kind: str, lowest: float, near: float) -> None:
    @njit
    def all_of(x: np.ndarray) -> np.ndarray:
        out = np.empty_like(x)
        for i in range(x.size):
            out[i] = loops.exponential(x[i])
        return out

    close = np.linspace(-2.0, 0.0, 100_001)
    x = np.concatenate([np.linspace(lowest, 0.0, 200_001)[1:], close]).astype(kind)
    np.testing.assert_allclose(all_of(x), np.exp(x.astype(np.longdouble)), rtol=near)
    assert all_of(np.array([0.0], kind))[0] == 1.0
    assert (all_of(np.array([1.001 * lowest, -3e4, -1e9], kind)) == 0.0).all()


@pytest.mark.parametrize("shape", [(1, 1), (7, 5), (40, 33), (3, 300)])
def test_transposed(shape: tuple[int, int]) -> None:
    matrix, out = RNG.normal(size=shape), np.empty(shape[::-1], dtype=np.float32)
    loops.turn(matrix, out)
    assert (out == matrix.T.astype(np.float32)).all()


@pytest.mark.parametrize("n_clusters", [1, 2, 16, 100])
def test_clusters_of_any_number(n_clusters: int) -> None:
    # Vectorised loops handle an incomplete last vector separately.
    unit_rows = points("float32")
    weights = RNG.normal(size=(n_clusters, D)) * 8
    joint = dense(unit_rows) @ weights.T
    part = np.exp(joint - logsumexp(joint, axis=1)[:, None])
    with Passes(unit_rows) as passes:
        soft = passes.expect(weights, np.zeros(n_clusters), np.ones(N), silent)
        hard = passes.expect(weights, np.zeros(n_clusters), np.ones(N), silent, hard=True)
    assert soft.size == pytest.approx(part.sum(axis=0), rel=2e-5)
    assert (hard.size == np.bincount(joint.argmax(axis=1), minlength=n_clusters)).all()


def test_sums_that_take_much_room_are_made_in_fewer_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = expect(points("float64"))
    monkeypatch.setattr(module, "SHARE_BYTES", 8 * K * D)
    monkeypatch.setattr(
        UnitRows, "slices", lambda self, n=0: [slice(i, i + 7) for i in range(0, N, 7)]
    )
    seen: list[float] = []
    with Passes(points("float64"), 2) as passes:
        result = passes.expect(WEIGHTS, OFFSETS, COUNTED, lambda f, s, m="": seen.append(f))
    assert seen == [1.0]
    assert result.total == pytest.approx(whole.total, rel=1e-12)
