"""`.npz`: members, SciPy's sparse matrices, and hostile archives."""

from __future__ import annotations

import io
import struct
import time
import tracemalloc
import zipfile
import zlib
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from models.errors import UsageError
from models.inputs.label_sets import LabelSets
from tests.workers.formats.files_kit import npy_bytes, refused, rows_of, survives
from workers.formats import catalogue, labels, npz
from workers.formats.facts import Bounds

load = partial(catalogue.load, "npz")

SPARSE = sp.csr_array(np.array([[0, 0, 3.5], [4, 0, 0], [0, 0, 0]]))


def zipped(path: Path, compression: int = zipfile.ZIP_DEFLATED, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return path


def several(path: Path) -> Path:
    with path.open("wb") as file:
        np.savez(
            file, X=np.arange(6.0).reshape(3, 2), y=np.array([1, 2, 3]), cube=np.zeros((2,) * 3)
        )
    return path


def test_several_members_require_a_selection(tmp_path: Path) -> None:
    path = several(tmp_path / "x")
    for call, *rest in ((npz.inspect,), (load, "features")):
        error = refused(call, path, None, *rest)
        assert error.code == "member-needed"
        for words in ("'X' (3, 2) float64", "'y' (3,) int64", "member="):
            assert words in error.detail
        assert error.where["members"][0] == {"name": "X", "shape": [3, 2], "dtype": "float64"}
    assert refused(npz.inspect, path, "Z").code == "member-needed"
    assert "'Z'" in refused(npz.inspect, path, "Z").detail


def test_members_are_read(tmp_path: Path) -> None:
    path = several(tmp_path / "x")
    facts = npz.inspect(path, "X")
    assert (facts.shape, facts.dtype, len(facts.members)) == ((3, 2), "float64", 3)
    value = load(path, "X", "features")
    np.testing.assert_array_equal(value, np.arange(6.0).reshape(3, 2))
    assert load(path, "y", "labels").tolist() == [1, 2, 3]  # type: ignore[union-attr]
    assert refused(load, path, "cube", "logits").code == "wrong-shape"


def test_layouts(tmp_path: Path) -> None:
    array = np.arange(6, dtype="f4").reshape(3, 2)
    for stored in (np.asfortranarray(array), array.astype(">f4"), array):
        value = load(zipped(tmp_path / "x", a=npy_bytes(stored)), None, "features")
        np.testing.assert_array_equal(value, array)
    text = np.array(["a", "bc", "é"])
    assert load(zipped(tmp_path / "x", a=npy_bytes(text)), None, "names") == ["a", "bc", "é"]


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia"])
@pytest.mark.parametrize("compressed", [True, False])
def test_sparse_matrices(form: str, compressed: bool, tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    for kind in (SPARSE, sp.csr_matrix(SPARSE)):
        sp.save_npz(path, kind.asformat(form), compressed=compressed)
        facts = npz.inspect(path, None)
        assert (facts.shape, facts.dtype, facts.sparse) == ((3, 3), "float64", True)
        value = load(path, None, "features")
        assert isinstance(value, sp.csr_array)
        assert value.has_canonical_format
        np.testing.assert_array_equal(value.toarray(), SPARSE.toarray())
    assert refused(load, path, None, "tasks").code == "wrong-shape"


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_sparse_labels(form: str, tmp_path: Path) -> None:
    indicator = sp.csr_array([[0, 2.5, 1], [0, 0, 0], [0, -1, 0]])
    sp.save_npz(tmp_path / "x.npz", indicator.asformat(form))
    sets = load(tmp_path / "x.npz", None, "labels")
    assert rows_of(sets) == [["1", "2"], [], ["1"]]
    assert isinstance(sets, LabelSets)
    assert sets.names == ["0", "1", "2"]
    assert not sets.unlabelled.any()
    sp.save_npz(tmp_path / "x.npz", sp.csr_array([[0, 0, 1], [1, 0, 0]]).asformat(form))
    column = load(tmp_path / "x.npz", None, "labels")
    assert isinstance(column, np.ndarray)
    assert (column.tolist(), column.dtype) == ([2, 0], np.int64)


def test_sparse_labels_that_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    for matrix, code, where in (
        (sp.csr_array([[0.0, np.nan]]), "not-finite", {"row": 0, "column": 1}),
        (sp.csr_array((3, 2)), "empty", {}),
        (sp.csr_array((3, labels.MOST_COLUMNS + 1)), "too-large", {}),
    ):
        sp.save_npz(path, matrix)
        error = refused(load, path, None, "labels")
        assert (error.code, error.where) == (code, {"role": "labels", **where})


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", ">f4"])
def test_sparse_dtypes_are_kept(dtype: str, tmp_path: Path) -> None:
    path = zipped(tmp_path / "x", **parts(data=np.array([1, 2], dtype)))
    value = load(path, None, "features")
    assert isinstance(value, sp.csr_array)
    assert value.dtype == np.dtype(dtype).newbyteorder("=")


def parts(**changed: Any) -> dict[str, bytes]:
    arrays = {
        "format": np.array(b"csr"),
        "shape": np.array([2, 3]),
        "data": np.array([1.0, 2.0]),
        "indices": np.array([0, 2]),
        "indptr": np.array([0, 1, 2]),
    }
    return {name: npy_bytes(array) for name, array in (arrays | changed).items()}


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"indices": np.array([0, 3])}, "invalid-file"),
        ({"indices": np.array([0, -1])}, "invalid-file"),
        ({"indices": np.array([0, 2**62])}, "invalid-file"),
        ({"indices": np.array([0.0, 1.0])}, "invalid-file"),
        ({"indices": np.array([[0, 1]])}, "invalid-file"),
        ({"indptr": np.array([0, 5, 2])}, "invalid-file"),
        ({"indptr": np.array([0, 2, 1])}, "invalid-file"),
        ({"indptr": np.array([-7, 1, 2])}, "invalid-file"),
        ({"indptr": np.array([0, 1, 2**40])}, "invalid-file"),
        ({"indptr": np.array([0, 2])}, "invalid-file"),
        ({"indptr": np.array([0, 2**30, 0])}, "invalid-file"),
        ({"indptr": np.array([0, 1, -1])}, "invalid-file"),
        ({"shape": np.array([-2, 3])}, "invalid-file"),
        ({"shape": np.array([2**62, 3])}, "too-large"),
        ({"shape": np.array([2, 2**62])}, "too-large"),
        ({"shape": np.array([2.0, 3.0])}, "unsupported-format"),
        ({"shape": np.array([2, 3, 4])}, "invalid-file"),
        ({"format": np.array(b"lil")}, "unsupported-format"),
        ({"format": np.array(b"__class__")}, "unsupported-format"),
        ({"format": np.array([{}])}, "unsupported-format"),
        ({"data": np.array([{}, {}])}, "unsupported-format"),
        ({"data": np.array(["a", "b"])}, "invalid-file"),
        ({"shape": np.array([0, 3]), "indptr": np.array([0])}, "empty"),
    ],
)
def test_hostile_sparse_matrices(changed: dict[str, Any], code: str, tmp_path: Path) -> None:
    path = zipped(tmp_path / "x", **parts(**changed))
    assert refused(load, path, None, "features").code == code
    assert refused(npz.inspect, path, None).code == code


@pytest.mark.parametrize(
    ("form", "changed"),
    [
        ("csc", {"indices": np.array([0, 2]), "indptr": np.array([0, 1, 2, 2])}),
        ("csc", {"indices": np.array([0, 1]), "indptr": np.array([0, 1, 2])}),
        ("coo", {"row": np.array([0, 2]), "col": np.array([0, 1])}),
        ("coo", {"row": np.array([0, -1]), "col": np.array([0, 1])}),
        ("coo", {"row": np.array([0, 1]), "col": np.array([0, 3])}),
        ("coo", {"row": np.array([0, 1, 1]), "col": np.array([0, 1, 2])}),
        ("coo", {"row": np.array([0, 1]), "col": np.array([0.0, 1.0])}),
        ("coo", {"coords": np.array([[0, 1], [0, 3]])}),
        ("bsr", {"data": np.zeros((1, 1, 2)), "indices": np.array([0]), "indptr": [0, 1, 1]}),
        ("bsr", {"data": np.zeros((1, 1, 3)), "indices": np.array([1]), "indptr": [0, 1, 1]}),
        ("bsr", {"data": np.zeros((1, 0, 3)), "indices": np.array([0]), "indptr": [0, 1, 1]}),
        ("bsr", {"data": np.zeros((1, 3)), "indices": np.array([0]), "indptr": [0, 1, 1]}),
        ("dia", {"data": np.zeros((2, 3)), "offsets": np.array([0])}),
        ("dia", {"data": np.zeros((2, 3)), "offsets": np.array([1, 1])}),
        ("csr", {"data": np.array([1.0, 2.0, 3.0])}),
        ("csr", {"data": np.array([[1.0, 2.0]])}),
    ],
)
def test_hostile_sparse_matrices_of_other_forms(
    form: str, changed: dict[str, Any], tmp_path: Path
) -> None:
    """The matrices have 2 rows and 3 columns."""
    arrays = {
        "format": np.array(form.encode()),
        "shape": np.array([2, 3]),
        "data": np.array([1.0, 2.0]),
        **({"indices": np.array([0, 2]), "indptr": np.array([0, 1, 2])} if form == "csr" else {}),
        **{name: np.asarray(array) for name, array in changed.items()},
    }
    path = zipped(tmp_path / "x", **{name: npy_bytes(array) for name, array in arrays.items()})
    errors = [refused(npz.inspect, path, None), refused(load, path, None, "features")]
    assert [error.code for error in errors] == ["invalid-file", "invalid-file"]
    assert errors[0].detail == errors[1].detail


POSITIONS = st.integers(-1, 4) | st.sampled_from([2**31, 2**62, -(2**62), 2**63 - 1, -(2**63)])


@given(
    form=st.sampled_from(["csr", "csc", "coo", "bsr", "dia"]),
    data=st.lists(st.integers(0, 3), max_size=4),
    first=st.lists(POSITIONS, max_size=4),
    second=st.lists(POSITIONS, max_size=4),
)
@settings(max_examples=200, deadline=None)
def test_what_is_inspected_is_what_can_be_read(
    form: str,
    data: list[int],
    first: list[int],
    second: list[int],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """A sparse matrix of 3 rows and 3 columns is accepted by both or refused alike by both."""
    names = {"coo": ("row", "col"), "dia": ("offsets", "unused")}.get(form, ("indices", "indptr"))
    rank = {"bsr": (-1, 1, 1), "dia": (len(first), -1) if first else (1, -1)}.get(form, (-1,))
    values = np.array(data, np.int64)
    arrays = {
        "format": np.array(form.encode()),
        "shape": np.array([3, 3]),
        "data": values.reshape(rank) if values.size % abs(np.prod(rank)) == 0 else values,
        names[0]: np.array(first, np.int64),
        names[1]: np.array(second, np.int64),
    }
    path = zipped(
        tmp_path_factory.mktemp("drawn") / "x",
        **{name: npy_bytes(array) for name, array in arrays.items()},
    )
    verdicts = []
    for call, *rest in ((npz.inspect,), (load, "features")):
        try:
            call(path, None, *rest)
        except UsageError as error:
            verdicts.append(error.detail)
        else:
            verdicts.append("")
    assert verdicts[0] == verdicts[1]


def test_damaged_values_of_a_sparse_matrix_are_refused_at_inspection(tmp_path: Path) -> None:
    path = zipped(tmp_path / "x", zipfile.ZIP_STORED, **parts(data=np.array([0.25, 2.0])))
    content = path.read_bytes()
    value = np.array([0.25]).tobytes()
    assert content.count(value) == 1
    path.write_bytes(content.replace(value, np.array([0.75]).tobytes()))
    for call, *rest in ((npz.inspect,), (load, "features")):
        assert refused(call, path, None, *rest).code == "invalid-file"


def test_a_csc_of_many_claimed_rows_allocates_nothing(tmp_path: Path) -> None:
    hostile = parts(
        format=np.array(b"csc"), shape=np.array([2**40, 2]), indices=np.array([0, 2**39])
    )
    path = zipped(tmp_path / "x", **hostile)
    assert refused(load, path, None, "features").code == "too-large"


def test_one_gigabyte_in_one_megabyte_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "bomb.npz"
    packed, size = zeros(1 << 30)
    local = struct.pack("<4s5H3I2H", b"PK\3\4", 20, 0, 8, 0, 33, 0, len(packed), size, 5, 0)
    entry = struct.pack(
        "<4s6H3I5H2I", b"PK\1\2", 20, 20, 0, 8, 0, 33, 0, len(packed), size, 5, *[0] * 6
    )
    body = local + b"x.npy" + packed
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 1, 1, len(entry) + 5, len(body), 0)
    path.write_bytes(body + entry + b"x.npy" + end)
    assert path.stat().st_size < 1.1 * (1 << 20)
    tracemalloc.start()
    started = time.process_time()
    errors = [refused(npz.inspect, path, None), refused(load, path, None, "features")]
    took = time.process_time() - started
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert {error.code for error in errors} == {"archive-bomb"}
    assert "200" in errors[0].detail
    assert peak < 4 << 20
    assert took < 1


def zeros(size: int) -> tuple[bytes, int]:
    """A deflated .npy of about `size` zeros and its length; its blocks are deflated once."""
    header = io.BytesIO()
    block = 16 << 20
    n_rows = size // block * block // 64
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f4", "fortran_order": False, "shape": (n_rows, 16)}
    )
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    start = deflate.compress(header.getvalue()) + deflate.flush(zlib.Z_FULL_FLUSH)
    again = deflate.compress(b"\0" * block) + deflate.flush(zlib.Z_FULL_FLUSH)
    packed = start + again * (size // block) + deflate.flush()
    return packed, len(header.getvalue()) + n_rows * 64


def test_the_archive_of_zeros_is_valid(tmp_path: Path) -> None:
    packed, size = zeros(64 << 20)
    unpacked = zlib.decompress(packed, -15)
    assert len(unpacked) == size
    assert np.load(io.BytesIO(unpacked)).shape == (1 << 20, 16)


def test_the_sum_of_the_members_is_bounded(tmp_path: Path) -> None:
    random = np.random.default_rng(0).random(1000)
    path = zipped(tmp_path / "x", a=npy_bytes(random), b=npy_bytes(random))
    assert npz.inspect(path, "a", Bounds(max_bytes=20_000)).shape == (1000,)
    assert refused(npz.inspect, path, "a", Bounds(max_bytes=16_000)).code == "archive-bomb"


def test_the_number_of_members_is_bounded(tmp_path: Path) -> None:
    path = zipped(tmp_path / "x", **{f"a{at}": npy_bytes(np.zeros(1)) for at in range(1025)})
    assert refused(npz.inspect, path, "a1").code == "archive-bomb"


def test_the_directory_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "x"
    name = "n" * 60_000
    with zipfile.ZipFile(path, "w") as archive:
        for at in range(20):
            archive.writestr(f"{name}{at}.npy", b"")
    assert refused(npz.inspect, path, None).code == "archive-bomb"


def test_a_directory_that_lies_about_sizes(tmp_path: Path) -> None:
    path = zipped(tmp_path / "x", a=npy_bytes(np.zeros((100, 4))))
    content = bytearray(path.read_bytes())
    at = content.rfind(b"PK\x01\x02")
    for claimed in (10, 3327, 3329, 1 << 20):
        struct.pack_into("<I", content, at + 24, claimed)
        path.write_bytes(content)
        error = refused(load, path, None, "features")
        assert error.code in {"truncated", "invalid-file"}


def test_encrypted_nested_and_foreign_members(tmp_path: Path) -> None:
    path = zipped(tmp_path / "x", a=npy_bytes(np.zeros(3)))
    content = bytearray(path.read_bytes())
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.rfind(mark) + at] |= 1
    path.write_bytes(content)
    assert "encrypted" in refused(npz.inspect, path, None).detail
    inner = zipped(tmp_path / "inner", a=npy_bytes(np.zeros(3))).read_bytes()
    nested = refused(npz.inspect, zipped(tmp_path / "x", a=inner), None)
    assert nested.code == "unsupported-format"
    assert "archive" in nested.detail
    for name in ("inner.npz", "../../etc/passwd", "folder/", "a.txt", "x.pkl"):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(name, b"")
        assert refused(npz.inspect, path, None).code == "unsupported-format"
    lzma = zipped(path, zipfile.ZIP_LZMA, a=npy_bytes(np.zeros(3)))
    assert refused(npz.inspect, lzma, None).code == "unsupported-format"


def test_object_arrays_inside_are_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path / "x", a=npy_bytes(np.array([{}, None])))
    error = refused(load, path, None, "labels")
    assert error.code == "unsupported-format"
    assert "numpy.save" in error.detail


def test_a_truncated_or_empty_archive(tmp_path: Path) -> None:
    path = several(tmp_path / "x")
    content = path.read_bytes()
    for length in range(1, len(content), 97):
        path.write_bytes(content[:length])
        assert refused(load, path, "X", "features").code == "invalid-file"
    zipped(path)
    assert refused(npz.inspect, path, None).code == "empty"


def test_damaged_data_are_detected(tmp_path: Path) -> None:
    path = zipped(tmp_path / "x", a=npy_bytes(np.random.default_rng(0).random((100, 9))))
    content = bytearray(path.read_bytes())
    content[3000] ^= 0xFF
    path.write_bytes(content)
    assert refused(load, path, None, "features").code == "invalid-file"


def test_a_missing_file_is_not_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        npz.inspect(tmp_path / "nowhere", None)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_mutated_archives_raise_only_our_errors(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("npz") / "x"
    compression = data.draw(st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]))
    content = bytearray(zipped(path, compression, **parts()).read_bytes())
    for _ in range(data.draw(st.integers(1, 6))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    for call, *rest in ((npz.inspect,), (load, "features")):
        survives(call, path, None, *rest)


def test_text_that_is_no_unicode_is_refused_when_it_is_opened(tmp_path: Path) -> None:
    bad = np.array(["fine", "bad"])
    bad.view(np.uint32)[-1] = 0x110000
    path = zipped(tmp_path / "x", texts=npy_bytes(bad), values=npy_bytes(np.zeros(2)))
    assert "row 1 (counted from 0)" in refused(npz.inspect, path, "texts").detail
    assert npz.inspect(path, "values").shape == (2,)
    assert npz.inspect(zipped(path, texts=npy_bytes(bad[:1])), None).dtype == "str"
