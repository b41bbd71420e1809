"""Data frames as tables: the service gets the names of their columns and rows, or a warning says
why not."""

from __future__ import annotations

import importlib
import json
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from app.resources.methods.schemas import MethodBody
from models.registry import built_in
from tests.needs_kit import need
from umbel_client import tables
from umbel_client.core.runs import facts_in
from umbel_client.encodings import Payload
from umbel_client.errors import InputError, UmbelWarning
from umbel_client.inputs import TABLE_OPTIONS, File, Inline, converted
from umbel_client.methods import METHODS

ROWS = [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
ROLES = ["features", "logits", "distances", "similarity"]
PACKAGES = ["pandas", "polars", "pyarrow"]


def frame(package: str, columns: dict[str, Any]) -> Any:
    need(package)
    module = importlib.import_module(package)
    return (module.table if package == "pyarrow" else module.DataFrame)(columns)


def pandas(*arguments: Any, **options: Any) -> Any:
    need("pandas")
    import pandas

    return pandas.DataFrame(*arguments, **options)


def sent(value: Any, role: str = "features") -> Payload:
    """A table, without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", UmbelWarning)
        payload = converted(role, value)
    assert isinstance(payload, Payload)
    return payload


def read(payload: Any) -> dict[str, list[Any]]:
    """The columns of an Arrow stream."""
    need("pyarrow")
    import pyarrow

    assert payload.media_type == "application/vnd.apache.arrow.stream"
    content = payload.content.read(0, payload.content.length)
    return dict(pyarrow.ipc.open_stream(content).read_all().to_pydict())


@pytest.mark.needs("pyarrow")
@pytest.mark.parametrize("package", PACKAGES)
class TestPackages:
    @pytest.mark.parametrize("role", ROLES)
    def test_columns_keep_their_names(self, package: str, role: str) -> None:
        wanted = {"a": [0.0, 3.0], "b": [1.0, 4.0]}
        payload = sent(frame(package, wanted), role)
        assert read(payload) == wanted
        assert "id_column" not in payload.query
        assert payload.query.get("role") in (role, None)

    def test_texts_and_truths_go_along(self, package: str) -> None:
        own = {"x": [1, 2], "word": ["a", None], "sure": [True, False]}
        assert read(sent(frame(package, own))) == {**own, "sure": [1, 0]}

    def test_numbers_that_count_are_no_names(self, package: str) -> None:
        for names in ("01", "10"):
            value = frame(package, {name: [float(name), 5.0 + float(name)] for name in names})
            assert converted("features", value) == Inline([[0.0, 1.0], [5.0, 6.0]])

    def test_a_column_of_embeddings_is_a_matrix(self, package: str) -> None:
        assert converted("features", frame(package, {"embedding": ROWS})) == Inline(ROWS)

    def test_one_beside_others_is_a_column_of_vectors(self, package: str) -> None:
        own = {"embedding": ROWS, "word": ["a", "b"]}
        assert read(sent(frame(package, own))) == own

    def test_other_roles_take_no_table(self, package: str) -> None:
        assert converted("labels", frame(package, {"y": ["a", "b"]})) == Inline(["a", "b"])
        with pytest.raises(InputError, match="2 columns; one"):
            converted("labels", frame(package, {"y": [1], "z": [2]}))
        assert converted("costs", frame(package, {"a": [0.5], "b": [1.0]})) == Inline([[0.5, 1.0]])


@pytest.mark.parametrize("kind", ["float16", "float32", "float64", "int8", "uint32", "int64"])
@pytest.mark.needs("pyarrow")
def test_numbers_keep_their_types(kind: str) -> None:
    need("pandas")
    import pyarrow

    payload = sent(pandas(np.array(ROWS, kind), columns=list("abc")))
    content = payload.content.read(0, payload.content.length)
    schema = pyarrow.ipc.open_stream(content).schema
    assert {str(field.type.to_pandas_dtype()().dtype) for field in schema} == {kind}


def of_index(make: Callable[[Any], Any]) -> Any:
    need("pandas")
    import pandas as pd

    return pandas(ROWS, columns=list("abc"), index=make(pd))


INDEXES: dict[str, tuple[Callable[[Any], Any], str, list[str]]] = {
    "texts": (lambda pd: ["x", "y"], "index", ["x", "y"]),
    "named": (lambda pd: pd.Index(["x", "y"], name="who"), "who", ["x", "y"]),
    "named as a column": (lambda pd: pd.Index(["x", "y"], name="a"), "a_", ["x", "y"]),
    "shuffled": (lambda pd: [7, 3], "index", ["7", "3"]),
    "floats": (lambda pd: [0.5, 1.0], "index", ["0.5", "1.0"]),
    "several levels": (
        lambda pd: pd.MultiIndex.from_tuples([("a", 1), ("b", 2)], names=["k", "n"]),
        "k.n",
        ["a.1", "b.2"],
    ),
    "categories": (lambda pd: pd.CategoricalIndex(["x", "y"]), "index", ["x", "y"]),
    "dates": (
        lambda pd: pd.date_range("2024-01-01", periods=2),
        "index",
        ["2024-01-01", "2024-01-02"],
    ),
    "times": (
        lambda pd: pd.DatetimeIndex(["2024-01-01", "2024-01-01 12:30"]),
        "index",
        ["2024-01-01 00:00:00", "2024-01-01 12:30:00"],
    ),
    "times of a zone": (
        lambda pd: pd.DatetimeIndex(["2024-01-01", "2024-07-01 12:30:00.25"]).tz_localize("UTC"),
        "index",
        ["2024-01-01 00:00:00Z", "2024-07-01 12:30:00.250000Z"],
    ),
    "midnights of a zone": (
        lambda pd: pd.date_range("2024-01-01", periods=2, tz="Asia/Tokyo"),
        "index",
        ["2024-01-01", "2024-01-02"],
    ),
    "periods": (
        lambda pd: pd.period_range("2024-01", periods=2, freq="M"),
        "index",
        ["2024-01", "2024-02"],
    ),
    "intervals": (lambda pd: pd.interval_range(0, 2), "index", ["(0, 1]", "(1, 2]"]),
}


@pytest.mark.parametrize("kind", INDEXES)
@pytest.mark.needs("pyarrow")
def test_the_index_is_the_ids(kind: str) -> None:
    make, name, ids = INDEXES[kind]
    payload = sent(of_index(make))
    assert payload.query["id_column"] == name
    assert read(payload) == {name: ids, "a": [0.0, 3.0], "b": [1.0, 4.0], "c": [2.0, 5.0]}


@pytest.mark.needs("pyarrow")
def test_the_index_of_a_series_of_rows_is_the_ids() -> None:
    pandas = pytest.importorskip("pandas")
    rows = pandas.Series([np.array([1.0, 2.0]), np.array([3.0, 4.0])], index=["ada", "bob"])
    for series in (rows, rows.rename("embedding")):
        found = converted("features", series)
        assert isinstance(found, Payload)
        assert found.query["id_column"] == "index"
    assert isinstance(converted("features", rows.reset_index(drop=True)), Inline)
    assert isinstance(converted("features", pandas.Series([1.0, 2.0], index=["a", "b"])), Inline)


def test_an_index_that_counts_is_none() -> None:
    for own in (pandas(ROWS, columns=list("abc")), pandas(ROWS * 2, columns=list("abc")).iloc[::2]):
        assert "id_column" not in sent(own).query
    counted = sent(pandas(ROWS, index=["x", "y"]))
    assert list(read(counted)) == ["index", "0", "1", "2"]


LEFT: dict[str, tuple[list[Any], str]] = {
    "None": (["x", None], "row 1 has none"),
    "empty": (["x", ""], "row 1 has none"),
    "not a number": (["x", np.nan], "row 1 has none"),
    "twice": (["x", "x"], "row 0 and row 1 have the same, 'x'"),
    "twice as text": ([1, "1"], "row 0 and row 1 have the same, '1'"),
}


@pytest.mark.parametrize("kind", LEFT)
@pytest.mark.needs("pyarrow")
def test_an_index_that_is_no_id_is_left_out_with_a_warning(kind: str) -> None:
    index, why = LEFT[kind]
    with pytest.warns(UmbelWarning, match=why):
        payload = converted("features", pandas(ROWS, columns=list("abc"), index=index))
    assert isinstance(payload, Payload)
    assert "id_column" not in payload.query
    assert list(read(payload)) == ["a", "b", "c"]


@pytest.mark.parametrize("empty", [None, "", np.nan])
@pytest.mark.needs("pyarrow")
def test_a_column_without_a_name_gets_one_with_a_warning(empty: Any) -> None:
    with pytest.warns(UmbelWarning, match="Column 2 .* is called 'column 2'"):
        payload = converted("logits", pandas(ROWS, columns=["a", "b", empty]))
    assert list(read(payload)) == ["a", "b", "column 2"]


@pytest.mark.needs("pyarrow")
def test_several_levels_of_columns_are_joined_with_a_warning() -> None:
    need("pandas")
    import pandas as pd

    levels = pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", "")])
    with pytest.warns(UmbelWarning, match=r"several levels; their names are joined by '\.'"):
        payload = converted("features", pandas(ROWS, columns=levels))
    assert list(read(payload)) == ["a.1", "a.2", "b."]


@pytest.mark.parametrize("names", [["a", "b", "a"], [1, "x", "1"], [("a", 1), ("b", 1), "a.1"]])
@pytest.mark.filterwarnings("ignore:The columns of the data frame have several")
def test_two_columns_of_one_name_are_refused(names: list[Any]) -> None:
    need("pandas")
    import pandas as pd

    own = pandas(ROWS)
    own.columns = pd.Index(names, tupleize_cols=False)
    with pytest.raises(InputError, match=r"two columns '.*', 0 and 2"):
        converted("features", own)


@pytest.mark.needs("pyarrow")
def test_two_columns_of_one_name_in_pyarrow() -> None:
    import pyarrow

    with pytest.raises(InputError, match="two columns 'a', 0 and 1"):
        converted("features", pyarrow.table([[1.0], [2.0]], names=["a", "a"]))


@pytest.mark.needs("pyarrow")
def test_other_kinds_of_columns_of_pandas() -> None:
    need("pandas")
    import pandas as pd

    own = pandas(
        {
            "x": [1.5, 2.5],
            "kind": pd.Categorical(["a", "b"]),
            "month": pd.period_range("2024-01", periods=2, freq="M"),
            "mixed": pd.Series(["a", 1], dtype=object),
            "day": pd.to_datetime(["2024-01-02", None]),
        }
    )
    found = read(sent(own))
    assert found["kind"] == ["a", "b"]
    assert found["month"] == ["2024-01", "2024-02"]
    assert found["mixed"] == ["a", "1"]
    assert str(found["day"][0]).startswith("2024-01-02")
    assert found["day"][1] is None


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_without_pyarrow_it_is_json_lines(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    own = frame(package, {"x": [1.5, np.nan], "word": ["a", None], "e": [[1.0], [2.0]]})
    monkeypatch.setattr(tables, "find_spec", lambda _: None)
    payload = sent(own)
    assert payload.media_type == "application/x-ndjson"
    lines = payload.content.read(0, payload.content.length).decode().splitlines()
    assert list(map(json.loads, lines)) == [
        {"x": 1.5, "word": "a", "e": [1.0]},
        {"x": None, "word": None, "e": [2.0]},
    ]
    with pytest.raises(InputError, match="row 1 has a number that is not finite"):
        converted("features", frame(package, {"x": [1.0, np.inf]}))


def test_a_file_has_the_options_of_a_table(tmp_path: Any) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a;b\n1;2\n")
    payload = converted("features", File(path, columns=["a"], id_column="b", header=True))
    assert isinstance(payload, Payload)
    wanted = {"role": "features", "name": "a.csv", "columns": ["a"], "id_column": "b"}
    assert payload.query == {**wanted, "header": "true"}
    with pytest.raises(InputError, match="a list of names"):
        converted("features", File(path, columns="a"))
    assert set(TABLE_OPTIONS) <= set(File.__dataclass_fields__)


def test_the_catalogue_says_the_same_of_each_method() -> None:
    for method_id, method in built_in().items():
        assert facts_in(MethodBody.of(method).model_dump()) == METHODS[method_id]


@pytest.mark.parametrize(
    ("values", "index", "sent"),
    [
        (["a", "b"], ["x", "y"], [{"index": "x", "y": "a"}, {"index": "y", "y": "b"}]),
        ([3, 1], ["x", "y"], [{"index": "x", "y": 3}, {"index": "y", "y": 1}]),
        (["a", None], ["x", "y"], [{"index": "x", "y": "a"}, {"index": "y", "y": None}]),
        (["a", "b"], [1, 0], None),
        (["a", "b"], ["x", "x"], None),
        (["a", "b"], ["x", ""], None),
        ([["a", "b"], ["c"]], ["x", "y"], None),
        ([0.5, 1.0], ["x", "y"], None),
    ],
)
def test_labels_with_names_of_rows_are_a_table(
    values: list[Any], index: list[Any], sent: list[dict[str, Any]] | None
) -> None:
    need("pandas")
    import pandas as pd

    series = pd.Series(values, index=index, name="y", dtype="object")
    found = tables.labels_of(series)
    if sent is None:
        assert found is None
        return
    assert found is not None
    assert found.query == {"id_column": "index", "label_column": "y"}
    lines = found.read(0, found.content.length).decode().splitlines()
    assert [json.loads(line) for line in lines] == sent
