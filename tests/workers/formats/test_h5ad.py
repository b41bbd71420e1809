"""Files of AnnData: matrices, names, columns beside them, and hostile files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.workers.formats.files_kit import dense, put, refused, rows_of, survives
from tests.workers.formats.h5ad_kit import (
    h5ad,
    put_categories,
    put_frame,
    put_matrix,
    put_nullable,
    put_texts,
    sparse,
    tagged,
)
from workers.formats import catalogue
from workers.formats.column_roles import Choice, features
from workers.formats.facts import Bounds

pytestmark = pytest.mark.needs("h5py")

X = np.array([[1, 0, 2.5], [0, 0, 3], [4, 5, 0], [0, 6, 0]], dtype="f4")
FORM = {"dense": lambda x: x, "csr": sparse, "csc": lambda x: sparse(x, "csc")}
TYPES = ["types A", "types B"]


def annotated(root: Any) -> None:
    """Columns of every kind beside X."""
    obs = root["obs"]
    put_categories(obs, "cell_type", [0, 1, -1, 0], TYPES)
    put_categories(obs, "batch", [0, 1, 1, 0], np.array([10, 20]))
    put_texts(obs, "donor", ["p", "q", "p", "q"])
    obs["n_counts"] = np.array([1.5, 2, 3, 4])
    obs["doublet"] = np.array([True, False, False, True])
    put_nullable(obs, "age", "integer", np.array([30, 40, 0, 50]), [False, False, True, False])
    put_nullable(obs, "smoker", "boolean", np.array([True] * 4), [False] * 4)
    put_nullable(obs, "note", "string-array", ["a", "b", "c", "c"], [False, False, True, False])
    obs.create_group("odd")


def load(path: Path, role: str = "features", member: str | None = None, **chosen: Any) -> Any:
    """What a job gets of the file, by its columns."""
    columns, _ = catalogue.table_columns("h5ad", path, member, Bounds(), Choice(**chosen))
    return catalogue.load("h5ad", path, member, role, columns=columns)


@pytest.mark.parametrize(
    ("form", "dtype"),
    [
        *(("dense", dtype) for dtype in ("f4", ">f8", "f2", "i8", "u1", "?")),
        *(("csr", "f4"), ("csr", "i8"), ("csc", "f8"), ("csc", "?")),
    ],
)
def test_a_matrix_and_its_names(form: str, dtype: str, tmp_path: Path) -> None:
    matrix = X.astype(dtype)
    made = FORM[form](matrix)
    path = h5ad(tmp_path / "x", made, compression="gzip", shuffle=True)
    assert catalogue.format_of(None, path.read_bytes()) == "h5ad"
    facts = catalogue.inspect("h5ad", path, None, role="features")
    assert (facts.shape, facts.sparse) == ((4, 3), form != "dense")
    assert features(facts.columns) == ("g0", "g1", "g2")
    assert [each.role for each in facts.columns] == ["id", *["feature"] * 3]
    value = load(path)
    assert str(value.dtype) == facts.dtype
    np.testing.assert_array_equal(dense(value), matrix)
    for chosen in (["g2", "g0"], ["g1"]):
        places = sorted(int(name[1]) for name in chosen)
        np.testing.assert_array_equal(dense(load(path, features=chosen)), matrix[:, places])
    # As the columns of a fit stand.
    turned = [facts.columns[at] for at in (3, 1, 2, 0)]
    value = catalogue.load("h5ad", path, None, "features", columns=turned)
    np.testing.assert_array_equal(dense(value), matrix[:, [2, 0, 1]])
    assert load(path, "labels", label="g1").tolist() == matrix[:, 1].astype(int).tolist()
    assert catalogue.texts("h5ad", path, "index") == ["c0", "c1", "c2", "c3"]


def test_columns_beside_the_matrix(tmp_path: Path) -> None:
    path = h5ad(tmp_path / "x", sparse(X), act=annotated)
    facts = catalogue.inspect("h5ad", path, None, role="features")
    found = {each.name: (each.type, each.role) for each in facts.columns}
    assert found == {
        "index": ("text", "id"),
        "age": ("integer", None),
        "batch": ("integer", None),
        "cell_type": ("text", "label"),
        "donor": ("text", None),
        "doublet": ("boolean", None),
        "n_counts": ("number", None),
        "note": ("text", None),
        "smoker": ("boolean", None),
        **{f"g{at}": ("number", "feature") for at in range(3)},
    }
    warnings = " ".join(facts.warnings)
    assert "'cell_type' is taken as the labels" in warnings
    assert "'n_counts'" in warnings or "n_counts" in warnings
    assert "left out" in warnings
    assert "'obs/odd'" in warnings
    assert rows_of(load(path, "labels")) == [["types A"], ["types B"], None, ["types A"]]
    assert load(path, "labels", label="batch").tolist() == [10, 20, 20, 10]
    assert load(path, "labels", label="donor").tolist() == ["p", "q", "p", "q"]
    assert rows_of(load(path, "labels", label="note")) == [["a"], ["b"], None, ["c"]]
    assert catalogue.inspect("h5ad", path, None, role="labels").shape[0] == 4
    beside = load(path, features=["n_counts", "doublet"])
    assert beside.tolist() == [[1, 1.5], [0, 2], [0, 3], [1, 4]]
    both = load(path, features=["g2", "n_counts"])
    np.testing.assert_array_equal(dense(both), np.stack([[1.5, 2, 3, 4], X[:, 2]], axis=1))
    assert refused(load, path, features=["donor"]).code == "wrong-input"
    assert "'donor'" in refused(load, path, label="donr").detail
    assert "adata.obs" in refused(catalogue.inspect, "h5ad", path, None, role="items").detail


def test_another_matrix(tmp_path: Path) -> None:
    def more(root: Any) -> None:
        annotated(root)
        raw = root.create_group("raw")
        put_frame(raw, "var", ["r0", "r1"])
        put_matrix(raw, "X", X[:, :2] * 7)
        root["obsm"].create_group("frame")
        root["uns/neighbors"] = 1
        put_texts(root["var"], "symbol", ["a", "b", "c"])

    pca, links = np.arange(8.0).reshape(4, 2), sparse(np.eye(4))
    others = {"layers/counts": sparse(X * 2), "obsm/X_pca": pca, "obsp/links": links}
    path = h5ad(tmp_path / "x", X, others=others, act=more)
    facts = catalogue.inspect("h5ad", path)
    warnings = " ".join(facts.warnings)
    assert "has 5 matrices ('X', 'raw/X', 'layers/counts', 'obsm/X_pca', 'obsp/links')" in warnings
    assert "'X' is read" in warnings
    assert "'obsm/frame'" in warnings
    assert "'uns', the columns of var ('symbol')" in warnings
    for member, expected in (
        ("X", X),
        ("layers/counts", X * 2),
        ("obsm/X_pca", pca),
        ("obsp/links", np.eye(4)),
        ("raw/X", X[:, :2] * 7),
    ):
        facts = catalogue.inspect("h5ad", path, member, role="features")
        assert facts.shape == expected.shape
        assert facts.sparse == (member in ("layers/counts", "obsp/links"))
        assert "chooses another" not in " ".join(facts.warnings)
        np.testing.assert_array_equal(dense(load(path, member=member)), expected)
        labels = load(path, "labels", member)
        assert rows_of(labels)[:2] == [["types A"], ["types B"]]
        assert catalogue.texts("h5ad", path, "index", member=member)[3] == "c3"
    assert features(catalogue.inspect("h5ad", path, "raw/X").columns) == ("r0", "r1")
    similarity = catalogue.load("h5ad", path, "obsp/links", "similarity")
    np.testing.assert_array_equal(dense(similarity), np.eye(4))
    error = refused(catalogue.inspect, "h5ad", path, "layers/other")
    assert error.code == "member-needed"
    assert "'layers/counts'" in error.detail


def test_without_x_and_with_gaps(tmp_path: Path) -> None:
    def bare(root: Any) -> None:
        del root["X"]

    one = h5ad(tmp_path / "one", X, act=bare, others={"obsm/X_umap": X[:, :2]})
    np.testing.assert_array_equal(load(one), X[:, :2])
    many = h5ad(tmp_path / "two", X, act=bare, others={"layers/a": X, "layers/b": X})
    assert refused(load, many).code == "member-needed"
    np.testing.assert_array_equal(load(many, member="layers/b"), X)
    assert refused(load, h5ad(tmp_path / "none", X, act=bare)).code == "empty"
    holes = X.copy()
    holes[2, 1] = np.nan
    facts = catalogue.inspect("h5ad", h5ad(tmp_path / "nan", holes), role="features")
    assert "row 2, column 'g1'" in " ".join(facts.warnings)


def test_names_that_meet(tmp_path: Path) -> None:
    def meet(root: Any) -> None:
        root["obs"]["g1"] = np.arange(4)
        root["obs"].move("_index", "g0")
        root["obs"].attrs["_index"] = "g0"

    path = h5ad(tmp_path / "x", X, act=meet)
    facts = catalogue.inspect("h5ad", path)
    assert [each.name for each in facts.columns][:2] == ["obs/g0", "obs/g1"]
    assert facts.columns[0].role == "id"
    assert "read as obs/NAME: 'g0', 'g1'" in " ".join(facts.warnings)
    np.testing.assert_array_equal(load(path), X)

    def twice(root: Any) -> None:
        root["var/_index"][2] = "g0"

    error = refused(catalogue.inspect, "h5ad", h5ad(tmp_path / "y", X, act=twice))
    assert "two columns of the name 'g0'" in error.detail


def test_the_layout_of_0_7(tmp_path: Path) -> None:
    """No marks at the root; categories in a group beside, to which references point."""

    def older(root: Any) -> None:
        del root.attrs["encoding-type"]
        obs = root["obs"]
        obs["leiden"] = np.array([1, 0, 1, -1], dtype="i1")
        put_texts(obs.create_group("__categories"), "leiden", ["0", "1"])
        obs["leiden"].attrs["categories"] = obs["__categories/leiden"].ref

    path = h5ad(tmp_path / "x", sparse(X), act=older)
    assert rows_of(load(path, "labels")) == [["1"], ["0"], ["1"], None]


def _compound(root: Any) -> None:
    del root["obs"]
    root["obs"] = np.zeros(4, dtype=[("index", "S4"), ("n", "f4")])


def _soft(root: Any) -> None:
    import h5py

    del root["X"]
    root["X"] = h5py.SoftLink("/obs/_index")


def _outer(name: str) -> Callable[[Any], None]:
    def act(root: Any) -> None:
        import h5py

        if name in root:
            del root[name]
        root[name] = h5py.ExternalLink("other.h5", "/X")

    return act


def _external(root: Any) -> None:
    del root["X"]
    root.create_dataset("X", (4, 3), "f4", external=[("/etc/passwd", 0, 48)])


def _virtual(root: Any) -> None:
    import h5py

    del root["X"]
    layout = h5py.VirtualLayout((4, 3), "f4")
    layout[:] = h5py.VirtualSource("other.h5", "X", (4, 3))
    root.create_virtual_dataset("X", layout)


def _bomb(root: Any) -> None:
    del root["X"]
    options = {"chunks": (4, 1 << 16), "compression": "gzip"}
    root.create_dataset("obsm/X_a", (4, 1 << 24), "f4", **options)


def _large(root: Any) -> None:
    del root["X"]
    root.create_dataset("X", (4, 3), "f4", chunks=(1 << 15, 1 << 15), maxshape=(None, None))


def _changed(name: str, value: Any) -> Callable[[Any], None]:
    def act(root: Any) -> None:
        del root[name]
        if value is not None:
            root[name] = value

    return act


def _filter(root: Any) -> None:
    """Packed by a filter that no build has, whose number stands in for gzip's."""
    del root["X"]
    root.create_dataset("X", data=X, scaleoffset=2)


@pytest.mark.parametrize(
    ("act", "code", "says"),
    [
        (_compound, "unsupported-format", "before 0.7"),
        (_soft, "unsupported-format", "soft link"),
        *((_outer(name), "unsupported-format", "external link") for name in
          ("X", "obs", "var", "obs/n", "layers", "layers/a", "obs/_index", "uns")),
        (_external, "unsupported-format", "another file"),
        (_virtual, "unsupported-format", "another file"),
        (_filter, "unsupported-format", "filter 6"),
        (_bomb, "archive-bomb", "bytes"),
        (_large, "too-large", "bytes"),
        (_changed("obs/_index", np.arange(3)), "invalid-file", "3 rows"),
        (_changed("obs/_index", None), "unsupported-format", "obs and var"),
        (_changed("var", None), "unsupported-format", "obs and var"),
        (_changed("X", np.zeros((4, 2))), "invalid-file", "(4, 2)"),
        (_changed("X", np.zeros((4, 3), dtype="c8")), "empty", "no array"),
        (_changed("X", np.zeros((4, 3), dtype=[("a", "f4")])), "empty", "no array"),
    ],
)  # fmt: skip
def test_hostile_files(act: Callable[[Any], object], code: str, says: str, tmp_path: Path) -> None:
    path = h5ad(tmp_path / "x", X, act=act)
    for call in (catalogue.inspect, catalogue.load):
        error = refused(call, "h5ad", path, None, *["features"] * (call is catalogue.load),
                        bounds=Bounds(max_bytes=1 << 30))  # fmt: skip
        assert (error.code, says in error.detail) == (code, True), error.detail


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("indptr", [0, 9, 9, 9, 6]),
        ("indptr", [0, 1, 2]),
        ("indptr", [0, 1, 2, 3, 4]),
        ("indptr", [-5, 1, 2, 3, 6]),
        ("indices", [0, 1, 2, 3, 1, 1]),
        ("indices", [0, 1, -2, 0, 1, 1]),
        ("indices", [0, 1]),
        ("indices", [0.5] * 6),
        ("data", ["a"] * 6),
        ("data", [1.0]),
    ],
)
def test_a_sparse_matrix_that_is_not_consistent(name: str, value: Any, tmp_path: Path) -> None:
    path = h5ad(tmp_path / "x", sparse(X), act=_changed(f"X/{name}", value))
    assert refused(load, path).code == "invalid-file"


def test_hostile_columns(tmp_path: Path) -> None:
    """Codes without a category, another length, texts that are not UTF-8 and references."""
    import h5py

    def act(root: Any) -> None:
        obs = root["obs"]
        put_categories(obs, "label", [0, 1, 7, 0], TYPES)

    error = refused(load, h5ad(tmp_path / "a", X, act=act), "labels")
    assert "code 7 at row 2" in error.detail

    def short(root: Any) -> None:
        root["obs"]["n"] = np.arange(3)

    assert "4 values" in refused(load, h5ad(tmp_path / "b", X, act=short)).detail

    def bytes_of(root: Any) -> None:
        root["obs"]["label"] = np.array([b"a", b"b", b"\xff", b"a"])

    assert "place 2" in refused(load, h5ad(tmp_path / "c", X, act=bytes_of)).detail

    def strange(root: Any) -> None:
        obs = root["obs"]
        obs.create_dataset("refs", data=[root.ref] * 4, dtype=h5py.ref_dtype)
        obs.create_dataset("lists", (4,), dtype=h5py.vlen_dtype(np.int64))
        obs["pairs"] = np.zeros(4, dtype=[("a", "f4")])
        obs["kind"] = h5py.Empty("f4")
        tagged(obs.create_group("empty"), "categorical")
        obs["far"] = np.array([0, 0, 0, 0], dtype="i1")
        obs["far"].attrs["categories"] = root["X"].ref

    facts = catalogue.inspect("h5ad", h5ad(tmp_path / "d", X, act=strange))
    assert [each.name for each in facts.columns] == ["index", "g0", "g1", "g2"]
    for name in ("refs", "lists", "pairs", "kind", "empty", "far"):
        assert f"'obs/{name}'" in " ".join(facts.warnings)


def test_one_text_in_many_places(tmp_path: Path) -> None:
    import h5py

    def act(root: Any) -> None:
        texts = root["obs"].create_dataset("label", (4,), dtype=h5py.string_dtype())
        texts[0] = "x" * 200_000

    path = h5ad(tmp_path / "x", X, act=act)
    with h5py.File(path) as root:
        start = root["obs/label"].id.get_offset()
    content = bytearray(path.read_bytes())
    content[start : start + 64] = content[start : start + 16] * 4
    put(path, bytes(content))
    assert refused(load, path).code == "archive-bomb"


def test_damaged_and_foreign_files(tmp_path: Path) -> None:
    import h5py

    path = tmp_path / "x"
    with h5py.File(path, "w") as root:
        root["weights"] = X
    assert "not of AnnData" in refused(load, path).detail
    content = h5ad(tmp_path / "y", sparse(X), act=annotated, compression="gzip").read_bytes()
    assert refused(load, put(path, content[: len(content) // 2])).code == "invalid-file"
    rng = np.random.default_rng(0)
    for _ in range(60):
        changed = np.frombuffer(content, dtype="u1").copy()
        places = rng.integers(len(content), size=rng.integers(1, 30))
        changed[places] = rng.integers(256, size=len(places))
        put(path, changed.tobytes())
        survives(catalogue.inspect, "h5ad", path, None)
        survives(load, path, "labels")
