"""What moved between two trees, against sets of leaves written out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import UsageError
from models.tree import newick
from models.tree.moves import KEPT, LEAST, NONE, SharedLeaves, moves
from models.tree.tree import Tree
from models.tree.walk import path
from tests.models.tree.strategies_kit import random_tree


def leaves_of(text: str) -> Tree:
    return newick.read(text)


def naive(left: Tree, right: Tree) -> tuple[dict[int, float], int, int]:
    """How far each moved row moved, the left tree's groups and the kept ones, by sets."""
    n = left.n_points
    groups = []
    for tree in (left, right):
        paths = [path(tree, int(leaf)).tolist() for leaf in tree.leaf_of_point]
        sets = {
            frozenset(row for row in range(n) if node in paths[row])
            for node in range(tree.n_nodes)
            if tree.n_children[node]
        }
        groups.append([rows for rows in sets if 2 <= len(rows) < n])
    reach: dict[int, float] = {}
    counts = []
    for own, other in (groups, groups[::-1]):
        compared, kept = [rows for rows in own if LEAST <= len(rows) <= n / 2], 0
        for rows in compared:
            found = [(len(rows & rival) / len(rows | rival), -len(rival), rival) for rival in other]
            if not found:
                continue
            best = max(found, key=lambda entry: entry[:2])
            ties = {rival for index, size, rival in found if (index, size) == best[:2]}
            assert len(ties) == 1 or best[0] <= KEPT
            if best[0] > KEPT:
                kept += 1
                for row in rows - best[2]:
                    reach[row] = max(reach.get(row, 0.0), len(rows) / n)
        counts.append((len(compared), kept))
    return reach, *counts[0]


@given(random_tree(), random_tree(), st.integers(0, 1000), st.integers(1, 12))
def test_any_two_trees(first: Tree, second: Tree, seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    pair = []
    for tree in (first, second):
        leaf = rng.choice(tree.leaves, n).astype(np.int32)
        size = np.array([sum(v in path(tree, int(p)) for p in leaf) for v in range(tree.n_nodes)])
        pair.append(replace(tree, leaf_of_point=leaf, size=size).validate())
    found = moves(pair[0], pair[1])
    reach, n_groups, n_kept = naive(pair[0], pair[1])
    assert {move.row: move.share for move in found.moves} == pytest.approx(reach)
    assert (found.n_groups, found.n_kept) == (n_groups, n_kept)
    shares = [move.share for move in found.moves]
    assert shares == sorted(shares, reverse=True)
    for move in found.moves:
        for tree, node in ((pair[0], move.left), (pair[1], move.right)):
            assert node == NONE or node in path(tree, int(tree.leaf_of_point[move.row]))


def test_one_leaf_moved() -> None:
    # cat stands with the plants on the right.
    left = leaves_of("(((cat,dog),horse,cow)animals,((oak,elm),rose,fern)plants)all;")
    right = leaves_of("((dog,horse,cow)beasts,((oak,elm),(rose,fern,cat))flora)all;")
    shared = SharedLeaves.of(left, right)
    found = moves(*shared.trees(left, right))
    (move,) = found.moves
    assert shared.names[move.row] == "cat"
    assert (left.name[move.left], right.name[right.parent[move.right]]) == ("animals", "flora")
    assert move.share == 4 / 8


def test_dividing_further_moves_nothing() -> None:
    coarse, fine = leaves_of("((a,b,c,d),(e,f,g));"), leaves_of("(((a,b),(c,d)),((e,f),g));")
    for left, right in ((coarse, fine), (fine, coarse)):
        shared = SharedLeaves.of(left, right)
        assert moves(*shared.trees(left, right)).moves == []


def test_what_is_shared() -> None:
    left, right = leaves_of("(a,b,(c,d),x,(y,y));"), leaves_of("((d,c),b,a,z,y);")
    shared = SharedLeaves.of(left, right)
    assert shared.names == ["a", "b", "c", "d"]
    assert (shared.left_only, shared.right_only, shared.repeated) == (["x"], ["z"], ["y"])
    assert left.name[shared.left].tolist() == right.name[shared.right].tolist() == shared.names
    assert [tree.n_points for tree in shared.require().trees(left, right)] == [4, 4]
    assert len(shared.warnings()) == 3


def test_too_few_shared_names() -> None:
    left, right = leaves_of("(a,b,(c,d));"), leaves_of("(a,b,(e,f,g));")
    with pytest.raises(UsageError, match=r"they share only 'a', 'b'.*at least 3 leaves") as refused:
        SharedLeaves.of(left, right).require()
    assert refused.value.code == "wrong-shape"
