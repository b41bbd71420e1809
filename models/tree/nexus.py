"""Nexus text: a Newick tree with its taxa, for phylogenetics programs.

Source: Maddison, Swofford and Maddison, Systematic Biology 46(4), 1997.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from models.errors import InvalidTree, listed, shown
from models.tree import newick
from models.tree.columns import texts
from models.tree.dialects import Comments
from models.tree.newick import Labels
from models.tree.tree import Tree
from models.tree.walk import leaf_order


def write(
    tree: Tree,
    *,
    labels: Labels = "name",
    ids: npt.NDArray[np.int64] | None = None,
    comments: npt.NDArray[np.object_] | None = None,
) -> Iterator[str]:
    """The tree as Nexus, in pieces: a TAXA block with each leaf label once, then a TREES block.

    Labels, lengths, comments and parameters are as in `newick.write`: labels that need no quotes
    have none, since ape and Biopython keep the marks. Leaves without a name have no taxon. Programs
    require distinct leaf labels, most of them ignoring case: `labels="id"` ensures that.
    O(n_nodes).
    """
    import pyarrow as pa

    leaves = leaf_order(tree)
    if labels == "id":
        numbers = leaves if ids is None else ids[leaves]
        taxa = pa.array(numbers).cast(pa.string())
    else:
        taxa = texts(tree.name[leaves]).unique().drop_null()
    yield f"#NEXUS\nBEGIN TAXA;\n  DIMENSIONS NTAX={len(taxa)};\n  TAXLABELS"
    for start in range(0, len(taxa), 8192):
        some = taxa.slice(start, 8192).to_pylist()
        yield "".join([f"\n    {newick.quoted_if_odd(taxon)}" for taxon in some])
    yield ";\nEND;\nBEGIN TREES;\n  TREE tree = [&R] "
    yield from newick.write(tree, labels=labels, ids=ids, comments=comments)
    yield "END;\n"


def read(text: str) -> Tree:
    """The one tree in the TREES blocks of a Nexus text; rows and lengths as of `newick.read`.

    Names of a TRANSLATE command, and for leaves numbers of taxa (from 1) in the order of TAXLABELS
    where no taxon is called so, become the taxa's names. Other blocks, taxa that the tree has not,
    and comments are left out, which the tree's `warnings` say; labels and comments of nodes are
    read as by `newick.read`.

    Raises InvalidTree, naming the character counted from 1 where there is one, for a text that does
    not begin with #NEXUS, without a tree or with several, and as `newick.read`. O(len(text)).
    """
    begin = len(text) - len(text.lstrip("\ufeff \t\r\n"))
    if text[begin : begin + 6].upper() != "#NEXUS":
        raise InvalidTree("A Nexus text begins with #NEXUS.", position=begin + 1)
    taxa: list[str] = []
    names: dict[str, str] = {}
    trees: list[tuple[int, int]] = []
    block = ""
    others: dict[str, None] = {}
    outside = Comments()
    for words, start, stop in _commands(text, begin + 6, outside):
        command = words[0].lower()
        if command == "begin" and len(words) > 1:
            block = words[1].lower()
            if block not in ("taxa", "trees"):
                others[words[1]] = None
        elif command in ("end", "endblock"):
            block = ""
        elif command == "taxlabels" and block in ("taxa", "data", "characters"):
            taxa = words[1:]
        elif command == "translate" and block == "trees":
            names |= _translations(words[1:], start)
        elif command in ("tree", "utree") and block == "trees":
            trees.append((start, stop))
    if not trees:
        raise InvalidTree("The Nexus text has no tree in a TREES block.")
    if len(trees) > 1:
        raise InvalidTree(
            f"The Nexus text has {len(trees)} trees; a text with one tree is accepted.",
            position=trees[1][0] + 1,
        )
    start, stop = trees[0]
    place = _after_equals(text, start, stop)
    tree = newick.read(text[:stop], place)
    leaf = tree.n_children == 0
    by_number = {}
    if not names:
        own = set(taxa)
        by_number = {
            str(number): taxon for number, taxon in enumerate(taxa, 1) if str(number) not in own
        }
    called = [
        name if name is None else names.get(name, by_number.get(name, name) if tip else name)
        for name, tip in zip(tree.name.tolist(), leaf.tolist(), strict=True)
    ]
    column = np.empty(len(called), dtype=object)
    column[:] = called
    warnings = [*tree.warnings]
    if others:
        warnings.append(
            f"{len(others)} block(s) of the Nexus text were left out: {listed(list(others))}."
        )
    absent = list(dict.fromkeys(taxa).keys() - set(called))
    if absent:
        warnings.append(
            f"{len(absent)} taxa are not in the tree and were left out: {listed(sorted(absent))}."
        )
    warnings += outside.left_out("the Nexus text")
    return replace(tree, name=column, warnings=tuple(warnings))


def _commands(text: str, place: int, outside: Comments) -> Iterator[tuple[list[str], int, int]]:
    """Each command: its words, where it starts, and where it ends, after its semicolon. Comments
    that are in no tree are added to `outside`."""
    words: list[str] = []
    start = place
    for kind, part, at in newick.tokens(text, place):
        if kind == "end":
            if words:
                yield words, start, at + 1
            words = []
            continue
        if kind == "comment":
            if not words or words[0].lower() not in ("tree", "utree"):
                outside.add(-1, part)
            continue
        if not words:
            start = at
        # Only the first words of a long tree are needed.
        if len(words) < 2 or words[0].lower() not in ("tree", "utree"):
            words.append(part)
    if words:
        raise InvalidTree(
            f"The command {shown(words[0], 40)} does not end with ';': the text ends at character "
            f"{len(text) + 1}.",
            position=len(text) + 1,
        )


def _translations(words: list[str], at: int) -> dict[str, str]:
    """The names of a TRANSLATE command: `token name, token name`."""
    names: dict[str, str] = {}
    pair: list[str] = []
    for word in (*words, ","):
        if word != ",":
            pair.append(word)
            continue
        if pair:
            if len(pair) != 2:
                raise InvalidTree(
                    f"TRANSLATE pairs a token and a name; one entry is {shown(' '.join(pair))} "
                    f"(the command begins at character {at + 1}).",
                    position=at + 1,
                )
            names[pair[0]] = pair[1]
        pair = []
    return names


def _after_equals(text: str, start: int, stop: int) -> int:
    """Where the tree of a TREE command begins."""
    named = re.compile(
        r"\s*u?tree\s*\*?\s*(?:'(?:[^']|'')*'|[^\s='\[]*)\s*(?:\[[^\]]*\]\s*)?=", re.I
    )
    match = named.match(text, start, stop)
    if match is None:
        raise InvalidTree(
            f"A tree command is 'TREE name = (...);', not that at character {start + 1}.",
            position=start + 1,
        )
    return match.end()
