r"""Class paths with other marks, and with slashes in names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.tree import class_paths, newick
from models.tree.class_paths import are_lists_of_names, joined, parts
from models.tree.named import NamedNodes

name = st.text(st.sampled_from("a/\\ >"), min_size=1, max_size=5)


@given(st.lists(name, min_size=1, max_size=4))
def test_any_names_make_a_path_and_come_back(names: list[str]) -> None:
    assert parts(joined(names)) == names


@given(st.lists(st.text("ab\\", min_size=1, max_size=4), min_size=1, max_size=3))
def test_a_path_without_escapes_is_divided_at_each_slash(names: list[str]) -> None:
    if not any(each.endswith("\\") for each in names[:-1]):
        assert parts("/".join(names)) == names


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("a/b", ["a", "b"]),
        (r"econ/Sci\/Tech", ["econ", "Sci/Tech"]),
        (r"Sci\/Tech", ["Sci/Tech"]),
        (r"a\\/b", ["a\\", "b"]),
        (r"a\\\/b", [r"a\/b"]),
        (r"a\b/c\d", [r"a\b", r"c\d"]),
        (r"a\\b", [r"a\\b"]),
        (r"\/\//x", ["//", "x"]),
    ],
)
def test_escapes(path: str, names: list[str]) -> None:
    assert parts(path) == names


@pytest.mark.parametrize(
    "mark",
    [";", "|", ">", " > ", "->", " -> ", " => ", " → ", " » ", "; ", "\t", "\\", "::", " :: "],
)
@pytest.mark.parametrize("end", ["", ";"])
def test_other_marks(mark: str, end: str) -> None:
    #      0
    #     / \
    # animal  oak
    #  /  \
    # dog cat
    paths = [f"animal{mark}dog", f"animal{mark}cat", "oak"]
    if end and end in mark:
        paths = [path + end for path in paths[:2]] + paths[2:]
    tree = class_paths.read("\n".join(paths))
    assert "".join(newick.write(tree)) == "((dog:1.0,cat:1.0)animal:1.0,oak:2.0);\n"
    (warning,) = tree.warnings
    assert "divided at" in warning
    nodes = NamedNodes(tree)
    assert nodes.find(f"animal{mark}cat") == nodes.find("cat") == nodes.find("animal/cat") > 0


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["animal", "  dog", "  cat"], "signs of an outline"),
        (["- animal", "  - dog"], "signs of an outline"),
        (["root", "├── a", "└── b"], "signs of an outline"),
        (["animal.dog", "animal.cat", "plant.oak", "plant.ash"], "All 4 lines contain '.'"),
        (["animal,dog", "animal,cat"], "All 2 lines contain ','"),
        (["r/a", "a/b", "a/c"], "both first and second in a line, 'a'"),
        (["a sentence."], "a single leaf"),
    ],
)
def test_lines_that_are_likely_no_paths(lines: list[str], words: str) -> None:
    tree = class_paths.read("\n".join(lines))
    assert any(words in note for note in tree.warnings), tree.warnings


@pytest.mark.parametrize(
    "lines",
    [
        ["Dr. Who", "Mr. Bean"],
        ["n01_dog", "n02_cat"],
        ["a.b", "c"],
        ["a/b", "c/d"],
        ["a/b"],
        ["x/y/y"],
    ],
)
def test_usual_names_have_no_warning(lines: list[str]) -> None:
    assert class_paths.read("\n".join(lines)).warnings == ()


@pytest.mark.parametrize(
    "names",
    [
        ["<=50K", ">50K"],
        ["rock|pop", "jazz"],
        ["a", "b;c", "d"],
        ["C++", "C#"],
        ["dog, hound", "cat, kitten"],
    ],
)
def test_marks_in_names_are_kept(names: list[str]) -> None:
    tree = class_paths.read("\n".join(names))
    assert tree.name[tree.leaves].tolist() == names
    marked = [each for each in names if "|" in each or ";" in each]
    assert len(tree.warnings) == (1 if marked else 0)
    assert all(repr(each) in tree.warnings[0] for each in marked)


def test_a_mark_in_every_path_divides_it_though_a_name_has_a_slash() -> None:
    tree = class_paths.read("news > World\nnews > Sports\necon > Sci/Tech")
    assert tree.name.tolist() == [None, "news", "World", "Sports", "econ", "Sci/Tech"]


@pytest.mark.parametrize(
    ("paths", "odd"),
    [
        (["World", "Sports", "Business", "Sci/Tech"], ["Sci/Tech"]),
        (["World", "Sci/Tech"], ["Sci/Tech"]),
        (["World", "Sports", "Arts", "Sci/Tech", "TCP/IP"], ["Sci/Tech", "TCP/IP"]),
        (["a/b", "a/c", "d/e", "d/Sci/Tech"], ["d/Sci/Tech"]),
        (["a/b", "a/c", "d"], []),
        (["near/0", "near/1", "2"], []),
        (["a", "a/b"], []),
        (["a/b", "c/d"], []),
        (["World", "Sports", r"Sci\/Tech"], []),
    ],
)
def test_a_slash_that_may_belong_to_a_name(paths: list[str], odd: list[str]) -> None:
    warnings = class_paths.read("\n".join(paths)).warnings
    assert len(warnings) == (1 if odd else 0)
    assert all(repr(path) in warnings[0] and r"\/" in warnings[0] for path in odd)


@pytest.mark.parametrize(
    ("rows", "is_one_path_each"),
    [
        ([["news", "World"], ["econ", "Sci/Tech"]], True),
        ([["a", "b", "c"], ["a", "d"], ["e"]], True),
        ([["a/b", "a/c"], ["a/b"]], False),
        ([["a"], ["b"]], False),
        ([["a", "b"], ["b"]], False),
        ([["a", "b"], None], False),
        ([["a", 1]], False),
        ([], False),
        (["a"], False),
    ],
)
def test_lists_of_names(rows: object, is_one_path_each: bool) -> None:
    assert are_lists_of_names(rows) is is_one_path_each


@pytest.mark.parametrize(
    "text", ["\\" * 300_000, "\\" * 300_000 + "/", "a" + "\\/" * 300_000 + "b"]
)
def test_long_runs_of_marks_end_soon(text: str) -> None:
    assert joined(parts(text)) == text or text.endswith("/")
    assert class_paths.read(f"{text}x\ny").n_leaves == 2
