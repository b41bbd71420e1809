"""Uploaded trees: the same tree in every format, and files without a tree."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from models.errors import UsageError
from tests.workers.formats.files_kit import npy_bytes, put
from workers.formats.trees import FORMATS, read_tree

#    0
#   / \
#  1   2      0 and 1 are merged at height 2
FILES = {
    "newick": b"(a:2,b:2);",
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
