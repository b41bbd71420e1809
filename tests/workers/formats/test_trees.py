"""Uploaded trees: the same tree in every format, and files without a tree."""

from __future__ import annotations

import json
import time
import tracemalloc
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import UsageError
from models.tree import linkage, nested, newick, nexus
from models.tree.build import from_merges
from models.tree.cut import cut
from tests.workers.formats.files_kit import npy_bytes, put
from tests.workers.formats.tree_forms_kit import FORMS, REFUSED, Form
from workers.formats.trees import FORMATS, read_tree

#    0
#   / \
#  1   2      0 and 1 are merged at height 2
FILES = {
    "newick": b"(a:2,b:2);",
    "nexus": b"#NEXUS\nBEGIN TREES;\nTREE t = (a:2,b:2);\nEND;",
    "json": b'\xef\xbb\xbf{"height": 2, "children": [{"height": 0}, {"height": 0}]}',
    "linkage": npy_bytes(np.array([[0.0, 1.0, 2.0, 2.0]])),
    "paths": b"x/a\nx/b\n",
}


def test_every_format_has_a_file_here() -> None:
    assert set(FORMATS.values()) == set(FILES)


@pytest.mark.parametrize("format", FILES)
def test_a_tree_of_two_leaves(format: str, tmp_path: Path) -> None:
    tree = read_tree(format, put(tmp_path / "x", FILES[format]))
    assert tree.n_leaves == 2
    assert tree.n_points == 2


@given(st.permutations(range(6)), st.data())
def test_every_form_is_read_again_with_the_same_rows(order: list[int], data: st.DataObject) -> None:
    """A binary tree over unnamed points, its rows in any order among the leaves."""
    at = list(order)
    merges = []
    for made in range(6, 11):
        pair = [at.pop(data.draw(st.integers(0, len(at) - 1))) for _ in range(2)]
        merges.append(pair)
        at.append(made)
    tree = from_merges(*zip(*merges, strict=True), range(1, 6))
    forms: dict[str, bytes] = {
        "newick": "".join(newick.write(tree)).encode(),
        "nexus": "".join(nexus.write(tree)).encode(),
        "json": "".join(nested.write(tree)).encode(),
        "linkage": npy_bytes(linkage.to_scipy(tree)),
    }
    flat = "".join(nested.flat_nodes(tree)).encode()
    with TemporaryDirectory() as folder:
        for format, content in (*forms.items(), ("json", flat)):
            again = read_tree(format, put(Path(folder) / "x", content))
            for k in range(1, 7):
                one, other = (cut(each, k=k).cluster_of_point.tolist() for each in (tree, again))
                both = set(zip(one, other, strict=True))
                assert len(both) == len(set(one)) == len(set(other)), (format, k)


def test_a_flat_list_of_named_leaves_keeps_its_order(tmp_path: Path) -> None:
    text = """[{"id": 0}, {"id": 1, "parent": 0}, {"id": 2, "parent": 0, "name": "a"},
        {"id": 3, "parent": 1, "name": "b"}, {"id": 4, "parent": 1, "name": "c"}]"""
    tree = read_tree("json", put(tmp_path / "x", text.encode()))
    assert tree.name[tree.leaf_of_point].tolist() == ["a", "b", "c"]
    children_first = """[{"id": 3, "parent": 1, "name": "b"}, {"id": 2, "parent": 0, "name": "a"},
        {"id": 4, "parent": 1, "name": "c"}, {"id": 0}, {"id": 1, "parent": 0}]"""
    tree = read_tree("json", put(tmp_path / "x", children_first.encode()))
    assert tree.name[tree.leaf_of_point].tolist() == ["b", "a", "c"]


@pytest.mark.parametrize(
    ("format", "content"),
    [
        ("newick", b"(a,b"),
        ("newick", b"\xff\xfe"),
        ("json", b"{"),
        ("linkage", npy_bytes(np.zeros(4))),
        ("linkage", npy_bytes(np.array([["a"]]))),
        ("paths", b""),
    ],
)
def test_files_without_a_tree(format: str, content: bytes, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        read_tree(format, put(tmp_path / "x", content))


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_one_tree_in_every_form(form: Form, tmp_path: Path) -> None:
    tree = read_tree(FORMATS[form.media], put(tmp_path / "x", form.text.encode()))
    names = tree.name[tree.leaf_of_point].tolist()
    assert names == (["0", "1", "2"] if "linkage" in form.name else ["a", "b", "c"])
    apart = cut(tree, k=2).cluster_of_point
    assert apart[0] == apart[1] != apart[2]
    if form.warned is None:
        assert tree.warnings == ()
    else:
        assert any(form.warned in sentence for sentence in tree.warnings), tree.warnings


@pytest.mark.parametrize(
    ("media", "content", "word"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_other_contents_are_refused_by_their_names(
    media: str, content: bytes, word: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=word):
        read_tree(FORMATS[media], put(tmp_path / "x", content))


@pytest.mark.parametrize("format", sorted(set(FORMATS.values())))
@given(
    content=st.one_of(
        st.binary(max_size=40), st.text("()[]{},;:'\"\\/>|#aNEXUS0.5 \n").map(str.encode)
    )
)
def test_any_content_is_read_or_refused(format: str, content: bytes) -> None:
    with TemporaryDirectory() as folder:
        try:
            tree = read_tree(format, put(Path(folder) / "x", content))
        except UsageError:
            return
    tree.validate()


@pytest.mark.parametrize(
    "text",
    [
        "1" + " " * 100_000 + "x",
        "1 " * 100_000,
        "parent," * 100_000,
        "[" * 100_000,
        "[]" * 100_000,
        " " * 100_000 + "(",
        "(" * 100_000,
        "a;" * 100_000,
        "{" * 100_000,
        '["' * 100_000,
        "1;" * 100_000 + "\n1;2",
    ],
)
@pytest.mark.parametrize("format", ["paths", "newick", "nexus", "json"])
def test_hostile_texts_end_soon(format: str, text: str, tmp_path: Path) -> None:
    detail, path = "", put(tmp_path / "x", text.encode())
    began = time.process_time()
    try:
        read_tree(format, path).validate()
    except UsageError as error:
        detail = error.detail
    # What is quadratic takes longer by far; these take less than one.
    assert time.process_time() - began < 4
    assert len(detail) < 2000


@pytest.mark.parametrize("name", ["PAR1", "ARROW1", "RDX3", "%PDF-", "parent, guardian", "1 2 3"])
def test_names_that_resemble_other_contents_are_names(name: str, tmp_path: Path) -> None:
    tree = read_tree("paths", put(tmp_path / "x", f"{name}/a\n{name}/b".encode()))
    assert tree.name[0] == name


def test_the_text_of_a_tree_is_never_whole_in_memory(tmp_path: Path) -> None:
    """(a,b) with 20 MB of comments after each leaf."""
    comments = f"[{'x' * 10_000}]" * 2000
    path = put(tmp_path / "x", f"(a{comments},b{comments});".encode())
    del comments
    tracemalloc.start()
    try:
        tree = read_tree("newick", path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert tree.name.tolist() == [None, "a", "b"]
    assert peak < 16 << 20


def test_a_tree_that_falls_comes_back_with_a_warning(tmp_path: Path) -> None:
    merges = {"merge": [[-1, -2], [-3, 1]], "height": [1.5, 1], "labels": ["a", "b", "c"]}
    path = put(tmp_path / "x", json.dumps(merges))
    tree = read_tree("json", path)
    warning = "1 node(s) lie higher than their parent: the tree is not monotone."
    assert tree.warnings == (warning,)
    back = read_tree("newick", put(path, "".join(newick.write(tree))))
    assert back.warnings == (warning,)
    assert sorted(back.height.tolist()) == [0, 0, 0, 1, 1.5]
