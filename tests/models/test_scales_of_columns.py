"""One column on another scale: beside a far wider column the answer is that of it alone, a far
narrower one counts as zeros; columns that no method can measure are refused by name.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from models.arrays import Array
from models.errors import UsageError
from models.graphs.lengths import between as between_pairs
from models.inputs.data import Data
from models.numerics.distances import between
from models.registry import method
from tests.contract.contract_kit import EXAMPLES, with_needs
from tests.models.scales_kit import (
    CLASSIFIERS,
    COUNTED,
    ROWS,
    SLOW,
    TAKEN,
    TRAINED,
    fitted_or_refused,
    labelled,
    rows_for,
)
from umbel.testing.examples import Example

STEPS = frozenset({"temi", "turtle"})
"""They learn by steps of a fixed size or by cosines, of which one column alone leaves two."""

FLAT = [
    pytest.param(
        kind,
        each,
        id=f"{kind}-{each}",
        marks=[
            pytest.mark.needs(*each.method.needs),
            *[pytest.mark.slow] * (name in SLOW | STEPS),
        ],
    )
    for kind in ("wide", "narrow")
    for each in TAKEN
    # Training draws batches in the order of the rows' bits: other columns are as another seed.
    if each.method.family != "sphere" and each.method.id not in TRAINED
    for name in [each.method.id]
    if kind == "narrow" or name not in STEPS
]


def times(column: int, factor: float) -> Array:
    return np.where(np.arange(4) == column, factor, 1.0)


ALONE = times(1, 0.0) * times(2, 0.0) * times(3, 0.0)
PAIRS: dict[str, tuple[Array, Array]] = {
    "wide": (times(0, 2.0**100), ALONE),
    "narrow": (times(3, 2.0**-100), times(3, 0.0)),
}
"""What a column is multiplied by, and what it is to be the same as."""


@pytest.mark.parametrize(("kind", "example"), FLAT)
def test_one_column_counts_by_its_width(kind: str, example: Example) -> None:
    factors, others = PAIRS[kind]
    found, expected = (fitted_or_refused(example, ROWS * each) for each in (factors, others))
    if isinstance(found, UsageError):
        assert isinstance(expected, UsageError)
        assert found.code == expected.code
        return
    assert not isinstance(expected, UsageError)
    assert adjusted_rand_score(found[1], expected[1]) > 0.99
    if found[2] is not None:
        # Leaves of equal clusters have equal numbers.
        assert adjusted_rand_score(found[2], expected[2]) > 0.99


@pytest.mark.parametrize("example", with_needs(CLASSIFIERS))
def test_a_classifier_is_right_beside_a_wide_or_narrow_column_or_says_why(example: Example) -> None:
    base = labelled(example, ROWS)
    assert not isinstance(base, UsageError)
    for factors in (times(0, 2.0**60), times(3, 2.0**-100)):
        result = labelled(example, ROWS * factors)
        if isinstance(result, UsageError):
            assert result.code in {"too-large", "wrong-input"}
            assert result.where["column"] == 0
        elif result[0] < base[0] - 0.02:
            assert any("column 0" in each.lower() for each in result[1].warnings)


MEASURED = [example for example in EXAMPLES if "features" in example.roles and example.number == 0]
HUGE = 1e307


def unusable() -> dict[str, tuple[Array, set[str]]]:
    """By name what is added to rows, and the codes of their refusals."""
    nan, inf = np.zeros((60, 4)), np.zeros((60, 4))
    nan[7, 2], inf[7, 2] = np.nan, np.inf
    every = np.where(np.arange(4) == 2, np.nan, np.zeros((60, 4)))
    return {
        "one NaN": (nan, {"not-finite"}),
        "one inf": (inf, {"not-finite"}),
        "all NaN": (every, {"not-finite"}),
    }


@pytest.mark.parametrize("example", with_needs(MEASURED))
def test_values_that_are_no_numbers_are_refused_by_column(example: Example) -> None:
    for name, (added, codes) in unusable().items():
        data: Any = example.data()
        rows = data.values["features"].astype(np.float64)
        rows[:, :4] += added[: len(rows)]
        data.values["features"] = rows
        with pytest.raises(UsageError) as caught:
            example.fit(data)
        assert caught.value.code in codes, name
        assert (caught.value.where["row"], caught.value.where["column"]) == (
            0 if name == "all NaN" else 7,
            2,
        )


@pytest.mark.parametrize(
    "example",
    with_needs(each for each in MEASURED if each.method.id not in STEPS | COUNTED),
)
def test_a_column_without_room_for_squares_is_refused_by_name(example: Example) -> None:
    """But for methods of directions, which refuse rows that are not of length one."""
    data: Any = example.data()
    data.values["features"] = rows_for(example) * np.where(np.arange(4) == 2, HUGE, 1.0)
    with pytest.raises(UsageError) as caught:
        example.fit(data)
    if example.method.family == "sphere":
        assert caught.value.code == "not-unit"
    else:
        assert caught.value.code in {"too-large", "no-distance"}
        assert caught.value.where["column"] == 2


def test_a_distance_that_overflows_names_the_widest_column() -> None:
    rows = ROWS * np.where(np.arange(4) == 2, HUGE, 1.0)
    ends = np.array([0]), np.array([3])
    hac = method("hac")
    average = hac.Params.model_validate({"linkage": "average"})
    for refused in (
        lambda: between(rows, rows[:5], "euclidean"),
        lambda: between_pairs(rows, *ends, "euclidean"),
        lambda: hac.fit(Data({"features": rows}), average),
    ):
        with pytest.raises(UsageError, match=r"column 2 \(counted from 0\) has .* down") as caught:
            refused()
        assert caught.value.where["column"] == 2
    zeros = np.vstack([np.zeros((1, 4)), ROWS])
    with pytest.raises(UsageError) as caught:
        between(zeros, zeros, "cosine")
    assert "column" not in caught.value.where
