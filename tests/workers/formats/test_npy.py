"""`.npy`: accepted headers, memory mapping, and the values that each role accepts."""

from __future__ import annotations

import struct
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.errors import UsageError
from models.inputs.rows import Rows
from tests.workers.formats.files_kit import npy_bytes, put, refused
from workers.formats import catalogue, npy
from workers.formats.facts import Facts

load = partial(catalogue.load, "npy")


def with_header(text: str, data: bytes = b"", version: int = 1) -> bytes:
    raw = text.encode("latin1")
    size = struct.pack("<H" if version == 1 else "<I", len(raw))
    return npy.MAGIC + bytes([version, 0]) + size + raw + data


def claims(shape: str, data: bytes = b"", descr: str = "'<f4'") -> bytes:
    return with_header(f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n", data)


def peeked(content: bytes) -> Facts:
    facts = npy.peek(content[: npy.HEAD], len(content))
    assert facts is not None
    return facts


def code(content: bytes) -> str:
    return refused(peeked, content).code


@pytest.mark.parametrize(
    "dtype", ["?", "i1", "i2", "<i4", "<i8", ">i4", "u1", ">u8", "<f2", "<f4", ">f4", "f8", "U3"]
)
def test_facts(dtype: str) -> None:
    for shape in ((7,), (3, 2)):
        facts = peeked(npy_bytes(np.zeros(shape, dtype)))
        assert facts.shape == shape
        assert facts.dtype == ("str" if dtype == "U3" else str(np.dtype(dtype)))


@pytest.mark.parametrize("version", [1, 2, 3])
def test_versions(version: int) -> None:
    text = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }\n"
    assert peeked(with_header(text, b"\0" * 8, version)).shape == (1, 2)


def test_the_error_for_a_truncated_file_gives_both_lengths(tmp_path: Path) -> None:
    path = tmp_path / "content"
    path.write_bytes(npy_bytes(np.zeros((10, 4), "f4"))[:-1])
    for error in (
        refused(npy.inspect, path, None),
        refused(load, path, None, "features"),
        refused(peeked, path.read_bytes()),
    ):
        assert error.code == "truncated"
        assert "160" in error.detail
        assert "159" in error.detail
        assert error.where == {"claimed": "160", "actual": 159}


def test_every_prefix_of_the_header_is_reported_as_truncated() -> None:
    content = npy_bytes(np.zeros((10, 4), "f4"))
    codes = {length: code(content[:length]) for length in range(1, 128)}
    assert codes == dict.fromkeys(range(1, 128), "truncated")


@pytest.mark.parametrize(
    "shape",
    [
        "(4611686018427387904, 4)",
        "(4294967296, 4294967296)",
        "(9223372036854775807, 9223372036854775807)",
        "(18446744073709551616, 1)",
        "(1000000, 1000000)",
        "(" + "9" * 400 + ",)",
    ],
)
def test_a_header_that_claims_more_than_the_file_holds(shape: str) -> None:
    assert code(claims(shape, b"\0" * 64)) == "truncated"


@pytest.mark.parametrize("shape", ["(-1, 4)", "(-4, -4)", "(4, -9223372036854775808)"])
def test_a_negative_shape(shape: str) -> None:
    assert code(claims(shape, b"\0" * 64)) == "invalid-file"


def test_trailing_bytes_are_refused() -> None:
    assert code(claims("(2, 2)", b"\0" * 17)) == "invalid-file"


@pytest.mark.parametrize("array", [np.array([{}, None]), np.array([["a", None]], dtype=object)])
def test_the_refusal_of_an_object_array_says_how_to_convert_it(array: np.ndarray) -> None:
    error = refused(peeked, npy_bytes(array))
    assert error.code == "unsupported-format"
    assert "numpy.save" in error.detail


@pytest.mark.parametrize(
    "descr",
    ["'<c8'", "'<M8[s]'", "'|V8'", "[('a', '<f4')]", "'3f4'", "'f4,f4'", "'<U0'", "'<f16'", "'O'"],
)
def test_other_dtypes_are_refused(descr: str) -> None:
    assert code(claims("(0, 2)", descr=descr)) == "unsupported-format"


def test_no_rows_and_no_columns() -> None:
    assert code(npy_bytes(np.zeros((0, 4)))) == "empty"
    assert code(npy_bytes(np.zeros((4, 0)))) == "empty"
    assert code(npy_bytes(np.zeros(0))) == "empty"
    assert code(npy_bytes(np.zeros(()))) == "wrong-shape"
    assert code(npy_bytes(np.zeros((2, 0, 2)))) == "empty"
    assert code(npy_bytes(np.zeros((1, 1, 1, 1, 1)))) == "wrong-shape"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{'descr': '<f4'}",
        "{'descr': '<f4', 'fortran_order': 1, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': [1]}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1.0,)}",
        "{'descr': 7, 'fortran_order': False, 'shape': (1,)}",
        "{'descr': 'nonsense', 'fortran_order': False, 'shape': (1,)}",
        "{[]: 1}",
        "__import__('os').system('true')",
        "(" * 1000,
        "-" * 1000 + "1",
        "[" * 20_000,
        "1+" * 500 + "1j",
        "'''",
        "\t x\n y",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (" + "9" * 800 + "L,)}",
    ],
)
@pytest.mark.filterwarnings("ignore:Reading .*Python 2")
def test_a_broken_header(text: str) -> None:
    assert code(with_header(text, b"\0" * 4)) in {"invalid-file", "truncated"}


def test_an_unknown_version() -> None:
    assert code(npy.MAGIC + b"\x09\x00" + b"\0" * 100) == "invalid-file"


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_mutated_files_raise_only_our_errors(data: st.DataObject) -> None:
    content = bytearray(npy_bytes(np.arange(12, dtype="f4").reshape(3, 4)))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    content = content[: data.draw(st.integers(1, len(content)))]
    try:
        facts = peeked(bytes(content))
    except UsageError:
        return
    assert np.prod(facts.shape) <= 48


def test_the_array_is_mapped_and_read_only(tmp_path: Path) -> None:
    array = np.arange(12, dtype="f4").reshape(4, 3)
    value = load(put(tmp_path / "x", npy_bytes(array)), None, "logits")
    assert isinstance(value, np.ndarray)
    assert isinstance(value.base, np.memmap)
    assert not value.flags.writeable
    np.testing.assert_array_equal(value, array)


def test_a_mapped_array_takes_no_memory(tmp_path: Path) -> None:
    import psutil

    path = tmp_path / "x"
    with path.open("wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (1_000_000, 100)}
        np.lib.format.write_array_header_1_0(file, header)
        file.truncate(file.tell() + 400_000_000)
    before = psutil.Process().memory_info().rss
    value = load(path, None, "features")
    assert value.shape == (1_000_000, 100)  # type: ignore[union-attr]
    assert psutil.Process().memory_info().rss - before < 4 << 20


def test_an_unaligned_array_is_copied(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(claims("(2, 2)", np.arange(4, dtype="f4").tobytes()))
    value = load(path, None, "features")
    assert isinstance(value, np.ndarray)
    assert value.flags.aligned
    assert value.tolist() == [[0, 1], [2, 3]]


def test_other_byte_orders_and_layouts_give_the_same_values(tmp_path: Path) -> None:
    array = np.arange(12, dtype="f4").reshape(4, 3)
    for stored in (array.astype(">f4"), np.asfortranarray(array)):
        value = load(put(tmp_path / "x", npy_bytes(stored)), None, "features")
        assert isinstance(value, np.ndarray)
        assert value.dtype == np.dtype("f4")
        assert value.dtype.isnative
        np.testing.assert_array_equal(value, array)


def test_the_refusal_of_one_dimension_as_features_says_how_to_fix_it(tmp_path: Path) -> None:
    error = refused(load, put(tmp_path / "x", npy_bytes(np.zeros(5))), None, "features")
    assert error.code == "wrong-shape"
    assert "reshape(-1, 1)" in error.detail


def test_text_is_refused_as_features(tmp_path: Path) -> None:
    error = refused(load, put(tmp_path / "x", npy_bytes(np.array([["a", "b"]]))), None, "features")
    assert error.code == "wrong-input"


@pytest.mark.parametrize(
    "array",
    [
        np.array([3, 1, 2]),
        np.array([[3], [1], [2]], dtype="u1"),
        np.array([3.0, 1.0, 2.0]),
        np.array([3, 1, 2], dtype=">i4"),
        np.array([3, 1, 2], dtype="f2"),
    ],
)
def test_labels_are_whole_numbers(array: np.ndarray, tmp_path: Path) -> None:
    value = load(put(tmp_path / "x", npy_bytes(array)), None, "labels")
    assert isinstance(value, np.ndarray)
    assert value.dtype == np.int64
    assert value.tolist() == [3, 1, 2]


@pytest.mark.parametrize(
    ("array", "row", "expected"),
    [
        (np.array([1.0, 2.5]), 1, "wrong-input"),
        (np.array([1.0, np.nan]), 1, "missing-value"),
        (np.array([np.inf, 1.0]), 0, "wrong-input"),
        (np.array([1, 2**63], dtype="u8"), 1, "wrong-input"),
        (np.array(["a", ""]), 1, "missing-value"),
    ],
)
def test_errors_locate_values_that_are_not_labels(
    array: np.ndarray, row: int, expected: str, tmp_path: Path
) -> None:
    error = refused(load, put(tmp_path / "x", npy_bytes(array)), None, "labels")
    assert error.code == expected
    assert error.where["row"] == row
    assert f"row {row}" in error.detail


def test_text_columns(tmp_path: Path) -> None:
    path = tmp_path / "x"
    hostile = ["rose", "<script>", "a'b\n(c)", "é日本"]
    labels = load(put(path, npy_bytes(np.array(hostile))), None, "labels")
    assert isinstance(labels, np.ndarray)
    assert labels.dtype == object
    assert labels.tolist() == hostile
    assert load(path, None, "names") == hostile
    assert load(put(path, npy_bytes(np.array([b"a", "é".encode()]))), None, "names") == ["a", "é"]
    assert load(put(path, npy_bytes(np.array([7, 8]))), None, "names") == ["7", "8"]


def test_text_that_is_not_unicode(tmp_path: Path) -> None:
    path = tmp_path / "x"
    for array in (
        np.array([b"\xff\xfe"]),
        np.array([0x7FFFFFFF], dtype="u4").view("U1"),
        np.array([0xD800], dtype="u4").view("U1"),
    ):
        error = refused(load, put(path, npy_bytes(array)), None, "names")
        assert error.code in {"invalid-file", "wrong-input"}


def test_timestamps_may_have_fractions(tmp_path: Path) -> None:
    value = load(put(tmp_path / "x", npy_bytes(np.array([0.5, 1.0]))), None, "timestamps")
    assert isinstance(value, np.ndarray)
    assert value.tolist() == [0.5, 1.0]
    bad = put(tmp_path / "x", npy_bytes(np.array([0.5, np.nan])))
    assert refused(load, bad, None, "timestamps").code == "missing-value"


def test_bfloat16_as_ml_dtypes_saves_it(tmp_path: Path) -> None:
    bits = np.array([[0x3F80, 0xC000], [0x4049, 0x0000]], dtype="<u2")
    head, tail = npy_bytes(bits), bits.tobytes()
    path = put(tmp_path / "x", head[: -len(tail)].replace(b"'<u2'", b"'<V2'") + tail)
    assert npy.inspect(path, None).dtype == "bfloat16"
    assert peeked(path.read_bytes()).dtype == "bfloat16"
    value = catalogue.load("npy", path, None, "features")
    assert isinstance(value, np.ndarray)
    assert (value.dtype, value.tolist()) == (np.float32, [[1, -2], [3.140625, 0]])
    rows = catalogue.rows("npy", path, None, "features")
    assert isinstance(rows, Rows)
    assert rows.values(0, 2).tolist() == value.tolist()
    # Bytes of no dtype that NumPy or ml_dtypes has.
    put(path, npy_bytes(np.zeros((2, 2), "V2")))
    assert refused(npy.inspect, path, None).code == "unsupported-format"


def broken_text(unit: int, n_rows: int, row: int, *, fortran: bool = False) -> bytes:
    """Texts of two letters in rows of three, one of which holds this code point."""
    codes = np.full((n_rows, 3, 2), ord("a"), np.uint32)
    codes[row, 1, 1] = unit
    texts = codes.reshape(n_rows, 6).view("U2")
    return npy_bytes(np.asfortranarray(texts) if fortran else texts)


@pytest.mark.parametrize("unit", [0xD800, 0xDFFF, 0x110000, 0xFFFFFFFF])
@pytest.mark.parametrize("fortran", [False, True])
def test_text_that_is_no_unicode_is_refused_when_it_is_opened(
    tmp_path: Path, unit: int, fortran: bool
) -> None:
    short = broken_text(unit, 50, 7, fortran=fortran)
    long = broken_text(unit, 9_000, 8_888, fortran=fortran)
    assert npy.peek(long[: npy.HEAD], len(long)) is None
    for error, row in (
        (refused(peeked, short), 7),
        (refused(npy.inspect, put(tmp_path / "x", long), None), 8_888),
    ):
        assert error.code == "invalid-file"
        assert f"row {row} (counted from 0)" in error.detail
        assert f"U+{unit:04X}" in error.detail


def test_bytes_that_are_no_utf_8_are_refused_when_they_are_opened() -> None:
    # Together they would be one letter.
    assert "row 1 " in refused(peeked, npy_bytes(np.array([b"a", b"\xc3", b"\xa9"]))).detail
    assert peeked(npy_bytes(np.array(["é".encode(), b""]))).dtype == "str"


def test_text_is_read_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(npy, "_BLOCK", 100)
    texts = np.array([f"naïve {n}" for n in range(40)])
    assert npy.inspect(put(tmp_path / "x", npy_bytes(texts)), None).shape == (40,)
    content = broken_text(0xD800, 40, 33)
    assert "row 33 " in refused(npy.inspect, put(tmp_path / "y", content), None).detail
