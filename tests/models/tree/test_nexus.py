"""Nexus: DendroPy reads our text."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from models.errors import InvalidTree
from models.tree import newick, nexus
from models.tree.build import from_parents, from_partition
from models.tree.tree import Tree
from tests.models.tree.newick_kit import dendropy_rows, node_rows
from tests.models.tree.strategies_kit import HOSTILE_NAMES, chain, random_tree


def test_written_text_of_a_small_tree() -> None:
    #    0
    #   / \
    #  1   2
    tree = from_parents([-1, 0, 0], [2, 0, 1], [None, "a", "it's"])
    assert "".join(nexus.write(tree)) == (
        "#NEXUS\nBEGIN TAXA;\n  DIMENSIONS NTAX=2;\n  TAXLABELS\n    a\n    'it''s';\nEND;\n"
        "BEGIN TREES;\n  TREE tree = [&R] (a:2.0,'it''s':1.0);\nEND;\n"
    )
    by_id = "".join(nexus.write(tree, labels="id", ids=np.array([5, 6, 7])))
    assert "6\n    7;" in by_id
    assert "(6:2.0,7:1.0)5;" in by_id


def test_each_taxon_is_listed_once_from_left_to_right() -> None:
    tree = from_parents([-1, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0], [None, "b", None, "a", "b", "A"])
    text = "".join(nexus.write(tree))
    assert "NTAX=3;\n  TAXLABELS\n    b\n    a\n    A;\nEND;" in text
    assert text.endswith("(b:1.0,:1.0,a:1.0,b:1.0,A:1.0);\nEND;\n")
    nameless = from_parents([-1, 0, 0], [1, 0, 0], [None] * 3)
    assert "NTAX=0;\n  TAXLABELS;\nEND;" in "".join(nexus.write(nameless))


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_hostile_names_are_read_by_dendropy(name: str) -> None:
    tree = from_parents(
        [-1, 0, 0, 1, 1], [3, 1.25, 0, 0, 0], ["root", name, "other", name + "x", "third"]
    )
    assert dendropy_rows("".join(nexus.write(tree)), "nexus") == node_rows(tree)


def test_all_hostile_names_at_once() -> None:
    tree = from_partition([], len(HOSTILE_NAMES), names=HOSTILE_NAMES)
    assert dendropy_rows("".join(nexus.write(tree)), "nexus") == node_rows(tree)


@given(random_tree(min_leaves=2))
def test_random_trees_are_read_by_dendropy(tree: Tree) -> None:
    assert dendropy_rows("".join(nexus.write(tree)), "nexus") == node_rows(tree)


def test_a_chain_of_a_hundred_thousand_is_written() -> None:
    text = "".join(nexus.write(chain(100_000)))
    assert text.count("(") == text.count(")") == 99_999
    assert "NTAX=100000;" in text


@given(random_tree(min_leaves=2))
def test_what_is_written_is_read_again(tree: Tree) -> None:
    assert "".join(newick.write(nexus.read("".join(nexus.write(tree))))) == "".join(
        newick.write(newick.read("".join(newick.write(tree))))
    )


def test_numbers_that_are_names_stay_names() -> None:
    """A number that is the name of a taxon is not the number of a taxon."""
    tree = from_parents([-1, 0, 0, 1, 1], [2, 1, 0, 0, 0], [None, None, "2", "3", "1"])
    text = "".join(nexus.write(tree))
    assert dendropy_rows(text, "nexus") == node_rows(tree)
    read = nexus.read(text)
    assert sorted(read.name[read.leaves]) == ["1", "2", "3"]
    assert node_rows(read) == node_rows(newick.read("".join(newick.write(tree))))


def test_a_translated_tree_of_another_program() -> None:
    text = """#NEXUS
    [a comment; with a semicolon]
    Begin taxa; Dimensions ntax=3; Taxlabels Homo_sapiens 'Pan paniscus' Gorilla; End;
    BEGIN CHARACTERS; Title x; Matrix A 01 B 11; END;
    Begin Trees;
      Translate 1 Homo_sapiens, 2 'Pan paniscus', 3 Gorilla;
      Tree * best = [&R] [&W 1/2] ((1:1,2:1):2,3:3);
    End;
    """
    tree = nexus.read(text)
    assert tree.name[tree.leaves].tolist() == ["Homo_sapiens", "Pan paniscus", "Gorilla"]
    untranslated = text.replace("Translate 1 Homo_sapiens, 2 'Pan paniscus', 3 Gorilla;", "")
    assert node_rows(nexus.read(untranslated)) == node_rows(tree)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("((a,b),c);", "begins with #NEXUS"),
        ("#NEXUS\nBEGIN TREES;\nEND;", "no tree"),
        ("#NEXUS\nTREE a = (a,b);", "no tree"),
        ("#NEXUS\nBEGIN TREES; TREE a = (a,b); TREE b = (a,b); END;", "has 2 trees"),
        ("#NEXUS\nBEGIN TREES; TREE a (a,b); END;", "'TREE name"),
        ("#NEXUS\nBEGIN TREES; TREE a = (a,b; END;", "never closed"),
        ("#NEXUS\nBEGIN TREES; TREE a = (a,b)", "does not end"),
        ("#NEXUS\nBEGIN TREES; TRANSLATE 1 a b; TREE a = (1,2); END;", "pairs a token"),
        ("#NEXUS\nBEGIN TREES; TREE a = (a:-1,b); END;", "negative"),
    ],
)
def test_what_is_no_tree_is_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidTree, match=message):
        nexus.read(text)
