"""Rows far from all others, in groups, in sparse matrices, and where a model meets them first:
nearest clusters are exact beside them, and a warning names them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from models.arrays import Array, Int
from models.inputs.data import Data
from models.inputs.oddities import FARTHEST, far_warnings, odd_columns
from models.inputs.reading import noting
from models.maps.mapping import mapped
from models.maps.options import MapTerms
from models.registry import method
from models.running.progress import silent
from tests.models.scales_kit import ROWS

PARAMS: dict[str, dict[str, Any]] = {
    "kmeans": {"n_clusters": 4, "n_init": 1},
    "minibatch-kmeans": {"n_clusters": 4},
    "hac": {"linkage": "average"},
    "scc": {},
}
WIDE = np.hstack([ROWS, np.random.default_rng(0).integers(-999, 999, (60, 28)) / 1024])
"""So wide that no tree of rows is searched."""


def nearest(rows: Array, points: Array, *, far: bool = False) -> Int:
    """In extended precision. far : the square of the row is left out, which all points share."""
    wide, near = rows.astype(np.longdouble), points.astype(np.longdouble)
    if far:
        return np.asarray(((near**2).sum(axis=1) - 2 * wide @ near.T).argmin(axis=1))
    return np.asarray(((wide[:, None] - near) ** 2).sum(axis=2).argmin(axis=1))


def half_far(rows: Array, distance: float) -> Array:
    away = rows.copy()
    away[::2, 1] += distance
    return away


@pytest.mark.parametrize("name", PARAMS)
@pytest.mark.parametrize("power", [24, 30, 44, 60])
def test_predictions_by_a_fit_with_far_rows_are_exact(name: str, power: int) -> None:
    """And repeat that the fit had them."""
    used = method(name)
    for rows in (np.vstack([WIDE, np.full((1, 32), 2.0**power)]), half_far(WIDE, 2.0**power)):
        fitted = used.fit(Data({"features": rows}), used.Params(**PARAMS[name]))
        assert sum("times as far a" in one for one in fitted.warnings) == 1
        assert fitted.model is not None
        with noting() as notes:
            found = used.predict(fitted.model, fitted.tree, Data({"features": WIDE[::-1]}))
        assert len(notes) == 1
        assert "Rows of the model's fit lay more than 1e+06 times" in str(list(notes))
        if "centers" in fitted.model.arrays:
            centers = fitted.model.arrays["centers"]
            own = fitted.tree.leaves[nearest(WIDE[::-1], centers)]
        else:
            own = fitted.tree.leaf_of_point[nearest(WIDE[::-1], rows)]
        assert (found.leaf == own).all()


@pytest.mark.parametrize("name", PARAMS)
def test_a_new_row_that_lies_far_is_named_and_moves_no_other(name: str) -> None:
    used = method(name)
    fitted = used.fit(Data({"features": ROWS}), used.Params(**PARAMS[name]))
    assert fitted.model is not None

    def placed(rows: Any) -> tuple[Any, list[str]]:
        with noting() as notes:
            return used.predict(fitted.model, fitted.tree, Data({"features": rows})), list(notes)

    plain, notes = placed(ROWS)
    assert notes == []
    for power in (22, 40, 60, 100):
        for far in (ROWS[7:8] * 2.0**power, np.vstack([ROWS, ROWS[7:8] * 2.0**power])):
            found, notes = placed(far)
            assert (found.leaf[:-1] == plain.leaf[: len(far) - 1]).all()
            assert (found.probability[: 2 * len(far) - 2] == plain.probability[: 2 * len(far) - 2])[
                : 2 * len(far) - 2
            ].all()
            assert [note.split(" lies ")[0] for note in notes] == [f"Row {len(far) - 1}"]
            assert "most rows of the fit, in column " in notes[0]
            if "centers" in fitted.model.arrays:
                centers = fitted.model.arrays["centers"]
                assert found.leaf[-1] == fitted.tree.leaves[nearest(far[-1:], centers, far=True)[0]]


def test_soft_assignments_and_maps_name_far_rows() -> None:
    used = method("gmm")
    fitted = used.fit(Data({"features": ROWS}), used.Params(n_clusters=3, n_init=1))
    far = np.vstack([ROWS, np.full((1, 4), 2.0**30)])
    assert fitted.model is not None
    with noting() as notes:
        used.logits(fitted.model, Data({"features": far}))
    assert [note.split(" lies ")[0] for note in notes] == ["Row 60"]
    assert "Row 60 lies" in str(mapped(far, MapTerms(by="pca"), 1, silent).warnings)
    assert mapped(ROWS, MapTerms(by="pca"), 1, silent).warnings == ()


def test_groups_that_lie_far_apart_are_a_warning() -> None:
    for power in (24, 60):
        for rows in (half_far(ROWS, 2.0**power), half_far(WIDE, 2.0**power)):
            (note,) = far_warnings(rows)
            assert "times as far a" in note
            assert "in column 1 " in note
            assert len(far_warnings(sp.csr_array(rows))) == 1
    spread = ROWS.copy()
    spread[:, 1] *= 2.0**40
    for rows in (ROWS, WIDE, spread, half_far(ROWS, 2.0**10), np.repeat(ROWS, 9, axis=0)):
        assert far_warnings(rows) == ()


SPARSE = sp.random_array((400, 300), density=0.1, format="csr", rng=np.random.default_rng(3))


def test_sparse_rows_that_lie_far_are_named() -> None:
    assert far_warnings(SPARSE) == ()
    far = SPARSE.copy()
    far.data[1234] = -5 * FARTHEST
    row = int(np.searchsorted(far.indptr, 1234, side="right")) - 1
    (note,) = far_warnings(far)
    assert note.startswith(f"Row {row} lies ")
    assert f"in column {far.indices[1234]} " in note
    used = method("kmeans")
    fitted = used.fit(Data({"features": far}), used.Params(n_clusters=3, n_init=1))
    assert note in fitted.warnings
    clean = used.fit(Data({"features": SPARSE}), used.Params(n_clusters=3, n_init=1))
    assert clean.model is not None
    with noting() as notes:
        used.predict(clean.model, clean.tree, Data({"features": far}))
    assert [one.split(" lies ")[0] for one in notes] == [f"Row {row}"]


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (np.full(400, 7.0), "1 column(s) have one value: '300'"),
        (np.zeros(400), "1 column(s) have one value: '300'"),
        (SPARSE[:, [4]].toarray()[:, 0], "1 column(s) equal one before them"),
        (np.arange(400.0), "1 column(s) look like numbers of the rows"),
        (np.arange(400.0) + 17, "1 column(s) look like numbers of the rows"),
        (SPARSE[:, [5]].toarray()[:, 0] * 1e14, "Column '300' spreads more than 1e+12 times"),
    ],
)
def test_an_odd_column_of_sparse_rows_is_named(column: Array, words: str) -> None:
    assert odd_columns(SPARSE, None, lambda _: False) == ()
    (note,) = odd_columns(
        sp.csr_array(sp.hstack([SPARSE, sp.csr_array(column[:, None])])), None, lambda _: False
    )
    assert note.startswith(words)
    assert "'300'" in note
