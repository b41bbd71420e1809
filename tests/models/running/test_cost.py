"""How long a fit is expected to take."""

from __future__ import annotations

from typing import Any

import pytest

from models.parameters import Params
from models.registry import built_in, method
from models.running.budget import CLASSES, Cost


def seconds(method_id: str, shape: tuple[int, ...], role: str = "features", **given: Any) -> Any:
    used = method(method_id)
    params = {name: field.default for name, field in used.Params.model_fields.items()}
    return used.seconds({role: shape}, params | given)


@pytest.mark.parametrize("used", built_in().values(), ids=lambda used: used.id)
def test_a_cost_grows_with_the_data_and_is_stated_for_parameters_that_there_are(used: Any) -> None:
    if used.cost is None:
        return
    assert {*used.cost.times, used.cost.k} - {"", CLASSES} <= set(used.Params.model_fields)
    params = {name: field.default for name, field in used.Params.model_fields.items()}
    sizes = [(100, 4), (1_000, 4), (1_000, 64), (1_000_000, 256)]
    expected = [used.seconds(dict.fromkeys(used.inputs, size), params) for size in sizes]
    assert expected == sorted(expected)
    assert expected[0] < 5 < expected[-1]


class Given(Params):
    n: int = 10


def test_the_formula() -> None:
    cost = Cost(2.0, rows=2, columns=0.5, by_k=3, k="k", times=("n",), start=1.0)
    assert cost.seconds(3, 4, {"k": 2, "n": 5}, Given) == 1 + 2 * 9 * 2 * 8 * 0.5
    assert cost.seconds(3, 4, {"k": "auto", "n": 5}, Given) is None
    assert cost.seconds(3, 4, {"k": 2, "n": None}, Given) is None
    assert Cost(1.0, k=CLASSES, start=0.0).seconds(9, 2, {}, Given) == 9 * 2 * 3


def test_what_is_not_known_may_be_long() -> None:
    assert seconds("corrmnl", (300, 10)) is None
    assert seconds("kmeans", (300,)) is None
    assert seconds("kmeans", (300, 10), choose="gap") is None
    assert seconds("kmeans", (300, 10)) < 1
    assert seconds("l2h", (300, 10), "logits") < 1


def test_a_choice_of_c_fits_every_fold() -> None:
    once, chosen = seconds("mlr", (300, 10)), seconds("mlr", (300, 10), C="auto", n_folds=3)
    folds = seconds("mlr", (300, 10), C=1.0, calibrate=True, n_folds=3)
    assert folds == pytest.approx(4 * once)
    assert chosen > 5 * folds / 4


def test_along_the_graph_of_neighbours_many_rows_take_less() -> None:
    # Measured: 24 and 104 seconds of a processor, and 75 for `hac`.
    assert 8 < seconds("hdbscan", (200_001, 64)) < 72
    assert 35 < seconds("hdbscan", (1_000_000, 64), metric="cosine") < 312
    assert 25 < seconds("hac", (1_000_000, 32), connectivity="knn") < 225
    for shape, metric in [((200_000, 64), "euclidean"), ((200_001, 64), "cityblock")]:
        assert seconds("hdbscan", shape, metric=metric) > 1_000
    assert seconds("hdbscan", (200_001, 10)) == pytest.approx(0.05 + 1e-9 * 200_001**2 * 10)
    assert seconds("hac", (300, 16), connectivity="knn") == seconds("hac", (300, 16))
    assert seconds("hac", (50_000, 16), connectivity="knn", metric="cityblock") > 30
