"""Names that data frames have go with them as inputs, where a method takes them and has none."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import numpy as np
import pytest

from app.resources.methods.schemas import MethodBody
from models.registry import built_in
from tests.needs_kit import need
from umbel_client.core.requests import run_of
from umbel_client.core.runs import facts_in
from umbel_client.errors import UmbelWarning
from umbel_client.inputs import Inline
from umbel_client.methods import METHODS

ROWS = [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


def frame(package: str, rows: list[list[float]] = ROWS, names: str = "abc") -> Any:
    need(package)
    columns = {name: [row[at] for row in rows] for at, name in enumerate(names)}
    module = importlib.import_module(package)
    if package == "pyarrow":
        return module.table(columns)
    return module.DataFrame(columns)


def pandas(*arguments: Any, **options: Any) -> Any:
    need("pandas")
    import pandas

    return pandas.DataFrame(*arguments, **options)


def sent(method: str, preprocess: Any = None, **values: Any) -> dict[str, Any]:
    """The names among the inputs of a run, by role."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", UmbelWarning)
        options = {"preprocess": preprocess}
        inputs, _ = run_of(method, METHODS[method], values, {}, options)
    found: dict[str, Any] = {}
    for place, value in inputs.items():
        if place.endswith("names"):
            assert isinstance(value, Inline)
            found[place.removeprefix("inputs.")] = value.values
    return found


@pytest.mark.parametrize("package", ["pandas", "polars", "pyarrow"])
class TestPackages:
    def test_columns_of_logits_are_classes(self, package: str) -> None:
        assert sent("l2h", logits=frame(package)) == {"names": ["a", "b", "c"]}

    @pytest.mark.parametrize("method", ["mmc", "tcs", "vmf", "lda", "hmmc"])
    def test_columns_of_features_name_them(self, package: str, method: str) -> None:
        assert sent(method, features=frame(package)) == {"feature_names": ["a", "b", "c"]}

    def test_names_that_are_given_come_first(self, package: str) -> None:
        assert sent("l2h", logits=frame(package), names=list("xyz")) == {"names": ["x", "y", "z"]}
        given = sent("mmc", features=frame(package), feature_names=list("xyz"))
        assert given == {"feature_names": ["x", "y", "z"]}

    @pytest.mark.parametrize("method", ["hac", "kmeans", "mlr"])
    def test_methods_that_take_none_get_none(self, package: str, method: str) -> None:
        assert sent(method, features=frame(package)) == {}

    def test_numbers_that_count_are_no_names(self, package: str) -> None:
        assert sent("l2h", logits=frame(package, names="012")) == {}

    def test_a_column_of_embeddings_names_no_feature(self, package: str) -> None:
        module = importlib.import_module(package)
        make = module.table if package == "pyarrow" else module.DataFrame
        assert sent("mmc", features=make({"embedding": ROWS})) == {}
        assert sent("mmc", features=make({"weight": [1.0, 2.0]})) == {"feature_names": ["weight"]}


def test_columns_that_are_no_classes_name_none() -> None:
    top = np.array([[0, 5, 3], [1, 2, 4]])
    assert sent("l2h", logits=frame("pandas"), top_classes=top) == {}


@pytest.mark.parametrize("step", ["pca", "svd"])
def test_columns_that_are_made_anew_have_no_names(step: str) -> None:
    steps = [{"step": "standardize"}, {"step": step, "n": 2}]
    rows = pandas(ROWS, columns=["a", "b", "c"], index=["x", "y"])
    assert sent("mmc", steps, features=rows) == {}
    assert sent("hmmc", steps, features=rows) == {"names": ["x", "y"]}
    assert sent("mmc", steps[:1], features=rows) == {"feature_names": ["a", "b", "c"]}


POINTS = ["birch", "ghhc", "hac", "hdbscan", "hkm", "hmmc", "hsc", "hyphc", "perch", "scc"]


@pytest.mark.parametrize("method", POINTS)
def test_the_index_names_points(method: str) -> None:
    named = sent(method, features=pandas(ROWS, index=["x", "y"]))
    assert named == {"names": ["x", "y"]}
    assert METHODS[method].names_points


def test_the_catalogue_says_the_same_of_each_method() -> None:
    for method_id, method in built_in().items():
        assert facts_in(MethodBody.of(method).model_dump()) == METHODS[method_id]


@pytest.mark.parametrize("method", ["kmeans", "gmm", "treevae", "mlr", "tcs", "stl"])
def test_names_of_other_things_are_not_the_index(method: str) -> None:
    """`names` of these methods are of clusters, of classes or of tasks."""
    assert "names" in METHODS[method].inputs
    assert not METHODS[method].names_points
    assert sent(method, features=pandas(ROWS, index=["x", "y"])) == {}


def test_an_index_that_counts_is_no_name() -> None:
    assert sent("hac", features=pandas(ROWS)) == {}
    assert sent("hac", features=pandas(ROWS).iloc[::-1].sort_index(ascending=False)) == {}
    shuffled = pandas(ROWS, index=[7, 3])
    assert sent("hac", features=shuffled) == {"names": ["7", "3"]}


def test_several_levels_and_dates_are_text() -> None:
    need("pandas")
    import pandas as pd

    levels = pd.MultiIndex.from_tuples([("a", 1), ("b", 2)])
    assert sent("hac", features=pandas(ROWS, index=levels)) == {"names": ["a.1", "b.2"]}
    years = pandas(ROWS, columns=[2000, 2001, 2002])
    assert sent("l2h", logits=years) == {"names": ["2000", "2001", "2002"]}
    days = pandas(ROWS, index=pd.date_range("2024-01-01", periods=2))
    assert sent("hac", features=days) == {"names": ["2024-01-01T00:00:00", "2024-01-02T00:00:00"]}


@pytest.mark.parametrize("empty", [None, "", np.nan])
def test_names_of_which_one_is_missing_are_left_out_with_a_warning(empty: Any) -> None:
    with pytest.warns(UmbelWarning, match="row 1 has none"):
        inputs, _ = run_of(
            "hac", METHODS["hac"], {"features": pandas(ROWS, index=["x", empty])}, {}, {}
        )
    assert "inputs.names" not in inputs
    with pytest.warns(UmbelWarning, match="column 2 has none"):
        run_of("l2h", METHODS["l2h"], {"logits": pandas(ROWS, columns=["a", "b", empty])}, {}, {})
