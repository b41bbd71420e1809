"""Trees as an input: which content is one, in which role, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from models.errors import UsageError
from workers.formats import catalogue
from workers.formats.roles import value
from workers.formats.tables import Lists

DEEP = "(" * 50_000 + "a,b" + ")" * 50_000 + ";"


def test_rows_of_a_table_are_class_paths_still() -> None:
    for rows in (["a/b", "a/c"], [["a", "b"], ["a", "c"]], ["(a)/b", "(a)/c"]):
        assert value(Lists(rows), "hierarchy").n_leaves == 2
    assert value(Lists([DEEP]), "hierarchy").n_leaves == 2


@pytest.mark.parametrize(
    ("format", "content", "sentence"),
    [
        ("newick", b"((a,b);", "never closed"),
        ("newick", b"a/b\na/c\n", "neither Newick nor Nexus"),
        ("newick", b"(a,\xff);", "not UTF-8 text: byte 3"),
        ("nexus", b"#NEXUS\nbegin trees;\nend;", "tree"),
        ("json", b'{"children": 3}', "children"),
        ("json", b'[{"id": 1, "parent": 2}, {"id": 2, "parent": 1}]', "cycle"),
        ("json", b'["((a,b);"]', "never closed"),
    ],
)
def test_what_is_no_tree_is_refused(
    format: str, content: bytes, sentence: str, tmp_path: Path
) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    for read in (
        lambda: catalogue.inspect(format, path, role="hierarchy"),
        lambda: catalogue.load(format, path, None, "hierarchy"),
    ):
        with pytest.raises(UsageError) as caught:
            read()
        assert sentence in caught.value.detail


def test_text_of_a_tree_is_a_dataset_in_one_role(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("(a,b);")
    assert catalogue.format_of(None, b"(a,b);", "hierarchy") == "newick"
    for role in ("features", "labels", None):
        for media_type in ("text/x-nh", None):
            with pytest.raises(UsageError, match=r"\?role=hierarchy") as caught:
                catalogue.format_of(media_type, b"(a,b);", role)
            assert caught.value.code == "unsupported-format"
        with pytest.raises(UsageError, match=r"\?role=hierarchy"):
            catalogue.inspect("newick", path, role=role)
    with pytest.raises(UsageError, match=r"\?role=hierarchy"):
        catalogue.load("newick", path, None, "features")
