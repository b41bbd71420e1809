"""Neighbours whose blocks of rows other workers search: the same bits for any division."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from models import registry
from models.clusters import lloyd
from models.graphs import cells, neighbours
from models.inputs.data import Data
from models.running.progress import silent
from models.tree.tree import Tree
from tests.models.crew_kit import Scattered

FITS = [
    pytest.param("scc", {}, {}, id="held"),
    pytest.param("scc", {"metric": "cosine"}, {"whole": 100}, id="by rows, cosine"),
    pytest.param("scc", {}, {"whole": 100, "doubled": True, "kind": "float16"}, id="doubled rows"),
    pytest.param("hac", {"connectivity": "knn", "metric": "cosine"}, {}, id="flat by another"),
    pytest.param("hac", {"connectivity": "knn", "linkage": "ward"}, {"doubled": True}, id="ward"),
]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "EXACT_POINTS", 50)
    monkeypatch.setattr(cells, "PART", 500)
    monkeypatch.setattr(cells, "AT_ONCE", 1000)


def points(n: int = 600, doubled: bool = False, kind: str = "float64") -> np.ndarray:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(n, 5)) + 6.0 * rng.integers(0, 3, size=(n, 1))
    if doubled:
        values[n // 2 :: 7] = values[: len(values[n // 2 :: 7])]
    return values.astype(kind)


def arrays(tree: Tree) -> list[np.ndarray]:
    return [tree.parent, tree.height, tree.leaf_of_point]


@pytest.mark.parametrize(("method", "params", "how"), FITS)
def test_any_division_gives_the_same_tree(
    method: str, params: dict[str, Any], how: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    how = dict(how)
    monkeypatch.setattr(lloyd, "WHOLE", how.pop("whole", lloyd.WHOLE))
    data, made = Data({"features": points(**how)}), registry.method(method)
    fitted_by = made.Params(n_neighbors=6, **params)
    alone = made.fit(data, fitted_by)
    assert any("approximate index" in warning for warning in alone.warnings)
    for seed in range(2):
        crew = Scattered(
            lambda given, at: made.piece(data, fitted_by, given, at, threads=1), 3, seed
        )
        shared = made.fit(data, fitted_by, silent, threads=2, crew=crew)
        assert crew.n_lost
        for ours, theirs in zip(arrays(alone.tree), arrays(shared.tree), strict=True):
            np.testing.assert_array_equal(ours, theirs)
        assert shared.metrics == alone.metrics


def test_pieces_are_whole_parts_and_cover_all_rows() -> None:
    values = points(777)
    taken: list[tuple[int, int]] = []

    class Watched(Scattered):
        def compute(self, pieces: Any, shared: Any = None) -> Any:
            taken.extend((piece["start"], piece["stop"]) for piece in pieces)
            return super().compute(pieces, shared)

    def answer(given: Any, at: Any) -> Any:
        return neighbours.graph_piece(Data({"features": values}).rows("features"), given, 1, at)

    neighbours.neighbour_graph(values, 4, "euclidean", 1, silent, Watched(answer, 2))
    half = taken[: len(taken) // 2]
    assert taken == half * 2, "first all rows are put into cells, then all are searched"
    assert half[0][0] == 0
    assert half[-1][1] == 777
    assert all(stop == start for (_, stop), (start, _) in pairwise(half))
    assert {stop - start for start, stop in half[:-1]} == {100}
