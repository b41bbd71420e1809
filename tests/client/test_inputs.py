"""What may be an input, and what is refused with which sentence."""

from __future__ import annotations

import importlib
import io
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.sparse as sp

from tests.needs_kit import need
from umbel_client.columns import numbers_of
from umbel_client.encodings import Payload
from umbel_client.errors import InputError
from umbel_client.inputs import INLINE_VALUES, File, Inline, Reference, converted
from umbel_client.methods import METHODS

DS = "ds_" + "0" * 26


def content(value: Any) -> bytes:
    assert isinstance(value, Payload)
    return value.content.read(0, value.content.length)


def array_of(value: Any) -> npt.NDArray[Any]:
    """The array that the service sees."""
    if isinstance(value, Inline):
        return np.array(value.values)
    if value.media_type == "application/vnd.apache.arrow.stream":
        need("pyarrow")
        import pyarrow

        table = pyarrow.ipc.open_stream(content(value)).read_all()
        return np.column_stack([numbers_of(own) for own in table.columns])
    assert value.media_type == "application/x-npy"
    return np.load(io.BytesIO(content(value)), allow_pickle=False)


@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "float64", "int8", "uint16", "int32", "int64", ">f4", ">i8"]
)
@pytest.mark.parametrize("layout", ["C", "F", "sliced", "large"])
def test_arrays_arrive_as_they_are(dtype: str, layout: str) -> None:
    shape = (60, 4) if layout != "large" else (INLINE_VALUES, 2)
    array = (np.arange(np.prod(shape)) % 100).reshape(shape).astype(dtype)
    if layout == "F":
        array = np.asfortranarray(array)
    if layout == "sliced":
        array = array[::2, ::3]
    arrived = array_of(converted("features", array))
    np.testing.assert_array_equal(arrived, array)
    assert arrived.dtype == np.dtype(dtype).newbyteorder("=")


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (5, 4, 3), (2, 3, 4, 1)])
def test_odd_shapes_are_left_to_the_service(shape: tuple[int, ...]) -> None:
    assert array_of(converted("features", np.zeros(shape, np.float32))).shape == shape


def test_small_numbers_go_inline_only_where_json_keeps_them() -> None:
    small = np.array([[0.1, 1e30], [-0.0, 3.0]])
    inline = converted("features", small)
    assert isinstance(inline, Inline)
    assert json.loads(json.dumps(inline.values)) == small.tolist()
    assert isinstance(converted("features", small.astype(np.float32)), Payload)
    assert isinstance(converted("features", np.full((2, 2), np.nan)), Payload)
    assert isinstance(converted("features", np.zeros((INLINE_VALUES, 2))), Payload)


@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32"])
@pytest.mark.needs("torch")
def test_tensors_arrive_as_they_are(dtype: str, *, grad: bool) -> None:
    import torch

    tensor = torch.arange(12).reshape(3, 4).to(getattr(torch, dtype))
    tensor.requires_grad_(grad and tensor.is_floating_point())
    arrived = array_of(converted("features", tensor.T))
    np.testing.assert_array_equal(arrived, tensor.detach().numpy().T)
    assert arrived.dtype == tensor.detach().numpy().dtype


@pytest.mark.needs("torch")
def test_bfloat16_arrives_bit_by_bit() -> None:
    import torch
    from safetensors.torch import load

    tensor = torch.randn(7, 5, generator=torch.Generator().manual_seed(0)).bfloat16()
    payload = converted("logits", tensor.requires_grad_())
    assert isinstance(payload, Payload)
    assert payload.media_type == "application/safetensors"
    (arrived,) = load(content(payload)).values()
    assert arrived.dtype == torch.bfloat16
    assert torch.equal(arrived, tensor.detach())


@pytest.mark.needs("torch")
def test_a_complex_tensor_is_refused() -> None:
    import torch

    with pytest.raises(InputError, match="an array of complex64"):
        converted("features", torch.zeros(2, 2, dtype=torch.complex64))


@pytest.mark.parametrize("make", [sp.csr_array, sp.csc_matrix, sp.coo_array])
def test_sparse_matrices_arrive_as_they_are(make: Any) -> None:
    dense = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 0.0]], dtype=np.float32)
    payload = converted("features", make(dense))
    assert payload.media_type == "application/x-npz"
    loaded = sp.load_npz(io.BytesIO(content(payload)))
    np.testing.assert_array_equal(loaded.toarray(), dense)
    assert loaded.dtype == np.float32


@pytest.mark.needs("torch")
def test_sparse_tensors_arrive_as_they_are() -> None:
    import torch

    dense = torch.tensor([[0.0, 2.0, 0.0], [1.0, 0.0, 0.0]])
    loaded = sp.load_npz(io.BytesIO(content(converted("features", dense.to_sparse()))))
    np.testing.assert_array_equal(loaded.toarray(), dense.numpy())


def test_lists_are_matrices_or_columns_by_their_role() -> None:
    assert converted("features", [[1, 2], [3, 4]]) == Inline([[1, 2], [3, 4]])
    assert converted("features", [(1.5, 2), (3, 4)]) == Inline([[1.5, 2.0], [3.0, 4.0]])
    assert converted("features", [np.array([1.0, 2.0]), [3.0, 4.0]]) == Inline([[1, 2], [3, 4]])
    assert converted("labels", ["a", "b"]) == Inline(["a", "b"])
    assert converted("labels", (1, 2, None)) == Inline([1, 2, None])
    assert converted("labels", [["a", "b"], [], {"c"}]) == Inline([["a", "b"], [], ["c"]])
    assert converted("names", np.array(["x", "y"])) == Inline(["x", "y"])
    assert converted("names", [1, "y"]) == Inline(["1", "y"])
    assert converted("labels", np.array([1, 0])) == Inline([1, 0])
    assert converted("labels", np.array([1.0, np.nan])) == Inline([1, None])
    assert converted("targets", [0.5, 1.5]) == Inline([0.5, 1.5])
    for role in ("graph", "must_link", "cannot_link"):
        assert converted(role, [("a", "b"), ("b", "c")]) == Inline([["a", "b"], ["b", "c"]])
        assert converted(role, [(0, 1), (1, 2)]) == Inline([[0, 1], [1, 2]])


def test_long_columns_are_uploaded_with_their_role() -> None:
    names = [f"row {i}" for i in range(100_000)]
    payload = converted("names", names)
    assert json.loads(content(payload)) == names
    assert payload.query["role"] == "names"
    labels = converted("labels", list(range(300_000)))
    np.testing.assert_array_equal(array_of(labels), np.arange(300_000))
    assert labels.query["role"] == "labels"


def test_what_the_service_has_goes_by_its_id() -> None:
    class Dataset:
        id = DS

    class Tree:
        id = "tr_" + "0" * 26
        job = "job_" + "0" * 26

    assert converted("features", DS) == Reference(DS)
    assert converted("features", Dataset()) == Reference(DS)
    assert converted("hierarchy", Tree()) == Reference(Tree.id)
    assert converted("base", Tree()) == Reference(Tree.job)


def test_several_inputs_are_a_list_where_a_method_takes_several() -> None:
    spaces = [np.zeros((3, 2)), DS, np.zeros((3, 5), np.float32)]
    first, second, third = converted("features", spaces, many=True)
    assert first == Inline(np.zeros((3, 2)).tolist())
    assert second == Reference(DS)
    assert array_of(third).shape == (3, 5)
    rows = [np.zeros(2), np.ones(2)]
    assert converted("features", rows, many=True) == Inline([[0, 0], [1, 1]])


def test_files_are_uploaded_by_their_ending(tmp_path: Path) -> None:
    path = tmp_path / "rows.npz"
    path.write_bytes(b"PK")
    for value in (path, str(path), File(path)):
        payload = converted("features", value)
        assert payload.media_type == "application/x-npz"
        assert payload.query == {"role": "features", "name": "rows.npz"}
    member = converted("features", File(path, member="logits", media_type="x/y"))
    assert (member.media_type, member.query["member"]) == ("x/y", "logits")


@pytest.mark.parametrize(
    ("text", "media_type"),
    [
        ("1.5 2\n3 4\n", "text/csv"),
        ("  x    y\n 1.5  2\n", "text/csv"),
        ("id;x\na;1,5\n", "text/csv"),
        ("x\ty\n1\t2\n", "text/tab-separated-values"),
        ("[[1, 2], [3, 4]]", "application/json"),
        ("1 1:0.5 2:3\n", None),
        ("@relation r\n", None),
        ("%%MatrixMarket matrix array real general\n", None),
        ("<?xml version='1.0'?>\n", None),
    ],
)
def test_text_of_rows_is_what_its_first_line_is(
    text: str, media_type: str | None, tmp_path: Path
) -> None:
    for name in ("rows.txt", "rows", "rows.2024-05"):
        (tmp_path / name).write_text(text)
        assert converted("features", tmp_path / name).media_type == media_type


def test_labels_in_a_file_of_text_keep_their_zeros(tmp_path: Path) -> None:
    path = tmp_path / "labels.txt"
    path.write_text("007\n7\n")
    assert converted("labels", path).values == ["007", "7"]
    assert converted("tasks", path).values == [7, 7]


@pytest.mark.parametrize(
    ("role", "value", "sentence"),
    [
        ("features", "rows.npy", "there is no file 'rows.npy' in "),
        ("features", os.fspath(Path(__file__).parent), "is a folder"),
        ("features", [[1, 2], [3]], "row 1 has 1 values, row 0 has 2"),
        ("features", [[1, 2], 3], "row 1 has a single value"),
        ("features", [1, [2, 3]], "row 0 is a single value"),
        ("features", [1, 2], "a list of single values"),
        ("features", [{"a": 1}, {"a": 2}], "its rows are mappings; give a table as a data frame"),
        ("features", {"a": [1, 2]}, r"\['a'\], or give a table as a data frame"),
        ("features", [[1, 2], [3, "x"]], "row 1, column 1 is 'x'"),
        ("features", [[1, None], [3, 4]], "row 0, column 1 is missing"),
        ("features", [[1.5, 2], [3, 10**400]], "row 1, column 1 is too large"),
        ("features", [], "it has no rows"),
        ("features", b"123", "bytes are no input"),
        ("features", 3, "a value of type int is no input; accepted are arrays"),
        ("features", {"a": 1}, "a value of type dict is no input: choose one of what it holds"),
        ("features", {}, "a value of type dict is no input; accepted"),
        ("features", np.float64(3), "a single number is no input"),
        ("features", np.array([[1 + 2j]]), "an array of complex128 is no input"),
        ("features", np.zeros((2, 2), np.longdouble), r"use .astype\('float64'\)"),
        ("features", np.array([[1, "x"]], dtype=object), "row 0, column 1 is 'x'"),
        ("features", sp.coo_array(np.array([[1 + 2j]])), "a sparse matrix of complex128"),
        ("labels", [], "it is empty"),
        ("labels", np.array([0.5, np.nan]), "row 0 is 0.5; labels are integers or text"),
        ("labels", [object()], "row 0 is of type object"),
        ("targets", [1.0, float("nan")], "row 1 is nan"),
        ("names", ["a", None], "row 1 is of type NoneType; text is needed"),
    ],
    ids=lambda value: None if isinstance(value, str) else type(value).__name__,
)
def test_what_cannot_be_an_input_is_refused(role: str, value: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence) as caught:
        converted(role, value)
    assert caught.value.role == role
    assert isinstance(caught.value, ValueError)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_an_unreadable_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.npy"
    path.write_bytes(b"x")
    path.chmod(0)
    with pytest.raises(InputError, match="cannot be read"):
        converted("features", path)


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.npy"
    path.touch()
    with pytest.raises(InputError, match="is empty"):
        converted("features", path)


@pytest.mark.parametrize("package", ["pandas", "polars", "pyarrow"])
class TestFrames:
    """The same data frame in each package."""

    @staticmethod
    def frame(package: str, columns: dict[str, Any]) -> Any:
        need(package)
        module = importlib.import_module(package)
        if package == "pyarrow":
            return module.table(columns)
        return module.DataFrame(columns)

    @staticmethod
    def column(package: str, values: list[Any]) -> Any:
        need(package)
        module = importlib.import_module(package)
        return module.array(values) if package == "pyarrow" else module.Series(values)

    def test_a_frame_of_numbers_is_a_matrix(self, package: str) -> None:
        frame = self.frame(package, {"id": [1, 2], "y": [0.5, 1.5], "z": [True, False]})
        arrived = array_of(converted("features", frame))
        np.testing.assert_array_equal(arrived, [[1, 0.5, 1], [2, 1.5, 0]])

    def test_float32_stays_float32(self, package: str) -> None:
        columns = {name: np.array([1, 2], np.float32) for name in "xy"}
        arrived = array_of(converted("features", self.frame(package, columns)))
        assert arrived.dtype == np.float32

    def test_columns_of_text_are_named(self, package: str) -> None:
        frame = self.frame(package, {"x": [1, 2], "city": ["a", "b"], "name": ["c", "d"]})
        with pytest.raises(InputError, match=r"2 of 3 columns .* 'city', 'name'; drop or encode"):
            converted("costs", frame)

    def test_a_column_is_labels(self, package: str) -> None:
        assert converted("labels", self.column(package, ["a", "b"])) == Inline(["a", "b"])
        assert converted("labels", self.column(package, [1, 2])) == Inline([1, 2])
        missing = converted("labels", self.column(package, ["a", None]))
        assert missing == Inline(["a", None])
        frame = self.frame(package, {"y": ["a", "b"]})
        assert converted("labels", frame) == Inline(["a", "b"])

    def test_a_frame_of_several_columns_is_no_column(self, package: str) -> None:
        with pytest.raises(InputError, match="has 2 columns; one, with a value a row"):
            converted("labels", self.frame(package, {"x": [1], "y": [2]}))

    def test_missing_numbers_are_left_to_the_service(self, package: str) -> None:
        frame = self.frame(package, {"x": [1, None], "y": [0.5, 1.5]})
        arrived = array_of(converted("features", frame))
        np.testing.assert_array_equal(arrived, [[1, 0.5], [np.nan, 1.5]])


@pytest.mark.needs("pandas")
def test_nullable_and_categorical_columns_of_pandas() -> None:
    import pandas as pd

    frame = pd.DataFrame({"x": pd.array([1, None], dtype="Int64"), "y": [0.5, 1.5]})
    np.testing.assert_array_equal(array_of(converted("features", frame)), [[1, 0.5], [np.nan, 1.5]])
    labels = pd.Series(["a", "b", None], dtype="category")
    assert converted("labels", labels) == Inline(["a", "b", None])


@pytest.mark.needs("polars")
def test_a_lazy_frame_is_refused() -> None:
    import polars as pl

    with pytest.raises(InputError, match=r"give frame\.collect\(\)"):
        converted("features", pl.DataFrame({"x": [1]}).lazy())


def test_items_are_columns_by_their_names() -> None:
    expected = [{"K2": 0, "K3": "a"}, {"K2": 1, "K3": None}]
    for value in ({"K2": np.array([0, 1]), "K3": ["a", None]}, expected):
        found: Any = converted("items", value)
        assert found.query == {"role": "items"}
        assert [json.loads(line) for line in content(found).splitlines()] == expected
    assert converted("items", DS) == Reference(DS)
    for other in (np.zeros((2, 2)), [[1, 2], [3, 4]]):
        with pytest.raises(InputError, match="a table with named columns is needed"):
            converted("items", other)
    with pytest.raises(InputError, match="different lengths"):
        converted("items", {"K2": [0, 1], "K3": [0]})


def test_a_method_of_a_table_takes_it_as_an_input() -> None:
    facts = METHODS["clustree"]
    assert (facts.inputs, facts.several, facts.params) == (("items",), (), ("levels",))
