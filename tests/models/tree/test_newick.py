"""Newick: our reader, and DendroPy, TreeSwift and, where it is installed, ete4 reading our text."""

from __future__ import annotations

import contextlib
import io
import re
import time
from collections.abc import Callable

import numpy as np
import pytest
import treeswift
from hypothesis import given
from hypothesis import strategies as st

from models.errors import InvalidTree
from models.tree import newick, walk
from models.tree.build import from_parents, from_partition
from models.tree.tree import Tree
from tests.models.tree.newick_kit import NodeRows, dendropy_rows, node_rows
from tests.models.tree.strategies_kit import HOSTILE_NAMES, any_name, chain, outline, random_tree


def _write(tree: Tree, **options: object) -> str:
    return "".join(newick.write(tree, **options))  # type: ignore[arg-type]


def _ete4_rows(text: str) -> NodeRows:
    import ete4

    read = ete4.Tree(text, parser=1)
    return [
        (len(list(node.ancestors())), node.name, node.dist or 0.0)
        for node in read.traverse("preorder")
    ]


def _treeswift_lengths(text: str) -> list[tuple[int, float]]:
    # TreeSwift keeps the children's order, too, but its preorder visits the last child first.
    read = treeswift.read_tree_newick(text)
    lengths = []
    waiting = [(read.root, 0)]
    while waiting:
        node, depth = waiting.pop()
        lengths.append((depth, node.edge_length or 0.0))
        waiting += [(child, depth + 1) for child in reversed(node.children)]
    return lengths


def test_written_text_of_a_small_tree() -> None:
    #       0 (h 3, "all")
    #      / \
    #  1 (2)  2 "it's"        1 has no name, 3 is "", 4 is "b.c-1"
    #   / \
    #  3   4
    tree = from_parents([-1, 0, 0, 1, 1], [3, 2, 0, 0, 0.5], ["all", None, "it's", "", "b.c-1"])
    assert _write(tree) == "(('':2.0,b.c-1:1.5):1.0,'it''s':3.0)all;\n"
    assert _write(tree, labels="id") == "((3:2.0,4:1.5)1:1.0,2:3.0)0;\n"
    ids = np.array([7, 8, 9, 10, 11])
    assert _write(tree, labels="id", ids=ids) == "((10:2.0,11:1.5)8:1.0,9:3.0)7;\n"


def test_lengths_are_exact() -> None:
    tree = from_parents([-1, 0, 0], [0.1 + 0.2, 0, 0.1], [None, "a", "b"])
    lengths = [float(text) for text in re.findall(r":([^,)]+)", _write(tree))]
    assert lengths == [0.1 + 0.2, (0.1 + 0.2) - 0.1]


def test_lengths_of_a_tree_that_falls_are_negative_and_read_back() -> None:
    tree = from_parents(
        [-1, 0, 0, 1, 1], [1, 2, 0, 0, 0], [None, None, "a", "b", "c"], monotone=False
    )
    assert _write(tree) == "((b:2.0,c:2.0):-1.0,a:1.0);\n"
    back = newick.read(_write(tree))
    assert not back.monotone
    assert sorted(back.height.tolist()) == [0, 0, 0, 1, 2]
    tree = from_parents([-1, 0, 0], [1, 2, 0], [None, "a", "b"], monotone=False)
    assert _write(tree) == "(a:-1.0,b:1.0);\n"
    with pytest.raises(InvalidTree, match=r"negative \(-1.0\).* at character 4"):
        newick.read(_write(tree))


@pytest.mark.parametrize("piece", [1, 3, 1 << 20])
def test_double_quotes_are_quotes(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newick, "PIECE", piece)
    tree = newick.read_file(io.StringIO('(("a, (b":1,"95":1)"95":1,5":1,"c"d:1);'))
    assert list(tree.name) == [None, "95", "a, (b", "95", '5"', '"c"d']
    assert tree.warnings == ("3 label(s) in double quotes were read without these.",)


@pytest.mark.parametrize("name", HOSTILE_NAMES)
@pytest.mark.parametrize(
    "read", [dendropy_rows, pytest.param(_ete4_rows, marks=pytest.mark.needs("ete4"))]
)
def test_hostile_names_are_read_by_others(name: str, read: Callable[[str], NodeRows]) -> None:
    #     0 (inner name hostile too)
    #    / \
    #   1   "other"
    #  / \
    # name  "third"
    tree = from_parents(
        [-1, 0, 0, 1, 1], [3, 1.25, 0, 0, 0], ["root", name, "other", name + "x", "third"]
    )
    assert read(_write(tree)) == node_rows(tree)


@given(random_tree(min_leaves=2, names=any_name))
def test_random_trees_come_back(tree: Tree) -> None:
    again = newick.read(_write(tree))
    assert [row[:2] for row in node_rows(again)] == [row[:2] for row in node_rows(tree)]
    np.testing.assert_allclose(
        [row[2] for row in node_rows(again)],
        [row[2] for row in node_rows(tree)],
        rtol=1e-12,
        atol=1e-12 * np.abs(tree.height).max(),
    )
    again.validate()
    assert again.leaf_of_point.tolist() == walk.leaf_order(again).tolist()


@given(random_tree(min_leaves=2, whole_heights=True, names=any_name))
def test_whole_heights_come_back_exactly(tree: Tree) -> None:
    assert node_rows(newick.read(_write(tree))) == node_rows(tree)


@given(random_tree(min_leaves=2))
def test_random_trees_are_read_by_others(tree: Tree) -> None:
    text = _write(tree)
    rows = node_rows(tree)
    assert dendropy_rows(text) == rows
    assert _treeswift_lengths(text) == [(depth, length) for depth, _, length in rows]


@pytest.mark.needs("ete4")
@given(random_tree(min_leaves=2))
def test_random_trees_are_read_by_ete4(tree: Tree) -> None:
    rows = [(d, name or None, length) for d, name, length in _ete4_rows(_write(tree))]
    assert rows == node_rows(tree)


def test_treeswift_reads_topology_and_lengths_under_hostile_names() -> None:
    tree = from_partition(np.arange(len(HOSTILE_NAMES)), len(HOSTILE_NAMES), names=HOSTILE_NAMES)
    assert _treeswift_lengths(_write(tree)) == [
        (depth, length) for depth, _, length in node_rows(tree)
    ]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("A;", [(0, "A", 0)]),
        ("(a,b);", [(0, None, 0), (1, "a", 1), (1, "b", 1)]),
        ("(,);", [(0, None, 0), (1, None, 1), (1, None, 1)]),
        ("(a:0.5,b:2e-1)r:9;", [(0, "r", 0), (1, "a", 0.5), (1, "b", 0.2)]),
        ("(a:+1E+1,b:10);", [(0, None, 0), (1, "a", 10), (1, "b", 10)]),
        ("(:2,:1);", [(0, None, 0), (1, None, 2), (1, None, 1)]),
        ("\ufeff [&R] ( a , 'b c' : 2 )\n;\n", [(0, None, 0), (1, "a", 1), (1, "b c", 2)]),
        ("(a[x(,;]:2[y],b[']:1)[z];[end]", [(0, None, 0), (1, "a", 2), (1, "b", 1)]),
        ("('it''s''',a_b);", [(0, None, 0), (1, "it's'", 1), (1, "a_b", 1)]),
        ("((a));", [(0, None, 0), (1, None, 1), (2, "a", 1)]),
        ("()r;", [(0, "r", 0), (1, None, 1)]),
        ("('');", [(0, None, 0), (1, "", 1)]),
    ],
)
def test_valid_texts_are_read(text: str, rows: NodeRows) -> None:
    assert [
        (d, name, pytest.approx(length)) for d, name, length in node_rows(newick.read(text))
    ] == rows


def test_heights_keep_lengths_where_leaves_end_at_different_depths() -> None:
    #      0 (3)
    #     /  \
    #  1 (2)  2 (1)      a lies 1 above b, the deepest leaf
    #  /
    # 3 b (0)
    tree = newick.read("((b:2)x:1,a:2);")
    assert dict(zip(tree.name.tolist(), tree.height.tolist(), strict=True)) == {
        None: 3, "x": 2, "b": 0, "a": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "says", "position"),
    [
        ("", "holds no tree", 1),
        (" \n[only a comment]", "holds no tree", 1),
        (";", "holds no tree", 1),
        ("(a,b)", "does not end with ';': the text ends at character 6", 6),
        ("((a,b);", "'\\(' is never closed: the tree ends", 7),
        ("(a,b));", "'\\)' stands outside all brackets", 6),
        ("a,b;", "',' stands outside all brackets", 2),
        ("(a,b);(c,d);", "text after the tree's ';'", 7),
        ("(a,b);junk", "text after the tree's ';'", 7),
        ("(a b,c);", "A label stands where", 4),
        ("('a''b' 'c');", "A label stands where", 9),
        ("(a(b),c);", "'\\(' stands where", 3),
        ("(a,b)(c,d);", "'\\(' stands where", 6),
        ("(a:1:2,b);", "two lengths", 5),
        ("(a:1x,b);", "finite number, not '1x'", 4),
        ("(a:1 x,b);", "A label stands where", 6),
        ("(a:,b);", "finite number, not ','", 4),
        ("(a:'1',b);", "finite number", 4),
        ("(a:1_0,b);", "finite number", 4),
        ("(a:nan,b);", "finite number", 4),
        ("(a:inf,b);", "finite number", 4),
        ("(a:1e999,b);", "finite number", 4),
        ("(a:-1,b);", "negative", 4),
        ("(a,'b);", "quote is never closed", 4),
        ("(a,'b'');", "quote is never closed", 4),
        ("(a,[b);", "comment is never closed", 4),
        ("(a,b]);", "']' closes no comment", 5),
        ("(a,b:", "does not end with ';'", 6),
        ("{}", "does not end with ';'", 3),
    ],
)
def test_invalid_texts_are_refused(text: str, says: str, position: int) -> None:
    with pytest.raises(InvalidTree, match=says) as caught:
        newick.read(text)
    assert caught.value.where == {"position": position}


def test_a_network_is_refused_and_its_labels_in_quotes_are_names() -> None:
    """Extended Newick: #H1 has two parents, and stands in the text at each."""
    with pytest.raises(InvalidTree, match=r"'#H1' stands at two nodes: .* a network"):
        newick.read("((a,(b)x#H1),(#H1,c));")
    tree = newick.read("((a,(b)'#H1'),('#H1',c),Sample#1,Sample#1,d#H2);")
    assert [name for name in tree.name if name].count("#H1") == 2


def test_lengths_that_add_up_past_any_number_are_refused() -> None:
    with pytest.raises(InvalidTree, match="branch lengths from the root to a leaf overflows"):
        newick.read("((a:1e308):1e308);")


@given(st.text("(),:;'[]ab1.- \n", max_size=12))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        tree = newick.read(text)
    except InvalidTree:
        return
    tree.validate()
    written = _write(tree)
    if written != ";\n":
        assert _write(newick.read(written)) == written


def test_hostile_sizes_end_soon() -> None:
    began = time.process_time()
    deep = newick.read("(" * 200_000 + "a" + ")" * 200_000 + ";")
    assert deep.max_depth == 200_000
    with pytest.raises(InvalidTree, match="does not end with"):
        newick.read("(" * 200_000)
    with pytest.raises(InvalidTree, match="outside all brackets"):
        newick.read("a" + ")" * 200_000)
    huge = "x'" * 200_000
    assert newick.read(newick.quoted(huge) + ";").name[0] == huge
    with pytest.raises(InvalidTree, match="quote is never closed"):
        newick.read("'" + "''" * 200_000 + "x;")
    with pytest.raises(InvalidTree, match="comment is never closed"):
        newick.read("[" * 200_000)
    # What is quadratic takes longer by far; all of it takes less than two.
    assert time.process_time() - began < 10


def test_a_chain_of_twenty_thousand() -> None:
    tree = chain(20_000)
    text = _write(tree)
    assert outline(newick.read(text)) == outline(tree)
    assert _treeswift_lengths(text) == [(depth, length) for depth, _, length in node_rows(tree)]


@given(st.text(alphabet="(),:;'[] ab1.e-&=\t\r\n\ufeff\ud800é", max_size=40), st.integers(1, 5))
def test_a_file_is_read_as_its_text(text: str, piece: int) -> None:
    """However small the pieces are, tokens and places are the same."""

    def result(read: Callable[[], Tree]) -> object:
        try:
            tree = read()
        except InvalidTree as error:
            return error.detail, error.where
        return tree.parent.tolist(), tree.height.tolist(), tree.name.tolist(), tree.warnings

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(newick, "PIECE", piece)
        in_pieces = result(lambda: newick.read_file(io.StringIO(text)))
    assert in_pieces == result(lambda: newick.read(text))


@pytest.mark.parametrize(
    "text", ["('{}',b);", "('{}", "([{}]a,b);", "([{}", "({},b);", "({}\n,b);", "(a:{},b);"]
)
def test_what_is_longer_than_a_piece_is_read_few_times(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each time as much more is read as there is of it: the work is linear."""
    monkeypatch.setattr(newick, "PIECE", 16)
    long = text.format(("''" if "'" in text else " " if "\n" in text else "1") * 100_000)
    file, sizes = io.StringIO(long), []
    read = file.read

    def counted(n_characters: int) -> str:
        sizes.append(n_characters)
        return read(n_characters)

    monkeypatch.setattr(file, "read", counted)
    with contextlib.suppress(InvalidTree):
        newick.read_file(file)
    assert sum(sizes) > 100_000
    assert len(sizes) < 30


@pytest.mark.parametrize(
    "text", ["((a:0,5,b:0,25):1,5,c:2);", "(a:1,5,b:2);", "(a:1,5e-3,b:2,0);", "('7':0,5,b:2);"]
)
def test_lengths_with_decimal_commas_are_refused(text: str) -> None:
    with pytest.raises(InvalidTree, match=r"decimal commas.*Write 0\.5, not 0,5"):
        newick.read(text)


@pytest.mark.parametrize(
    ("text", "leaves"),
    [
        ("((1,2):3,(4,5):2);", ["1", "2", "4", "5"]),
        ("(a:1,'5',b:2);", ["a", "5", "b"]),
        ("(a:1.5,5,b:2);", ["a", "5", "b"]),
        ("(a:1,5:1,b);", ["a", "5", "b"]),
        ("(a,5,b);", ["a", "5", "b"]),
        ("(a:1,(c:1,d:1)5,b:2);", ["a", "c", "d", "b"]),
    ],
)
def test_numbers_as_names_are_no_decimals(text: str, leaves: list[str]) -> None:
    tree = newick.read(text)
    assert [tree.name[leaf] for leaf in tree.leaf_of_point] == leaves
