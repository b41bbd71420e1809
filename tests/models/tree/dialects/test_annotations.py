"""Support in Newick and Nexus wherever programs write it, and what is left out, by name."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import InvalidTree
from models.tree import newick, nexus
from models.tree.build import from_parents
from models.tree.tree import Tree
from tests.models.tree.newick_kit import node_rows
from tests.models.tree.strategies_kit import any_name, random_tree

#     0
#    / \
#   1   C
#  / \
# A   B


def support_of(tree: Tree) -> list[float | None] | None:
    """The support of each node by number, None where there is none."""
    if "support" not in tree.extra:
        return None
    column = tree.extra["support"].tolist()
    return [None if value != value else value for value in column]


@pytest.mark.parametrize(
    ("text", "share", "warned"),
    [
        ("((A:1,B:1)0.98:1,C:2);", 0.98, "from labels of inner nodes (all are numbers) as shares"),
        ("((A:1,B:1)98:1,C:2);", 0.98, "as percent, since the greatest is 98"),
        ("((A:1,B:1)98.0:1,C:2)Root;", 0.98, "as percent"),
        ("((A:1,B:1)98%:1,C:2);", 0.98, "as percent"),
        ("((A:1,B:1)1e-1:1,C:2);", 0.1, "as shares"),
        ("((A:1,B:1)98/0.95:1,C:2);", 0.98, "1 label(s) have several values"),
        ("((A:1,B:1)98.1/0.95/100:1,C:2);", 0.981, "1 label(s) have several values"),
        ("((A:1,B:1)'98:g__Homo':1,C:2);", 0.98, "1 label(s) are a number and a name"),
        ("((A:1,B:1):1[98],C:2);", 0.98, "from the brackets [...] as percent"),
        ("((A:1,B:1)[98]:1,C:2);", 0.98, "from the brackets [...] as percent"),
        ("((A:1,B:1):1[0.98],C:2);", 0.98, "from the brackets [...] as shares"),
        ("((A:1,B:1)[&prob=0.98]:1,C:2);", 0.98, "from the annotation 'prob' as shares"),
        ("((A:1,B:1)[&prob=9.8e-01,prob(percent)=\"98\"]:1,C:2);", 0.98, "'prob(percent)'"),
        ("((A:1,B:1)[&posterior=0.98,rate={1,2}]:[&rate=1]1,C:2);", 0.98, "'rate'"),
        ("((A:1,B:1)[&height_95%_HPD={0.1,0.2},posterior=0.98]:1,C:2);", 0.98, "HPD"),
        ("((A:1,B:1)[&bootstrap=98]:1,C:2);", 0.98, "from the annotation 'bootstrap' as percent"),
        ("((A:1,B:1)[&Bootstrap=\"98\"]:1,C:2);", 0.98, "as percent"),
        ("((A:1,B:1)[&label=98]:1,C:2);", 0.98, "from the annotation 'label' as percent"),
        ("((A:1,B:1)[&support=0.98]:1,C:2);", 0.98, "from the annotation 'support' as shares"),
        ("((A:1,B:1):1[&&NHX:B=98],C:2);", 0.98, "from the annotation 'NHX B' as percent"),
        ("((A:1,B:1):1[&&NHX:S=x:D=Y:B=98],C:2);", 0.98, "'NHX D', 'NHX S'"),
        ("((A:1,B:1):1[&&NHX:support=0.98:name=x],C:2);", 0.98, "'NHX name'"),
        ("((A:1,B:1)[&SH_aLRT=98]:1,C:2);", 0.98, "'sh_alrt' as percent"),
        ("((A:1,B:1)name:1[&&NHX:B=98],C:2);", 0.98, "'NHX B'"),
    ],
)  # fmt: skip
def test_support_in_every_form(text: str, share: float, warned: str) -> None:
    nexus_text = f"#NEXUS\nBEGIN TREES;\nTREE a = {text}\nEND;"
    for tree in (newick.read(text), nexus.read(nexus_text)):
        assert support_of(tree) == [None, pytest.approx(share, rel=1e-12), None, None, None]
        assert any(warned in sentence for sentence in tree.warnings), tree.warnings
        assert tree.name[tree.leaves].tolist() == ["A", "B", "C"]


@pytest.mark.parametrize(
    ("text", "names", "warned"),
    [
        ("((A,B)'98',C);", ["98"], ()),
        ("((A,B)x,(C,D)98);", ["x", "98"], ("1 of 2 labels of inner nodes are numbers, '98'",)),
        ("((A,B)1200,(C,D)7);", ["1200", "7"], ("were not read as support", "kept as names")),
        ("((A,B)-1,C);", ["-1"], ("-1 to -1, are neither shares nor percent",)),
        ("((3,4)1,2)0;", ["1"], ("Every node is called by a whole number",)),
        ("((A,B)'98:x'[&name],C);", ["98:x"], ()),
        ("((A,B)'98/1',C);", ["98/1"], ()),
    ],
)
def test_numbers_that_are_names(text: str, names: list[str], warned: tuple[str, ...]) -> None:
    tree = newick.read(text)
    inner = np.flatnonzero(tree.n_children)[1:]
    assert tree.name[inner].tolist() == names
    assert support_of(tree) is None
    assert len(tree.warnings) == (1 if warned else 0)
    assert all(words in tree.warnings[0] for words in warned)


@pytest.mark.parametrize(
    ("text", "warned"),
    [
        ("((A,B)[by hand],C);", "1 comment(s) in the tree were left out: 'by hand'"),
        ("([x]A[y],B)[z];[end]", "4 comment(s) in the tree were left out, the first 'x'"),
        ("[&U]((A,B),C);", "unrooted ([&U])"),
        ("((A[&rate=1],B[&!color=#ff0000]),C);", "2 value(s) of annotations were left out"),
        ("((A[&&NHX:S=human],B),C);", "1 value(s) of annotations were left out: 'NHX S'"),
        ("((A[&prob=1],B[&prob=1])[&prob=0.5],C);", "The annotation 'prob' of 2 leaf"),
        ("((A,B)[&prob=2000],C);", "were not read as support"),
        ("((A:1,B:2),C:1);", "1 node(s) have no branch length; 1 was taken"),
        ("((A:1,B:2):1,C:1):3;", "The root's branch length, 3, was left out"),
        ("((A,B)0.9[&prob=0.8],C);", "1 value(s) of annotations were left out: 'prob'"),
    ],
)
def test_what_is_left_out_is_in_a_warning(text: str, warned: str) -> None:
    warnings = newick.read(text).warnings
    assert any(warned in sentence for sentence in warnings), warnings


@pytest.mark.parametrize("text", ["((A,B),C);", "[&R]((A:1,B:1)x:1,C:1)r;", "((A,B)x,C);", "A;"])
def test_a_plain_tree_has_no_warning(text: str) -> None:
    assert newick.read(text).warnings == ()


def test_percent_or_shares_is_decided_for_the_whole_tree() -> None:
    tree = newick.read("((A,B)1,((C,D)0.5,E)100);")
    assert support_of(tree) == [None, 0.01, None, None, 1.0, 0.005, None, None, None]
    tree = newick.read("((A,B)1,((C,D)0.5,E)1);")
    assert support_of(tree) == [None, 1.0, None, None, 1.0, 0.5, None, None, None]


def test_numbers_of_taxa_are_not_put_in_place_of_inner_names() -> None:
    text = (
        "#NEXUS\nBEGIN TAXA; TAXLABELS Ant Bee Cat; END;\nBEGIN TREES; TREE a = ((1,2)'1',3); END;"
    )
    assert nexus.read(text).name.tolist() == [None, "1", "Ant", "Bee", "Cat"]
    support = text.replace("'1'", "1")
    assert nexus.read(support).name.tolist() == [None, None, "Ant", "Bee", "Cat"]
    assert support_of(nexus.read(support)) == [None, 1.0, None, None, None]


def test_what_nexus_leaves_out() -> None:
    text = """#NEXUS
    [made by hand]
    BEGIN TAXA; TAXLABELS A B C D; END;
    BEGIN ASSUMPTIONS; OPTIONS x; END;
    BEGIN TREES; TREE a = [&R] ((A,B)[note],C); END;
    """
    assert nexus.read(text).warnings == (
        "1 comment(s) in the tree were left out: 'note'.",
        "1 block(s) of the Nexus text were left out: 'ASSUMPTIONS'.",
        "1 taxa are not in the tree and were left out: 'D'.",
        "1 comment(s) in the Nexus text were left out: 'made by hand'.",
    )


@pytest.mark.parametrize("below", ["-1e-13", "-5.551115123125783e-17", "-0.0", "-1e-10"])
def test_lengths_below_zero_by_rounding_become_0(below: str) -> None:
    tree = newick.read(f"((A:1,B:{below}):1,C:{below});")
    assert node_rows(tree)[3] == (2, "B", 0.0)
    assert tree.height.tolist() == [2.0, 1.0, 0.0, 1.0, 2.0]
    expected = () if below == "-0.0" else (
        "2 branch lengths were below 0 by rounding alone and became 0.",
    )  # fmt: skip
    assert tree.warnings == expected


@pytest.mark.parametrize("below", ["-1e-6", "-1", "-0.001"])
def test_negative_lengths_are_refused(below: str) -> None:
    with pytest.raises(InvalidTree, match=r"negative .* at character 9") as caught:
        newick.read(f"((A:1,B:{below}):1,C:2);")
    assert caught.value.where == {"position": 9}
    with pytest.raises(InvalidTree, match="negative"):
        newick.read("(A:-1e-300,B:0);")


shares = st.one_of(st.none(), st.floats(0, 1), st.sampled_from([0.0, 0.5, 1.0]))


@given(random_tree(min_leaves=2, names=any_name, whole_heights=True), st.data())
def test_support_and_names_come_back(tree: Tree, data: st.DataObject) -> None:
    drawn = data.draw(st.lists(shares, min_size=tree.n_nodes, max_size=tree.n_nodes))
    inner_alone = data.draw(st.booleans())
    support = np.array([np.nan if share is None else share for share in drawn])
    if inner_alone:
        support[tree.leaves] = np.nan
    if data.draw(st.booleans()):
        name = tree.name.copy()
        name[tree.n_children > 0] = None
        tree = replace(tree, name=name)
    tree = replace(tree, extra={"support": support})
    texts = "".join(newick.write(tree)), "".join(nexus.write(tree))
    for again in (newick.read(texts[0]), nexus.read(texts[1])):
        assert node_rows(again) == node_rows(tree)
        # `again` is in preorder.
        expected = newick.read("".join(newick.write(tree, labels="id"))).name.astype(int)
        back = again.extra.get("support", np.full(tree.n_nodes, np.nan))
        np.testing.assert_array_equal(back, support[expected])


@pytest.mark.parametrize("name", ["98", "0.5", "98/0.95", "98%", "100:x", "100.0:d__Bacteria"])
def test_inner_names_that_look_like_support_come_back(name: str) -> None:
    tree = from_parents([-1, 0, 0, 1, 1], [2, 1, 0, 0, 0], [None, name, "c", "a", "b"])
    for support in (None, np.array([np.nan, 0.25, np.nan, np.nan, np.nan])):
        shown = tree if support is None else replace(tree, extra={"support": support})
        for again in (
            newick.read("".join(newick.write(shown))),
            nexus.read("".join(nexus.write(shown))),
        ):
            assert again.name.tolist() == [None, name, "a", "b", "c"]
            expected = None if support is None else [None, 0.25, None, None, None]
            assert support_of(again) == expected


@pytest.mark.parametrize(
    "label", ["1" * 300_000 + "x", "1" * 300_000 + ".", "1/" * 100_000 + "x", "1e" * 100_000]
)
def test_hostile_labels_end_soon(label: str) -> None:
    tree = newick.read(f"((A,B){label},C);")
    assert tree.name.tolist()[1] in (label, None)
    assert newick.read("".join(newick.write(tree))).n_leaves == 3
    assert newick.read(f"((A,B)'{label} {label}:x',C);").n_leaves == 3


@pytest.mark.parametrize(
    "comment",
    [
        "1" * 300_000 + "x",
        " " * 300_000 + "x",
        "1" + " " * 300_000 + "x",
        "&" + "a={" * 100_000,
        '&a="' * 100_000,
        "&&NHX" + ":B=" * 100_000,
        "1/" * 100_000,
        "&" * 99_999,
    ],
)
def test_hostile_comments_end_soon(comment: str) -> None:
    assert newick.read(f"((A,B)[{comment}],C);").n_leaves == 3


def test_as_many_keys_as_nodes_make_one_short_warning() -> None:
    leaves = ",".join(f"a{number}[&k{number}=1]" for number in range(20_000))
    (warning,) = newick.read(f"({leaves});").warnings
    assert "20000 value(s)" in warning
    assert len(warning) < 500
