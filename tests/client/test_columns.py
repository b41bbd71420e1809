"""Columns and frames of pandas, polars and pyarrow, masked arrays and tensors as inputs: what the
service receives is what the caller sees in them."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.needs_kit import need
from umbel_client.columns import numbers_of
from umbel_client.encodings import Payload
from umbel_client.errors import InputError, UmbelWarning
from umbel_client.imports import tree_file
from umbel_client.inputs import Inline, converted, converted_inputs, stacked

ROWS = [[0.0, 0.5], [0.25, 1.0], [5.0, -5.0]]


def matrix(value: Any) -> npt.NDArray[Any]:
    """The matrix that the service sees of features."""
    sent = converted("features", value)
    if isinstance(sent, Inline):
        return np.array(sent.values)
    assert isinstance(sent, Payload)
    content = sent.content.read(0, sent.content.length)
    if sent.media_type == "application/vnd.apache.arrow.stream":
        table = arrow().ipc.open_stream(content).read_all()
        return np.column_stack([numbers_of(own) for own in table.columns])
    return np.load(io.BytesIO(content), allow_pickle=False)


def column(role: str, value: Any) -> list[Any]:
    sent = converted(role, value)
    assert isinstance(sent, Inline)
    return sent.values


def pandas() -> Any:
    need("pandas")
    import pandas

    return pandas


def polars() -> Any:
    need("polars")
    import polars

    return polars


def arrow() -> Any:
    need("pyarrow")
    import pyarrow

    return pyarrow


def tensors() -> Any:
    need("torch")
    import torch

    return torch


LABELS: dict[str, tuple[Callable[[], Any], list[Any]]] = {
    "pandas.Categorical": (lambda: pandas().Categorical(["a", "b", "a"]), ["a", "b", "a"]),
    "a Categorical with missing ones": (
        lambda: pandas().Categorical(["a", None, "a"]),
        ["a", None, "a"],
    ),
    "a Categorical of integers": (lambda: pandas().Categorical([3, 1, 3]), [3, 1, 3]),
    "integers, one missing": (lambda: pandas().Categorical([3, None]), [3, None]),
    "pandas.cut with labels": (
        lambda: pandas().cut(np.array([1, 2, 9]), 2, labels=["low", "high"]),
        ["low", "low", "high"],
    ),
    "pandas.cut without labels": (
        lambda: pandas().cut(np.array([1, 2, 9]), [0, 5, 10]),
        ["(0, 5]", "(0, 5]", "(5, 10]"],
    ),
    "pandas.cut of a Series": (
        lambda: pandas().cut(pandas().Series([1, 2, 20]), [0, 5, 10]),
        ["(0, 5]", "(0, 5]", None],
    ),
    "pandas.qcut": (lambda: pandas().qcut(np.array([1, 2, 3]), 3, labels=False), [0, 1, 2]),
    "string": (lambda: pandas().array(["a", "b", None], dtype="string"), ["a", "b", None]),
    "Int64": (lambda: pandas().array([1, 2, None], dtype="Int64"), [1, 2, None]),
    "UInt8": (lambda: pandas().array([1, 2, 3], dtype="UInt8"), [1, 2, 3]),
    "boolean": (lambda: pandas().array([True, False, None], dtype="boolean"), [1, 0, None]),
    "Python's truths": (lambda: [True, False, None], [1, 0, None]),
    "object": (lambda: pandas().array(["a", 1, None], dtype=object), ["a", 1, None]),
    "sparse": (lambda: pandas().arrays.SparseArray([0, 0, 1]), [0, 0, 1]),
    "periods": (
        lambda: pandas().period_range("2024-01", periods=2, freq="M").array,
        ["2024-01", "2024-02"],
    ),
    "dates": (
        lambda: pandas().Series(pandas().to_datetime(["2024-01-02", None])),
        ["2024-01-02T00:00:00", None],
    ),
    "NumPy's dates": (lambda: np.array(["2024-01-02", "NaT"], "M8[D]"), ["2024-01-02", None]),
    "Python's dates": (
        lambda: [date(2024, 1, 2), datetime(2024, 1, 2)],
        ["2024-01-02", "2024-01-02T00:00:00"],
    ),
    "pandas.Index": (lambda: pandas().Index(["x", "y"]), ["x", "y"]),
    "pandas.RangeIndex": (lambda: pandas().RangeIndex(3), [0, 1, 2]),
    "pandas.CategoricalIndex": (lambda: pandas().CategoricalIndex(["x", "y"]), ["x", "y"]),
    "a column of Arrow in pandas": (
        lambda: pandas().Series(["a", None], dtype=pandas().ArrowDtype(arrow().string())),
        ["a", None],
    ),
    "a frame of one column": (
        lambda: pandas().DataFrame({"y": pandas().Categorical(["a", "b"])}),
        ["a", "b"],
    ),
    "pyarrow, dictionary": (
        lambda: arrow().array(["a", "b", None]).dictionary_encode(),
        ["a", "b", None],
    ),
    "pyarrow, scalars": (lambda: list(arrow().array(["a", "b"])), ["a", "b"]),
    "pyarrow, decimals": (lambda: arrow().array([Decimal("1.0"), Decimal(2)]), [1, 2]),
    "polars, categorical": (
        lambda: polars().Series(["a", None], dtype=polars().Categorical),
        ["a", None],
    ),
    "polars, enum": (
        lambda: polars().Series(["a", "b"], dtype=polars().Enum(["a", "b"])),
        ["a", "b"],
    ),
    "polars, integers": (lambda: polars().Series([1, None]), [1, None]),
    "polars, dates": (lambda: polars().Series([date(2024, 1, 2)]), ["2024-01-02"]),
    "a masked label": (lambda: np.ma.masked_array([1, 2, 3], [0, 1, 0]), [1, None, 3]),
    "masked text": (lambda: np.ma.masked_array(["a", "b"], [0, 1]), ["a", None]),
    "masked in a list": (lambda: [1, np.ma.masked], [1, None]),
    "nothing masked": (lambda: np.ma.masked_array([1, 2], False), [1, 2]),
    "bfloat16": (lambda: tensors().tensor([1.0, 2.0]).bfloat16().tolist(), [1.0, 2.0]),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_any_column_are_those_of_a_list(kind: str) -> None:
    make, wanted = LABELS[kind]
    found = column("labels", make())
    assert found == wanted
    assert [type(each) for each in found] == [type(each) for each in wanted]


MATRICES: dict[str, Callable[[], Any]] = {
    "a Series of arrays": lambda: pandas().Series([np.array(row) for row in ROWS]),
    "a Series of lists": lambda: pandas().Series(ROWS),
    "a Series of tuples": lambda: pandas().Series([tuple(row) for row in ROWS]),
    "a frame of one such column": lambda: pandas().DataFrame({"embedding": ROWS}),
    "one column of a frame": lambda: pandas().DataFrame({"id": [1, 2, 3], "e": ROWS})[["e"]],
    "an array of lists": lambda: pandas().array([list(row) for row in ROWS], dtype=object),
    "Arrow's lists in pandas": lambda: pandas().Series(
        ROWS, dtype=pandas().ArrowDtype(arrow().list_(arrow().float64()))
    ),
    "a column of tensors": lambda: pandas().Series(
        [tensors().tensor(row).bfloat16() for row in ROWS]
    ),
    "an array of arrays": lambda: objects([np.array(row) for row in ROWS]),
    "rows that are Series": lambda: [pandas().Series(row) for row in ROWS],
    "rows that are columns of pyarrow": lambda: [arrow().array(row) for row in ROWS],
    "rows of bfloat16": lambda: [tensors().tensor(row).bfloat16() for row in ROWS],
    "pyarrow, lists": lambda: arrow().array(ROWS),
    "pyarrow, large lists": lambda: arrow().array(ROWS, arrow().large_list(arrow().float64())),
    "pyarrow, lists of one size": lambda: arrow().array(ROWS, arrow().list_(arrow().float64(), 2)),
    "pyarrow, a slice": lambda: arrow().array([[9.0, 9.0], *ROWS]).slice(1),
    "pyarrow, a slice of one size": lambda: (
        arrow().array([[9.0, 9.0], *ROWS], arrow().list_(arrow().float64(), 2)).slice(1)
    ),
    "pyarrow, chunks": lambda: arrow().chunked_array([ROWS[:1], ROWS[1:]]),
    "pyarrow, tensors": lambda: arrow().FixedShapeTensorArray.from_numpy_ndarray(np.array(ROWS)),
    "a table of one column": lambda: arrow().table({"embedding": ROWS}),
    "a batch of one column": lambda: arrow().record_batch({"embedding": ROWS}),
    "polars, lists": lambda: polars().Series(ROWS),
    "polars, arrays": lambda: polars().Series(ROWS, dtype=polars().Array(polars().Float64, 2)),
    "polars, a frame": lambda: polars().DataFrame({"embedding": ROWS}),
    "decimals in pandas": lambda: pandas().DataFrame(
        [[Decimal(str(x)) for x in row] for row in ROWS]
    ),
    "decimals of Arrow in pandas": lambda: pandas().DataFrame(
        {
            at: pandas().Series(
                [Decimal(str(row[at])) for row in ROWS],
                dtype=pandas().ArrowDtype(arrow().decimal128(6, 3)),
            )
            for at in (0, 1)
        }
    ),
    "decimals in pyarrow": lambda: arrow().table(
        {name: [Decimal(str(row[at])) for row in ROWS] for at, name in enumerate("xy")}
    ),
    "decimals in polars": lambda: polars().DataFrame(
        {name: [Decimal(str(row[at])) for row in ROWS] for at, name in enumerate("xy")}
    ),
    "decimals in lists": lambda: [[Decimal(str(x)) for x in row] for row in ROWS],
    "decimals in an array": lambda: np.array([[Decimal(str(x)) for x in row] for row in ROWS]),
    "numbers as objects": lambda: pandas().DataFrame(ROWS).astype(object),
    "sparse columns": lambda: pandas().DataFrame(ROWS).astype("Sparse[float64]"),
    "nullable columns": lambda: pandas().DataFrame(ROWS).astype("Float64"),
    "columns of Arrow": lambda: pandas().DataFrame(ROWS).convert_dtypes(dtype_backend="pyarrow"),
    "nothing masked": lambda: np.ma.masked_array(ROWS, False),
    "masked rows, nothing masked": lambda: [np.ma.masked_array(row) for row in ROWS],
}


def objects(rows: list[Any]) -> npt.NDArray[Any]:
    array = np.empty(len(rows), dtype=object)
    array[:] = rows
    return array


@pytest.mark.parametrize("kind", MATRICES)
def test_rows_of_any_column_or_frame_are_the_matrix(kind: str) -> None:
    np.testing.assert_array_equal(matrix(MATRICES[kind]()), ROWS)


def test_embeddings_keep_float32() -> None:
    rows = [np.array(row, np.float32) for row in ROWS]
    kinds = [
        pandas().Series(rows),
        arrow().array(ROWS, arrow().list_(arrow().float32())),
        polars().Series(ROWS, dtype=polars().List(polars().Float32)),
    ]
    for kind in kinds:
        assert matrix(kind).dtype == np.float32


MISSING: dict[str, Callable[[], Any]] = {
    "Int64": lambda: pandas().DataFrame({"x": pandas().array([1, None], dtype="Int64")}),
    "boolean": lambda: pandas().DataFrame({"x": pandas().array([True, None], dtype="boolean")}),
    "Float32": lambda: pandas().DataFrame({"x": pandas().array([1, None], dtype="Float32")}),
    "object": lambda: pandas().DataFrame({"x": pandas().array([Decimal(1), None], dtype=object)}),
    "pyarrow": lambda: arrow().table({"x": [1, None]}),
    "pyarrow, bool": lambda: arrow().table({"x": [True, None]}),
    "pyarrow, decimals": lambda: arrow().table({"x": [Decimal(1), None]}),
    "polars": lambda: polars().DataFrame({"x": [1, None]}),
    "polars, bool": lambda: polars().DataFrame({"x": [True, None]}),
}


@pytest.mark.parametrize("kind", MISSING)
def test_missing_numbers_are_not_numbers(kind: str) -> None:
    """Which the service refuses by their place."""
    np.testing.assert_array_equal(matrix(MISSING[kind]()), [[1], [np.nan]])


ODD = 2**53 + 1
"""The first integer that a float64 rounds."""
ROUNDED: dict[str, Callable[[], Any]] = {
    "object": lambda: pandas().Series([ODD, None], dtype=object),
    "object, with a fraction": lambda: pandas().Series([ODD, 0.5], dtype=object),
    "decimals": lambda: pandas().Series([Decimal(ODD), Decimal("0.5")], dtype=object),
    "beyond 64 bits": lambda: pandas().Series([10**30, 1], dtype=object),
    "beyond every float": lambda: pandas().Series([10**400, 1], dtype=object),
    "Int64": lambda: pandas().Series([ODD, None], dtype="Int64"),
    "pyarrow": lambda: arrow().array([ODD, None]),
    "pyarrow, decimals": lambda: arrow().array([Decimal(ODD)]),
    "polars": lambda: polars().Series([ODD, None]),
    "polars, decimals": lambda: polars().Series([Decimal(ODD)]),
}


@pytest.mark.parametrize("kind", ROUNDED)
def test_integers_that_would_be_rounded_stay_exact(kind: str) -> None:
    """They travel as they are, and the service refuses them by their place."""
    assert numbers_of(ROUNDED[kind]()) is None
    with pytest.raises(InputError, match="beyond 2\\^53"):
        converted("features", ROUNDED[kind]())


@pytest.mark.parametrize("odd", [ODD, Decimal(ODD), 10**30])
def test_lists_whose_integers_would_be_rounded_are_refused(odd: Any) -> None:
    assert matrix([[2**53, 0.5]]).tolist() == [[2**53, 0.5]]
    with pytest.raises(InputError, match=r"row 1, column 0 is .*float64 rounds"):
        converted("features", [[0.5, 1], [odd, 2]])


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "a masked value": (
        lambda: np.ma.masked_array(ROWS, [[0, 0], [0, 1], [0, 0]]),
        "row 1, column 1 is masked: the masked value is missing",
    ),
    "several": (
        lambda: np.ma.masked_equal(np.ones((2, 2)), 1),
        "row 0, column 0 .* 4 masked values",
    ),
    "integers": (lambda: np.ma.masked_array([[1, 2]], [[0, 1]]), "row 0, column 1 is masked"),
    "an image": (
        lambda: np.ma.masked_array(np.ones((2, 3, 3)), np.arange(18).reshape(2, 3, 3) == 17),
        "row 1, column 2, channel 2 is masked",
    ),
    "text": (lambda: np.ma.masked_array([["a"]], [[1]]), "row 0, column 0 is masked"),
    "masked rows": (
        lambda: [np.ma.masked_array([1, 2], [0, 0]), np.ma.masked_array([1, 2], [0, 1])],
        "row 1, column 1 is masked",
    ),
    "masked in a list": (lambda: [[1.0, np.ma.masked]], "row 0, column 1 is missing"),
    "the masked value": (lambda: np.ma.masked, "is masked"),
    "NA in a list": (lambda: [[1.0, pandas().NA]], "row 0, column 1 is missing"),
    "a missing embedding": (lambda: pandas().Series([[1.0], None]), "row 1 is missing"),
    "the first one": (lambda: pandas().Series([None, [1.0]]), "row 0 is missing"),
    "of pyarrow": (lambda: arrow().table({"e": [[1.0], None]}), "row 1 is missing"),
    "of polars": (lambda: polars().Series([[1.0], None]), "row 1 is missing"),
    "several lengths": (
        lambda: arrow().array([[1.0], [1.0, 2.0]]),
        "row 1 has 2 values, row 0 has 1",
    ),
    "lengths by chunk": (
        lambda: arrow().chunked_array([[[1.0]], [[1.0, 2.0]]]),
        "row 1 has 2 values, row 0 has 1",
    ),
    "lengths in polars": (lambda: polars().Series([[1.0], [1.0, 2.0]]), "row 1 has 2 values"),
    "text in lists": (lambda: pandas().Series([["a"], ["b"]]), "row 0, column 0 is 'a'"),
    "a number of more than 64 bits": (
        lambda: pandas().DataFrame({"c": np.ones(2, np.longdouble)}),
        "column 'c' is of float128",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_matrix_is_refused_by_its_place(kind: str) -> None:
    make, sentence = REFUSED[kind]
    with pytest.raises(InputError, match=sentence):
        converted("features", make())


def test_a_masked_linkage_is_refused() -> None:
    linkage = np.ma.masked_array([[0, 1, 1.5, 2]], [[0, 0, 1, 0]])
    with pytest.raises(InputError, match="row 0, column 2 is masked"):
        tree_file(linkage)
    assert tree_file(np.ma.masked_array(linkage.data))[1] == "application/x-npy"


@pytest.mark.parametrize("role", ["names", "targets", "timestamps", "tasks", "documents"])
def test_a_masked_value_of_other_columns_is_refused(role: str) -> None:
    with pytest.raises(InputError, match="row 1 is masked"):
        converted(role, np.ma.masked_array([1.0, 2.0], [0, 1]))


def test_decimals_are_targets_and_names_as_written() -> None:
    decimals = [Decimal("1.50"), Decimal("2")]
    assert column("targets", decimals) == [1.5, 2]
    assert column("targets", arrow().array(decimals)) == [1.5, 2]
    assert column("names", decimals) == ["1.50", "2"]


def test_dates_are_no_numbers() -> None:
    with pytest.raises(InputError, match=r"row 0 is of type Timestamp.*give dates as numbers"):
        converted("timestamps", pandas().Series(pandas().to_datetime(["2024-01-02"])))


def test_a_tensor_of_bfloat16_is_labels() -> None:
    sent = converted("labels", tensors().tensor([1.0, 2.0]).bfloat16())
    assert isinstance(sent, Payload)
    array = np.load(io.BytesIO(sent.content.read(0, sent.content.length)))
    assert array.dtype == np.float32
    np.testing.assert_array_equal(array, [1, 2])


@pytest.mark.filterwarnings("ignore:The PyTorch API of MaskedTensors")
def test_masked_tensors_are_as_masked_arrays() -> None:
    data = tensors().tensor(ROWS)
    from torch.masked import masked_tensor

    mask = tensors().ones_like(data).bool()
    np.testing.assert_array_equal(matrix(masked_tensor(data, mask)), ROWS)
    mask[2, 0] = False
    with pytest.raises(InputError, match="row 2, column 0 is masked"):
        converted("features", masked_tensor(data, mask))


def test_a_tensor_without_data_is_refused() -> None:
    with pytest.raises(InputError, match="has no data"):
        converted("features", tensors().ones(2, 2, device="meta"))


def test_a_class_made_of_a_frame_is_one() -> None:
    class Own(pandas().DataFrame):  # type: ignore[misc]
        """As of geopandas."""

    np.testing.assert_array_equal(matrix(Own(ROWS)), ROWS)


@pytest.mark.parametrize("kind", ["pandas.Timestamp", "polars.Expr", "pyarrow.Scalar"])
def test_what_is_no_column_is_refused(kind: str) -> None:
    values = {
        "pandas.Timestamp": lambda: pandas().Timestamp("2024-01-02"),
        "polars.Expr": lambda: polars().col("x"),
        "pyarrow.Scalar": lambda: arrow().scalar(1),
    }
    with pytest.raises(InputError, match="is no input"):
        converted("features", values[kind]())


def test_items_have_decimals_and_periods() -> None:
    frame = pandas().DataFrame(
        {
            "price": [Decimal("1.5"), None],
            "month": pandas().period_range("2024-01", periods=2, freq="M"),
        }
    )
    sent = converted("items", frame)
    assert isinstance(sent, Payload)
    assert sent.content.read(0, sent.content.length).decode().splitlines() == [
        '{"price": 1.5, "month": "2024-01"}',
        '{"price": null, "month": "2024-02"}',
    ]


def content(sent: object) -> object:
    """What travels: an inline list, or the bytes and what goes with them."""
    if not isinstance(sent, Payload):
        return sent
    return sent.content.read(0, sent.content.length), dict(sent.query)


def test_labels_in_another_order_of_the_index_are_put_in_that_of_the_features() -> None:
    frames = pandas()
    features = frames.DataFrame({"x": [1.0, 2.0, 3.0]}, index=["p", "q", "r"])
    labels = frames.Series(["a", "b", "c"], index=["p", "q", "r"], name="y")
    for turned in (labels[::-1], labels[::-1].to_frame()):
        with pytest.warns(UmbelWarning, match="by the index"):
            made = converted_inputs({"features": features, "labels": turned})["labels"]
        assert content(made)[0] == content(converted("labels", labels))[0]  # type: ignore[index]
    # Other rows, and rows without an order by name, are taken as they come.
    for other in (labels, labels[::-1].reset_index(drop=True), labels[::-1].to_numpy()):
        made = converted_inputs({"features": features, "labels": other})["labels"]
        assert content(made) == content(converted("labels", other))


def test_labels_whose_numbers_are_not_those_of_the_rows_are_named() -> None:
    """Parts of a split that do not belong together would be taken in order, unseen."""
    frames = pandas()
    features = frames.DataFrame({"x": [1.0, 2.0, 3.0, 4.0]})
    labels = frames.Series(["a", "b", "c", "d"])
    with pytest.warns(UmbelWarning, match="'labels' is not that of the data frame beside it"):
        converted_inputs({"features": features[:2], "labels": labels[2:]})
    with pytest.warns(UmbelWarning, match="by the index"):
        made = converted_inputs({"labels": labels}, rows={"features": features[::-1]})["labels"]
    assert made == converted("labels", ["d", "c", "b", "a"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rest = labels[2:].reset_index(drop=True)
        converted_inputs({"features": features[2:], "labels": rest})


def test_labels_alone_whose_index_is_shuffled_are_named() -> None:
    frames = pandas()
    labels = frames.Series(["a", "b", "c", "d"])
    for others in ({}, {"features": np.eye(4)}):
        for turned in (labels[::-1], labels[::-1].to_frame("y")):
            with pytest.warns(UmbelWarning, match="'labels' counts its rows in another order"):
                made = converted_inputs({**others, "labels": turned})["labels"]
            assert made == converted("labels", turned)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for own in (labels, labels[2:], labels[[3, 1]], labels.set_axis([*"dcba"])):
            converted_inputs({"labels": own})


def test_a_data_frame_of_indicators_is_labels() -> None:
    frames = pandas()
    frame = frames.get_dummies(frames.Series(["b", "a", "c", "a"]))
    for one_hot in (frame, frame.astype(float), frame.astype("int8")):
        with pytest.warns(UmbelWarning, match="one-hot"):
            made = converted("labels", one_hot)
        assert made == converted("labels", ["b", "a", "c", "a"])
    frame.loc[0, "a"] = True
    frame.loc[3, "a"] = False
    with pytest.warns(UmbelWarning, match="indicator"):
        made = converted("labels", frame)
    assert made == converted("labels", [["a", "b"], ["a"], ["c"], []])
    with pytest.raises(InputError, match="2 columns"):
        converted("labels", frames.DataFrame({"a": [1, 2], "b": [0, 1]}))


@pytest.mark.parametrize("of", [str, Path])
def test_a_tree_in_a_file(tmp_path: Path, of: type[str | Path]) -> None:
    """By its name or its path, as any other input."""
    newick, paths, linkage = (tmp_path / name for name in ("t.nwk", "t.txt", "t.npy"))
    newick.write_text("(a,b);")
    paths.write_text("x/a\nx/b\n")
    np.save(linkage, [[0, 1, 1.0, 2]])
    assert tree_file(of(newick)) == (b"(a,b);", "text/x-nh")
    assert tree_file(of(paths)) == (b"x/a\nx/b", "text/plain")
    assert tree_file(of(linkage))[1] == "application/x-npy"
    (tmp_path / "t.csv").write_text("a,b")
    with pytest.raises(InputError, match=r"ends with \.csv"):
        tree_file(of(tmp_path / "t.csv"))
    with pytest.raises(InputError, match=r"t\.tree"):
        tree_file(tmp_path / "t.tree")
    newick.write_text("")
    with pytest.raises(InputError, match=r"t\.nwk' has no tree"):
        tree_file(of(newick))
    with pytest.raises(InputError, match=r"no file 'missing\.nwk'"):
        tree_file("missing.nwk")
    with pytest.raises(InputError, match="the name of a file"):
        tree_file(f"{tmp_path}/\0")


@pytest.mark.parametrize(
    "rows", [[[np.int64(2**53 + 1), 0.5]], [np.array([2**53 + 1]), np.array([0.5])]]
)
def test_integers_of_numpy_in_lists_are_not_rounded(rows: list[Any]) -> None:
    with pytest.raises(InputError, match="row 0, column 0 is 9007199254740993, which"):
        stacked("features", rows)


def test_integers_of_numpy_beside_missing_values_are_not_rounded() -> None:
    need("pandas")
    import pandas

    column = pandas.Series([np.int64(2**53 + 1), None], dtype=object)
    assert numbers_of(column) is None
