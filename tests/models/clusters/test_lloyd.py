"""Lloyd's iterations by rows: the sums by their definition, whoever adds them up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.clusters import lloyd
from models.clusters.kmeans import KMeansEffort
from models.clusters.lloyd import in_pieces, in_process, settle, sums_of
from models.inputs.rows import ArrayRows, ChosenRows
from models.running.progress import SHARED, Alone, silent
from tests.models.crew_kit import Scattered


def points(seed: int = 0, n_points: int = 500, n_features: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n_points, n_features)) + 7.0


def literal(rows: np.ndarray, centers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sums of the rows of each cluster, minus the mean of the centres, and their numbers."""
    total, size = np.zeros(centers.shape), np.zeros(len(centers))
    for row in rows.astype(np.float64):
        own = ((row - centers) ** 2).sum(axis=1).argmin()
        total[own] += row - centers.mean(axis=0)
        size[own] += 1
    return total, size


def literal_lloyd(rows: np.ndarray, centers: np.ndarray, n_iter: int) -> np.ndarray:
    for _ in range(n_iter):
        total, size = literal(rows, centers)
        moved = centers.copy()
        for k in np.flatnonzero(size):
            moved[k] = total[k] / size[k] + centers.mean(axis=0)
        centers = moved
    return centers


@given(
    seed=st.integers(0, 10**6),
    n_points=st.integers(1, 60),
    n_clusters=st.integers(1, 7),
    block=st.sampled_from([1, 8, 64, 1 << 19]),
    threads=st.sampled_from([1, 3]),
)
def test_sums_are_those_of_the_definition(
    seed: int, n_points: int, n_clusters: int, block: int, threads: int
) -> None:
    rows, centers = points(seed, n_points, 3), points(seed + 1, n_clusters, 3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lloyd, "BLOCK", block)
        patch.setattr(lloyd, "GROUP", 2)
        start = n_points // 3
        sums = sums_of(ArrayRows(rows), centers, start, n_points, threads)
    total, size = literal(rows[start:], centers)
    assert sums.size.tolist() == size.tolist()
    assert sums.total == pytest.approx(total, abs=1e-9)
    assert sums.length == pytest.approx(((rows[start:] - centers.mean(axis=0)) ** 2).sum())


@pytest.mark.parametrize("kind", ["float16", "float32", "float64", "bfloat16", "int8", "uint16"])
def test_every_kind_of_number(kind: str) -> None:
    rows, centers = points(1), points(2, 4)
    if kind == "bfloat16":
        bits = (rows.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        given_rows: Any = ArrayRows(bits, bfloat16=True)
        exact = (bits.astype(np.uint32) << 16).view(np.float32)
    else:
        exact = rows.astype(kind)
        given_rows = ArrayRows(exact)
    sums = sums_of(given_rows, centers, 0, 500, 2)
    total, size = literal(exact, centers)
    assert sums.size.tolist() == size.tolist()
    exactness = 1e-12 if kind == "float64" else 1e-5
    assert sums.total == pytest.approx(total, rel=exactness, abs=100 * exactness)


def test_the_iterations_are_lloyds() -> None:
    rows, seeds = points(3), points(4, 6)
    five = settle(
        ArrayRows(rows),
        seeds,
        KMeansEffort(max_iter=5, tol=0),
        in_process(ArrayRows(rows), 2),
        silent,
    )
    assert (five.n_iter, five.ended) == (5, False)
    assert five.centers == pytest.approx(literal_lloyd(rows, seeds, 5), abs=1e-12)
    end = settle(
        ArrayRows(rows), seeds, KMeansEffort(tol=0), in_process(ArrayRows(rows), 1), silent
    )
    assert end.ended
    assert end.centers == pytest.approx(literal_lloyd(rows, end.centers, 1), abs=1e-12)


def test_the_tolerance_is_in_variances_of_the_features() -> None:
    """The same iterations whatever the unit and the origin of the features."""
    rows, seeds = points(5), points(6, 6)
    effort = KMeansEffort(tol=1e-3)
    ends = [
        settle(
            ArrayRows(unit * rows + origin),
            unit * seeds + origin,
            effort,
            in_process(ArrayRows(unit * rows + origin), 1),
            silent,
        )
        for unit, origin in ((1.0, 0.0), (1e-3, 5.0), (1e4, -1e5))
    ]
    assert {end.n_iter for end in ends} == {ends[0].n_iter}
    assert ends[0].n_iter < 100


def test_pieces_give_the_same_sums() -> None:
    rows, centers = ArrayRows(points(7)), points(8, 4)
    whole = in_process(rows, 1)(centers)

    def compute(piece: Any, progress: Any) -> Any:
        assert set(piece) == {"first", "last", SHARED}
        return lloyd.piece(rows, piece, 2, progress)

    for n_pieces in (1, 2, 3, 7, 100):
        for crew in (Alone(compute, n_pieces), Scattered(compute, n_pieces, seed=n_pieces)):
            parts = in_pieces(rows, crew)(centers)
            assert parts.size.tolist() == whole.size.tolist()
            assert parts.total.tobytes() == whole.total.tobytes()
            assert parts.length == whole.length


def test_a_cluster_without_rows_keeps_its_centre() -> None:
    rows, seeds = points(9, 50), np.vstack([points(10, 2), np.full((1, 5), 1e3)])
    end = settle(ArrayRows(rows), seeds, KMeansEffort(), in_process(ArrayRows(rows), 1), silent)
    assert end.centers[2].tolist() == [1e3] * 5


def test_chosen_rows() -> None:
    values = points(11, 30)
    chosen = ChosenRows(ArrayRows(values), np.array([2, 3, 7, 20]))
    assert chosen.shape == (4, 5)
    assert (chosen.read(1, 3) == values[[3, 7]]).all()
    assert (chosen.take(np.array([0, 3])) == values[[2, 20]]).all()
    assert chosen.read(3, 9).shape == (1, 5)
