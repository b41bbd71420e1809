"""Passes by the pieces of a crew: the same bits as of one process, whoever computes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from models.inputs.data import Data
from models.method import Fitted, Method
from models.methods.sphere.bvmf import BVMF
from models.methods.sphere.hvmf import HVMF
from models.methods.sphere.mixture import rows as rows_module
from models.methods.sphere.mixture.pass_crew import CrewPasses, passes, piece
from models.methods.sphere.mixture.passes import Passes, Sums
from models.methods.sphere.mixture.rows import UnitRows
from models.methods.sphere.vmf import VMF
from models.running.progress import Alone, silent
from tests.models.crew_kit import Scattered
from tests.models.methods.sphere.sphere_kit import mixture

D, K = 9, 5
X = mixture((200, 300, 200), D, 10.0)[0]
RNG = np.random.default_rng(5)
WEIGHTS = RNG.normal(size=(K, D)) * 8
OFFSETS = RNG.normal(size=K) * 3 - 500
COUNTED = {
    "all": np.ones(len(X)),
    "some": (RNG.random(len(X)) < 0.8).astype(float),
    "weighted": RNG.random(len(X)),
}


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Enough blocks for several shares."""
    monkeypatch.setattr(rows_module, "_VALUES", 64 * D)
    monkeypatch.setattr(rows_module, "_SPARSE_VALUES", 64 * D)


def unit_rows(kind: str) -> UnitRows:
    sparse = sp.csr_array(np.where(np.abs(X) > 0.2, X, 0.0))
    values = sparse if kind == "sparse" else X.astype(kind)
    return UnitRows.of(Data({"features": values}))


def expect(used: Passes, counted: np.ndarray, hard: bool) -> Sums:
    with used:
        return used.expect(WEIGHTS, OFFSETS, counted, silent, hard=hard)


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("counted", list(COUNTED))
@pytest.mark.parametrize("kind", ["float64", "float32", "float16", "sparse"])
def test_pieces_give_the_same_bits(kind: str, counted: str, hard: bool) -> None:
    rows = unit_rows(kind)
    truth = expect(Passes(rows), COUNTED[counted], hard)
    for n_pieces, threads in ((2, 2), (3, 1), (40, 1)):
        crew = Scattered(lambda given, at, n=threads: piece(rows, given, n, at), n_pieces)
        found = expect(CrewPasses(rows, 2, crew), COUNTED[counted], hard)
        for one, other in zip(arrays_of(truth), arrays_of(found), strict=True):
            assert one.tobytes() == other.tobytes()


def arrays_of(sums: Sums) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return sums.size, sums.total, sums.evidence


def fitted(method: Method[Any], n_pieces: int, **params: Any) -> tuple[Fitted, int]:
    given = method.Params(**params)
    data = Data({"features": X})
    crew = Scattered(lambda one, at: method.piece(data, given, one, at), n_pieces, seed=n_pieces)
    return method.fit(data, given, silent, crew=crew), crew.n_lost


@pytest.mark.parametrize(
    ("method", "params"),
    [
        (VMF(), {"n_clusters": 3, "n_init": 2, "max_iter": 8, "held_out": 0.1}),
        (VMF(), {"n_clusters": 3, "n_init": 1, "max_iter": 3, "assignment": "hard"}),
        (BVMF(), {"n_clusters": 3, "n_init": 1, "max_iter": 5}),
        (HVMF(), {"n_init": 1, "max_iter": 4}),
    ],
)
def test_the_same_fit_for_any_division(method: Method[Any], params: dict[str, Any]) -> None:
    """Also where workers are killed in the middle of pieces."""
    truth, _ = fitted(method, 1, **params)
    for n_pieces in (2, 3):
        found, n_lost = fitted(method, n_pieces, **params)
        assert n_lost > 0
        assert found.metrics == truth.metrics
        assert truth.model is not None
        assert found.model is not None
        for name, array in truth.model.arrays.items():
            assert array.tobytes() == found.model.arrays[name].tobytes(), name


def test_one_piece_is_computed_here() -> None:
    rows = unit_rows("float64")
    assert type(passes(rows, 1, "cpu", Alone(lambda _, __: {}))) is Passes
